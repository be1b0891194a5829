package inbox_test

import (
	"reflect"

	"time"

	"pgregory.net/rapid"

	"inboxd/internal/calendar"

	"inboxd/internal/icalendar"
	"inboxd/internal/icalendar/zone"
	"inboxd/internal/inbox"
)

const boss = "boss@far.test"

// invitation is what a mail of boss's says of a meeting.
func invitation(method, uid string, sequence int, at time.Time) *calendar.Invitation {
	return &calendar.Invitation{
		From: boss, FromSigned: true, Mail: "m1@far.test",
		Calendar: icalendar.Calendar{Method: method, Event: icalendar.Event{
			UID: uid, Sequence: sequence, Stamp: start.Add(time.Duration(sequence) * time.Minute), Title: "Plan", Start: at, End: at.Add(time.Hour), Zone: zone.UTC, Status: icalendar.Confirmed,
			Organizer: &icalendar.Person{Email: boss},
			Attendees: []calendar.Attendee{{Person: icalendar.Person{Email: "a@inbox.localhost"}, Role: icalendar.Required, Status: icalendar.NeedsAction}},
		}},
	}
}

// reply is how a guest of a meeting of this inbox answers.
func reply(m *calendar.Meeting, guest, status string, at time.Time) *calendar.Invitation {
	said := invitation("REPLY", m.UID, m.Sequence, m.Start)
	said.From, said.Event.Stamp, said.Event.Organizer = guest, at, m.Organizer
	said.Event.Attendees = []calendar.Attendee{{Person: icalendar.Person{Email: guest}, Status: status}}
	return said
}

func inviting(said *calendar.Invitation) inbox.Receive {
	c := mail(said.Method)
	c.Invitation = said
	return c
}

// arrange weighs an order against the calendar of s, as the road of orders does.
func arrange(s *inbox.State, o calendar.Order, now time.Time) (inbox.Arrange, error) {
	plan, err := calendar.Arrange(s.Calendar, o, calendar.Me{Address: "a@inbox.localhost"}, now, [16]byte{byte(s.LastID), byte(s.LastID >> 8), 1})
	c := inbox.Arrange{Plan: plan}
	for _, m := range plan.Mails {
		var to []string
		for _, p := range m.To {
			to = append(to, p.Email)
		}
		c.Submits = append(c.Submits, submit(false, to...))
	}
	return c, err
}

func schedule(at time.Time, guests ...string) calendar.Schedule {
	o := calendar.Schedule{Fields: calendar.Fields{Title: new("Plan"), Start: new(at.Format(time.RFC3339)), Attendees: &[]calendar.Guest{}}}
	for _, g := range guests {
		*o.Attendees = append(*o.Attendees, calendar.Guest{Email: g})
	}
	return o
}

// drawMeetings makes mails that speak of meetings and orders, sensible ones and stale ones alike.
func drawMeetings(t *rapid.T, s *inbox.State, now time.Time) []inbox.Command {
	at := start.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "meets")) * time.Hour)
	uid := rapid.SampledFrom([]string{"u1", "u2"}).Draw(t, "uid")
	sequence := rapid.IntRange(0, 4).Draw(t, "sequence")
	recurring := invitation("REQUEST", "u3", sequence, at)
	recurring.Event.Recurrence = &icalendar.Recurrence{Rule: rapid.SampledFrom([]string{"FREQ=WEEKLY", "FREQ=WEEKLY;COUNT=3"}).Draw(t, "rule")}
	cmds := []inbox.Command{inviting(invitation("REQUEST", uid, sequence, at)), inviting(invitation("CANCEL", uid, sequence, at)), inviting(recurring)}
	id := rapid.Int64Range(1, lastMeeting(s)+1).Draw(t, "meeting")
	if m := s.Calendar.Meeting(id); m != nil && m.Source == calendar.Outbound {
		cmds = append(cmds, inviting(reply(m, "eve@far.test", icalendar.Accepted, now)))
	}
	for _, o := range []calendar.Order{
		schedule(at, "eve@far.test"), calendar.Reschedule{ID: id, Fields: calendar.Fields{Start: new(at.Format(time.RFC3339))}},
		calendar.Reschedule{ID: id, Fields: calendar.Fields{Attendees: &[]calendar.Guest{{Email: "carl@far.test"}}}}, calendar.Cancel{ID: id},
		calendar.Respond{ID: id, Response: icalendar.Accepted},
	} {
		if c, err := arrange(s, o, now); err == nil {
			c.Plan.Meeting.Version -= int64(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "outdated"))
			cmds = append(cmds, c)
		}
	}
	return cmds
}

func lastMeeting(s *inbox.State) int64 {
	if s.Calendar == nil {
		return 0
	}
	return s.Calendar.LastID
}

func compareCalendars(t *rapid.T, memory, rebuilt *calendar.Book) {
	if memory == nil || rebuilt == nil {
		if memory != rebuilt {
			t.Fatalf("a calendar is in memory %t, in rows %t", memory != nil, rebuilt != nil)
		}
		return
	}
	if len(memory.Meetings) != len(rebuilt.Meetings) {
		t.Fatalf("%d meetings in memory, %d from rows", len(memory.Meetings), len(rebuilt.Meetings))
	}
	bytes := int64(0)
	for i, m := range memory.Meetings {
		if !reflect.DeepEqual(m, rebuilt.Meetings[i]) {
			t.Fatalf("meeting in memory %+v\nfrom rows %+v", *m, *rebuilt.Meetings[i])
		}
		bytes += m.Bytes
	}
	a, b := *memory, *rebuilt
	a.Meetings, b.Meetings = nil, nil
	if !reflect.DeepEqual(a, b) || a.Bytes != bytes {
		t.Fatalf("calendar in memory %+v\nfrom rows %+v\nits meetings have %d bytes", a, b, bytes)
	}
}
