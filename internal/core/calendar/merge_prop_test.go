package calendar

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inboxd/internal/mail/icalendar"
)

var firstDay = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// drawnMail is a message from the organizer of meeting u, with the given SEQUENCE. alone is the
// occurrence that it is about; zero: the whole meeting.
func drawnMail(t *rapid.T, method string, seq int, alone time.Time) *Invitation {
	title := fmt.Sprint("in revision ", seq)
	start := firstDay.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "hour")) * time.Hour)
	e := icalendar.Event{
		UID: "u", Sequence: seq, StampedAt: firstDay.Add(time.Duration(seq/2) * time.Hour), Title: title, Status: icalendar.StatusConfirmed,
		Start: start, End: start.Add(time.Hour), Organizer: person(boss), RecurrenceID: alone, Description: "told " + title,
	}
	if rapid.IntRange(0, 3).Draw(t, "asked") > 0 {
		e.Attendees = []Attendee{line("Me+Tag@inbox.test", icalendar.NeedsAction)}
	}
	overrides := []time.Time{alone}
	if alone.IsZero() {
		e.Recurrence = &icalendar.Recurrence{Rule: rapid.SampledFrom([]string{"FREQ=WEEKLY", "FREQ=DAILY"}).Draw(t, "rule")}
		overrides = rapid.SliceOfN(occurrence(), 0, 2).Draw(t, "differ")
	} else {
		e.Recurrence = &icalendar.Recurrence{}
	}
	for _, id := range overrides {
		at := id.Add(start.Sub(firstDay))
		e.Recurrence.Overrides = append(e.Recurrence.Overrides, icalendar.Override{RecurrenceID: id, Start: at, End: at.Add(time.Hour), Title: title, Status: icalendar.StatusConfirmed})
	}
	inv := &Invitation{Calendar: icalendar.Calendar{Method: method, Event: e}, From: boss}
	for range e.Recurrence.Overrides {
		inv.Revisions = append(inv.Revisions, icalendar.Revision{Sequence: seq, StampedAt: e.StampedAt})
	}
	if !alone.IsZero() {
		o := e.Recurrence.Overrides[0]
		inv.Event.Start, inv.Event.End = o.Start, o.End
	}
	return inv
}

func occurrence() *rapid.Generator[time.Time] {
	return rapid.Map(rapid.IntRange(0, 3), func(n int) time.Time { return firstDay.AddDate(0, 0, 7*n) })
}

// merged is the calendar after the messages.
func merged(mailCount []*Invitation) *Book {
	book := &Book{}
	for _, inv := range mailCount {
		book = kept(book, MergeMessage(book, inv, us, firstDay))
	}
	return book
}

func kept(book *Book, m MergeResult) *Book {
	if m.Meeting == nil {
		return book
	}
	next := *m.Meeting
	if next.ID == 0 {
		next.ID = book.LastID + 1
	}
	return book.WithMeeting(&next, 0)
}

// TestMergeInAnyOrder checks that one organizer's messages, each with a SEQUENCE of its own, give
// the same result in any order. They are about the whole meeting and about single occurrences,
// including cancellations that arrive first. For a cancelled meeting, the content before its
// cancellation is not compared, because it depends on the order.
func TestMergeInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var mailCount []*Invitation
		whole := rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "of three of the whole")
		for seq := range rapid.IntRange(2, 6).Draw(t, "mails") {
			var alone time.Time
			if rapid.IntRange(0, 2).Draw(t, "alone") >= whole {
				alone = occurrence().Draw(t, "occurrence")
			}
			method := rapid.SampledFrom([]string{"REQUEST", "REQUEST", "CANCEL"}).Draw(t, "method")
			mailCount = append(mailCount, drawnMail(t, method, seq, alone))
		}
		other := rapid.Permutation(mailCount).Draw(t, "order")
		a, b := merged(mailCount).ByUID("u"), merged(other).ByUID("u")
		known := [2]any{a.CancelledRevision, a.RecurrenceID.IsZero()}
		if !reflect.DeepEqual(known, [2]any{b.CancelledRevision, b.RecurrenceID.IsZero()}) {
			t.Fatalf("in their order:\n%s\nin another:\n%s", tellMeeting(a), tellMeeting(b))
		}
		if a.Status == icalendar.StatusCancelled && b.Status == icalendar.StatusCancelled {
			a, b = whenCancelled(a), whenCancelled(b)
		}
		if !sameShown(a, b) || !sameHeard(a, b) || a.Sequence != b.Sequence || !a.StampedAt.Equal(b.StampedAt) {
			t.Fatalf("in their order:\n%s\nin another:\n%s", tellMeeting(a), tellMeeting(b))
		}
	})
}

