package inbox_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"time"

	"pgregory.net/rapid"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/calendar"

	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/mail/icalendar/zone"
	"inboxd/persist/persisttest"
)

const boss = "boss@far.test"

// invitation is what a message from boss says about a meeting.
func invitation(method, uid string, sequence int, at time.Time) *calendar.Invitation {
	return &calendar.Invitation{
		From: boss, FromSigned: true, MessageID: "m1@far.test",
		Calendar: icalendar.Calendar{Method: method, Event: icalendar.Event{
			UID: uid, Sequence: sequence, StampedAt: start.Add(time.Duration(sequence) * time.Minute), Title: "Plan", Start: at, End: at.Add(time.Hour), TimeZone: zone.UTC, Status: icalendar.StatusConfirmed,
			Organizer: &icalendar.Person{Email: boss},
			Attendees: []calendar.Attendee{{Person: icalendar.Person{Email: "a@inbox.localhost"}, Role: icalendar.RoleRequired, ParticipationStatus: icalendar.NeedsAction}},
		}},
	}
}

// alone is an invitation to, or the cancellation of, the occurrence of a meeting at that time.
func alone(method, uid string, sequence int, at time.Time) *calendar.Invitation {
	said := invitation(method, uid, sequence, at)
	said.Event.RecurrenceID, said.Event.Description = at, "Alone"
	said.Event.Recurrence = &icalendar.Recurrence{Overrides: []icalendar.Override{{RecurrenceID: at, Start: at, End: at.Add(time.Hour), Title: "Plan", Status: icalendar.StatusConfirmed}}}
	return said
}

// reply is a guest's answer to a meeting of this inbox.
func reply(m *calendar.Meeting, guest, status string, at time.Time) *calendar.Invitation {
	said := invitation("REPLY", m.UID, m.Sequence, m.Start)
	said.From, said.Event.StampedAt, said.Event.Organizer = guest, at, m.Organizer
	said.Event.Attendees = []calendar.Attendee{{Person: icalendar.Person{Email: guest}, ParticipationStatus: status}}
	return said
}

func inviting(said *calendar.Invitation) inbox.Receive {
	c := mail(said.Method)
	c.Invitations = []*calendar.Invitation{said}
	return c
}

// arrange plans an order for the calendar of s, as the handlers do.
func arrange(s *inbox.State, o calendar.MeetingOrder, now time.Time) (inbox.ApplyMeetingPlan, error) {
	plan, err := calendar.PlanChange(s.Calendar, o, calendar.Me{Address: "a@inbox.localhost"}, now, [16]byte{byte(s.LastID), byte(s.LastID >> 8), 1})
	c := inbox.ApplyMeetingPlan{MeetingPlan: plan}
	for _, m := range plan.OutgoingMessages {
		var to []string
		for _, p := range m.To {
			to = append(to, p.Email)
		}
		c.Submits = append(c.Submits, submit(false, to...))
	}
	return c, err
}

func schedule(at time.Time, guests ...string) calendar.Schedule {
	o := calendar.Schedule{MeetingFields: calendar.MeetingFields{Title: new("Plan"), Start: new(at.Format(time.RFC3339)), Attendees: &[]calendar.Guest{}}}
	for _, g := range guests {
		*o.Attendees = append(*o.Attendees, calendar.Guest{Email: g})
	}
	return o
}

// drawMeetings makes messages about meetings and orders, both valid and stale.
func drawMeetings(t *rapid.T, s *inbox.State, now time.Time) []inbox.Command {
	at := start.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "meets")) * time.Hour)
	uid := rapid.SampledFrom([]string{"u1", "u2"}).Draw(t, "uid")
	sequence := rapid.IntRange(0, 4).Draw(t, "sequence")
	recurring := invitation("REQUEST", "u3", sequence, at)
	recurring.Event.Recurrence = &icalendar.Recurrence{Rule: rapid.SampledFrom([]string{"FREQ=WEEKLY", "FREQ=WEEKLY;COUNT=3"}).Draw(t, "rule")}
	cmds := []inbox.Command{inviting(invitation("REQUEST", uid, sequence, at)), inviting(invitation("CANCEL", uid, sequence, at)), inviting(recurring)}
	id := rapid.Int64Range(1, lastMeeting(s)+1).Draw(t, "meeting")
	several := inviting(invitation("PUBLISH", "u4", sequence, at))
	several.Invitations = append(several.Invitations, invitation("PUBLISH", "u5", sequence, at), invitation("PUBLISH", "u4", sequence+1, at))
	cmds = append(cmds, several, inbox.RemoveMeeting{ID: id})
	if m := s.Calendar.Meeting(id); m != nil && m.Source == calendar.SourceOutbound {
		cmds = append(cmds, inviting(reply(m, "eve@far.test", icalendar.StatusAccepted, now)))
	}
	for _, o := range []calendar.MeetingOrder{
		schedule(at, "eve@far.test"), calendar.Reschedule{ID: id, MeetingFields: calendar.MeetingFields{Start: new(at.Format(time.RFC3339))}},
		calendar.Reschedule{ID: id, MeetingFields: calendar.MeetingFields{Attendees: &[]calendar.Guest{{Email: "carl@far.test"}}}}, calendar.Cancel{ID: id},
		calendar.Respond{ID: id, Response: icalendar.StatusAccepted},
	} {
		if c, err := arrange(s, o, now); err == nil {
			c.MeetingPlan.Meeting.Version -= int64(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "outdated"))
			cmds = append(cmds, c)
		}
	}
	return cmds
}

