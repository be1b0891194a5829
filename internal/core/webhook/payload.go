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
func Payload(e inbox.PublicEvent) []byte { return AppendPayload(make([]byte, 0, 256), &e) }

// AppendPayload appends the body of an event to dst.
func AppendPayload(dst []byte, e *inbox.PublicEvent) []byte {
	o := jsonObject{append(dst, '{')}
	o.writeText("event", e.EventName)
	o.writeText("inbox", e.Address)
	switch e.EventName {
	case MessageReceived:
		if !e.Encrypted {
			o.writeNumber("message_id", e.MessageID)
		}
		o.textUnless(e.MessageDeleted, "from", e.From)
		o.writeTime("received_at", e.At)
		if e.Encrypted {
			o.writeFlag("encrypted", true)
			break
		}
		o.textUnless(e.MessageDeleted, "subject", e.Subject)
		o.textOrNull("otp", e.OTP)
	case MessageDelivered, MessageFailed, MessageBounced:
		o.writeNumber("message_id", e.MessageID)
		if e.MessageDeleted {
			o.writeNull("to")
		} else {
			o.writeTexts("to", e.To)
		}
		o.writeText("send_status", e.SendStatus)
		o.textOrNull("send_error", e.SendError)
		if e.EventName != MessageBounced { // "to" already names the recipient that bounced
			o.writeRecipients(e.Recipients, e.MessageDeleted)
		}
		o.writeTime("at", e.At)
	case CalendarCreated, CalendarUpdated, CalendarCancelled, CalendarResponded:
		o.writeNumber("message_id", e.MessageID)
		o.writeTime("received_at", e.At)
		o.beginMember("calendar_event")
		o.b = AppendMeeting(o.b, e.Meeting)
		switch {
		case e.Attendee != nil:
			o.writeObject("attendee", func() { o.attendee(e.Attendee) })
		case e.MessageDeleted && e.EventName == CalendarResponded:
			o.writeNull("attendee")
		}
	default:
		o.writeTime("at", e.At)
	}
	if e.MessageDeleted {
		o.writeFlag("gone", true)
	}
	return append(o.b, '}')
}

// AppendMeeting appends a meeting as API clients see it, null for none.
func AppendMeeting(dst []byte, m *calendar.Meeting) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	o := jsonObject{append(dst, '{')}
	o.writeMeeting(m)
	o.idOrNull("last_message_id", m.LastMessage)
	o.timeOrNull("responded_at", m.RespondedAt)
	return append(o.b, '}')
}

// writeMeeting writes the members that a stored meeting shares with what a message says about one.
func (o *jsonObject) writeMeeting(m *calendar.Meeting) {
	o.idOrNull("id", m.ID)
	o.writeText("uid", m.UID)
	o.writeText("title", m.Title)
	o.writeMoment("start", m.Start, m.AllDay)
	o.writeMoment("end", m.End, m.AllDay)
	o.writeFlag("all_day", m.AllDay)
	o.textOrNull("timezone", m.TimeZone.Name)
	o.writeFlag("timezone_unknown", m.ZoneUnknown())
	o.writeText("location", m.Location)
	o.writeText("description", m.Description)
	if m.Organizer == nil {
		o.writeNull("organizer")
	} else {
		o.writeObject("organizer", func() { o.writePerson(*m.Organizer) })
	}
	writeList(o, "attendees", m.Attendees, func(a *calendar.Attendee) {
		o.b = append(o.b, '{')
		o.writePerson(a.Person)
		o.writeText("role", a.Role)
		o.writeText("status", a.ParticipationStatus)
		o.b = append(o.b, '}')
	})
	o.writeFlag("organizer_verified", m.OrganizerVerified())
	o.writeText("status", m.Status)
	o.writeText("transparency", transparency(m))
	o.textOrNull("join_url", m.JoinURL)
	o.writeText("source", m.Source)
	o.writeNumber("sequence", int64(m.Sequence))
	o.writeFlag("recurring", m.IsRecurring())
	o.textOrNull("my_status", m.MyStatus)
	o.timeOrNull("created_at", m.CreatedAt)
	o.timeOrNull("updated_at", m.UpdatedAt)
	o.writeRecurrence(m)
}

func transparency(m *calendar.Meeting) string {
	if m.IsTransparent {
		return "transparent"
	}
	return "opaque"
}

// AppendAllSaid appends a list of what a message says about several meetings. It appends nothing if
// the message is about at most one.
func AppendAllSaid(dst []byte, first *calendar.MessageEvent, more []*calendar.MessageEvent) []byte {
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
func AppendSaid(dst []byte, s *calendar.MessageEvent) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	o := jsonObject{append(dst, '{')}
	o.writeMeeting(&s.Meeting)
	o.writeText("action", string(s.Action))
	o.idOrNull("event_id", s.Meeting.ID)
	o.textOrNull("method", s.Method)
	o.textOrNull("reason", s.RefusalReason)
	return append(o.b, '}')
}

