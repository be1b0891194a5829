package webhook

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
)

// Limits of the stored deliveries of an account that are finished (specification, Webhooks).
const (
	RecordsKept = 1000
	RecordAge   = 7 * 24 * time.Hour
)

// Delivery is one event on its way to one webhook. Body and EventID are fixed when the event enters
// its account's journal. All attempts send the same bytes until the message is deleted: see Forget.
// The goroutine that works on a Delivery owns it.
type Delivery struct {
	Account account.ID
	ID      int64 // counts up per account
	Webhook int64
	EventID string
	Event   string
	Inbox   string
	Body    []byte
	Message int64     // the message that the event is about, if Body does not contain its id; else 0
	At      time.Time // when it entered the journal

	// The state so far.
	URL    string // of the last attempt, or of the first one before it is made
	State  State
	Calls  int
	Base   int       // attempts made before the schedule began, or was restarted
	Began  time.Time // when the schedule was restarted; zero: it began with the event
	NextAt time.Time
	Last   Call  // the last attempt; the zero Call: none since the schedule began
	Past   []Try // the stored attempts before Last
}

// Call is one attempt and its result.
type Call struct {
	At time.Time // when the attempt began
	Answer
}

// Due names a delivery that waits for an attempt.
type Due struct {
	At      time.Time
	Account account.ID
	ID      int64
	Webhook int64
}

// Due returns the delivery's entry in the due index.
func (d *Delivery) Due() Due { return Due{d.NextAt, d.Account, d.ID, d.Webhook} }

// Listed is a webhook as its owner sees it, with the result of its last attempt.
type Listed struct {
	account.Webhook
	LastAt     time.Time // zero: never attempted
	LastStatus int       // 0: no response
}

// EventID names an event for receivers. It is the same for every webhook, attempt and process,
// because an inbox never reuses an event number.
func EventID(e *inbox.Public) string {
	h := sha256.New()
	h.Write(e.Account[:])
	h.Write(append([]byte(e.Address), 0))
	h.Write(binary.BigEndian.AppendUint64(nil, e.Number))
	return "evt_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:15]))
}

// Wants reports whether a webhook subscribes to the event.
func Wants(w *account.Webhook, e *inbox.Public) bool {
	return Matches(w.Event, e.Name) && (w.Inbox == "" || w.Inbox == e.Address)
}

// Deliveries returns the deliveries of an account's events to its webhooks, ordered by event, then
// by webhook. Their ids count up from first. All deliveries of an event share its bytes.
func Deliveries(id account.ID, first int64, webhooks []account.Webhook, events []inbox.Public, schedule Schedule, now time.Time) (out []Delivery) {
	for i := range events {
		e := &events[i]
		var body []byte
		var name string
		for w := range webhooks {
			if !Wants(&webhooks[w], e) {
				continue
			}
			if body == nil {
				body, name = Payload(*e), EventID(e)
			}
			next, _ := schedule.Next(0, now, now)
			out = append(out, Delivery{
				Account: id, ID: first + int64(len(out)), Webhook: webhooks[w].ID, EventID: name, Event: e.Name, Inbox: e.Address,
				Body: body, Message: untold(e), At: now, URL: webhooks[w].URL, State: Retrying, NextAt: next,
			})
		}
	}
	return out
}

// untold returns the message id of an event whose body does not contain it.
func untold(e *inbox.Public) int64 {
	if e.Encrypted {
		return e.MessageID
	}
	return 0
}

// Tried records an attempt. The first 2xx ends the schedule, and so does the last attempt.
func (d *Delivery) Tried(url string, c Call, schedule Schedule) {
	d.pass()
	d.URL, d.Last, d.NextAt, d.State = url, c, time.Time{}, Delivered
	d.Calls++
	if Succeeded(c.Status) {
		return
	}
	d.State = Failed
	began := d.Began
	if began.IsZero() {
		began = d.At
	}
	if next, more := schedule.Next(d.Calls-d.Base, began, c.At.Add(c.Duration)); more {
		d.State, d.NextAt = Retrying, next
	}
}

