package inbox_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

var stranger = account.NewID(start, [10]byte{2})

// story is one address that the commands of a test file change.
type story struct {
	state *inbox.State
	now   time.Time
	holds inbox.Capacity
}

// TestDecide runs testdata/decide: a command, then its outcome and the rows that it writes,
// "nothing", or the fault. It also checks that no command changes the state before Apply.
func TestDecide(t *testing.T) {
	datadriven.Walk(t, "testdata/decide", func(t *testing.T, path string) {
		s := &story{state: &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}, now: start, holds: roomy}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "advance":
				span, err := time.ParseDuration(word(t, d, 0))
				if err != nil {
					t.Fatalf("%s: %v", d.Pos, err)
				}
				s.now = s.now.Add(span)
				return stamp(s.now) + "\n"
			case "capacity": // messages bytes
				s.holds = inbox.Capacity{MaxMessages: number(t, d, 0), MaxBytes: int64(number(t, d, 1))}
				return fmt.Sprintf("full: %t\n", inbox.NewView(s.state).IsFull(s.holds, s.now))
			case "receive-many":
				for range number(t, d, 0) {
					s.run(t, mail("one of many"))
				}
				return fmt.Sprintf("%d messages of %d bytes, due %s\n", len(s.state.Messages), s.state.Bytes, stamp(s.state.DueAt))
			case "messages":
				return s.messages()
			}
			return s.run(t, command(t, s, d))
		})
	})
}

func command(t *testing.T, s *story, d *datadriven.TestData) inbox.Command {
	switch d.Cmd {
	case "create": // [stranger] [keep-newest]
		c := create()
		c.At = s.now
		c.KeepNewest = d.HasArg("keep-newest")
		if d.HasArg("stranger") {
			c.Account = stranger
		}
		return c
	case "receive": // subject [several=digest]
		c := mail(word(t, d, 0))
		c.Digest = digest(t, d)
		return c
	case "submit":
		return submit(false, "x@far.test")
	case "sent": // id
		return inbox.GiveUp{ID: int64(number(t, d, 0)), FailureReason: "dropped"}
	case "settle":
		return inbox.ConfirmReceipt{Digest: digest(t, d)}
	case "doubt": // id subject
		of := mail(word(t, d, 1))
		return inbox.MarkAmbiguous{ID: int64(number(t, d, 0)), Digest: of.RepeatDigest()}
	case "settle-alone": // subject
		of := mail(word(t, d, 0))
		return inbox.ConfirmReceipt{Digest: of.RepeatDigest()}
	case "mark-read":
		return inbox.MarkRead{ID: int64(number(t, d, 0)), Read: true}
	case "mark-unread":
		return inbox.MarkRead{ID: int64(number(t, d, 0))}
	case "delete-message":
		return inbox.DeleteMessage{ID: int64(number(t, d, 0))}
	case "burn":
		return inbox.Burn{}
	case "delete":
		return inbox.Delete{}
	case "expire":
		return inbox.RemoveExpired{}
	case "update": // [label=] [hours=] [keep-newest=]
		var c inbox.UpdateSettings
		if arg, ok := d.Arg("label"); ok {
			c.Label = &arg.Vals[0]
		}
		var hours int
		if d.MaybeScanArgs(t, "hours", &hours) {
			c.RetentionHours = &hours
		}
		if arg, ok := d.Arg("keep-newest"); ok {
			c.KeepNewest = new(arg.Vals[0] == "true")
		}
		return c
	}
	t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	return nil
}

func digest(t *testing.T, d *datadriven.TestData) (of inbox.MessageDigest) {
	var name string
	if d.MaybeScanArgs(t, "several", &name) {
		copy(of[:], name)
	}
	return of
}

// run decides cmd and applies it.
func (s *story) run(t *testing.T, cmd inbox.Command) string {
	before := fmt.Sprintf("%+v", *s.state)
	evs, outcome, err := inbox.Decide(s.state, cmd, inbox.Env{Now: s.now, Capacity: s.holds})
	if after := fmt.Sprintf("%+v", *s.state); after != before {
		t.Fatalf("Decide touched the state:\n%s\n%s", before, after)
	}
	if err != nil {
		if evs != nil || !reflect.DeepEqual(outcome, inbox.CommandOutcome{}) {
			t.Fatalf("%T: an outcome beside %v", cmd, err)
		}
		return err.Error() + "\n"
	}
	out := describe(outcome)
	if len(evs) > 0 {
		out += rows(change(s.state, evs))
	}
	if out == "" {
		return "nothing\n"
	}
	return out
}

func describe(a inbox.CommandOutcome) string {
	switch {
	case a.IsDuplicate:
		return fmt.Sprintf("a duplicate of %d\n", a.ID)
	case a.ID != 0:
		return fmt.Sprintf("id %d\n", a.ID)
	case a.Count != 0:
		return fmt.Sprintf("%d deleted\n", a.Count)
	}
	return ""
}

func rows(r *inbox.Rows) string {
	var b strings.Builder
	if p := r.Profile; p != nil {
		fmt.Fprintf(&b, "profile %q for %d h, created %s, deleted %s, last id %d%s\n", p.Label, p.RetentionHours, stamp(p.CreatedAt), stamp(p.DeletedAt), p.LastID, keeps(p))
		if !p.DueAt.Equal(r.DueTo) {
			fmt.Fprintf(&b, "BUT the profile is due %s\n", stamp(p.DueAt))
		}
	}
	if !r.DueFrom.Equal(r.DueTo) {
		fmt.Fprintf(&b, "due %s, was %s\n", stamp(r.DueTo), stamp(r.DueFrom))
	}
	for _, m := range r.PutMessages {
		fmt.Fprintf(&b, "put %s\n", line(m))
	}
	for _, st := range r.StoreMessages {
		fmt.Fprintf(&b, "store %d, %d bytes\n", st.ID, len(st.Raw))
	}
	if len(r.DropMessages) > 5 {
		fmt.Fprintf(&b, "drop %d to %d\n", r.DropMessages[0].ID, r.DropMessages[len(r.DropMessages)-1].ID)
	} else {
		for _, m := range r.DropMessages {
			fmt.Fprintf(&b, "drop %d\n", m.ID)
		}
	}
	for _, e := range r.PublicEvents {
		fmt.Fprintf(&b, "public %d %s of %d, from %s, %q, code %s\n", e.SequenceNumber, e.EventName, e.MessageID, e.From, e.Subject, e.OTP)
	}
	return b.String()
}

