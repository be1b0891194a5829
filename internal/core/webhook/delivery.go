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
// its account's journal. All attempts send the same bytes until the message is deleted: see
// RedactDeleted. The goroutine that works on a Delivery owns it.
type Delivery struct {
	Account   account.ID
	ID        int64 // counts up per account
	Webhook   int64
	EventID   string
	Event     string
	Inbox     string
	Body      []byte
	MessageID int64     // the message that the event is about, if Body does not contain its id; else 0
	At        time.Time // when it entered the journal

	// The state so far.
	URL            string // of the last attempt, or of the first one before it is made
	State          DeliveryState
	AttemptCount   int
	AttemptsBefore int       // attempts made before the schedule began, or was restarted
	RestartedAt    time.Time // when the schedule was restarted; zero: it began with the event
	NextAt         time.Time
	LastAttempt    DeliveryAttempt // the last attempt; the zero DeliveryAttempt: none since the schedule began
	PastAttempts   []StoredAttempt // the stored attempts before LastAttempt
}

// DeliveryAttempt is one attempt and its result.
type DeliveryAttempt struct {
	At time.Time // when the attempt began
	ReceiverResponse
}

// DueEntry names a delivery that waits for an attempt.
type DueEntry struct {
	At      time.Time
	Account account.ID
	ID      int64
	Webhook int64
}

// DueEntry returns the delivery's entry in the due index.
func (d *Delivery) DueEntry() DueEntry { return DueEntry{d.NextAt, d.Account, d.ID, d.Webhook} }

// ListedWebhook is a webhook as its owner sees it, with the result of its last attempt.
type ListedWebhook struct {
	account.Webhook
	LastAt     time.Time // zero: never attempted
	LastStatus int       // 0: no response
}

// EventID names an event for receivers. It is the same for every webhook, attempt and process,
// because an inbox never reuses an event number.
func EventID(e *inbox.PublicEvent) string {
	h := sha256.New()
	h.Write(e.Account[:])
	h.Write(append([]byte(e.Address), 0))
	h.Write(binary.BigEndian.AppendUint64(nil, e.SequenceNumber))
	return "evt_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:15]))
}

// IsSubscribed reports whether a webhook subscribes to the event.
func IsSubscribed(w *account.Webhook, e *inbox.PublicEvent) bool {
	return MatchesEvent(w.EventFilter, e.EventName) && (w.InboxFilter == "" || w.InboxFilter == e.Address)
}

// DeliveriesFor returns the deliveries of an account's events to its webhooks, ordered by event, then
// by webhook. Their ids count up from first. All deliveries of an event share its bytes.
func DeliveriesFor(id account.ID, first int64, webhooks []account.Webhook, events []inbox.PublicEvent, schedule Schedule, now time.Time) (out []Delivery) {
	for i := range events {
		e := &events[i]
		var body []byte
		var name string
		for w := range webhooks {
			if !IsSubscribed(&webhooks[w], e) {
				continue
			}
			if body == nil {
				body, name = Payload(*e), EventID(e)
			}
			next, _ := schedule.NextAttempt(0, now, now)
			out = append(out, Delivery{
				Account: id, ID: first + int64(len(out)), Webhook: webhooks[w].ID, EventID: name, Event: e.EventName, Inbox: e.Address,
				Body: body, MessageID: omittedMessageID(e), At: now, URL: webhooks[w].URL, State: StateRetrying, NextAt: next,
			})
		}
	}
	return out
}

// omittedMessageID returns the message id of an event whose body does not contain it.
func omittedMessageID(e *inbox.PublicEvent) int64 {
	if e.Encrypted {
		return e.MessageID
	}
	return 0
}

// RecordAttempt records an attempt. The first 2xx ends the schedule, and so does the last attempt.
func (d *Delivery) RecordAttempt(url string, c DeliveryAttempt, schedule Schedule) {
	d.archiveLast()
	d.URL, d.LastAttempt, d.NextAt, d.State = url, c, time.Time{}, StateDelivered
	d.AttemptCount++
	if IsSuccess(c.Status) {
		return
	}
	d.State = StateFailed
	began := d.RestartedAt
	if began.IsZero() {
		began = d.At
	}
	if next, more := schedule.NextAttempt(d.AttemptCount-d.AttemptsBefore, began, c.At.Add(c.Duration)); more {
		d.State, d.NextAt = StateRetrying, next
	}
}

// Reasons for ending a delivery without an attempt.
const (
	WebhookGone = "The webhook was deleted"
	InboxGone   = "The inbox was deleted"
)

