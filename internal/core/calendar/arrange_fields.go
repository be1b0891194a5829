package calendar

import (
	"fmt"
	"slices"
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/mail/icalendar"
)

// Limits of text, in code points (specification, Calendar).
const (
	maxTitle       = 300
	maxLocation    = 500
	maxDescription = 20_000
	maxMessage     = 10_000
	maxName        = 200
)

// checkComplete reports a missing field of a new meeting.
func (f *MeetingFields) checkComplete() error {
	switch {
	case f.Title == nil:
		return fault.InvalidField("title", "is required")
	case f.Start == nil:
		return fault.InvalidField("start", "is required")
	case f.Attendees == nil:
		return fault.InvalidField("attendees", "is required")
	}
	return nil
}

// parsedFields is a client's description of a meeting, checked as far as possible without the stored
// one.
type parsedFields struct {
	*MeetingFields
	clientTimes
	guests []Attendee // nil: not given
}

func (a *changePlanner) parseFields(f *MeetingFields, message string) (r parsedFields, err error) {
	r.MeetingFields = f
	if err := f.checkTexts(message); err != nil {
		return r, err
	}
	if r.clientTimes, err = f.parseTimes(); err != nil || f.Attendees == nil {
		return r, err
	}
	r.guests, err = a.parseGuests(*f.Attendees)
	return r, err
}

func (f *MeetingFields) checkTexts(message string) error {
	for _, t := range []struct {
		name  string
		text  *string
		limit int
		line  bool
	}{
		{"title", f.Title, maxTitle, true},
		{"location", f.Location, maxLocation, true},
		{"description", f.Description, maxDescription, false},
		{"message", &message, maxMessage, false},
	} {
		if t.text == nil {
			continue
		}
		if err := fault.CheckText(t.name, *t.text, t.limit, t.line); err != nil {
			return err
		}
	}
	if f.Title != nil && strings.TrimSpace(*f.Title) == "" {
		return fault.InvalidField("title", "is empty")
	}
	return nil
}

// parseGuests parses the invited guests: each once, in whatever spelling, and never the inbox itself.
func (a *changePlanner) parseGuests(list []Guest) (guests []Attendee, err error) {
	if len(list) == 0 {
		return nil, fault.InvalidField("attendees", "must have at least one entry")
	}
	named := map[string]bool{}
	for i, g := range list {
		field := fmt.Sprintf("attendees[%d].", i)
		email, err := address.CanonicalRecipient(g.Email)
		if err != nil {
			return nil, fault.InvalidField(field+"email", "contains an e-mail address %v", err)
		}
		if err := fault.CheckText(field+"name", g.Name, maxName, true); err != nil {
			return nil, err
		}
		if one := foldAddress(email); !a.me.is(email) && !named[one] {
			named[one] = true
			guests = append(guests, guestOf(email, g))
		}
	}
	if guests == nil {
		return nil, fault.InvalidField("attendees", "must name at least one guest other than this inbox")
	}
	return guests, nil
}

func guestOf(email string, g Guest) Attendee {
	a := Attendee{Person: icalendar.Person{Email: email, Name: icalendar.SingleLine(g.Name)}, Role: icalendar.RoleRequired, ParticipationStatus: icalendar.NeedsAction, UserType: "INDIVIDUAL", ResponseRequested: true}
	if g.Optional {
		a.Role = icalendar.RoleOptional
	}
	return a
}

// applyTo sets the given fields of the event, except the guests. Texts are stored in the form in
// which they are read back.
func (r *parsedFields) applyTo(e *icalendar.Event) error {
	for _, t := range []struct{ to, from *string }{{&e.Title, r.Title}, {&e.Location, r.Location}, {&e.Description, r.Description}} {
		if t.from != nil {
			*t.to = icalendar.NormalizeText(*t.from)
		}
	}
	return r.setTimes(e, r.clientTimes)
}

// guestChange is the change of a list of guests.
type guestChange struct {
	allInvited              []Attendee // all that are invited now
	added, altered, removed []Attendee
}

func (c *guestChange) isEmpty() bool { return len(c.added)+len(c.altered)+len(c.removed) == 0 }

// changeOf compares two lists of guests. A guest that stays keeps the answer, and the name unless a
// new one is given.
func changeOf(old, given []Attendee) (c guestChange) {
	at := map[string]int{}
	for i := range old {
		at[foldAddress(old[i].Email)] = i
	}
	stays := make([]bool, len(old))
	for _, g := range given {
		i, known := at[foldAddress(g.Email)]
		if !known {
			c.allInvited, c.added = append(c.allInvited, g), append(c.added, g)
			continue
		}
		stays[i] = true
		was := old[i]
		if g.Name == "" {
			g.Name = was.Name
		}
		g.ParticipationStatus, g.Email = was.ParticipationStatus, was.Email
		c.allInvited = append(c.allInvited, g)
		if g != was {
			c.altered = append(c.altered, g)
		}
	}
	for i := range old {
		if !stays[i] {
			c.removed = append(c.removed, old[i])
		}
	}
	if c.isEmpty() {
		c.allInvited = slices.Clone(old)
	}
	return c
}

func emailsOf(list []Attendee) (all []string) {
	for i := range list {
		all = append(all, list[i].Email)
	}
	return all
}
