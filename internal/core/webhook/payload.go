package webhook

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
)

// Payload returns the body of an event: one line of JSON, the same bytes for the same facts
// (specification, Events). Text that is not UTF-8 is repaired. An unknown event name, written by a
// newer version of the program, gets only event, inbox and at.
func Payload(e inbox.Public) []byte { return Append(make([]byte, 0, 256), &e) }

// Append appends the body of an event to dst.
func Append(dst []byte, e *inbox.Public) []byte {
	o := object{append(dst, '{')}
	o.text("event", e.Name)
	o.text("inbox", e.Address)
	switch e.Name {
	case MessageReceived:
		if !e.Encrypted {
			o.number("message_id", e.MessageID)
		}
		o.textUnless(e.Gone, "from", e.From)
		o.time("received_at", e.At)
		if e.Encrypted {
			o.flag("encrypted", true)
			break
		}
		o.textUnless(e.Gone, "subject", e.Subject)
		o.textOrNull("otp", e.OTP)
	case MessageDelivered, MessageFailed, MessageBounced:
		o.number("message_id", e.MessageID)
		if e.Gone {
			o.null("to")
		} else {
			o.texts("to", e.To)
		}
		o.text("send_status", e.SendStatus)
		o.textOrNull("send_error", e.SendError)
		if e.Name != MessageBounced { // "to" already names the recipient that bounced
			o.recipients(e.Recipients, e.Gone)
		}
		o.time("at", e.At)
	case CalendarCreated, CalendarUpdated, CalendarCancelled, CalendarResponded:
		o.number("message_id", e.MessageID)
		o.time("received_at", e.At)
		o.name("calendar_event")
		o.b = AppendMeeting(o.b, e.Meeting)
		switch {
		case e.Attendee != nil:
			o.object("attendee", func() { o.attendee(e.Attendee) })
		case e.Gone && e.Name == CalendarResponded:
			o.null("attendee")
		}
	default:
		o.time("at", e.At)
	}
	if e.Gone {
		o.flag("gone", true)
	}
	return append(o.b, '}')
}

// AppendMeeting appends a meeting as API clients see it, null for none.
func AppendMeeting(dst []byte, m *calendar.Meeting) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	o := object{append(dst, '{')}
	o.meeting(m)
	o.idOrNull("last_message_id", m.LastMessage)
	o.timeOrNull("responded_at", m.RespondedAt)
	return append(o.b, '}')
}

// meeting writes the members that a stored meeting shares with what a message says about one.
func (o *object) meeting(m *calendar.Meeting) {
	o.idOrNull("id", m.ID)
	o.text("uid", m.UID)
	o.text("title", m.Title)
	o.moment("start", m.Start, m.AllDay)
	o.moment("end", m.End, m.AllDay)
	o.flag("all_day", m.AllDay)
	o.textOrNull("timezone", m.Zone.Name)
	o.flag("timezone_unknown", m.ZoneUnknown())
	o.text("location", m.Location)
	o.text("description", m.Description)
	if m.Organizer == nil {
		o.null("organizer")
	} else {
		o.object("organizer", func() { o.person(*m.Organizer) })
	}
	list(o, "attendees", m.Attendees, func(a *calendar.Attendee) {
		o.b = append(o.b, '{')
		o.person(a.Person)
		o.text("role", a.Role)
		o.text("status", a.Status)
		o.b = append(o.b, '}')
	})
	o.flag("organizer_verified", m.OrganizerVerified())
	o.text("status", m.Status)
	o.text("transparency", transparency(m))
	o.textOrNull("join_url", m.JoinURL)
	o.text("source", m.Source)
	o.number("sequence", int64(m.Sequence))
	o.flag("recurring", m.Recurring())
	o.textOrNull("my_status", m.MyStatus)
	o.timeOrNull("created_at", m.CreatedAt)
	o.timeOrNull("updated_at", m.UpdatedAt)
	o.recurrence(m)
}

func transparency(m *calendar.Meeting) string {
	if m.Transparent {
		return "transparent"
	}
	return "opaque"
}

// AppendAllSaid appends a list of what a message says about several meetings. It appends nothing if
// the message is about at most one.
func AppendAllSaid(dst []byte, first *calendar.Said, more []*calendar.Said) []byte {
	if len(more) == 0 {
		return dst
	}
	dst = AppendSaid(append(dst, '['), first)
	for _, s := range more {
		dst = AppendSaid(append(dst, ','), s)
	}
	return append(dst, ']')
}

// AppendSaid appends what a message says about a meeting, null for nothing. A meeting that is not
// stored has null for its id and its storage times.
func AppendSaid(dst []byte, s *calendar.Said) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	o := object{append(dst, '{')}
	o.meeting(&s.Meeting)
	o.text("action", string(s.Action))
	o.idOrNull("event_id", s.Meeting.ID)
	o.textOrNull("method", s.Method)
	o.textOrNull("reason", s.Reason)
	return append(o.b, '}')
}

