package calendar

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/mail/icalendar"
)

// OwnersCopy is the message to the owner of an inbox about a meeting that it organizes: an accepted
// invitation, to the owner alone, with a UID of its own. So no guest learns of the owner, and an
// answer to it is not mixed with guests' answers. Guests and their answers are in its description.
// m.Copy.Sequence is its SEQUENCE: composing it again gives the same copy.
func OwnersCopy(m *Meeting, me Me, owner string, now time.Time) Mail {
	organizer, to := me.Person(), icalendar.Person{Email: owner}
	e := m.Event
	e.UID, e.Sequence, e.Stamp, e.Organizer = ownersUID(m, me), m.Copy.Sequence, now.UTC().Truncate(time.Second), &organizer
	e.Attendees = []Attendee{{Person: to, Role: icalendar.Required, Status: icalendar.Accepted, Kind: "INDIVIDUAL"}}
	e.Description = strings.TrimSpace(guestsText(m.Attendees) + "\n" + m.Description)
	l := letter{meeting: m, subject: "Invitation: ", opening: "This is a copy for you: " + personText(organizer) + " organizes this meeting."}
	method := "REQUEST"
	switch {
	case m.Status == icalendar.Cancelled:
		method, l.subject, l.opening = "CANCEL", "Cancelled: ", "This is a copy for you: "+personText(organizer)+" cancelled this meeting."
	case m.Copy.Told > 0:
		l.subject = "Updated invitation: "
	}
	copied := l.mail(method, []icalendar.Person{to}, e, "", "")
	copied.Text = l.text(&m.Event, "")
	return copied
}

// ownersUID is derived from the meeting's UID and does not reveal it.
func ownersUID(m *Meeting, me Me) string {
	sum := sha256.Sum256([]byte("owner's copy\x00" + m.UID))
	return hex.EncodeToString(sum[:16]) + "@" + address.DomainOf(me.Address)
}

// guestsText lists guests with their answers.
func guestsText(list []Attendee) string {
	var b strings.Builder
	b.WriteString("Guests:\n")
	for i := range list {
		a := &list[i]
		answer := a.Status
		if answer == icalendar.NeedsAction {
			answer = "no answer yet"
		}
		b.WriteString("- " + personText(a.Person) + ": " + answer + "\n")
	}
	return b.String()
}
