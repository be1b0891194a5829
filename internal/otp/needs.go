package otp

import "inboxd/internal/otp/text"

// Words without which nothing is told to be a code: what announces one, tells to enter it, or speaks
// of signing in. "by" and "with" join a number only to what it confirms.
const (
	announcing = 1<<text.ClassCode | 1<<text.ClassPassword | 1<<text.ClassPasscode | 1<<text.ClassOTP | 1<<text.ClassApproval | 1<<text.ClassEnter | 1<<text.ClassVerify
	confirming = 1<<text.ClassConfirm | 1<<text.ClassBy
)

// speaks tells whether the mail has such words. Most mails have not, and are spared the search.
func (s *search) speaks() bool {
	seen := uint64(0)
	for i := range s.pages {
		seen |= s.pages[i].Seen
	}
	return seen&announcing != 0 || seen&confirming == confirming
}
