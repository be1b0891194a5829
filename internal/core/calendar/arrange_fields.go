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

// complete reports a missing field of a new meeting.
func (f *Fields) complete() error {
	switch {
	case f.Title == nil:
		return fault.Field("title", "is required")
	case f.Start == nil:
		return fault.Field("start", "is required")
	case f.Attendees == nil:
		return fault.Field("attendees", "is required")
	}
	return nil
}

// reading is a client's description of a meeting, checked as far as possible without the stored
// one.
type reading struct {
	*Fields
	written
	guests []Attendee // nil: not given
}

func (a *arranger) read(f *Fields, message string) (r reading, err error) {
	r.Fields = f
	if err := f.checkTexts(message); err != nil {
		return r, err
	}
	if r.written, err = f.times(); err != nil || f.Attendees == nil {
		return r, err
	}
	r.guests, err = a.guests(*f.Attendees)
	return r, err
}

func (f *Fields) checkTexts(message string) error {
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
		return fault.Field("title", "is empty")
	}
	return nil
}

// guests parses the invited guests: each once, in whatever spelling, and never the inbox itself.
func (a *arranger) guests(list []Guest) (guests []Attendee, err error) {
	if len(list) == 0 {
		return nil, fault.Field("attendees", "must have at least one entry")
	}
	named := map[string]bool{}
	for i, g := range list {
		field := fmt.Sprintf("attendees[%d].", i)
		email, err := address.Recipient(g.Email)
		if err != nil {
			return nil, fault.Field(field+"email", "contains an e-mail address %v", err)
		}
		if err := fault.CheckText(field+"name", g.Name, maxName, true); err != nil {
			return nil, err
		}
		if one := folded(email); !a.me.is(email) && !named[one] {
			named[one] = true
			guests = append(guests, guestOf(email, g))
		}
	}
	if guests == nil {
		return nil, fault.Field("attendees", "must name at least one guest other than this inbox")
	}
	return guests, nil
}

func guestOf(email string, g Guest) Attendee {
	a := Attendee{Person: icalendar.Person{Email: email, Name: icalendar.Line(g.Name)}, Role: icalendar.Required, Status: icalendar.NeedsAction, Kind: "INDIVIDUAL", Asked: true}
	if g.Optional {
		a.Role = icalendar.Optional
	}
	return a
}

// apply sets the given fields of the event, except the guests. Texts are stored in the form in
// which they are read back.
func (r *reading) apply(e *icalendar.Event) error {
	for _, t := range []struct{ to, from *string }{{&e.Title, r.Title}, {&e.Location, r.Location}, {&e.Description, r.Description}} {
		if t.from != nil {
			*t.to = icalendar.Text(*t.from)
		}
	}
	return r.setTimes(e, r.written)
}

// guestChange is the change of a list of guests.
type guestChange struct {
	stay                    []Attendee // all that are invited now
	added, altered, removed []Attendee
}

func (c *guestChange) none() bool { return len(c.added)+len(c.altered)+len(c.removed) == 0 }

// changeOf compares two lists of guests. A guest that stays keeps the answer, and the name unless a
// new one is given.
func changeOf(old, given []Attendee) (c guestChange) {
	at := map[string]int{}
	for i := range old {
		at[folded(old[i].Email)] = i
	}
	stays := make([]bool, len(old))
	for _, g := range given {
		i, known := at[folded(g.Email)]
		if !known {
			c.stay, c.added = append(c.stay, g), append(c.added, g)
			continue
		}
		stays[i] = true
		was := old[i]
		if g.Name == "" {
			g.Name = was.Name
		}
		g.Status, g.Email = was.Status, was.Email
		c.stay = append(c.stay, g)
		if g != was {
			c.altered = append(c.altered, g)
		}
	}
	for i := range old {
		if !stays[i] {
			c.removed = append(c.removed, old[i])
		}
	}
	if c.none() {
		c.stay = slices.Clone(old)
	}
	return c
}

func emails(list []Attendee) (all []string) {
	for i := range list {
		all = append(all, list[i].Email)
	}
	return all
}
