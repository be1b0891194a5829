package text

import "unicode/utf8"

// MaxScan is the largest number of bytes that are read of one source. Codes are at the top of a
// message, and the limit bounds the processor time that a sender can use.
const MaxScan = 64 << 10

// Folded is a normalized text. Lower has the spelling of the vocabulary: lower case, without
// accents, ASCII digits and punctuation, single spaces, no invisible characters. A tab stands for
// several spaces, a newline ends a line, and two newlines end a paragraph. Bytes from 0x80 on are
// always letters of other scripts.
//
// Plain has the same length and keeps the case of ASCII letters. It has NotASCII in the place of a
// Latin letter that lost its accent, so that "café1" is not a candidate for a code.
type Folded struct {
	Lower []byte
	Plain []byte

	blanks   int // pending spaces: see gap
	newlines int // pending newlines
}

// NotASCII stands in Folded.Plain for a Latin letter that lost its accent.
const NotASCII = 0x01

func (f *Folded) reset() { *f = Folded{Lower: f.Lower[:0], Plain: f.Plain[:0]} }

// Fold returns s folded.
func Fold(s string) Folded {
	var f Folded
	f.Fold(s)
	return f
}

// Fold folds s, at most MaxScan bytes of it, and appends the result to f.
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

// control counts white space, and ignores other control characters. A carriage return counts as a
// space; spaces before a newline are dropped.
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

// run folds the visible ASCII characters from s[i] on, with the single spaces and newlines between
// them, and returns the end. This is the fast path for most of the text of a message.
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

// runEnd returns the position behind the last visible character that run can fold from s[i] on. The
// run ends where two white space characters follow each other.
func runEnd(s string, i int) int {
	for ; i < len(s); i++ {
		if c := spelling[s[i]]; c <= ' ' && (c == 0 || i+1 == len(s) || spelling[s[i+1]] <= ' ') {
			break
		}
	}
	return i
}

// spelling has the folded form of visible ASCII characters, space and newline, and 0 for every
// other byte.
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

// gap writes the pending white space. It is deferred until a visible character follows, so that
// none is at the start or the end of the text.
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

// rune writes the folded form of a character that is not ASCII.
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

// row writes the text of a row of folding.tsv. A row of one letter is a Latin letter that lost its
// accent.
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

// Between reports whether low <= x <= high.
func Between[T ~byte | ~int32 | ~int](x, low, high T) bool { return low <= x && x <= high }
