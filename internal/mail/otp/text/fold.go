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

	pendingSpaces   int // pending spaces: see gap
	pendingNewlines int // pending newlines
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
			f.foldRune(r)
			i += size
		case c > ' ' && c < 0x7F:
			i = f.foldRun(s, i)
		default:
			f.foldControl(c)
			i++
		}
	}
}

// foldControl counts white space, and ignores other control characters. A carriage return counts as a
// space; spaces before a newline are dropped.
func (f *Folded) foldControl(c byte) {
	switch c {
	case '\n':
		f.pendingNewlines++
	case '\t':
		f.pendingSpaces += 3
	case ' ', '\v', '\f', '\r':
		f.pendingSpaces++
	}
}

// foldRun folds the visible ASCII characters from s[i] on, with the single spaces and newlines between
// them, and returns the end. This is the fast path for most of the text of a message.
func (f *Folded) foldRun(s string, i int) int {
	f.writeGap()
	n, end := len(f.Lower), runEnd(s, i)
	f.Plain = append(f.Plain, s[i:end]...)
	f.Lower = append(f.Lower, s[i:end]...)
	low := f.Lower[n:]
	for k, c := range low {
		low[k] = asciiForms[c]
	}
	return end
}

// runEnd returns the position behind the last visible character that run can fold from s[i] on. The
// run ends where two white space characters follow each other.
func runEnd(s string, i int) int {
	for ; i < len(s); i++ {
		if c := asciiForms[s[i]]; c <= ' ' && (c == 0 || i+1 == len(s) || asciiForms[s[i+1]] <= ' ') {
			break
		}
	}
	return i
}

// asciiForms has the folded form of visible ASCII characters, space and newline, and 0 for every
// other byte.
var asciiForms = func() (table [256]byte) {
	for c := byte(' '); c < 0x7F; c++ {
		table[c] = c
		if InRange(c, 'A', 'Z') {
			table[c] = c | 0x20
		}
	}
	table['\n'] = '\n'
	return table
}()

// writeGap writes the pending white space. It is deferred until a visible character follows, so that
// none is at the start or the end of the text.
func (f *Folded) writeGap() {
	if f.pendingSpaces == 0 && f.pendingNewlines == 0 {
		return
	}
	white := ""
	switch {
	case len(f.Lower) == 0:
	case f.pendingNewlines > 0:
		white = "\n\n"[:min(f.pendingNewlines, 2)]
	case f.pendingSpaces >= 3:
		white = "\t"
	default:
		white = " "
	}
	f.Lower, f.Plain = append(f.Lower, white...), append(f.Plain, white...)
	f.pendingSpaces, f.pendingNewlines = 0, 0
}

// writeChar adds a visible character.
func (f *Folded) writeChar(low, plain byte) {
	f.writeGap()
	f.Lower, f.Plain = append(f.Lower, low), append(f.Plain, plain)
}

// foldRune writes the folded form of a character that is not ASCII.
func (f *Folded) foldRune(r rune) {
	switch to := foldTable.of(r); {
	case to < utf8.RuneSelf:
		f.writeChar(asciiForms[to], byte(to))
	case to < firstLetterRow:
		f.writeRow(foldTable.rows[to-utf8.RuneSelf])
	default:
		f.writeGap()
		f.Lower, f.Plain = utf8.AppendRune(f.Lower, to), utf8.AppendRune(f.Plain, to)
	}
}

// writeRow writes the text of a row of folding.tsv. A row of one letter is a Latin letter that lost its
// accent.
func (f *Folded) writeRow(s string) {
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ':
			f.foldControl(c)
		case len(s) == 1 && InRange(c, 'a', 'z'):
			f.writeChar(c, NotASCII)
		default:
			f.writeChar(c, c)
		}
	}
}

// InRange reports whether low <= x <= high.
func InRange[T ~byte | ~int32 | ~int](x, low, high T) bool { return low <= x && x <= high }
