package otp

import "inboxd/internal/mail/otp/text"

// confirmingClasses are the classes that announce a code only together, in addition to those of
// text.AnnouncingClasses: "by" and "with" refer to a number only if the message also confirms
// something.
const confirmingClasses = 1<<text.ClassConfirm | 1<<text.ClassBy

// canAnnounceCode reports whether the message has a word that can announce a code. Most messages
// have none, and Find skips the costly search for them.
func (s *searchState) canAnnounceCode() bool {
	seen := uint64(0)
	for i := range s.pages {
		seen |= s.pages[i].SeenClasses
	}
	return seen&text.AnnouncingClasses != 0 || seen&confirmingClasses == confirmingClasses
}
