package text

import "unicode/utf8"

// MaxScan bounds what is read of one source, in bytes. Codes stand at the top of a mail;
// what lies beyond is the sender's business, not our processor time.
const MaxScan = 64 << 10

// Folded is a text in the one spelling that the vocabulary knows: lower case, without
// accents, ASCII digits and punctuation, single blanks, no invisible characters. A tab is
// a gap of several blanks, a newline ends a line, two end a paragraph. Bytes from 0x80 up
// are letters of other scripts, nothing else.
//
// Plain has the same length and keeps the case of ASCII letters; where a letter was not
// ASCII in the mail it holds NotASCII, so that no code is read out of "café1".
type Folded struct {
	Lower []byte
	Plain []byte

	digits bool // there is one

	blanks   int
	newlines int
}

const NotASCII = 0x01

func (f *Folded) reset() { *f = Folded{Lower: f.Lower[:0], Plain: f.Plain[:0]} }

// Fold appends s to f, at most maxScan bytes of it.
func (f *Folded) Fold(s string) {
	if len(s) > MaxScan {
		s = s[:MaxScan]
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			i += size
			f.rune(r)
			continue
		}
		if c > ' ' && c < 0x7F {
			i = f.run(s, i)
			continue
		}
		i++
		switch {
		case c == '\n':
			f.newlines++
		case c == '\t':
			f.blanks += 3
		case c == '\r' && (i >= len(s) || s[i] != '\n'):
			f.newlines++
		case c == ' ' || c == '\v' || c == '\f':
			f.blanks++
		}
	}
}

func (f *Folded) ascii(c byte) {
	f.gap()
	low := c
	if 'A' <= c && c <= 'Z' {
		low = c | 0x20
	}
	f.Lower = append(f.Lower, low)
	f.Plain = append(f.Plain, c)
	f.digits = f.digits || IsDigit(c)
}

// gap writes the white space that was held back until something visible follows it.
func (f *Folded) gap() {
	if f.blanks == 0 && f.newlines == 0 {
		return
	}
	switch {
	case len(f.Lower) == 0:
	case f.newlines > 1:
		f.both('\n')
		f.both('\n')
	case f.newlines == 1:
		f.both('\n')
	case f.blanks >= 3:
		f.both('\t')
	default:
		f.both(' ')
	}
	f.blanks, f.newlines = 0, 0
}

func (f *Folded) both(c byte) {
	f.Lower = append(f.Lower, c)
	f.Plain = append(f.Plain, c)
}

// letter writes a Latin letter that lost its accent.
func (f *Folded) letter(c byte) {
	f.gap()
	f.Lower = append(f.Lower, c)
	f.Plain = append(f.Plain, NotASCII)
}

// rune writes a character that is no ASCII as folding.tsv has it.
func (f *Folded) rune(r rune) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	switch to := folding.of(r); {
	case Between(r, 0xFF01, 0xFF5E) && r != 0xFF0C: // full-width ASCII; no blank follows the comma, but it parts numbers
		f.ascii(byte(r - 0xFEE0))
	case Between(r, 0x1D400, 0x1D6A3): // bold, italic and other letters of mathematics
		f.ascii(letters[(r-0x1D400)%52])
	case Between(r, 0x1D7CE, 0x1D7FF):
		f.ascii('0' + byte(r-0x1D7CE)%10)
	case r >= 0xE0000: // tags
	case to >= foldedRows:
		f.foreign(to)
	default:
		f.row(folding.rows[to])
	}
}

// row writes what a row of folding.tsv has: a Latin letter lost its accent.
func (f *Folded) row(s string) {
	if len(s) == 1 && Between(s[0], 'a', 'z') {
		f.letter(s[0])
		return
	}
	for i := range len(s) {
		switch s[i] {
		case ' ':
			f.blanks++
		case '\n':
			f.newlines++
		default:
			f.ascii(s[i])
		}
	}
}

func (f *Folded) foreign(r rune) {
	f.gap()
	n := len(f.Lower)
	f.Lower = utf8.AppendRune(f.Lower, r)
	f.Plain = append(f.Plain, f.Lower[n:]...)
}

// Between tells whether x is at least low and at most high.
func Between[T ~byte | ~int32 | ~int](x, low, high T) bool { return low <= x && x <= high }
