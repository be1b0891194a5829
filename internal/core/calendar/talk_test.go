package calendar

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inboxd/internal/mail/icalendar"
)

// talker is an inbox that exchanges messages with another one. letters are those on their way to
// it.
type talker struct {
	Me
	book    *Book
	letters []*Invitation
}

// order applies a client's order, and sends the messages to the other inbox.
func (k *talker) order(t *rapid.T, o MeetingOrder, to *talker, now time.Time) {
	plan, err := PlanChange(k.book, o, k.Me, now, [16]byte{7})
	if err != nil {
		t.Fatalf("%T: %v", o, err)
	}
	if !plan.HasChanged {
		return
	}
	m := plan.Meeting
	if m.ID == 0 {
		m.ID = 1
	}
	m.Version++
	k.book = k.book.WithMeeting(&m, 0)
	for _, mail := range plan.OutgoingMessages {
		c, err := readOne(mail.Calendar)
		if err != nil {
			t.Fatalf("%s: %v\n%s", mail.Subject, err, mail.Calendar)
		}
		to.letters = append(to.letters, &Invitation{Calendar: *c, From: k.Address, FromSigned: true, IsLocal: true, MessageID: fmt.Sprint(now.Unix())})
	}
}

// receive merges one of the messages on their way, which may come a second time.
func (k *talker) receive(t *rapid.T, i int, again bool, now time.Time) {
	inv := k.letters[i]
	if !again {
		k.letters = append(k.letters[:i:i], k.letters[i+1:]...)
	}
	m := MergeMessage(k.book, inv, k.Address, now)
	switch m.RefusalReason {
	case "", RefusedStale:
	default:
		t.Fatalf("%s: %s", inv.Method, tellMerged(&m))
	}
	k.book = kept(k.book, m)
}

// TestTwoInboxesMeet lets an organizer and a guest act by messages that are written and parsed,
// arrive in any order, and some of them twice. After all have arrived, both know the same meeting,
// and the organizer knows the guest's answer.
func TestTwoInboxesMeet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		host := &talker{book: &Book{}, Me: Me{Address: "host@one.test", Name: "Host, \"the\" one"}}
		visitor := &talker{book: &Book{}, Me: Me{Address: "visitor@two.test"}}
		start := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
		title, first := "Talk; with, marks", start.Format(time.RFC3339)
		guests := []Guest{{Email: "Visitor+tag@two.test", Name: "V"}, {Email: "other@three.test"}}
		host.order(t, Schedule{MeetingFields: MeetingFields{Title: &title, Start: &first, Attendees: &guests}}, visitor, now)
		visitor.receive(t, 0, rapid.Bool().Draw(t, "the first twice"), now)
		for range rapid.IntRange(0, 15).Draw(t, "steps") {
			now = now.Add(time.Second)
			over := host.book.Meeting(1).Status == icalendar.StatusCancelled
			invited := visitor.book.Meeting(1)
			switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
			case step < 2 && !over: // times only move forward: moving back cannot be distinguished from no change
				start = start.Add(time.Hour)
				at := start.Format(time.RFC3339)
				host.order(t, Reschedule{ID: 1, MeetingFields: MeetingFields{Start: &at}}, visitor, now)
			case step == 2 && !over:
				title := fmt.Sprint("Talk at ", now)
				host.order(t, Reschedule{ID: 1, MeetingFields: MeetingFields{Title: &title}}, visitor, now)
			case step == 3 && !over && rapid.IntRange(0, 3).Draw(t, "cancels") == 0:
				host.order(t, Cancel{ID: 1}, visitor, now)
			case step < 6 && invited.Status != icalendar.StatusCancelled:
				answer := rapid.SampledFrom([]string{icalendar.StatusAccepted, icalendar.StatusDeclined, icalendar.StatusTentative}).Draw(t, "answer")
				visitor.order(t, Respond{ID: 1, Response: answer, Comment: "so be it"}, host, now)
			case len(visitor.letters) > 0 && step < 8:
				visitor.receive(t, rapid.IntRange(0, len(visitor.letters)-1).Draw(t, "to the visitor"), rapid.Bool().Draw(t, "again"), now)
			case len(host.letters) > 0:
				host.receive(t, rapid.IntRange(0, len(host.letters)-1).Draw(t, "to the host"), rapid.Bool().Draw(t, "again"), now)
			}
		}
		for _, k := range []*talker{visitor, host} {
			for len(k.letters) > 0 {
				k.receive(t, rapid.IntRange(0, len(k.letters)-1).Draw(t, "at last"), false, now)
			}
		}
		ours, theirs := host.book.Meeting(1), visitor.book.Meeting(1)
		if ours.Status != theirs.Status || ours.Sequence != theirs.Sequence || *ours.Organizer != *theirs.Organizer {
			t.Fatalf("the host:\n%s\nthe visitor:\n%s", tellMeeting(ours), tellMeeting(theirs))
		}
		if ours.Status == icalendar.StatusCancelled {
			return // the content before the cancellation depends on the order
		}
		if !sameTimes(ours, theirs) || !sameWords(ours, theirs) {
			t.Fatalf("the host:\n%s\nthe visitor:\n%s", tellMeeting(ours), tellMeeting(theirs))
		}
		if got := ours.Attendees[0].ParticipationStatus; got != theirs.MyStatus {
			t.Fatalf("the host knows of %s, the visitor said %s", got, theirs.MyStatus)
		}
	})
}
