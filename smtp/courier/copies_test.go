package courier

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"inboxd/internal/core/delivery"
)

// toEach is a message for n recipients, each with its own return path.
func toEach(n int) DeliveryRequest {
	job := toX()
	for i := range n {
		job.Rcpts = append(job.Rcpts, fmt.Sprintf("r%d@x.example", i))
		job.Senders = append(job.Senders, fmt.Sprintf("me+b1=%d=aaaaaaaa@us.example", i))
	}
	return job
}

// transactions returns the envelope of each transaction that a server began: sender and recipients.
func (m *fakeMX) transactions() (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, line := range m.lines {
		verb, rest, _ := strings.Cut(line, ":<")
		path, _, _ := strings.Cut(rest, ">")
		switch verb {
		case "MAIL FROM":
			list = append(list, path)
		case "RCPT TO":
			list[len(list)-1] += " " + path
		}
	}
	return list
}

// TestEachRecipientHasAReturnPath checks that recipients get different return paths over one
// connection, and that no server learns another recipient's path.
func TestEachRecipientHasAReturnPath(t *testing.T) {
	for _, ext := range [][]string{nil, pipelining} {
		mx := (&fakeMX{ext: ext}).start(t, "127.0.0.1", 0)
		job := toEach(20)
		var taken []string
		job.Taken = func(rcpt, mx string) { taken = append(taken, rcpt+" "+mx) }
		for i, got := range courier(t, Options{Resolver: oneMX(), MXPort: mx.port}).Deliver(t.Context(), job) {
			if got.Outcome != delivery.OutcomeDelivered || got.Rcpt != job.Rcpts[i] || got.MX != "mx.x.example" {
				t.Errorf("%+v", got)
			}
		}
		for i, got := range mx.transactions() {
			if got != job.Senders[i]+" "+job.Rcpts[i] {
				t.Errorf("transaction %d: %s", i, got)
			}
		}
		if mx.connections() != 1 || len(mx.received()) != 20 {
			t.Errorf("%d connections, %d messages", mx.connections(), len(mx.received()))
		}
		if len(taken) != 19 || taken[18] != "r18@x.example mx.x.example" {
			t.Errorf("taken before the last: %q", taken)
		}
	}
}

