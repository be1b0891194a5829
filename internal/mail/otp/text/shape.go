package text

// MaxWritten is the length of the longest code, in bytes as written.
const MaxWritten = 32

// ChainTokens is the smallest number of tokens of a chain: three groups and the hyphens between
// them.
const ChainTokens = 5

// IsJumbled reports whether letters cannot be pronounced and so are probably not a word: four
// consonants in a row, or Q without U. "PENDING" and "EXPIRED" are words.
func IsJumbled(b []byte) bool {
	run := 0
	for i, c := range b {
		switch c &^ 0x20 {
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

// IsHyphenChain reports whether a line consists only of three or more groups of lower-case letters with
// hyphens between them: "lorem-ipsu-dolor". It returns after the first word of most lines.
func IsHyphenChain(b []byte) bool {
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
		if run > 8 {
			return false
		}
	}
	return run > 2 && parts > 2
}
