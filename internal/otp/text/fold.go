package text

import (
	"unicode"
	"unicode/utf8"
)

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

func (f *Folded) rune(r rune) {
	switch {
	case r >= 0xC0 && r < 0x250:
		if c := latinExtended[r-0xC0]; c != '?' {
			f.letter(c)
		} else if r == 0xD7 || r == 0xF7 {
			f.ascii('*')
		} else {
			f.foreign(unicode.ToLower(r))
		}
	case r >= 0x1E00 && r < 0x1F00:
		f.letter(latinAdditional[r-0x1E00])
	case r == 0x259:
		f.letter('e')
	case r >= 0x300 && r < 0x370, invisible(r):
	case r < 0xC0, Between(r, 0x2000, 0x2E7F), Between(r, 0x3000, 0x303F), Between(r, 0xFE10, 0xFFEF) && !arabicForm(r):
		f.symbol(r)
	case caseless(r):
		f.foreign(r)
	default:
		f.script(r)
	}
}

// symbol folds punctuation, blanks and full-width forms.
func (f *Folded) symbol(r rune) {
	switch {
	case r == 0xFF0C: // no blank follows it, but it parts numbers
		f.ascii(',')
		f.blanks++
	case r >= 0xFF01 && r <= 0xFF5E:
		f.ascii(byte(r - 0xFEE0))
	case r >= 0xFF65 && r <= 0xFFDC:
		f.foreign(r) // half-width kana and hangul: letters, in no word that we list
	case r == 0xA0, r == 0x3000, r >= 0x2000 && r <= 0x200A, r == 0x202F, r == 0x205F:
		f.blanks++
	case r == 0x85, r == 0x2028, r == 0x2029:
		f.newlines++
	case r == 0xAA, r == 0xB5, r == 0xBA:
		f.letter('o')
	case r == 0x3005 || r == 0x3006 || r == 0x3007:
		f.foreign(r)
	default:
		f.mark(r)
	}
}

func (f *Folded) mark(r rune) {
	switch r {
	case 0x3002, 0xFF61: // ideographic full stop
		f.ascii('.')
		f.blanks++
	case 0x3001, 0xFE50, 0xFE51:
		f.ascii(',')
		f.blanks++
	case 0xFE13, 0xFE55, 0x2236:
		f.ascii(':')
	case 0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212, 0xFE58, 0xFE63:
		f.ascii('-')
	case 0x2018, 0x2019, 0x201B, 0xB4, 0x2032:
		f.ascii('\'')
	case 0x201C, 0x201D, 0x201E, 0x201A, 0xAB, 0xBB, 0x2039, 0x203A,
		0x300A, 0x300B, 0x300C, 0x300D, 0x300E, 0x300F, 0x3010, 0x3011, 0x3014, 0x3015:
		f.ascii('"')
	case 0x2026:
		f.ascii('.')
		f.ascii('.')
		f.ascii('.')
	case 0xA9:
		f.ascii('(')
		f.ascii('c')
		f.ascii(')')
	case 0x2116:
		f.ascii('#')
	case 0x2192, 0x21D2, 0x27A1:
		f.ascii('*')
	case 0xA2, 0xA3, 0xA4, 0xA5, 0xFFE0, 0xFFE1, 0xFFE5, 0xFFE6:
		f.ascii('$')
	default:
		if r >= 0x20A0 && r <= 0x20CF {
			f.ascii('$')
		} else if d, ok := digit(r); ok {
			f.ascii(d)
		} else {
			f.ascii('*')
		}
	}
}

// invisible tells the characters that nobody sees: zero-width spaces and joiners, soft
// hyphens, direction marks, variation selectors, the keycap frame, tags.
func invisible(r rune) bool {
	switch {
	case r == 0xAD, r == 0x34F, r == 0x61C, r == 0xFEFF, r == 0x3164, r == 0xFFA0:
		return true
	case r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F:
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0x20D0 && r <= 0x20FF, r >= 0x180B && r <= 0x180F:
		return true
	case r >= 0xE0000 && r <= 0xE0FFF, r >= 0x80 && r < 0xA0 && r != 0x85:
		return true
	}
	return false
}

// caseless tells the big blocks of letters that need no folding at all.
func caseless(r rune) bool {
	switch {
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3, r >= 0x3400 && r <= 0x4DBF:
		return true
	}
	return r >= 0x3041 && r <= 0x30FF && r != 0x30FB
}

func arabicForm(r rune) bool { return r >= 0xFE70 && r <= 0xFEFC }

// Between tells whether x is at least low and at most high.
func Between[T ~byte | ~int32 | ~int](x, low, high T) bool { return low <= x && x <= high }