// TestCopiesThatAreLeft covers servers that end the connection or refuse one copy. Accepted copies
// are never sent again, and the others are tried as long as the server accepts some.
func TestCopiesThatAreLeft(t *testing.T) {
	const yes, later, never = delivery.OutcomeDelivered, delivery.OutcomeTemporary, delivery.OutcomePermanent
	every := func(n int64, verb, reply string) func() *fakeMX { // of the commands with a verb
		return func() *fakeMX {
			var count atomic.Int64
			return &fakeMX{answer: func(command string) string {
				if strings.HasPrefix(command, verb) && count.Add(1)%n == 0 {
					return reply
				}
				return ""
			}}
		}
	}
	silentAfter := func(n int64) func() *fakeMX { // to the n-th message, which it has received
		return func() *fakeMX {
			var count atomic.Int64
			return &fakeMX{takeOver: func(_ net.Conn, command string) bool { return command == "." && count.Add(1) == n }}
		}
	}
	for _, c := range []struct {
		name        string
		mx          func() *fakeMX
		want        []delivery.AttemptOutcome
		connections int
		tries       int // transactions in total
	}{
		{"two over a connection", every(3, "MAIL", "421 4.7.0 too many messages"), []delivery.AttemptOutcome{yes, yes, yes, yes, yes}, 3, 7},
		{"one over a connection", every(2, "MAIL", "451 4.7.0 one is enough"), []delivery.AttemptOutcome{yes, yes, yes, yes, yes}, 5, 9},
		{"none at all", every(1, "MAIL", "421 4.7.0 not now"), []delivery.AttemptOutcome{later, later, later, later, later}, 1, 1},
		{"no word after the second", silentAfter(2), []delivery.AttemptOutcome{yes, later, yes, yes, yes}, 2, 5},
		{"no word after the first", silentAfter(1), []delivery.AttemptOutcome{later, later, later, later, later}, 1, 1},
		{"some refused", func() *fakeMX {
			return &fakeMX{replies: map[string]string{"RCPT TO:<r1@": "550 no", "RCPT TO:<r3@": "450 4.2.0 greylisted"}}
		}, []delivery.AttemptOutcome{yes, never, yes, later, yes}, 1, 5},
		{"one put off at DATA", func() *fakeMX {
			var rcpt atomic.Value
			return &fakeMX{answer: func(command string) string {
				if strings.HasPrefix(command, "RCPT") {
					rcpt.Store(command)
				}
				if command == "DATA" && rcpt.Load() == "RCPT TO:<r1@x.example>" {
					return "451 4.7.1 greylisted"
				}
				return ""
			}}
		}, []delivery.AttemptOutcome{yes, later, yes, yes, yes}, 1, 5},
	} {
		for _, ext := range [][]string{nil, pipelining} {
			mx := c.mx()
			mx.ext = ext
			mx.start(t, "127.0.0.1", 0)
			var got []delivery.AttemptOutcome
			for _, report := range courier(t, Options{Resolver: oneMX(), MXPort: mx.port}).Deliver(t.Context(), toEach(len(c.want))) {
				if got = append(got, report.Outcome); report.Text == "" {
					t.Errorf("%s: no reason: %+v", c.name, report)
				}
			}
			if !slices.Equal(got, c.want) || mx.connections() != c.connections || len(mx.transactions()) != c.tries {
				t.Errorf("%s, %v: %v over %d connections, %q", c.name, ext, got, mx.connections(), mx.transactions())
			}
			messages := slices.DeleteFunc(mx.received(), func(m string) bool { return m == "" })
			taken := len(slices.DeleteFunc(got, func(o delivery.AttemptOutcome) bool { return o != yes }))
			if n := len(messages); n != taken && n != taken+1 { // one more that the server did not confirm
				t.Errorf("%s, %v: %d messages arrived, %d of them confirmed", c.name, ext, n, taken)
			}
		}
	}
}

// TestCopiesEndWithTheExchange checks that recipients not reached in time are reported as such, and
// that the reports of the others stay.
func TestCopiesEndWithTheExchange(t *testing.T) {
	mx := (&fakeMX{ext: pipelining}).start(t, "127.0.0.1", 0)
	ctx, cancel := context.WithCancel(t.Context())
	job := toEach(4)
	job.Taken = func(rcpt, _ string) {
		if rcpt == job.Rcpts[1] {
			cancel()
		}
	}
	var got []delivery.AttemptOutcome
	for _, report := range courier(t, Options{Resolver: oneMX(), MXPort: mx.port}).Deliver(ctx, job) {
		got = append(got, report.Outcome)
	}
	if want := []delivery.AttemptOutcome{delivery.OutcomeDelivered, delivery.OutcomeDelivered, delivery.OutcomeTemporary, delivery.OutcomeTemporary}; !slices.Equal(got, want) || len(mx.received()) != 2 {
		t.Errorf("%v, %d messages", got, len(mx.received()))
	}
}

// TestEachCopyNeedsItsOwnExtensions checks that a recipient with a non-ASCII address does not keep
// the message from the others.
func TestEachCopyNeedsItsOwnExtensions(t *testing.T) {
	mx := (&fakeMX{}).start(t, "127.0.0.1", 0)
	got := courier(t, Options{Resolver: oneMX(), MXPort: mx.port}).Deliver(t.Context(), toX("ü@x.example", "a@x.example"))
	if got[0].Outcome != delivery.OutcomePermanent || got[1].Outcome != delivery.OutcomeDelivered {
		t.Errorf("%+v", got)
	}
}
