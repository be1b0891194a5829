package inbox

import (
	"time"

	"inboxd/internal/message"
)

// Meeting is a calendar event as subscribers and readers see it (specification, Calendar).
type Meeting struct {
	ID          int64
	UID         string
	Title       string
	Start, End  time.Time // of an all-day one its dates, the end exclusive
	AllDay      bool
	Timezone    string // IANA name
	Location    string
	Description string
	Organizer   message.Mailbox
	Attendees   []Attendee
	Status      string // confirmed, tentative, cancelled
	Source      string // inbound, outbound
	Sequence    int
	Recurring   bool
	MyStatus    string // this inbox's own answer; empty: it was not asked
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Attendee is one who was asked to a meeting.
type Attendee struct {
	message.Mailbox
	Role   string // req-participant, opt-participant
	Status string // accepted, declined, tentative, needs-action
}