// whenCancelled reduces a meeting to what does not depend on its state before the cancellation.
func whenCancelled(m *Meeting) *Meeting {
	left := Meeting{Event: icalendar.Event{Status: m.Status, Sequence: m.Sequence, StampedAt: m.StampedAt}}
	for _, h := range m.OccurrenceRevisions {
		left.putOverride(m.Recurrence.Overrides[m.overrideIndex(h.RecurrenceID)])
		left.noteRevision(h)
	}
	return &left
}

func sameHeard(a, b *Meeting) bool {
	alone := func(m *Meeting) []OccurrenceRevision {
		return slices.DeleteFunc(append([]OccurrenceRevision{}, m.OccurrenceRevisions...), func(h OccurrenceRevision) bool { return h.FromWholeMeeting })
	}
	return reflect.DeepEqual(alone(a), alone(b))
}

// drawnBook is a calendar after some messages, from others and about an own meeting.
func drawnBook(t *rapid.T) (book *Book, mailCount []*Invitation) {
	for range rapid.IntRange(1, 6).Draw(t, "mails") {
		var alone time.Time
		if rapid.Bool().Draw(t, "alone") {
			alone = occurrence().Draw(t, "occurrence")
		}
		method := rapid.SampledFrom([]string{"REQUEST", "REQUEST", "CANCEL", "PUBLISH", "REPLY"}).Draw(t, "method")
		inv := drawnMail(t, method, rapid.IntRange(0, 4).Draw(t, "sequence"), alone)
		if method == "REPLY" {
			inv.From, inv.FromSigned, inv.Event.UID = guest, true, "ours"
			inv.Event.RecurrenceID = time.Time{}
			inv.Event.Attendees = []Attendee{line(guest, rapid.SampledFrom([]string{icalendar.StatusAccepted, icalendar.StatusDeclined}).Draw(t, "answer"))}
		}
		mailCount = append(mailCount, inv)
	}
	return (&Book{}).WithMeeting(ownMeeting(1, "ours", firstDay), 0), mailCount
}

// TestMergeOnce checks that a repeated message changes nothing, and that Merge modifies neither the
// calendar nor the message.
func TestMergeOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book, mailCount := drawnBook(t)
		for i, inv := range mailCount {
			before := inJSON(t, book, inv)
			m := MergeMessage(book, inv, us, firstDay.Add(time.Duration(i+1)*time.Minute))
			next := kept(book, m)
			if now := inJSON(t, book, inv); now != before {
				t.Fatalf("Merge changed\n%s\nto\n%s", before, now)
			}
			checkMerged(t, book, &m)
			again := MergeMessage(next, inv, us, firstDay.Add(time.Hour))
			if again.MessageEvent.Action != ActionUnchanged || again.Meeting != nil || again.PublicEvent != "" {
				t.Fatalf("%s again: %s%s", inv.Method, tellMerged(&again), tellMeeting(again.Meeting))
			}
			if isNew := m.Meeting != nil && m.Meeting.ID == 0; !isNew && again.MessageEvent.Meeting.ID != m.MessageEvent.Meeting.ID {
				t.Fatalf("named meeting %d, then %d", m.MessageEvent.Meeting.ID, again.MessageEvent.Meeting.ID)
			}
			book = answered(t, next)
		}
	})
}

