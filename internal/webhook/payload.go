package webhook

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"inboxd/internal/delivery"
	"inboxd/internal/inbox"
	"inboxd/internal/message"
)

// Payload returns the body of an event: one line of JSON, the same bytes for the same facts
// (specification, Events). Text that is not UTF-8 is repaired. A name without a shape here,
// written by a newer program, gives event, inbox and at.
func Payload(e inbox.Public) []byte { return Append(make([]byte, 0, 256), &e) }

// Append appends the body of an event to dst.
func Append(dst []byte, e *inbox.Public) []byte {
	o := object{append(dst, '{')}
	o.text("event", e.Name)
	o.text("inbox", e.Address)
	switch e.Name {
	case MessageReceived:
		o.number("message_id", e.MessageID)
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
		if e.Name != MessageBounced { // to says of whom that is
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

// AppendMeeting appends a meeting as its reader gets it, null for none.
func AppendMeeting(dst []byte, m *inbox.Meeting) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	o := object{append(dst, '{')}
	o.number("id", m.ID)
	o.text("uid", m.UID)
	o.text("title", m.Title)
	o.moment("start", m.Start, m.AllDay)
	o.moment("end", m.End, m.AllDay)
	o.flag("all_day", m.AllDay)
	o.text("timezone", m.Timezone)
	o.text("location", m.Location)
	o.text("description", m.Description)
	o.object("organizer", func() { o.person(m.Organizer) })
	o.name("attendees")
	o.b = append(o.b, '[')
	for i := range m.Attendees {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, '{')
		o.person(m.Attendees[i].Mailbox)
		o.text("role", m.Attendees[i].Role)
		o.text("status", m.Attendees[i].Status)
		o.b = append(o.b, '}')
	}
	o.b = append(o.b, ']')
	o.text("status", m.Status)
	o.text("source", m.Source)
	o.number("sequence", int64(m.Sequence))
	o.flag("recurring", m.Recurring)
	o.textOrNull("my_status", m.MyStatus)
	o.time("created_at", m.CreatedAt)
	o.time("updated_at", m.UpdatedAt)
	return append(o.b, '}')
}

// object is a JSON object that is being written, by one goroutine.
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

// quote appends s quoted; bytes that are not UTF-8 become U+FFFD.
func (o *object) quote(s string) { o.b, _ = jsontext.AppendQuote(o.b, s) }

func (o *object) text(name, s string) {
	o.name(name)
	o.quote(s)
}

// textOrNull writes null for no text.
func (o *object) textOrNull(name, s string) {
	o.textUnless(s == "", name, s)
}

// textUnless writes null for text that is not to be told.
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
	o.name(name)
	o.b = append(o.b, '[')
	for i, s := range all {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.quote(s)
	}
	o.b = append(o.b, ']')
}

func (o *object) number(name string, n int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *object) flag(name string, yes bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, yes)
}

// object writes a member whose own members fill writes.
func (o *object) object(name string, fill func()) {
	o.name(name)
	o.b = append(o.b, '{')
	fill()
	o.b = append(o.b, '}')
}

func (o *object) person(m message.Mailbox) {
	o.text("email", m.Email)
	o.textOrNull("name", m.Name)
}

func (o *object) recipients(all []delivery.Recipient, gone bool) {
	o.name("recipients")
	o.b = append(o.b, '[')
	for i, r := range all {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = append(o.b, '{')
		o.textUnless(gone, "email", r.Email)
		o.text("status", r.Status.String())
		o.b = append(o.b, '}')
	}
	o.b = append(o.b, ']')
}

func (o *object) attendee(a *inbox.Attendee) {
	o.person(a.Mailbox)
	o.text("status", a.Status)
}

// moment is a time, or its date alone (specification, Calendar).
func (o *object) moment(name string, t time.Time, dateOnly bool) {
	if !dateOnly {
		o.time(name, t)
		return
	}
	o.text(name, t.Format(time.DateOnly))
}

// time is ISO 8601 in UTC with milliseconds, ending in Z.
func (o *object) time(name string, t time.Time) {
	o.name(name)
	o.b = append(o.b, '"')
	o.b = t.UTC().AppendFormat(o.b, "2006-01-02T15:04:05.000Z")
	o.b = append(o.b, '"')
}
