package otp

import "bytes"

// What a mail must have to hold a code at all. Most mails have not, and are spared the search.

// split parts the pages into tokens, unless nothing in any of them can be a code: then no words
// are wanted either.
func (s *search) split() {
	for i := 0; i < s.n; i++ {
		if s.pages[i].mayHold() {
			for i := 0; i < s.n; i++ {
				s.pages[i].split(s.forward)
			}
			return
		}
	}
}

// mayHold tells whether something in a folded page may have the form of a code: a digit, capitals
// that nobody could pronounce, or the line of a code bound to a host. It may tell too much, never
// too little.
func (f *folded) mayHold() bool {
	if f.digits {
		return true
	}
	b := f.lower
	for i := 0; i < len(b); i++ {
		end, capitals, foreign := i, 0, false
		for ; end < len(b) && isLetter(b[end]); end++ {
			foreign = foreign || b[end] >= 0x80
			if c := f.plain[end]; c >= 'A' && c <= 'Z' {
				capitals++
			}
		}
		if capitals > 2 && (foreign || capitals == end-i && f.unspoken(i, end)) {
			return true
		}
		i = end
	}
	for i, end := 0, 0; i < len(b); i = end + 1 {
		if end = lineEnd(b, i); chained(f.plain[i:end]) {
			return true
		}
	}
	return bytes.IndexByte(b, '@') >= 0 && bytes.IndexByte(b, '#') >= 0
}

// unspoken tells whether page.capitals may take the word from i to end for a code, or for the first
// half of one.
func (f *folded) unspoken(i, end int) bool {
	switch end - i {
	case 3, 4:
		return end < len(f.lower) && f.lower[end] == '-'
	case 6, 7, 8:
		return jumbled(f.plain[i:end])
	}
	return false
}

// Words without which nothing is told to be a code: what announces one, tells to enter it, or speaks
// of signing in. "by" and "with" join a number only to what it confirms.
const (
	announcing = 1<<classCode | 1<<classPassword | 1<<classPasscode | 1<<classOTP | 1<<classApproval | 1<<classEnter
	confirming = 1<<classVerify | 1<<classConfirm
)

// speaks tells whether the mail has such words: see relate, which finds no tie without them.
func (s *search) speaks() bool {
	seen := uint64(0)
	for i := range s.n {
		seen |= s.pages[i].seen
	}
	return seen&(announcing|1<<classVerify) != 0 || seen&(1<<classBy) != 0 && seen&confirming != 0
}