// TestReplayOfOccurrences checks that a calendar rebuilt from its rows equals the one in memory,
// after messages about a meeting and its single occurrences in any order.
func TestReplayOfOccurrences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := persisttest.OpenStore(t)
		state := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
		cmds := []inbox.Command{create()}
		for range rapid.IntRange(1, 6).Draw(t, "mails") {
			method := rapid.SampledFrom([]string{"REQUEST", "CANCEL"}).Draw(t, "method")
			sequence, week := rapid.IntRange(0, 4).Draw(t, "sequence"), rapid.IntRange(0, 2).Draw(t, "week")
			if at := start.AddDate(0, 0, 7*week); week > 0 {
				cmds = append(cmds, inviting(alone(method, "u", sequence, at)))
			} else {
				cmds = append(cmds, inviting(invitation(method, "u", sequence, at)))
			}
		}
		for i, cmd := range cmds {
			evs, _, err := inbox.Decide(state, cmd, env(start.Add(time.Duration(i)*time.Minute)))
			if err != nil {
				t.Fatal(err)
			}
			if err := store.CommitInbox(change(state, evs)); err != nil {
				t.Fatal(err)
			}
			rebuilt, err := store.LoadInbox(state.Address)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, state, rebuilt, store)
		}
	})
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
		bytes += m.RowBytes
	}
	a, b := *memory, *rebuilt
	a.Meetings, b.Meetings = nil, nil
	if !reflect.DeepEqual(a, b) || a.Bytes != bytes {
		t.Fatalf("calendar in memory %+v\nfrom rows %+v\nits meetings have %d bytes", a, b, bytes)
	}
}

// meets is an inbox that runs commands one after another.
type meets struct {
	t    *testing.T
	s    *inbox.State
	now  time.Time
	rows *inbox.Rows // of the last command
}

func newMeets(t *testing.T) *meets {
	m := &meets{t: t, s: &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}, now: start}
	m.do(create())
	return m
}

func (m *meets) try(cmd inbox.Command) (inbox.CommandOutcome, error) {
	m.t.Helper()
	evs, got, err := inbox.Decide(m.s, cmd, env(m.now))
	m.rows = change(m.s, evs)
	return got, err
}

func (m *meets) do(cmd inbox.Command) inbox.CommandOutcome {
	m.t.Helper()
	got, err := m.try(cmd)
	if err != nil {
		m.t.Fatal(err)
	}
	return got
}

func (m *meets) order(o calendar.MeetingOrder) inbox.CommandOutcome {
	m.t.Helper()
	c, err := arrange(m.s, o, m.now)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.do(c)
}

// names are the public events of the last command.
func (m *meets) names() (out []string) {
	for _, p := range m.rows.PublicEvents {
		out = append(out, p.EventName)
	}
	return out
}

// ids are the ids of the stored meetings.
func (m *meets) ids() (out []int64) {
	for _, one := range m.s.Calendar.Meetings {
		out = append(out, one.ID)
	}
	return out
}

