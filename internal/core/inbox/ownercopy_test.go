package inbox_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
)

// copying is an inbox that organizes meetings, driven by the orders of testdata/ownercopy.txt.
type copying struct {
	t        *testing.T
	state    *inbox.State
	now      time.Time
	due      *bool // last reported value of CopyDue
	reported []string
}

func (s *copying) do(cmd inbox.Command) inbox.CommandOutcome {
	evs, outcome, err := inbox.Decide(s.state, cmd, env(s.now))
	if err != nil {
		s.reported = append(s.reported, "refused: "+err.Error())
		return outcome
	}
	rows := change(s.state, evs)
	if rows.CopyDue != nil {
		s.due = rows.CopyDue
	}
	for _, ev := range rows.PublicEvents {
		s.reported = append(s.reported, ev.EventName)
	}
	for _, move := range rows.QueueMoves {
		if move.To.IsZero() {
			s.reported = append(s.reported, fmt.Sprintf("unqueued %d", move.ID))
		}
	}
	return outcome
}

// ordered plans a client's order, without the messages.
func ordered(t interface{ Fatal(...any) }, s *inbox.State, o calendar.MeetingOrder, now time.Time) inbox.ApplyMeetingPlan {
	plan, err := calendar.PlanChange(s.Calendar, o, calendar.Me{Address: s.Address}, now, [16]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	plan.OutgoingMessages = nil
	return inbox.ApplyMeetingPlan{MeetingPlan: plan}
}

func scheduled(title string) calendar.Schedule {
	begin, guests := "2026-12-01T10:00:00Z", []calendar.Guest{{Email: "guest@far.test"}}
	return calendar.Schedule{MeetingFields: calendar.MeetingFields{Title: &title, Start: &begin, Attendees: &guests}}
}

func renamed(id int64, title string) calendar.Reschedule {
	return calendar.Reschedule{ID: id, MeetingFields: calendar.MeetingFields{Title: &title}}
}

func telling(m *calendar.Meeting) inbox.TellOwner {
	mail := submit(false, "owner@home.test")
	return inbox.TellOwner{MeetingID: m.ID, Sequence: m.OwnerCopy.ChangeCount, CopyMessage: &mail}
}

func (s *copying) order(line string) {
	s.now = s.now.Add(time.Minute)
	words := append(strings.Fields(line), "0")
	id, _ := strconv.ParseInt(words[1], 10, 64)
	switch words[0] {
	case "owner":
		s.do(inbox.SetOwnerCopies{Enabled: words[1] == "on"})
	case "schedule":
		s.do(ordered(s.t, s.state, scheduled("First"), s.now))
	case "change":
		s.do(ordered(s.t, s.state, renamed(id, line+s.now.String()), s.now))
	case "cancel":
		s.do(ordered(s.t, s.state, calendar.Cancel{ID: id}, s.now))
	case "answer":
		s.do(inviting(reply(s.state.Calendar.Meeting(id), "guest@far.test", words[2], s.now)))
		s.reported = nil
		s.state.Messages = slices.DeleteFunc(slices.Clone(s.state.Messages), func(m *inbox.Message) bool { return m.OutgoingDelivery == nil })
	case "tell":
		m := *s.state.Calendar.Meeting(id)
		if n, err := strconv.Atoi(words[2]); err == nil && n != 0 {
			m.OwnerCopy.ChangeCount = n
		}
		s.do(telling(&m))
	case "leave":
		s.do(inbox.TellOwner{MeetingID: id, Sequence: s.state.Calendar.Meeting(id).OwnerCopy.ChangeCount})
	case "nothing":
		s.do(inbox.TellOwner{})
	case "attempt":
		s.do(inbox.BeginAttempt{ID: id, SigningResult: inbox.MessageSigned, SignatureFields: []byte("x")})
	case "report":
		outcome := map[string]delivery.AttemptOutcome{"250": delivery.OutcomeDelivered, "450": delivery.OutcomeTemporary, "550": delivery.OutcomePermanent}[words[2]]
		s.do(inbox.ReportAttempt{ID: id, AttemptNumber: 1, IsDone: true, NextAttempt: s.now.Add(time.Hour), Reports: []inbox.AttemptReport{{Email: "owner@home.test", Outcome: outcome, Error: words[2]}}})
	case "over":
		s.do(inbox.ReportAttempt{ID: id, AttemptNumber: 1, IsDone: true, Reports: []inbox.AttemptReport{{Email: "owner@home.test", Outcome: delivery.OutcomeTemporary, Error: "450"}}})
	case "putoff":
		s.now = s.now.Add(72 * time.Hour)
		s.do(inbox.DeferMessages{MessageDeferrals: []inbox.Deferral{{ID: id, FailureReason: "silent"}}, At: s.now})
	case "giveup":
		s.do(inbox.GiveUp{ID: id, FailureReason: "dropped"})
	case "bounce":
		s.do(inbox.BlockOwnerCopies{})
	case "burn":
		s.do(inbox.Burn{})
	case "delete":
		s.do(inbox.DeleteMessage{ID: id})
	case "delete-inbox":
		s.do(inbox.Delete{})
	default:
		s.t.Fatalf("order %q", line)
	}
}

// describe prints the setting, each meeting with the Sequence due and sent to its owner, the messages,
// and the reports since the last time.
func (s *copying) describe() string {
	b := []string{map[bool]string{true: "on", false: "off"}[s.state.Calendar.CurrentSetting().Enabled]}
	if s.state.Calendar.CurrentSetting().Blocked {
		b = append(b, "blocked")
	}
	if s.due != nil && *s.due {
		b = append(b, "due")
	}
	if s.due != nil && *s.due != s.state.Calendar.HasDue() {
		s.t.Errorf("the mark says %t", *s.due)
	}
	for _, m := range s.state.Calendar.Meetings {
		b = append(b, fmt.Sprintf("| meeting %d: %d/%d", m.ID, m.OwnerCopy.LastSentChange, m.OwnerCopy.ChangeCount))
		if m.OwnerCopy.IsDue() && m.OwnerCopy.OfAnswers() {
			b = append(b, "of answers")
		}
		if at := m.OwnerCopy.AnswersAt; !at.IsZero() {
			b = append(b, fmt.Sprint("answers=", int(at.Sub(start).Minutes())))
		}
	}
	for _, m := range s.state.Messages {
		b = append(b, fmt.Sprintf("| mail %d of %d:", m.ID, m.OutgoingDelivery.CopyOfMeeting), strings.Join(status(m), " "))
	}
	for _, reported := range s.reported {
		b = append(b, "|", reported)
	}
	s.reported = nil
	return strings.Join(b, " ")
}

func TestOwnersCopyStories(t *testing.T) {
	text, err := os.ReadFile("testdata/ownercopy.txt")
	if err != nil {
		t.Fatal(err)
	}
	var s *copying
	for n, line := range strings.Split(string(text), "\n") {
		name, begins := strings.CutPrefix(line, "story: ")
		switch {
		case begins:
			s = &copying{t: t, state: &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}, now: start}
			s.do(create())
			t.Log(name)
		case line == "", line[0] == '#':
		case strings.HasPrefix(line, "  "):
			if got := s.describe(); got != line[2:] {
				t.Errorf("line %d:\nis   %s\nwant %s", n+1, got, line[2:])
			}
		default:
			s.order(line)
		}
	}
}

// TestOrdersWeighedBeforeATelling checks that an order planned before the owner was notified is
// planned again. Otherwise it would restore the mark that a copy is due.
func TestOrdersWeighedBeforeATelling(t *testing.T) {
	s := &copying{t: t, state: &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}, now: start}
	s.do(create())
	s.order("owner on")
	s.order("schedule")
	weighed := ordered(t, s.state, renamed(1, "Second"), s.now)
	s.order("tell 1")
	if _, _, err := inbox.Decide(s.state, weighed, env(s.now)); err != inbox.ErrOutdated {
		t.Errorf("the order came to %v", err)
	}
}