func (o *jsonObject) writeRecurrence(m *calendar.Meeting) {
	r := m.Recurrence
	if r == nil {
		o.writeNull("recurrence")
		return
	}
	when := func(t *time.Time) { o.b = appendMoment(o.b, *t, m.AllDay) }
	o.writeObject("recurrence", func() {
		o.textOrNull("rrule", r.Rule)
		writeList(o, "exdates", r.ExceptionDates, when)
		writeList(o, "rdates", r.AdditionalDates, when)
		writeList(o, "overrides", r.Overrides, func(v *icalendar.Override) {
			o.b = append(o.b, '{')
			o.writeMoment("recurrence_id", v.RecurrenceID, m.AllDay)
			o.writeMoment("start", v.Start, v.AllDay)
			o.writeMoment("end", v.End, v.AllDay)
			o.writeText("title", v.Title)
			o.writeText("location", v.Location)
			o.writeText("status", v.Status)
			o.b = append(o.b, '}')
		})
	})
}

// jsonObject is a JSON object under construction. One goroutine owns it.
type jsonObject struct{ b []byte }

// beginMember begins the next member.
func (o *jsonObject) beginMember(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

// appendQuoted appends s quoted. Bytes that are not UTF-8 become U+FFFD.
func (o *jsonObject) appendQuoted(s string) {
	if needsNoEscape(s) {
		o.b = append(append(append(o.b, '"'), s...), '"')
		return
	}
	o.b, _ = jsontext.AppendQuote(o.b, s)
}

// needsNoEscape reports whether s needs no escaping in JSON, which is true of most text. The check
// takes a fifth of the time of quoting.
func needsNoEscape(s string) bool {
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

func (o *jsonObject) writeText(name, s string) {
	o.beginMember(name)
	o.appendQuoted(s)
}

// textOrNull writes null for empty text.
func (o *jsonObject) textOrNull(name, s string) {
	o.textUnless(s == "", name, s)
}

// textUnless writes null if none is set.
func (o *jsonObject) textUnless(none bool, name, s string) {
	if none {
		o.writeNull(name)
		return
	}
	o.writeText(name, s)
}

func (o *jsonObject) writeNull(name string) {
	o.beginMember(name)
	o.b = append(o.b, "null"...)
}

func (o *jsonObject) writeTexts(name string, all []string) {
	writeList(o, name, all, func(s *string) { o.appendQuoted(*s) })
}

// writeList writes a member that is a list. item writes each element.
func writeList[T any](o *jsonObject, name string, all []T, item func(*T)) {
	o.beginMember(name)
	o.b = append(o.b, '[')
	for i := range all {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		item(&all[i])
	}
	o.b = append(o.b, ']')
}

func (o *jsonObject) writeNumber(name string, n int64) {
	o.beginMember(name)
	o.b = strconv.AppendInt(o.b, n, 10)
}

// idOrNull writes null for the id 0.
func (o *jsonObject) idOrNull(name string, id int64) {
	if id == 0 {
		o.writeNull(name)
		return
	}
	o.writeNumber(name, id)
}

func (o *jsonObject) writeFlag(name string, yes bool) {
	o.beginMember(name)
	o.b = strconv.AppendBool(o.b, yes)
}

// jsonObject writes a member that is an object. fill writes its members.
func (o *jsonObject) writeObject(name string, fill func()) {
	o.beginMember(name)
	o.b = append(o.b, '{')
	fill()
	o.b = append(o.b, '}')
}

func (o *jsonObject) writePerson(p icalendar.Person) {
	o.writeText("email", p.Email)
	o.textOrNull("name", p.Name)
}

func (o *jsonObject) writeRecipients(all []delivery.RecipientState, gone bool) {
	writeList(o, "recipients", all, func(r *delivery.RecipientState) {
		o.b = append(o.b, '{')
		o.textUnless(gone, "email", r.Email)
		o.writeText("status", r.Status.String())
		o.b = append(o.b, '}')
	})
}

func (o *jsonObject) attendee(a *calendar.Attendee) {
	o.writePerson(a.Person)
	o.writeText("status", a.ParticipationStatus)
}

// writeMoment writes a time, or only its date (specification, Calendar).
func (o *jsonObject) writeMoment(name string, t time.Time, dateOnly bool) {
	o.beginMember(name)
	o.b = appendMoment(o.b, t, dateOnly)
}

func appendMoment(dst []byte, t time.Time, dateOnly bool) []byte {
	if !dateOnly {
		return appendTime(dst, t)
	}
	return append(t.AppendFormat(append(dst, '"'), time.DateOnly), '"')
}

// timeOrNull writes null for the zero time.
func (o *jsonObject) timeOrNull(name string, t time.Time) {
	if t.IsZero() {
		o.writeNull(name)
		return
	}
	o.writeTime(name, t)
}

func (o *jsonObject) writeTime(name string, t time.Time) {
	o.beginMember(name)
	o.b = appendTime(o.b, t)
}

// appendTime writes ISO 8601 in UTC with milliseconds, ending in Z.
func appendTime(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(append(dst, '"'), time.RFC3339) // AppendFormat has a fast path for this layout
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(dst[:len(dst)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z', '"')
}
