package courier

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"inboxd/internal/core/delivery"
)

// TestDeadSmarthostIsNamed: the sender and the operator read which server is not there, and why.
func TestDeadSmarthostIsNamed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	got := courier(t, Options{Smarthost: Smarthost{Addr: addr}}).Deliver(t.Context(), toX("a@x.example"))[0]
	if want := "smarthost " + addr + " cannot be reached: connect: connection refused"; got.Text != want || got.Outcome != delivery.OutcomeTemporary {
		t.Errorf("%v %q, want %q", got.Outcome, got.Text, want)
	}
}

// TestSmarthostIsResolved checks that the name of the smarthost is looked up with its own resolver,
// and that the report says so if the name does not resolve.
func TestSmarthostIsResolved(t *testing.T) {
	mx := (&fakeMX{}).start(t, "127.0.0.1", 0)
	dns := &fakeDNS{ip: map[string][]string{"smart.example": {"127.0.0.1"}, "two.example": {"127.9.9.9", "127.0.0.1"}}, broken: map[string]bool{"broken.example": true}}
	for _, c := range []struct {
		host     string
		outcome  delivery.AttemptOutcome
		enhanced string
		text     string
	}{
		{"smart.example", delivery.OutcomeDelivered, "", ""},
		{"two.example", delivery.OutcomeDelivered, "", ""}, // nobody listens at the first address
		{"127.0.0.1", delivery.OutcomeDelivered, "", ""},
		{"localhost", delivery.OutcomeDelivered, "", ""}, // this machine, whatever the DNS says
		{"gone.example", delivery.OutcomeTemporary, "4.4.1", "The smarthost gone.example has no address"},
		{"broken.example", delivery.OutcomeTemporary, "4.4.3", "The DNS lookup of the smarthost broken.example failed"},
	} {
		opts := Options{Resolver: &fakeDNS{}, Smarthost: Smarthost{Addr: net.JoinHostPort(c.host, strconv.Itoa(mx.port)), Resolver: dns}}
		got := courier(t, opts).Deliver(t.Context(), toX("a@x.example"))[0]
		if got.Outcome != c.outcome || c.enhanced != "" && got.Enhanced != c.enhanced || !strings.HasPrefix(got.Text, c.text) {
			t.Errorf("%s: %+v", c.host, got)
		}
	}
	opts := Options{Resolver: dns, Smarthost: Smarthost{Addr: "smart.example:" + strconv.Itoa(mx.port)}}
	if got := courier(t, opts).Deliver(t.Context(), toX("a@x.example"))[0]; got.Outcome != delivery.OutcomeDelivered {
		t.Errorf("%+v", got)
	}
}

// TestReportsAreAskedFor checks that reports are requested from servers that offer them: a bounce
// then names the recipient by the address that we used (RFC 3461).
func TestReportsAreAskedFor(t *testing.T) {
	rcpts := []string{"a@x.example", "joe+tag=1@x.example", "us..er@x.example", "jürgen@x.example", strings.Repeat("+", 200) + "@x.example"}
	for _, c := range []struct {
		name, from string
		ext        []string
		want       []string
	}{
		{"offered", "me@us.example", []string{"DSN", "PIPELINING", "SMTPUTF8", "8BITMIME"}, []string{
			"MAIL FROM:<me@us.example> RET=HDRS", "RCPT TO:<a@x.example> NOTIFY=FAILURE ORCPT=rfc822;a@x.example",
			"RCPT TO:<joe+tag=1@x.example> NOTIFY=FAILURE ORCPT=rfc822;joe+2Btag+3D1@x.example",
			`RCPT TO:<"us..er"@x.example> NOTIFY=FAILURE ORCPT=rfc822;us..er@x.example`,
			`RCPT TO:<jürgen@x.example> NOTIFY=FAILURE ORCPT=utf-8;j\x{FC}rgen@x.example`,
			"RCPT TO:<" + rcpts[4] + "> NOTIFY=FAILURE",
		}},
		{"not offered", "me@us.example", []string{"SMTPUTF8", "8BITMIME"}, []string{"MAIL FROM:<me@us.example>", "RCPT TO:<a@x.example>", `RCPT TO:<"us..er"@x.example>`}},
		{"from nobody", "", []string{"DSN", "SMTPUTF8", "8BITMIME"}, []string{"MAIL FROM:<>", "RCPT TO:<a@x.example>"}},
	} {
		mx := (&fakeMX{ext: c.ext}).start(t, "127.0.0.1", 0)
		job := toX(rcpts...)
		job.Senders = slices.Repeat([]string{c.from}, len(rcpts))
		courier(t, Options{Smarthost: Smarthost{Addr: "127.0.0.1:" + strconv.Itoa(mx.port)}}).Deliver(t.Context(), job)
		mx.mu.Lock()
		for _, want := range c.want {
			found := false
			for _, line := range mx.lines {
				line = strings.NewReplacer(" BODY=8BITMIME", "", " SMTPUTF8", "").Replace(line)
				found = found || line == want
			}
			if !found {
				t.Errorf("%s: %q is not among %q", c.name, want, mx.lines)
			}
		}
		mx.mu.Unlock()
	}
}

