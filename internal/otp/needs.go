package otp

import "inboxd/internal/otp/text"

// What a mail must have to hold a code at all. Most mails have not, and are spared the search.

// split parts the pages into tokens, unless nothing in any of them can be a code: then no words
// are wanted either.
func (s *search) split() {
	for i := 0; i < s.n; i++ {
		if s.pages[i].MayHold() {
			for i := 0; i < s.n; i++ {
				s.pages[i].Split(s.forward)
			}
			return
		}
	}
}

// Words without which nothing is told to be a code: what announces one, tells to enter it, or speaks
// of signing in. "by" and "with" join a number only to what it confirms.
const (
	announcing = 1<<text.ClassCode | 1<<text.ClassPassword | 1<<text.ClassPasscode | 1<<text.ClassOTP | 1<<text.ClassApproval | 1<<text.ClassEnter
	confirming = 1<<text.ClassVerify | 1<<text.ClassConfirm
)

// speaks tells whether the mail has such words: see relate, which finds no tie without them.
func (s *search) speaks() bool {
	seen := uint64(0)
	for i := range s.n {
		seen |= s.pages[i].Seen
	}
	return seen&(announcing|1<<text.ClassVerify) != 0 || seen&(1<<text.ClassBy) != 0 && seen&confirming != 0
}
