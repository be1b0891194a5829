package text

import "bytes"

// MaxWritten is the longest code of letters, in bytes as written.
const MaxWritten = 24

// MayHold tells whether something in a folded page may have the form of a code: a digit, capitals
// that nobody could pronounce, or the line of a code bound to a host. It may tell too much, never
// too little.
func (f *Folded) MayHold() bool {
	if f.digits {
		return true
	}
	b := f.Lower
	for i := 0; i < len(b); i++ {
		end, capitals, foreign := i, 0, false
		for ; end < len(b) && isLetter(b[end]); end++ {
			foreign = foreign || b[end] >= 0x80
			if c := f.Plain[end]; c >= 'A' && c <= 'Z' {
				capitals++
			}
		}
		if capitals > 2 && (foreign || capitals == end-i && f.unspoken(i, end)) {
			return true
		}
		i = end
	}
	for i, end := 0, 0; i < len(b); i = end + 1 {
		if end = lineEnd(b, i); Chained(f.Plain[i:end]) {
			return true
		}
	}
	return bytes.IndexByte(b, '@') >= 0 && bytes.IndexByte(b, '#') >= 0
}

// unspoken tells whether otp may take the word from i to end for a code, or for the first
// half of one.
func (f *Folded) unspoken(i, end int) bool {
	switch end - i {
	case 3, 4:
		return end < len(f.Lower) && f.Lower[end] == '-'
	case 6, 7, 8:
		return Jumbled(f.Plain[i:end])
	}
	return false
}

// ChainTokens is the least a chain has: three groups, and the hyphens between them.
const ChainTokens = 5

// Jumbled tells letters that nobody could pronounce: four consonants in a row, or Q
// without U. "PENDING" and "EXPIRED" are words.
func Jumbled(b []byte) bool {
	run := 0
	for i, c := range b {
		switch c {
		case 'A', 'E', 'I', 'O', 'U', 'Y':
			run = 0
		default:
			run++
		}
		if run >= 4 || c == 'Q' && i+1 < len(b) && b[i+1] != 'U' {
			return true
		}
	}
	return false
}

// Chained tells a line that is nothing but three or more groups of small letters with hyphens between
// them: "lorem-ipsu-dolor". Most lines differ in their first word.
func Chained(b []byte) bool {
	if len(b) > MaxWritten {
		return false
	}
	run, parts := 0, 1
	for _, c := range b {
		switch {
		case c >= 'a' && c <= 'z':
			run++
		case c == '-' && run > 2:
			run = 0
			parts++
		default:
			return false
		}
		if run > 6 {
			return false
		}
	}
	return run > 2 && parts > 2
}