// answered is the calendar after this inbox possibly answered meeting u.
func answered(t *rapid.T, book *Book) *Book {
	m := book.ByUID("u")
	if m == nil || m.MyStatus == "" || rapid.Bool().Draw(t, "answers not") {
		return book
	}
	next := *m
	next.MyStatus = icalendar.StatusAccepted
	next.Attendees = []Attendee{line("Me+Tag@inbox.test", icalendar.StatusAccepted)}
	return book.WithMeeting(&next, 0)
}

// checkMerged checks invariants of every result.
func checkMerged(t interface{ Fatalf(string, ...any) }, book *Book, m *MergeResult) {
	if (m.PublicEvent == "") != (m.MessageEvent.Action == ActionUnchanged) || (m.Attendee != nil) != (m.MessageEvent.Action == ActionReplied) {
		t.Fatalf("%s", tellMerged(m))
	}
	if m.PublicEvent != "" && (m.Meeting == nil || m.RefusalReason != "") {
		t.Fatalf("%s", tellMerged(m))
	}
	if m.Meeting == nil {
		return
	}
	if was := book.Meeting(m.Meeting.ID); was != nil {
		same := m.Meeting.UpdatedAt.Equal(was.UpdatedAt)
		if m.Meeting.Version != was.Version+1 || m.PublicEvent == "" && !same {
			t.Fatalf("%sversion %d after %d, changed at %v", tellMerged(m), m.Meeting.Version, was.Version, m.Meeting.UpdatedAt)
		}
	}
	overrides := orNone(m.Meeting.Recurrence).Overrides
	sorted := slices.IsSortedFunc(overrides, func(a, b icalendar.Override) int { return a.RecurrenceID.Compare(b.RecurrenceID) })
	if !sorted || len(overrides) > maxOverrides {
		t.Fatalf("%d overrides, sorted: %v", len(overrides), sorted)
	}
	for _, h := range m.Meeting.OccurrenceRevisions {
		if m.Meeting.overrideIndex(h.RecurrenceID) < 0 {
			t.Fatalf("remembers %v, which nothing was told of", h)
		}
	}
}

func inJSON(t interface{ Fatalf(string, ...any) }, book *Book, inv *Invitation) string {
	b, err := json.Marshal([]any{book, inv})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(b)
}

// FuzzMerge merges two files from an authenticated organizer or guest. Neither the files nor the
// calendar are modified, and a repeat of the second changes nothing.
func FuzzMerge(f *testing.F) {
	single := "RECURRENCE-ID:20260309T100000Z\nDTSTART:20260309T120000Z"
	f.Add([]byte(storyFile("REQUEST", "0", "0900", "RRULE:FREQ=WEEKLY\n+\n"+single)), []byte(storyFile("REQUEST", "1", "0900", single)))
	f.Add([]byte(storyFile("REQUEST", "0", "0900", single)), []byte(storyFile("CANCEL", "0", "0900", single)))
	f.Add([]byte(storyFile("PUBLISH", "0", "0900", "")), []byte(storyFile("CANCEL", "1", "none", "")))
	f.Add([]byte(storyFile("REPLY", "0", "0900", "UID:ours")), []byte(storyFile("REPLY", "0", "0901", "UID:ours\nATTENDEE;PARTSTAT=DECLINED:mailto:bea@guest.test")))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		book := (&Book{}).WithMeeting(ownMeeting(1, "ours", firstDay), 0)
		for _, text := range [][]byte{first, second, second} {
			c, err := readOne(text)
			if err != nil {
				return
			}
			inv := &Invitation{Calendar: *c, FromSigned: true, From: guest}
			if c.Method != "REPLY" && c.Event.Organizer != nil {
				inv.From = c.Event.Organizer.Email
			}
			before := inJSON(t, book, inv)
			m := MergeMessage(book, inv, us, firstDay)
			checkMerged(t, book, &m)
			if now := inJSON(t, book, inv); now != before {
				t.Fatalf("Merge changed\n%s\nto\n%s", before, now)
			}
			again := MergeMessage(kept(book, m), inv, us, firstDay)
			if again.PublicEvent != "" || again.Meeting != nil {
				t.Fatalf("again: %s%s", tellMerged(&again), tellMeeting(again.Meeting))
			}
			book = kept(book, m)
		}
	})
}
