package otp

import "inboxd/internal/mail/otp/text"

// confirming are the classes that announce a code only together, in addition to those of
// text.Announcing: "by" and "with" refer to a number only if the message also confirms something.
const confirming = 1<<text.ClassConfirm | 1<<text.ClassBy

// speaks reports whether the message has a word that can announce a code. Most messages have none,
// and Find skips the costly search for them.
func (s *search) speaks() bool {
	seen := uint64(0)
	for i := range s.pages {
		seen |= s.pages[i].Seen
	}
	return seen&text.Announcing != 0 || seen&confirming == confirming
}
