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

	blanks   int
	newlines int
}

const NotASCII = 0x01

func (f *Folded) reset() { *f = Folded{Lower: f.Lower[:0], Plain: f.Plain[:0]} }

// Fold gives s folded.
func Fold(s string) Folded {
	var f Folded
	f.Fold(s)
	return f
}

// Fold appends s to f, at most maxScan bytes of it.
func (f *Folded) Fold(s string) {
	s = s[:min(len(s), MaxScan)]
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			f.rune(r)
			i += size
		case c > ' ' && c < 0x7F:
			i = f.run(s, i)
		default:
			f.control(c)
			i++
		}
	}
}

// control notes white space. A carriage return is a blank, which before a newline is nothing.
func (f *Folded) control(c byte) {
	switch c {
	case '\n':
		f.newlines++
	case '\t':
		f.blanks += 3
	case ' ', '\v', '\f', '\r':
		f.blanks++
	}
}

// run folds the visible ASCII characters from s[i] on, with the single blanks and newlines between
// them, which stay as they are: most mails are little else. It returns the end.
func (f *Folded) run(s string, i int) int {
	f.gap()
	n, end := len(f.Lower), runEnd(s, i)
	f.Plain = append(f.Plain, s[i:end]...)
	f.Lower = append(f.Lower, s[i:end]...)
	low := f.Lower[n:]
	for k, c := range low {
		low[k] = spelling[c]
	}
	return end
}

// runEnd gives the place behind the last visible character that only single blanks and newlines
// part from the one at s[i].
func runEnd(s string, i int) int {
	for ; i < len(s); i++ {
		if c := spelling[s[i]]; c <= ' ' && (c == 0 || i+1 == len(s) || spelling[s[i+1]] <= ' ') {
			break
		}
	}
	return i
}

// spelling gives the folded form of visible ASCII characters, blank and newline, and 0 for
// what needs a closer look.
var spelling = func() (table [256]byte) {
	for c := byte(' '); c < 0x7F; c++ {
		table[c] = c
		if Between(c, 'A', 'Z') {
			table[c] = c | 0x20
		}
	}
	table['\n'] = '\n'
	return table
}()

// gap writes the white space that was held back until something visible follows it.
func (f *Folded) gap() {
	if f.blanks == 0 && f.newlines == 0 {
		return
	}
	white := ""
	switch {
	case len(f.Lower) == 0:
	case f.newlines > 0:
		white = "\n\n"[:min(f.newlines, 2)]
	case f.blanks >= 3:
		white = "\t"
	default:
		white = " "
	}
	f.Lower, f.Plain = append(f.Lower, white...), append(f.Plain, white...)
	f.blanks, f.newlines = 0, 0
}

// write adds a visible character.
func (f *Folded) write(low, plain byte) {
	f.gap()
	f.Lower, f.Plain = append(f.Lower, low), append(f.Plain, plain)
}

// rune writes a character that is no ASCII as folding.tsv has it.
func (f *Folded) rune(r rune) {
	switch to := folding.of(r); {
	case to < utf8.RuneSelf:
		f.write(spelling[to], byte(to))
	case to < letters:
		f.row(folding.rows[to-utf8.RuneSelf])
	default:
		f.gap()
		f.Lower, f.Plain = utf8.AppendRune(f.Lower, to), utf8.AppendRune(f.Plain, to)
	}
}

// row writes what a row of folding.tsv has: a Latin letter lost its accent.
func (f *Folded) row(s string) {
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ':
			f.control(c)
		case len(s) == 1 && Between(c, 'a', 'z'):
			f.write(c, NotASCII)
		default:
			f.write(c, c)
		}
	}
}

// Between tells whether x is at least low and at most high.
func Between[T ~byte | ~int32 | ~int](x, low, high T) bool { return low <= x && x <= high }