// Cancel ends a delivery that is no longer needed.
func (d *Delivery) Cancel(why string) {
	d.State, d.NextAt = StateFailed, time.Time{}
	d.LastAttempt.Error = why
}

// RestartSchedule restarts the schedule, with the same id and bytes.
func (d *Delivery) RestartSchedule(now time.Time) {
	d.archiveLast()
	d.State, d.AttemptsBefore, d.RestartedAt, d.NextAt = StateRetrying, d.AttemptCount, now, now
}

// SampleEvent returns an invented event of the kind that a subscription selects, for a test delivery.
func SampleEvent(subscription, address string, now time.Time) inbox.PublicEvent {
	e := inbox.PublicEvent{EventName: subscription, Address: address, MessageID: 1, At: now, From: "sender@example.com", Subject: "Test event", OTP: "123456"}
	switch subscription {
	case AllEvents:
		e.EventName = MessageReceived
	case AllCalendar:
		return SampleEvent(CalendarCreated, address, now)
	case CalendarCreated, CalendarUpdated, CalendarCancelled, CalendarResponded:
		e.From, e.Subject, e.OTP, e.Meeting = "", "", "", sampleMeeting(address, now)
		switch subscription {
		case CalendarUpdated:
			e.Meeting.Sequence = 1
		case CalendarCancelled:
			e.Meeting.Sequence, e.Meeting.Status = 1, icalendar.StatusCancelled
		case CalendarResponded:
			e.Meeting.Source, e.Meeting.MyStatus = calendar.SourceOutbound, ""
			e.Meeting.Organizer.Email, e.Meeting.Attendees[0].Email = address, e.Meeting.Organizer.Email
			e.Meeting.Attendees[0].ParticipationStatus = icalendar.StatusAccepted
			e.Attendee = &e.Meeting.Attendees[0]
		}
	case MessageDelivered, MessageFailed, MessageBounced:
		e.From, e.Subject, e.OTP, e.To = "", "", "", []string{"recipient@example.com"}
		e.SendStatus = map[string]string{MessageDelivered: "sent", MessageFailed: "failed", MessageBounced: "sent"}[subscription]
		e.Recipients = []delivery.RecipientState{{Email: e.To[0], Status: delivery.StatusSent}}
		if subscription != MessageDelivered {
			e.SendError, e.Recipients[0].Status = "550 5.1.1 No such user", delivery.StatusFailed
		}
	}
	return e
}

// sampleMeeting returns a meeting tomorrow that lasts an hour and to which address is invited.
func sampleMeeting(address string, now time.Time) *calendar.Meeting {
	start := now.UTC().Truncate(time.Hour).Add(24 * time.Hour)
	return &calendar.Meeting{
		ID: 1, Source: calendar.SourceInbound, MyStatus: icalendar.NeedsAction, CreatedAt: now, UpdatedAt: now,
		Event: icalendar.Event{
			UID: "test-event@example.com", Title: "Test meeting", Start: start, End: start.Add(time.Hour), TimeZone: zone.UTC, Status: icalendar.StatusConfirmed,
			Organizer: &icalendar.Person{Email: "organizer@example.com", Name: "Organizer"},
			Attendees: []icalendar.Attendee{{Person: icalendar.Person{Email: address}, Role: icalendar.RoleRequired, ParticipationStatus: icalendar.NeedsAction}},
		},
	}
}

// DeliveryChange is what a commit does to one delivery.
type DeliveryChange struct {
	Delivery  *Delivery // as written by this commit, with its due entry; nil: only the due entry moves
	ID        int64
	Webhook   int64
	DueBefore time.Time // current time in the due index; zero: it has no entry
	To        time.Time // new time in the due index if Delivery is nil; zero: remove the entry
	RowOnly   bool      // the due index stays as it is
	IsAttempt bool      // Delivery.LastAttempt is a new attempt, and the last one of its webhook
}

// PutChange returns the DeliveryChange that writes d.
func (d *Delivery) PutChange(from time.Time, tried bool) DeliveryChange {
	return DeliveryChange{Delivery: d, ID: d.ID, Webhook: d.Webhook, DueBefore: from, IsAttempt: tried}
}

// MoveTo returns the DeliveryChange that moves a due entry. The zero time removes the entry.
func (d DueEntry) MoveTo(to time.Time) DeliveryChange {
	return DeliveryChange{ID: d.ID, Webhook: d.Webhook, DueBefore: d.At, To: to}
}