// TestLongSendersAreShortened checks that senders are shortened only for a server that accepts no
// more than 64 octets of local part, and that a refused sender is not tried again.
func TestLongSendersAreShortened(t *testing.T) {
	inbox := strings.Repeat("a", 60) + "@us.example"
	long, short := strings.Repeat("a", 60)+"+b1=0=aaaaaaaa@us.example", "a+b1=0=aaaaaaaa@us.example"
	untagged := strings.Repeat("a", 65) + "@us.example"
	for _, c := range []struct {
		name, from, refuses string
		ext                 []string
		want                delivery.AttemptOutcome
		said                []string // MAIL commands
	}{
		{"pipelined", long, long, pipelining, delivery.OutcomeDelivered, []string{long, inbox, inbox}},
		{"in turn", long, long, nil, delivery.OutcomeDelivered, []string{long, inbox, inbox}},
		{"taken", long, "nobody", pipelining, delivery.OutcomeDelivered, []string{long, long}},
		{"refused for another reason", long, "", pipelining, delivery.OutcomePermanent, []string{long, inbox, inbox}},
		{"a short one", short, "", pipelining, delivery.OutcomePermanent, []string{short, short}},
		{"long without a tag", untagged, "", nil, delivery.OutcomePermanent, []string{untagged, untagged}},
	} {
		mx := (&fakeMX{ext: c.ext, replies: map[string]string{"MAIL FROM:<" + c.refuses: "553 5.1.7 too long"}}).start(t, "127.0.0.1", 0)
		job := toX("a@x.example", "b@x.example")
		job.Senders = []string{c.from, c.from}
		for _, got := range courier(t, Options{Smarthost: Smarthost{Addr: "127.0.0.1:" + strconv.Itoa(mx.port)}}).Deliver(t.Context(), job) {
			if got.Outcome != c.want {
				t.Errorf("%s: %+v", c.name, got)
			}
		}
		var said []string
		mx.mu.Lock()
		for _, line := range mx.lines {
			if from, ok := strings.CutPrefix(line, "MAIL FROM:<"); ok {
				from, _, _ = strings.Cut(from, ">")
				said = append(said, from)
			}
		}
		mx.mu.Unlock()
		if !slices.Equal(said, c.said) {
			t.Errorf("%s: %q", c.name, said)
		}
	}
}

// TestRefusalsHaveWords checks that refusals have a text, even from servers that send none.
func TestRefusalsHaveWords(t *testing.T) {
	for reply, want := range map[string]string{
		"550 5.1.1":         "The mailbox does not exist (5.1.1)",
		"550":               "The message was refused (550)",
		"452 4.2.2":         "The mailbox is full (4.2.2)",
		"550 5.1.1 No such": "550 5.1.1 No such",
	} {
		mx := (&fakeMX{replies: map[string]string{"RCPT": reply}}).start(t, "127.0.0.1", 0)
		got := courier(t, Options{Smarthost: Smarthost{Addr: "127.0.0.1:" + strconv.Itoa(mx.port)}}).Deliver(t.Context(), toX("a@x.example"))[0]
		if got.Text != want {
			t.Errorf("%s: %+v", reply, got)
		}
	}
}