func keeps(p *inbox.Profile) string {
	if p.KeepNewest {
		return ", keeps the newest"
	}
	return ""
}

func line(m *inbox.Message) string {
	s := fmt.Sprintf("%d %q, code %s, %d bytes, until %s", m.ID, m.Subject, m.OTP, m.Size, stamp(m.ExpiresAt))
	if m.IsRead {
		s += ", read"
	}
	if m.RepeatDigest != nil {
		s += ", unsettled"
	}
	return s
}

func (s *story) messages() string {
	var b strings.Builder
	for _, m := range s.state.Messages {
		fmt.Fprintln(&b, line(m))
	}
	fmt.Fprintf(&b, "%d bytes, newest at hand: %d\n", s.state.Bytes, s.state.NewestContent.ID())
	return b.String()
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Format("2006-01-02 15:04")
}

func word(t *testing.T, d *datadriven.TestData, i int) string {
	t.Helper()
	if i >= len(d.CmdArgs) {
		t.Fatalf("%s: %s needs argument %d", d.Pos, d.Cmd, i+1)
	}
	return d.CmdArgs[i].Key
}

func number(t *testing.T, d *datadriven.TestData, i int) int {
	t.Helper()
	n, err := strconv.Atoi(word(t, d, i))
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return n
}

// holding is a live inbox with n messages of size bytes each. The first expired of them are over at
// start.
func holding(n int, size int64, expired int) *inbox.State {
	s := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost", Account: owner, RetentionHours: 24, CreatedAt: start.AddDate(0, 0, -1), LastID: int64(n)}}
	for i := range n {
		m := &inbox.Message{ID: int64(i + 1), Direction: inbox.In, Size: size, ReceivedAt: start.Add(-time.Hour), ExpiresAt: start.Add(time.Hour)}
		if i < expired {
			m.ExpiresAt = start
		}
		s.Messages = append(s.Messages, m)
		s.Bytes += size
	}
	return s
}

// TestRoom fills inboxes to the limit of both quotas. Expired messages do not count, even before
// retention removes them.
func TestRoom(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name         string
		n            int
		size         int64
		expired      int
		offered      int64
		before, full bool // before: one nanosecond before the expired ones are over
	}{
		{name: "empty", offered: 25 * mb},
		{name: "one short of the count", n: roomy.MaxMessages - 1},
		{name: "at the count", n: roomy.MaxMessages, full: true},
		{name: "at the count, one over", n: roomy.MaxMessages, expired: 1},
		{name: "at the count, one not yet over", n: roomy.MaxMessages, expired: 1, before: true, full: true},
		{name: "beyond the count, one too few over", n: roomy.MaxMessages + 5, expired: 5, full: true},
		{name: "beyond the count, enough over", n: roomy.MaxMessages + 5, expired: 6},
		{name: "to the last byte", n: 499, size: mb, offered: mb},
		{name: "past the last byte", n: 499, size: mb, offered: mb + 1, full: true},
		{name: "bytes of one over", n: 500, size: mb, expired: 1, offered: mb},
		{name: "bytes of one over, more offered", n: 500, size: mb, expired: 1, offered: mb + 1, full: true},
	} {
		s := holding(c.n, c.size, c.expired)
		now := start
		if c.before {
			now = now.Add(-1)
		}
		receive := mail(c.name)
		receive.Raw = make([]byte, c.offered)
		_, _, err := inbox.Decide(s, receive, env(now))
		if fault.Is(err, fault.InboxFull) != c.full || (err != nil) != c.full {
			t.Errorf("%s: %v", c.name, err)
		}
		if viewed := inbox.NewView(s).CheckRoom(c.offered, roomy, now); fmt.Sprint(viewed) != fmt.Sprint(err) {
			t.Errorf("%s: its view says %v, the inbox %v", c.name, viewed, err)
		}
	}
}

// TestGroupedRows commits several commands as one change. Its rows show the final state.
func TestGroupedRows(t *testing.T) {
	s := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	r := begin(s)
	for _, cmd := range []inbox.Command{create(), mail("one"), inbox.MarkRead{ID: 1, Read: true}, mail("two"), inbox.DeleteMessage{ID: 1}} {
		evs, _, err := inbox.Decide(s, cmd, env(start.Add(time.Duration(s.LastID)*time.Hour)))
		if err != nil {
			t.Fatal(err)
		}
		r.Apply(s, evs)
	}
	const want = `profile "" for 24 h, created 2026-11-21 08:00, deleted never, last id 2
due 2026-11-22 09:00, was never
put 1 "one", code 123456, 16 bytes, until 2026-11-22 08:00
put 1 "one", code 123456, 16 bytes, until 2026-11-22 08:00, read
put 2 "two", code 123456, 16 bytes, until 2026-11-22 09:00
store 1, 16 bytes
store 2, 16 bytes
drop 1
public 1 message.received of 1, from s@example.test, "one", code 123456
public 2 message.received of 2, from s@example.test, "two", code 123456
`
	if got := rows(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