// TestAMailMergesOnce checks that a message and its effect on a meeting are one change. Each
// recipient has its own content, and a repeat changes nothing.
func TestAMailMergesOnce(t *testing.T) {
	m := newMeets(t)
	c := inviting(invitation("REQUEST", "u1", 1, start.Add(time.Hour)))
	c.Digest = inbox.MessageDigest{1}
	if got := m.do(c); got.ID != 1 || got.MessageEvents[0].Action != calendar.ActionCreated || got.MessageEvents[0].RefusalReason != "" {
		t.Errorf("%+v", got)
	}
	if want := []string{"message.received", "calendar.event.created"}; !slices.Equal(m.names(), want) {
		t.Errorf("events %q", m.names())
	}
	reported := m.rows.PublicEvents[1]
	if reported.SequenceNumber != 2 || reported.MessageID != 1 || reported.Meeting.ID != 1 || reported.Meeting.Title != "Plan" {
		t.Errorf("%+v", reported)
	}
	said := m.rows.StoreMessages[0].Content.Calendar
	if said == nil || said.Action != calendar.ActionCreated || said.Meeting.ID != 1 || c.Content.Calendar != nil {
		t.Errorf("said %+v, the mail's own content says %+v", said, c.Content.Calendar)
	}
	if len(m.rows.PutMeetings) != 1 || m.rows.Calendar.LastID != 1 || !m.rows.Profile.HasCalendar {
		t.Errorf("%+v", m.rows)
	}
	c.Invitations = []*calendar.Invitation{invitation("REQUEST", "u1", 2, start.Add(2*time.Hour))} // the content does not matter
	if got := m.do(c); !got.IsDuplicate || m.s.Calendar.Meeting(1).Sequence != 1 || len(m.rows.PutMeetings) != 0 {
		t.Errorf("a repeat: %+v", got)
	}
	if got := m.do(inviting(invitation("REQUEST", "u1", 0, start.Add(2*time.Hour)))); got.MessageEvents[0].Action != calendar.ActionUnchanged || got.MessageEvents[0].RefusalReason == "" || len(m.rows.PublicEvents) != 1 {
		t.Errorf("a stale one: %+v, events %q", got, m.names())
	}
	if said := m.rows.StoreMessages[0].Content.Calendar; said.Action != calendar.ActionUnchanged || said.Meeting.ID != 1 {
		t.Errorf("it said %+v", said)
	}
}

// TestAnOrderIsOneChange checks that an order stores the meeting and its messages in one change,
// without a public event.
func TestAnOrderIsOneChange(t *testing.T) {
	m := newMeets(t)
	m.do(mail("before"))
	got := m.order(schedule(start.Add(time.Hour), "eve@far.test", "carl@far.test"))
	if got.ID != 2 || got.Meeting.ID != 1 || got.Meeting.Version != 1 || len(m.rows.PutMessages) != 1 || len(m.rows.QueueMoves) != 1 || len(m.rows.PutMeetings) != 1 || len(m.rows.PublicEvents) != 0 {
		t.Errorf("%+v, %+v", got, m.rows)
	}
	if said := m.rows.StoreMessages[0].Content.Calendar; said.Action != calendar.ActionCreated || said.Meeting.ID != 1 {
		t.Errorf("said %+v", said)
	}
	got = m.order(calendar.Reschedule{ID: 1, MeetingFields: calendar.MeetingFields{Title: new("Other"), Attendees: &[]calendar.Guest{{Email: "eve@far.test"}}}})
	if got.ID != 3 || m.s.LastID != 4 || len(m.rows.QueueMoves) != 2 {
		t.Errorf("two mails: %+v, the last is %d", got, m.s.LastID)
	}
	if a, b := m.rows.StoreMessages[0].Content.Calendar, m.rows.StoreMessages[1].Content.Calendar; a.Action != calendar.ActionUpdated || b.Action != calendar.ActionCancelled || b.Meeting.Title != "Plan" {
		t.Errorf("said %+v and %+v", a, b)
	}
	if got := m.order(calendar.Reschedule{ID: 1, MeetingFields: calendar.MeetingFields{Title: new("Other")}}); got.ID != 0 || got.Meeting.Version != 2 || len(m.rows.PutMeetings) != 0 {
		t.Errorf("nothing new: %+v", got)
	}
	late, err := arrange(m.s, calendar.Cancel{ID: 1}, m.now)
	if err != nil {
		t.Fatal(err)
	}
	m.now = m.now.Add(time.Minute)
	if got := m.do(inviting(reply(m.s.Calendar.Meeting(1), "eve@far.test", icalendar.StatusAccepted, m.now))); got.MessageEvents[0].Action != calendar.ActionReplied {
		t.Fatalf("%+v", got)
	}
	if p := m.rows.PublicEvents[1]; p.EventName != "calendar.attendee.responded" || p.Attendee == nil || p.Attendee.ParticipationStatus != icalendar.StatusAccepted {
		t.Errorf("%+v", p)
	}
	before := m.s.LastID
	if _, err := m.try(late); err != inbox.ErrOutdated || m.s.LastID != before {
		t.Errorf("an order weighed before the answer: %v", err)
	}
}

