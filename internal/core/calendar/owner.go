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
func OwnersCopy(m *Meeting, me Me, owner string, now time.Time) MeetingMessage {
	organizer, to := me.AsPerson(), icalendar.Person{Email: owner}
	e := m.Event
	e.UID, e.Sequence, e.StampedAt, e.Organizer = ownersUID(m, me), m.OwnerCopy.ChangeCount, now.UTC().Truncate(time.Second), &organizer
	e.Attendees = []Attendee{{Person: to, Role: icalendar.RoleRequired, ParticipationStatus: icalendar.StatusAccepted, UserType: "INDIVIDUAL"}}
	e.Description = strings.TrimSpace(guestsText(m.Attendees) + "\n" + m.Description)
	l := messageBuilder{meeting: m, subjectPrefix: "Invitation: ", openingLine: "This is a copy for you: " + personText(organizer) + " organizes this meeting."}
	method := "REQUEST"
	switch {
	case m.Status == icalendar.StatusCancelled:
		method, l.subjectPrefix, l.openingLine = "CANCEL", "Cancelled: ", "This is a copy for you: "+personText(organizer)+" cancelled this meeting."
	case m.OwnerCopy.LastSentChange > 0:
		l.subjectPrefix = "Updated invitation: "
	}
	copied := l.buildMessage(method, []icalendar.Person{to}, e, "", "")
	copied.Text = l.renderText(&m.Event, "")
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
		answer := a.ParticipationStatus
		if answer == icalendar.NeedsAction {
			answer = "no answer yet"
		}
		b.WriteString("- " + personText(a.Person) + ": " + answer + "\n")
	}
	return b.String()
}
