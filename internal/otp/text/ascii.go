package text

import (
	"encoding/binary"
)

// Most mails are little but ASCII words with single blanks between them, and as such stay what they
// are when folded. They are looked at eight bytes at once: flags of a word of eight bytes have the
// high bit of each byte that they tell of.

const (
	each  = 0x0101010101010101 // times c: eight bytes c
	highs = 0x80 * each
)

// run folds the visible ASCII characters from s[i] on, with what lies between them as it is
// when folded: one blank, or one newline. It returns the end.
func (f *Folded) run(s string, i int) int {
	f.gap()
	n := len(f.Lower)
	end := runEnd(s, i)
	f.Plain = append(f.Plain, s[i:end]...)
	f.Lower = append(f.Lower, s[i:end]...)
	f.digits = lowered(f.Lower[n:]) || f.digits
	return end
}

// runEnd gives the place behind the last visible character that only single blanks and newlines
// part from the one at s[i].
func runEnd(s string, i int) int {
	for i+8 <= len(s) {
		w := loadString(s[i : i+8])
		blanks := highs &^ (w + (0x80-'!')*each)
		signs := blanks &^ (equal(w, ' ') | equal(w, '\n'))
		if (w|(w+each))&highs|signs|blanks&(blanks>>8) != 0 {
			break // no ASCII, DEL, a control character, or two blanks
		}
		i += 8 - int(blanks>>63) // a blank at the end is judged with what follows it
	}
	for ; i < len(s); i++ {
		if c := spelling[s[i]]; c <= ' ' && (c == 0 || i+1 == len(s) || spelling[s[i+1]] <= ' ') {
			break
		}
	}
	return i
}

func loadString(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// equal flags the bytes c of ASCII text w.
func equal(w uint64, c byte) uint64 {
	return highs &^ (w ^ uint64(c)*each + 0x7F*each)
}

// within flags the bytes from first to last of ASCII text w.
func within(w uint64, first, last byte) uint64 {
	return (w + uint64(0x80-first)*each) &^ (w + uint64(0x7F-last)*each) & highs
}

// lowered writes ASCII text in small letters and tells whether a digit is in it.
func lowered(b []byte) (digits bool) {
	found := uint64(0)
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		found |= within(w, '0', '9')
		binary.LittleEndian.PutUint64(b, w|within(w, 'A', 'Z')>>2)
	}
	for i, c := range b {
		b[i] = spelling[c]
		digits = digits || IsDigit(c)
	}
	return digits || found != 0
}

// spelling gives the folded form of visible ASCII characters, blank and newline, and 0 for
// what needs a closer look.
var spelling = func() (table [256]byte) {
	for c := byte(' '); c < 0x7F; c++ {
		table[c] = c
		if 'A' <= c && c <= 'Z' {
			table[c] = c | 0x20
		}
	}
	table['\n'] = '\n'
	return table
}()