// TestMeetingsKnowTheirMessages checks which message last changed a meeting or notified its guests,
// and when this inbox answered. What a message says about a meeting has neither.
func TestMeetingsKnowTheirMessages(t *testing.T) {
	m := newMeets(t)
	is := func(when string, id, last int64, answered bool) {
		t.Helper()
		got := m.s.Calendar.Meeting(id)
		if got.LastMessage != last || !got.RespondedAt.IsZero() != answered {
			t.Errorf("%s: message %d, answered %v", when, got.LastMessage, got.RespondedAt)
		}
	}
	m.do(inviting(invitation("REQUEST", "u", 0, start.Add(time.Hour))))
	is("received", 1, 1, false)
	m.order(calendar.Respond{ID: 1, Response: icalendar.StatusAccepted})
	is("answered", 1, 2, true)
	if said := m.rows.StoreMessages[0].Content.Calendar.Meeting; said.LastMessage != 0 || !said.RespondedAt.IsZero() {
		t.Errorf("the answer says %d, %v", said.LastMessage, said.RespondedAt)
	}
	m.do(inviting(invitation("REQUEST", "u", 0, start.Add(time.Hour))))
	is("repeated", 1, 2, true)
	m.do(inviting(invitation("REQUEST", "u", 1, start.Add(2*time.Hour))))
	is("moved", 1, 4, true)
	m.order(schedule(start.Add(time.Hour), "eve@far.test"))
	is("organized", 2, 5, false)
	m.order(calendar.Reschedule{ID: 2, MeetingFields: calendar.MeetingFields{Title: new("Other"), Attendees: &[]calendar.Guest{{Email: "carl@far.test"}}}})
	is("changed, by the first of two messages", 2, 6, false)
}

// TestACalendarIsFull checks that a message is stored but does not change the calendar, and that an
// order is refused with the limit.
func TestACalendarIsFull(t *testing.T) {
	full := &calendar.Book{LastID: calendar.MaxMeetings + 7}
	for id := int64(8); id <= full.LastID; id++ {
		full.Meetings = append(full.Meetings, &calendar.Meeting{ID: id, Source: calendar.SourceOutbound, Event: icalendar.Event{UID: "x"}})
	}
	large := (*calendar.Book)(nil).WithMeeting(&calendar.Meeting{ID: 1, Event: icalendar.Event{UID: "x"}}, calendar.MaxBytes-200)
	for number, book := range map[string]*calendar.Book{"5000 meetings": full, "16777216 bytes": large} {
		m := newMeets(t)
		m.s.Calendar = book
		got := m.do(inviting(invitation("REQUEST", "u1", 1, start)))
		said := m.rows.StoreMessages[0].Content.Calendar
		if said.RefusalReason != calendar.RefusedRoom || said.Action != calendar.ActionUnchanged || said.Meeting.ID != 0 || m.s.Calendar != book || len(m.names()) != 1 {
			t.Errorf("%s: %+v, said %+v", number, got, said)
		}
		c, err := arrange(m.s, schedule(start, "eve@far.test"), m.now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.try(c); !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), number) {
			t.Errorf("%v, want %s", err, number)
		}
	}
}

// TestRemovedMeetings checks that their rows are removed without an event, and that a message does
// not bring them back for 30 days.
func TestRemovedMeetings(t *testing.T) {
	m := newMeets(t)
	m.do(inviting(invitation("REQUEST", "u1", 1, start.Add(time.Hour))))
	if _, err := m.try(inbox.RemoveMeeting{ID: 2}); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
	m.do(inbox.RemoveMeeting{ID: 1})
	if !slices.Equal(m.rows.DropMeetings, []int64{1}) || len(m.rows.PublicEvents) != 0 || len(m.ids()) != 0 || len(m.s.Calendar.RemovedMeetings) != 1 {
		t.Errorf("%+v, left %v", m.rows, m.ids())
	}
	if got := m.do(inviting(invitation("REQUEST", "u1", 2, start.Add(time.Hour)))); got.MessageEvents[0].RefusalReason != calendar.RefusedRemoved || len(m.ids()) != 0 {
		t.Errorf("%+v", got)
	}
	m.now = m.now.AddDate(0, 0, 31)
	if got := m.do(inviting(invitation("REQUEST", "u1", 3, m.now.Add(time.Hour)))); got.MessageEvents[0].Action != calendar.ActionCreated || !slices.Equal(m.ids(), []int64{2}) {
		t.Errorf("%+v, %v", got, m.ids())
	}
}

