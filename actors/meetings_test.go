package actors

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
	"inboxd/persist/persisttest"
)

func tomorrow(guests ...string) calendar.Schedule {
	o := calendar.Schedule{MeetingFields: calendar.MeetingFields{Title: new("Plan"), Start: new(time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)), Attendees: &[]calendar.Guest{}}}
	for _, g := range guests {
		*o.Attendees = append(*o.Attendees, calendar.Guest{Email: g})
	}
	return o
}

func toldOf(d calendar.ChangeResult) []byte {
	return fmt.Appendf(nil, "%d v%d in %d", d.Meeting.ID, d.Meeting.Version, d.MessageID)
}

// sends returns how many sends the account has counted today, including those notified before the
// call.
func sends(t testing.TB, s *System, id account.ID) int {
	t.Helper()
	return int(must[account.QuotaUsage](t)(s.AccountUsage(t.Context(), id)).SendsToday)
}

// TestAnOrderIsOneBatch makes each commit of an order fail in turn, like a crash before it,
// restarts from the disk, and repeats the request. The meeting, its message, its queue entry and
// the request record exist all or not at all.
func TestAnOrderIsOneBatch(t *testing.T) {
	for failing := 1; ; failing++ {
		store := persisttest.OpenCrashable(t)
		s, err := Start(Options{Store: store, Namespaces: inbox.Namespaces{ServiceDomain: "inbox.localhost", PlainAddresses: true}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		_, address := openAccount(t, s)
		req := requestNamed(t, "k", "{}")
		var commits atomic.Int64
		store.BeforeCommit = func(rows any) error {
			if r, ok := rows.(*inbox.Rows); ok && len(r.PutMeetings) > 0 && len(r.QueueMoves)+len(r.StoreMessages)+len(r.IdempotencyRecords.PutRecords) < 3 {
				t.Errorf("a batch has %d meetings, %d mails, %d entries, %d records", len(r.PutMeetings), len(r.StoreMessages), len(r.QueueMoves), len(r.IdempotencyRecords.PutRecords))
			}
			if int(commits.Add(1)) >= failing {
				return errors.New("the power went away")
			}
			return nil
		}
		first, err := s.ArrangeOnce(t.Context(), address, tomorrow("eve@far.test", "carl@far.test"), req, toldOf)
		s.Stop()
		again := startSystem(t, store.CrashCopy(t), nil)
		view := must[*inbox.View](t)(again.InboxView(t.Context(), address))
		if meetings := view.Calendar; (meetings != nil) != (len(view.Messages) == 1) || err == nil && meetings == nil {
			t.Errorf("commit %d: %v; after it a calendar is there %t, and %d mails", failing, err, meetings != nil, len(view.Messages))
		}
		second := must[idempotency.FirstResult](t)(again.ArrangeOnce(t.Context(), address, tomorrow("eve@far.test", "carl@far.test"), req, toldOf))
		if err == nil && string(first.EncodedResponse) != string(second.EncodedResponse) || string(second.EncodedResponse) != "1 v1 in 1" {
			t.Errorf("commit %d: answered %q, then %q", failing, first.EncodedResponse, second.EncodedResponse)
		}
		if view := must[*inbox.View](t)(again.InboxView(t.Context(), address)); len(view.Messages) != 1 || len(view.Calendar.Meetings) != 1 {
			t.Errorf("commit %d: %d mails, %d meetings", failing, len(view.Messages), len(view.Calendar.Meetings))
		}
		if err == nil {
			return
		}
	}
}

// TestOrdersThatCross changes one meeting many times concurrently. Each order is computed from the
// result of the others: none is lost, and no guest gets two messages with the same SEQUENCE.
func TestOrdersThatCross(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	id, address := openAccount(t, s)
	made := must[calendar.ChangeResult](t)(s.ArrangeMeeting(t.Context(), address, tomorrow("eve@far.test")))
	if made.MessageID != 1 || made.Meeting.FirstMessageID == "" {
		t.Fatalf("%+v", made)
	}
	const orders = 12
	var first sync.Once
	store.BeforeCommit = func(rows any) error {
		if r, ok := rows.(*inbox.Rows); ok && len(r.PutMeetings) > 0 {
			first.Do(func() { until(func() bool { return s.inboxDirectory.ReadStats().InFlight >= orders }) }) // all were computed from the same state
		}
		return nil
	}
	var done atomic.Int64
	var callers sync.WaitGroup
	for n := range orders {
		callers.Go(func() {
			for {
				_, err := s.ArrangeMeeting(t.Context(), address, calendar.Reschedule{ID: 1, MeetingFields: calendar.MeetingFields{Title: new(fmt.Sprint("Plan ", n))}})
				switch {
				case err == nil:
					done.Add(1)
					return
				case !fault.Is(err, fault.TemporarilyUnavailable):
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	view := must[*inbox.View](t)(s.InboxView(t.Context(), address))
	if m := view.Calendar.Meeting(1); m.Sequence != orders || m.Version != orders+1 || done.Load() != orders {
		t.Errorf("%d orders: sequence %d, version %d", done.Load(), m.Sequence, m.Version)
	}
	var sequences []int
	for _, m := range view.Messages {
		c := must[*inbox.Content](t)(s.MessageContent(t.Context(), address, m.ID))
		sequences = append(sequences, c.Calendar.Meeting.Sequence)
		if first := m.ID == 1; !first && (c.Doc.InReplyTo != made.Meeting.FirstMessageID || !slices.Contains(c.Doc.References, made.Meeting.FirstMessageID)) {
			t.Errorf("mail %d threads to %q %q, want %q", m.ID, c.Doc.InReplyTo, c.Doc.References, made.Meeting.FirstMessageID)
		}
	}
	slices.Sort(sequences)
	if len(slices.Compact(slices.Clone(sequences))) != len(sequences) || len(sequences) != orders+1 {
		t.Errorf("mails of the sequences %d", sequences)
	}
	if got := sends(t, s, id); got != orders+1 {
		t.Errorf("%d sends are counted, %d mails were sent", got, orders+1)
	}
}

// TestOrdersKeepTheRulesOfSending covers suppressed guests, the plan's recipients, the day's count
// and a full disk.
func TestOrdersKeepTheRulesOfSending(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	id, address := openAccount(t, s)
	made := must[calendar.ChangeResult](t)(s.ArrangeMeeting(t.Context(), address, tomorrow("eve@far.test", "carl@far.test")))
	suppress := func(email string) {
		if err := store.PutSuppression(id, account.Suppression{Email: email, Inbox: address, Message: made.MessageID, At: s.now()}); err != nil {
			t.Fatal(err)
		}
	}
	suppress("eve@far.test")

	_, err := s.ArrangeMeeting(t.Context(), address, tomorrow("eve@far.test", "dan@far.test"))
	if !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), "eve@far.test") {
		t.Errorf("a suppressed guest: %v", err)
	}
	moved := must[calendar.ChangeResult](t)(s.ArrangeMeeting(t.Context(), address, calendar.Reschedule{ID: 1, MeetingFields: calendar.MeetingFields{Title: new("Other")}}))
	view := must[*inbox.View](t)(s.InboxView(t.Context(), address))
	if to := view.Message(moved.MessageID, s.now()).OutgoingDelivery.Recipients; len(to) != 1 || to[0].Email != "carl@far.test" {
		t.Errorf("the change went to %+v", to)
	}
	alone := must[calendar.ChangeResult](t)(s.ArrangeMeeting(t.Context(), address, calendar.Reschedule{ID: 1, MeetingFields: calendar.MeetingFields{Attendees: &[]calendar.Guest{{Email: "eve@far.test"}}}}))
	suppress("carl@far.test")
	last := must[calendar.ChangeResult](t)(s.ArrangeMeeting(t.Context(), address, calendar.Cancel{ID: 1}))
	if alone.MessageID == 0 || last.MessageID != 0 || last.Meeting.Status != icalendar.StatusCancelled {
		t.Errorf("carl is told in %d; nobody is left to tell in %d", alone.MessageID, last.MessageID)
	}
	before := sends(t, s, id)
	store.SetFull(true)
	if _, err := s.ArrangeMeeting(t.Context(), address, tomorrow("dan@far.test")); !fault.Is(err, fault.StorageFull) {
		t.Errorf("on a full disk: %v", err)
	}
	store.SetFull(false)
	if got := sends(t, s, id); got != before {
		t.Errorf("%d sends are counted, %d were before", got, before)
	}
	var many []string
	for n := range 101 {
		many = append(many, fmt.Sprintf("g%d@far.test", n))
	}
	if _, err := s.ArrangeMeeting(t.Context(), address, tomorrow(many...)); !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), "100 recipients") {
		t.Errorf("101 guests: %v", err)
	}
	if view := must[*inbox.View](t)(s.InboxView(t.Context(), address)); view.Calendar.LastID != 1 {
		t.Errorf("a refused order left a meeting: %d", view.Calendar.LastID)
	}
}

// TestMergesAreCounted checks the counters by outcome, and by reason for those without effect.
func TestMergesAreCounted(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), nil)
	_, address := openAccount(t, s)
	ics := func(method, sequence string) []byte {
		return []byte(strings.ReplaceAll("From: boss@far.test\nMIME-Version: 1.0\nContent-Type: text/calendar; method="+method+"\n\n"+
			"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nMETHOD:"+method+"\nBEGIN:VEVENT\nUID:u1\nDTSTAMP:20261101T000000Z\nSEQUENCE:"+sequence+"\nSUMMARY:Plan\nDTSTART:20301101T100000Z\n"+
			"ORGANIZER:mailto:boss@far.test\nATTENDEE:mailto:"+address+"\nEND:VEVENT\nEND:VCALENDAR\n", "\n", "\r\n"))
	}
	for _, raw := range [][]byte{ics("REQUEST", "1"), ics("REQUEST", "0"), ics("REFRESH", "1"), ics("REQUEST", "2")} {
		if err := s.ReceiveMessage(t.Context(), envelopeTo(address), raw); err != nil {
			t.Fatal(err)
		}
	}
	stats := s.ReadStats()
	if got := fmt.Sprint(stats.MergedMeetings, stats.RefusedMeetings); got != "map[created:1 unchanged:2 updated:1] map[method:1 stale:1]" {
		t.Errorf("%s", got)
	}
}
