package inbox_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
)

// delivering is an inbox driven by the orders of testdata/delivery.txt.
type delivering struct {
	t        *testing.T
	state    *inbox.State
	now      time.Time
	reported int // events already printed
	log      []inbox.PublicEvent
}

func (s *delivering) do(cmd inbox.Command) {
	evs, _, err := inbox.Decide(s.state, cmd, env(s.now))
	if err != nil {
		return // late orders are refused or change nothing, as the printed state shows
	}
	s.log = append(s.log, change(s.state, evs).PublicEvents...)
}

func (s *delivering) order(line string) {
	words := strings.Fields(line)
	switch rest := words[1:]; words[0] {
	case "submit":
		s.do(s.submit(rest))
	case "attempt":
		signed := map[string]inbox.SigningResult{"signed": inbox.MessageSigned, "unsigned": inbox.MessageUnsigned}[rest[0]]
		s.do(inbox.BeginAttempt{ID: 1, SigningResult: signed, SignatureFields: []byte("x")})
	case "report":
		s.do(s.report(rest))
	case "putoff":
		s.do(inbox.DeferMessages{MessageDeferrals: []inbox.Deferral{{ID: 1, FailureReason: "No route to far.test", Jitter: 0.5}}, At: s.now})
	case "bounce":
		s.do(inbox.RecordBounce{ID: 1, Recipient: rest[0], Error: "5.1.1 gone"})
	case "requeue":
		s.do(inbox.Requeue{ID: 1})
	case "giveup":
		s.do(inbox.GiveUp{ID: 1, FailureReason: "dropped"})
	case "expire":
		s.do(inbox.RemoveExpired{})
	case "delete":
		s.do(inbox.DeleteMessage{ID: 1})
	case "burn":
		s.do(inbox.Burn{})
	case "delete-inbox":
		s.do(inbox.Delete{})
	case "erase":
		s.do(inbox.Erase{Account: owner})
	default:
		s.t.Fatalf("order %q", line)
	}
}

func (s *delivering) submit(words []string) inbox.Submit {
	auto := words[0] == "auto"
	if auto {
		words = words[1:]
	}
	cmd := submit(auto)
	for _, email := range words {
		email, bcc := strings.CutPrefix(email, "bcc:")
		r := inbox.To(email)
		r.Bcc = bcc
		cmd.Recipients = append(cmd.Recipients, r)
	}
	return cmd
}

func (s *delivering) report(words []string) inbox.ReportAttempt {
	cmd := inbox.ReportAttempt{ID: 1, AttemptNumber: 99}
	if len(s.state.Messages) > 0 {
		cmd.AttemptNumber = s.state.Messages[0].OutgoingDelivery.AttemptCount
	}
	for _, w := range words {
		switch {
		case w == "done":
			cmd.IsDone = true
		case w == "late":
			cmd.AttemptNumber--
		case strings.HasPrefix(w, "next="):
			n, err := strconv.Atoi(w[5:])
			if err != nil {
				s.t.Fatal(err)
			}
			cmd.NextAttempt = start.Add(time.Duration(n) * time.Minute)
		default:
			r := map[byte]inbox.AttemptReport{
				'+': {Outcome: delivery.OutcomeDelivered}, '~': {Outcome: delivery.OutcomeTemporary, Error: "later"}, '-': {Outcome: delivery.OutcomePermanent, Error: "no"},
			}[w[0]]
			r.Email = w[1:]
			cmd.Reports = append(cmd.Reports, r)
		}
	}
	return cmd
}

// describe prints the visible state of the message, and the events since the last time.
func (s *delivering) describe() string {
	b := []string{"gone"}
	if len(s.state.Messages) > 0 {
		b = status(s.state.Messages[0])
	}
	for _, ev := range s.log[s.reported:] {
		b = append(b, fmt.Sprintf("| %s to=%v %s", ev.EventName, ev.To, ev.SendStatus))
		if ev.MessageDeleted {
			b = append(b, "gone "+strconv.Quote(ev.From+ev.Subject+ev.SendError))
		}
		for _, r := range ev.Recipients {
			b = append(b, fmt.Sprintf("%.1s=%s", r.Email, r.Status))
		}
	}
	s.reported = len(s.log)
	return strings.Join(b, " ")
}

func status(message *inbox.Message) (b []string) {
	m := message.OutgoingDelivery
	if message.IsExpired(start) {
		b = append(b, "hidden")
	}
	b = append(b, m.Status.String())
	if m.LastFailure() != "" {
		b = append(b, strconv.Quote(m.LastFailure()))
	}
	if !m.NextDue.IsZero() {
		b = append(b, fmt.Sprintf("due=%d", int(m.NextDue.Sub(start).Minutes())))
	}
	if m.AttemptLeased {
		b = append(b, "leased")
	}
	for _, r := range m.Recipients {
		b = append(b, fmt.Sprintf("%c=%s", r.Email[0], r.Status))
	}
	return b
}

func TestDeliveryStories(t *testing.T) {
	text, err := os.ReadFile("testdata/delivery.txt")
	if err != nil {
		t.Fatal(err)
	}
	var s *delivering
	for n, line := range strings.Split(string(text), "\n") {
		name, begins := strings.CutPrefix(line, "story: ")
		switch {
		case begins:
			s = &delivering{t: t, state: &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}, now: start}
			s.do(create())
			t.Log(name)
		case line == "", line[0] == '#':
		case strings.HasPrefix(line, "wait "):
			minutes, err := strconv.Atoi(line[5:])
			if err != nil {
				t.Fatal(err)
			}
			s.now = start.Add(time.Duration(minutes) * time.Minute)
		case strings.HasPrefix(line, "  "):
			if got := s.describe(); got != line[2:] {
				t.Errorf("line %d:\nis   %s\nwant %s", n+1, got, line[2:])
			}
		default:
			s.order(line)
		}
	}
}
