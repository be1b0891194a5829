package otp

import "inboxd/internal/mail/otp/text"

// Words without which nothing is told to be a code, besides text.Announcing: "by" and "with" join a number
// only to what it confirms.
const confirming = 1<<text.ClassConfirm | 1<<text.ClassBy

// speaks tells whether the mail has such words. Most mails have not, and are spared the search.
func (s *search) speaks() bool {
	seen := uint64(0)
	for i := range s.pages {
		seen |= s.pages[i].Seen
	}
	return seen&text.Announcing != 0 || seen&confirming == confirming
}