// Reasons for ending a delivery without an attempt.
const (
	WebhookGone = "The webhook was deleted"
	InboxGone   = "The inbox was deleted"
)

// Cancel ends a delivery that is no longer needed.
func (d *Delivery) Cancel(why string) {
	d.State, d.NextAt = Failed, time.Time{}
	d.Last.Error = why
}

// Again restarts the schedule, with the same id and bytes.
func (d *Delivery) Again(now time.Time) {
	d.pass()
	d.State, d.Base, d.Began, d.NextAt = Retrying, d.Calls, now, now
}

// Sample returns an invented event of the kind that a subscription selects, for a test delivery.
func Sample(subscription, address string, now time.Time) inbox.Public {
	e := inbox.Public{Name: subscription, Address: address, MessageID: 1, At: now, From: "sender@example.com", Subject: "Test event", OTP: "123456"}
	switch subscription {
	case Everything:
		e.Name = MessageReceived
	case AllCalendar:
		return Sample(CalendarCreated, address, now)
	case CalendarCreated, CalendarUpdated, CalendarCancelled, CalendarResponded:
		e.From, e.Subject, e.OTP, e.Meeting = "", "", "", sampleMeeting(address, now)
		switch subscription {
		case CalendarUpdated:
			e.Meeting.Sequence = 1
		case CalendarCancelled:
			e.Meeting.Sequence, e.Meeting.Status = 1, icalendar.Cancelled
		case CalendarResponded:
			e.Meeting.Source, e.Meeting.MyStatus = calendar.Outbound, ""
			e.Meeting.Organizer.Email, e.Meeting.Attendees[0].Email = address, e.Meeting.Organizer.Email
			e.Meeting.Attendees[0].Status = icalendar.Accepted
			e.Attendee = &e.Meeting.Attendees[0]
		}
	case MessageDelivered, MessageFailed, MessageBounced:
		e.From, e.Subject, e.OTP, e.To = "", "", "", []string{"recipient@example.com"}
		e.SendStatus = map[string]string{MessageDelivered: "sent", MessageFailed: "failed", MessageBounced: "sent"}[subscription]
		e.Recipients = []delivery.Recipient{{Email: e.To[0], Status: delivery.Sent}}
		if subscription != MessageDelivered {
			e.SendError, e.Recipients[0].Status = "550 5.1.1 No such user", delivery.Failed
		}
	}
	return e
}

// sampleMeeting returns a meeting tomorrow that lasts an hour and to which address is invited.
func sampleMeeting(address string, now time.Time) *calendar.Meeting {
	start := now.UTC().Truncate(time.Hour).Add(24 * time.Hour)
	return &calendar.Meeting{
		ID: 1, Source: calendar.Inbound, MyStatus: icalendar.NeedsAction, CreatedAt: now, UpdatedAt: now,
		Event: icalendar.Event{
			UID: "test-event@example.com", Title: "Test meeting", Start: start, End: start.Add(time.Hour), Zone: zone.UTC, Status: icalendar.Confirmed,
			Organizer: &icalendar.Person{Email: "organizer@example.com", Name: "Organizer"},
			Attendees: []icalendar.Attendee{{Person: icalendar.Person{Email: address}, Role: icalendar.Required, Status: icalendar.NeedsAction}},
		},
	}
}

// Change is what a commit does to one delivery.
type Change struct {
	Delivery *Delivery // as written by this commit, with its due entry; nil: only the due entry moves
	ID       int64
	Webhook  int64
	From     time.Time // current time in the due index; zero: it has no entry
	To       time.Time // new time in the due index if Delivery is nil; zero: remove the entry
	RowOnly  bool      // the due index stays as it is
	Tried    bool      // Delivery.Last is a new attempt, and the last one of its webhook
}

// Put returns the Change that writes d.
func (d *Delivery) Put(from time.Time, tried bool) Change {
	return Change{Delivery: d, ID: d.ID, Webhook: d.Webhook, From: from, Tried: tried}
}

// Move returns the Change that moves a due entry. The zero time removes the entry.
func (d Due) Move(to time.Time) Change {
	return Change{ID: d.ID, Webhook: d.Webhook, From: d.At, To: to}
}