// TestStrangersTakeTheirShare checks that a finished meeting in a full share is removed in the same
// change.
func TestStrangersTakeTheirShare(t *testing.T) {
	m := newMeets(t)
	unsigned := func(uid string, at time.Time) inbox.Receive {
		said := invitation("REQUEST", uid, 1, at)
		said.FromSigned = false
		return inviting(said)
	}
	for i := range 500 {
		m.do(unsigned(fmt.Sprint("u", i), start.Add(time.Hour)))
	}
	m.now = start.Add(24 * time.Hour)
	m.do(unsigned("next", m.now.Add(time.Hour)))
	if ids := m.ids(); len(ids) != 500 || ids[0] != 2 || !slices.Equal(m.rows.DropMeetings, []int64{1}) {
		t.Errorf("%d meetings from %d, dropped %v", len(ids), ids[0], m.rows.DropMeetings)
	}
}

// TestMeetingsOutliveMail checks that meetings stay when messages are burnt. They are removed 30
// days after their end, a bounded number at once, or with the inbox. No id is reused.
func TestMeetingsOutliveMail(t *testing.T) {
	const after = 30 * 24 * time.Hour
	m := newMeets(t)
	m.do(inviting(invitation("REQUEST", "u1", 1, start.Add(time.Hour))))
	m.do(inviting(invitation("REQUEST", "u2", 1, start.Add(50*time.Hour))))
	m.do(inbox.Burn{})
	if want := start.Add(2*time.Hour + after); !slices.Equal(m.ids(), []int64{1, 2}) || !m.s.DueAt.Equal(want) {
		t.Errorf("meetings %d, due at %v, want %v", m.ids(), m.s.DueAt, want)
	}
	m.do(inviting(invitation("REQUEST", "u1", 2, start.Add(20*time.Hour))))
	m.do(inbox.Burn{})
	if want := start.Add(21*time.Hour + after); !m.s.DueAt.Equal(want) {
		t.Errorf("moved: due at %v, want %v", m.s.DueAt, want)
	}
	own := newMeets(t)
	own.order(schedule(start.Add(time.Hour), "eve@far.test"))
	own.order(calendar.Reschedule{ID: 1, MeetingFields: calendar.MeetingFields{Start: new(start.Add(9 * time.Hour).Format(time.RFC3339))}})
	if want := own.s.Calendar.Meeting(1).End.Add(after); !own.s.DueAt.Equal(want) {
		t.Errorf("an own one moved: due at %v, want %v", own.s.DueAt, want)
	}
	m.now = start.Add(21*time.Hour + after)
	if got := m.do(inbox.RemoveExpired{}); got.Count != 1 || !slices.Equal(m.ids(), []int64{2}) || !m.s.DueAt.Equal(start.Add(51*time.Hour+after)) || !slices.Equal(m.rows.DropMeetings, []int64{1}) {
		t.Errorf("%+v, meetings %d, due at %v", got, m.ids(), m.s.DueAt)
	}
	m.do(inbox.Delete{})
	if len(m.ids()) != 0 || !slices.Equal(m.rows.DropMeetings, []int64{2}) || !m.s.DueAt.IsZero() {
		t.Errorf("deleted: meetings %d, dropped %d, due at %v", m.ids(), m.rows.DropMeetings, m.s.DueAt)
	}
	again := create()
	again.At = m.now.Add(time.Second)
	m.now = again.At
	m.do(again)
	if m.do(inviting(invitation("REQUEST", "u1", 1, m.now))); !slices.Equal(m.ids(), []int64{3}) {
		t.Errorf("made again: meetings %d", m.ids())
	}
	for n := range 600 {
		c := invitation("REQUEST", "u1", 1, start)
		c.Event.UID += strings.Repeat("x", n+1)
		m.s.Messages = nil // make room
		m.do(inviting(c))
	}
	m.now = m.now.Add(2 * after)
	if got := m.do(inbox.RemoveExpired{}); got.Count != 500+len(m.rows.DropMessages) || len(m.ids()) != 101 {
		t.Errorf("%d at once, %d are left", got.Count, len(m.ids()))
	}
}