func (o *object) recurrence(m *calendar.Meeting) {
	r := m.Recurrence
	if r == nil {
		o.null("recurrence")
		return
	}
	when := func(t *time.Time) { o.b = appendMoment(o.b, *t, m.AllDay) }
	o.object("recurrence", func() {
		o.textOrNull("rrule", r.Rule)
		list(o, "exdates", r.Except, when)
		list(o, "rdates", r.Also, when)
		list(o, "overrides", r.Overrides, func(v *icalendar.Override) {
			o.b = append(o.b, '{')
			o.moment("recurrence_id", v.RecurrenceID, m.AllDay)
			o.moment("start", v.Start, v.AllDay)
			o.moment("end", v.End, v.AllDay)
			o.text("title", v.Title)
			o.text("location", v.Location)
			o.text("status", v.Status)
			o.b = append(o.b, '}')
		})
	})
}

// object is a JSON object under construction. One goroutine owns it.
type object struct{ b []byte }

// name begins the next member.
func (o *object) name(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

// quote appends s quoted. Bytes that are not UTF-8 become U+FFFD.
func (o *object) quote(s string) {
	if plain(s) {
		o.b = append(append(append(o.b, '"'), s...), '"')
		return
	}
	o.b, _ = jsontext.AppendQuote(o.b, s)
}

// plain reports whether s needs no escaping in JSON, which is true of most text. The check takes a
// fifth of the time of quoting.
func plain(s string) bool {
	const each = 0x0101010101010101 // 1 in each of eight octets
	const high = each << 7
	for ; len(s) >= 8; s = s[8:] {
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		quote, slash := w^'"'*each, w^'\\'*each
		// The highest bit of an octet is set if it is not ASCII, is below a space, or is one of the
		// two.
		if (w|(w-' '*each)|(quote-each)|(slash-each))&high != 0 {
			return false
		}
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x80 || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func (o *object) text(name, s string) {
	o.name(name)
	o.quote(s)
}

// textOrNull writes null for empty text.
func (o *object) textOrNull(name, s string) {
	o.textUnless(s == "", name, s)
}

// textUnless writes null if none is set.
func (o *object) textUnless(none bool, name, s string) {
	if none {
		o.null(name)
		return
	}
	o.text(name, s)
}

func (o *object) null(name string) {
	o.name(name)
	o.b = append(o.b, "null"...)
}

func (o *object) texts(name string, all []string) {
	list(o, name, all, func(s *string) { o.quote(*s) })
}

// list writes a member that is a list. item writes each element.
func list[T any](o *object, name string, all []T, item func(*T)) {
	o.name(name)
	o.b = append(o.b, '[')
	for i := range all {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		item(&all[i])
	}
	o.b = append(o.b, ']')
}

func (o *object) number(name string, n int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, n, 10)
}

// idOrNull writes null for the id 0.
func (o *object) idOrNull(name string, id int64) {
	if id == 0 {
		o.null(name)
		return
	}
	o.number(name, id)
}

func (o *object) flag(name string, yes bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, yes)
}

// object writes a member that is an object. fill writes its members.
func (o *object) object(name string, fill func()) {
	o.name(name)
	o.b = append(o.b, '{')
	fill()
	o.b = append(o.b, '}')
}

func (o *object) person(p icalendar.Person) {
	o.text("email", p.Email)
	o.textOrNull("name", p.Name)
}

func (o *object) recipients(all []delivery.Recipient, gone bool) {
	list(o, "recipients", all, func(r *delivery.Recipient) {
		o.b = append(o.b, '{')
		o.textUnless(gone, "email", r.Email)
		o.text("status", r.Status.String())
		o.b = append(o.b, '}')
	})
}

func (o *object) attendee(a *calendar.Attendee) {
	o.person(a.Person)
	o.text("status", a.Status)
}

// moment writes a time, or only its date (specification, Calendar).
func (o *object) moment(name string, t time.Time, dateOnly bool) {
	o.name(name)
	o.b = appendMoment(o.b, t, dateOnly)
}

func appendMoment(dst []byte, t time.Time, dateOnly bool) []byte {
	if !dateOnly {
		return appendTime(dst, t)
	}
	return append(t.AppendFormat(append(dst, '"'), time.DateOnly), '"')
}

// timeOrNull writes null for the zero time.
func (o *object) timeOrNull(name string, t time.Time) {
	if t.IsZero() {
		o.null(name)
		return
	}
	o.time(name, t)
}

func (o *object) time(name string, t time.Time) {
	o.name(name)
	o.b = appendTime(o.b, t)
}

// appendTime writes ISO 8601 in UTC with milliseconds, ending in Z.
func appendTime(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(append(dst, '"'), time.RFC3339) // AppendFormat has a fast path for this layout
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(dst[:len(dst)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z', '"')
}
