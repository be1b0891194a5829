package courier

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"inboxd/internal/base/netguard"
	"inboxd/internal/core/delivery"
)

var pipelining = []string{"PIPELINING", "SIZE 1000000", "8BITMIME", "ENHANCEDSTATUSCODES"}

func TestDeliver(t *testing.T) {
	for _, ext := range [][]string{nil, pipelining} {
		mx := (&fakeMX{ext: ext, replies: map[string]string{"RCPT TO:<no@": "550-5.1.1 No such\r\n550 5.1.1 user", "RCPT TO:<later@": "451 4.7.1 Greylisted"}}).start(t, "127.0.0.1", 0)
		c := courier(t, Options{Resolver: oneMX(), MXPort: mx.port})
		got := c.Deliver(t.Context(), toX("a@x.example", "no@x.example", "later@x.example", "b@x.example", "b\r\nad@x.example"))
		want := []RecipientOutcome{
			{Rcpt: "a@x.example", Outcome: delivery.OutcomeDelivered, Code: 250, Enhanced: "2.0.0", Text: "250 2.0.0 queued", MX: "mx.x.example"},
			{Rcpt: "no@x.example", Outcome: delivery.OutcomePermanent, Code: 550, Enhanced: "5.1.1", Text: "550 5.1.1 No such user", MX: "mx.x.example"},
			{Rcpt: "later@x.example", Outcome: delivery.OutcomeTemporary, Code: 451, Enhanced: "4.7.1", Text: "451 4.7.1 Greylisted", MX: "mx.x.example"},
			{Rcpt: "b@x.example", Outcome: delivery.OutcomeDelivered, Code: 250, Enhanced: "2.0.0", Text: "250 2.0.0 queued", MX: "mx.x.example"},
			{Rcpt: "b\r\nad@x.example", Outcome: delivery.OutcomePermanent, Enhanced: "5.1.3", Text: "This address cannot be used in SMTP"},
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v:\n got %+v\nwant %+v", ext, got, want)
		}
		mailCount := slices.DeleteFunc(mx.received(), func(m string) bool { return m == "" })
		if want := []string{testMail, testMail}; !slices.Equal(mailCount, want) || mx.connections() != 1 {
			t.Errorf("%q over %d connections", mailCount, mx.connections())
		}
	}
}

// Each row is a server and the outcome for one recipient.
func TestOutcomes(t *testing.T) {
	closeAt := func(at string) func(net.Conn, string) bool {
		return func(_ net.Conn, command string) bool {
			return strings.HasPrefix(command, at) && (at != "" || command == "")
		}
	}
	for name, c := range map[string]struct {
		mx   *fakeMX
		want delivery.AttemptOutcome
		text string
	}{
		"greeting 554":       {&fakeMX{greeting: "554 go away"}, delivery.OutcomeTemporary, "554 go away"},
		"greeting 421":       {&fakeMX{greeting: "421 4.3.2 busy"}, delivery.OutcomeTemporary, "421 4.3.2 busy"},
		"greeting nonsense":  {&fakeMX{greeting: "HTTP/1.1 400"}, delivery.OutcomeTemporary, "not an SMTP reply"},
		"no greeting":        {&fakeMX{takeOver: closeAt("")}, delivery.OutcomeTemporary, "broke"},
		"HELO only":          {&fakeMX{replies: map[string]string{"EHLO": "502 what"}}, delivery.OutcomeDelivered, "250"},
		"MAIL 451":           {&fakeMX{replies: map[string]string{"MAIL": "451 later"}}, delivery.OutcomeTemporary, "451 later"},
		"MAIL 550":           {&fakeMX{replies: map[string]string{"MAIL": "550 5.7.1 not you"}}, delivery.OutcomePermanent, "550 5.7.1 not you"},
		"MAIL 550 pipelined": {&fakeMX{ext: pipelining, replies: map[string]string{"MAIL": "550 5.7.1 not you", "RCPT": "503 first MAIL", "DATA": "503 first RCPT"}}, delivery.OutcomePermanent, "550 5.7.1 not you"},
		"RCPT 421":           {&fakeMX{replies: map[string]string{"RCPT": "421 bye"}}, delivery.OutcomeTemporary, "421 bye"},
		"nobody, yet 354":    {&fakeMX{ext: pipelining, replies: map[string]string{"RCPT": "550 no"}}, delivery.OutcomePermanent, "550 no"},
		"DATA 451":           {&fakeMX{replies: map[string]string{"DATA": "451 no disk"}}, delivery.OutcomeTemporary, "451 no disk"},
		"DATA 554":           {&fakeMX{replies: map[string]string{"DATA": "554 never"}}, delivery.OutcomePermanent, "554 never"},
		"DATA 250":           {&fakeMX{replies: map[string]string{"DATA": "250 sure"}}, delivery.OutcomeTemporary, "250 sure"},
		"dot 550":            {&fakeMX{replies: map[string]string{".": "550 5.7.1 spam"}}, delivery.OutcomePermanent, "550 5.7.1 spam"},
		"dot 452":            {&fakeMX{replies: map[string]string{".": "452 4.2.2 full"}}, delivery.OutcomeTemporary, "452 4.2.2 full"},
		"dot 354":            {&fakeMX{replies: map[string]string{".": "354 more"}}, delivery.OutcomeTemporary, "could arrive twice"},
		"dot 421":            {&fakeMX{replies: map[string]string{".": "421 4.3.0 bye"}}, delivery.OutcomeTemporary, "421 4.3.0 bye"},
		"dot nonsense":       {&fakeMX{replies: map[string]string{".": "ok"}}, delivery.OutcomeTemporary, "could arrive twice"},
		"closed after dot":   {&fakeMX{takeOver: closeAt(".")}, delivery.OutcomeTemporary, "could arrive twice"},
		"closed at MAIL":     {&fakeMX{takeOver: closeAt("MAIL")}, delivery.OutcomeTemporary, "broke"},
		"two codes":          {&fakeMX{replies: map[string]string{"RCPT": "250-ok\r\n550 no"}}, delivery.OutcomeTemporary, "not an SMTP reply"},
		"too small":          {&fakeMX{ext: []string{"SIZE 10"}}, delivery.OutcomePermanent, "accepts at most 10"},
		"too many":           {&fakeMX{replies: map[string]string{"RCPT": "552 5.5.3 too many"}}, delivery.OutcomeTemporary, "552 5.5.3 too many"},
	} {
		t.Run(name, func(t *testing.T) {
			mx := c.mx.start(t, "127.0.0.1", 0)
			got := courier(t, Options{Resolver: oneMX(), MXPort: mx.port}).Deliver(t.Context(), toX("a@x.example"))[0]
			if got.Outcome != c.want || !strings.Contains(got.Text, c.text) || got.Code != 0 && got.MX != "mx.x.example" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestUTF8(t *testing.T) {
	for _, c := range []struct {
		ext  []string
		job  DeliveryRequest
		want delivery.AttemptOutcome
		mail string
	}{
		{nil, DeliveryRequest{Rcpts: []string{"ü@x.example"}, Raw: []byte("a\r\n")}, delivery.OutcomePermanent, ""},
		{nil, DeliveryRequest{Rcpts: []string{"a@x.example"}, Raw: []byte("a\r\n"), NeedUTF8: true}, delivery.OutcomePermanent, ""},
		{nil, DeliveryRequest{Rcpts: []string{"a@bücher.example"}, Raw: []byte("a\r\n")}, delivery.OutcomeDelivered, "MAIL FROM:<>"},
		{nil, DeliveryRequest{Rcpts: []string{"a@x.example"}, Raw: []byte("ü\r\n")}, delivery.OutcomePermanent, ""},
		{[]string{"8BITMIME"}, DeliveryRequest{Rcpts: []string{"a@x.example"}, Raw: []byte("ü\r\n")}, delivery.OutcomeDelivered, "MAIL FROM:<> BODY=8BITMIME"},
		{[]string{"8BITMIME", "SMTPUTF8"}, DeliveryRequest{Rcpts: []string{"ü@x.example"}, Raw: []byte("a\r\n")}, delivery.OutcomeDelivered, "MAIL FROM:<> BODY=8BITMIME SMTPUTF8"},
		{[]string{"size 99"}, DeliveryRequest{Rcpts: []string{"a@x.example"}, Raw: []byte("a\r\n")}, delivery.OutcomeDelivered, "MAIL FROM:<> SIZE=3"},
		{nil, DeliveryRequest{Rcpts: []string{"a@x.example"}, Raw: []byte("a\n")}, delivery.OutcomePermanent, ""},
		{nil, DeliveryRequest{Rcpts: []string{"a@x.example"}, Raw: []byte("a\r")}, delivery.OutcomePermanent, ""},
		{nil, DeliveryRequest{Rcpts: []string{"a@x.example"}, Raw: []byte("a\x00\r\n")}, delivery.OutcomePermanent, ""},
		{nil, DeliveryRequest{Senders: []string{"x>\r\nRSET"}, Rcpts: []string{"a@x.example"}, Raw: []byte("a\r\n")}, delivery.OutcomePermanent, ""},
	} {
		mx := (&fakeMX{ext: c.ext}).start(t, "127.0.0.1", 0)
		c.job.Domain = "x.example"
		got := courier(t, Options{Resolver: oneMX(), MXPort: mx.port}).Deliver(t.Context(), c.job)[0]
		if got.Outcome != c.want || c.mail != "" && mx.said(c.mail) != 1 || c.want == delivery.OutcomePermanent && len(mx.received()) > 0 {
			t.Errorf("%v %+v: %+v %q", c.ext, c.job, got, mx.lines)
		}
		if c.want == delivery.OutcomePermanent && got.Text == "" {
			t.Errorf("no reason: %+v", got)
		}
	}
}

func TestRoutes(t *testing.T) {
	mx := (&fakeMX{}).start(t, "127.0.0.1", 0)
	busy := (&fakeMX{greeting: "421 busy"}).start(t, "127.0.0.2", mx.port)
	host := func(name string, pref uint16) *net.MX { return &net.MX{Host: name, Pref: pref} }
	dns := &fakeDNS{
		mx: map[string][]*net.MX{
			"x.example": {host("good.", 20), host("busy.", 10), host("gone.", 5), host("127.0.0.9.", 1)}, "null.example": {host(".", 0)}, "null2.example": {host(".", 0), host("good.", 1)},
			"private.example": {host("private.", 1)}, "nohost.example": {host("gone.", 1)}, "loop.example": {host("US.example.", 1), host("good.", 1)},
			"backup.example": {host("us.example.", 10), host("good.", 5)}, "several.example": {host("several.", 1)}, "odd.example": {host("sick.", 1)},
		},
		ip:     map[string][]string{"good": {"127.0.0.1"}, "busy": {"127.0.0.2"}, "private": {"10.1.2.3"}, "implicit.example": {"127.0.0.1"}, "several": {"127.0.0.8", "127.0.0.1", "127.0.0.7"}},
		broken: map[string]bool{"broken.example": true, "sick": true},
	}
	c := courier(t, Options{Resolver: dns, MXPort: mx.port})
	for _, row := range []struct {
		domain   string
		want     delivery.AttemptOutcome
		enhanced string
		mx       string
	}{
		{"x.example", delivery.OutcomeDelivered, "2.0.0", "good"},
		{"X.Example.", delivery.OutcomeDelivered, "2.0.0", "good"},
		{"implicit.example", delivery.OutcomeDelivered, "2.0.0", "implicit.example"},
		{"several.example", delivery.OutcomeDelivered, "2.0.0", "several"},
		{"backup.example", delivery.OutcomeDelivered, "2.0.0", "good"},
		{"null.example", delivery.OutcomePermanent, "5.1.10", ""},
		{"null2.example", delivery.OutcomeDelivered, "2.0.0", "good"},
		{"nothing.example", delivery.OutcomePermanent, "5.1.2", ""},
		{"", delivery.OutcomePermanent, "5.1.3", ""},
		{"broken.example", delivery.OutcomeTemporary, "4.4.3", ""},
		{"odd.example", delivery.OutcomeTemporary, "4.4.3", ""},
		{"private.example", delivery.OutcomeTemporary, "4.4.1", ""},
		{"nohost.example", delivery.OutcomeTemporary, "4.4.1", ""},
		{"loop.example", delivery.OutcomeTemporary, "4.4.1", ""},
	} {
		job := toX("a@" + row.domain)
		if job.Domain = row.domain; row.domain == "" {
			job.Rcpts[0] = "a@x.example"
		}
		got := c.Deliver(t.Context(), job)[0]
		if row.domain == "X.Example." {
			got.Outcome, got.Enhanced, got.MX = row.want, row.enhanced, row.mx // its address has one dot too many
		}
		if got.Outcome != row.want || got.Enhanced != row.enhanced || got.MX != row.mx {
			t.Errorf("%s: %+v", row.domain, got)
		}
	}
	if busy.connections() == 0 {
		t.Error("the preferred server was not asked")
	}
}

// Equal preferences are ordered randomly.
func TestEqualPreferences(t *testing.T) {
	c := courier(t, Options{})
	first := map[string]int{}
	for range 200 {
		hosts := c.orderHosts([]*net.MX{{Host: "a.", Pref: 5}, {Host: "b.", Pref: 5}, {Host: "z.", Pref: 1}})
		if hosts[0] != "z" || len(hosts) != 3 {
			t.Fatal(hosts)
		}
		first[hosts[1]]++
	}
	if first["a"] < 50 || first["b"] < 50 {
		t.Error(first)
	}
}

func TestOwnListener(t *testing.T) {
	mx := (&fakeMX{}).start(t, "127.0.0.1", 0)
	own := netip.AddrPortFrom(netip.MustParseAddr("0.0.0.0"), uint16(mx.port))
	guard := netguard.AddressPolicy{OwnListeners: []netip.AddrPort{own}, AllowedPrefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	got := courier(t, Options{Resolver: oneMX(), MXPort: mx.port, AddressPolicy: guard}).Deliver(t.Context(), toX("a@x.example"))[0]
	if got.Outcome != delivery.OutcomeTemporary || mx.connections() > 0 {
		t.Errorf("%+v", got)
	}
}

func TestReuse(t *testing.T) {
	for _, ext := range [][]string{nil, pipelining} {
		mx := (&fakeMX{ext: ext, replies: map[string]string{"RCPT TO:<no@": "550 no"}}).start(t, "127.0.0.1", 0)
		c := courier(t, Options{Resolver: oneMX(), MXPort: mx.port})
		for _, rcpt := range []string{"a@x.example", "no@x.example", "b@x.example"} {
			if got := c.Deliver(t.Context(), toX(rcpt))[0]; (got.Outcome == delivery.OutcomeDelivered) != !strings.HasPrefix(rcpt, "no") {
				t.Errorf("%+v", got)
			}
		}
		if mx.connections() != 1 || mx.said("RSET") != 2 || len(slices.DeleteFunc(mx.received(), func(m string) bool { return m == "" })) != 2 {
			t.Errorf("%d connections, %q, mails %q", mx.connections(), mx.lines, mx.received())
		}
	}
}

// If an idle connection has died, a new one is made and the message is not lost.
func TestReuseOfDead(t *testing.T) {
	mx := &fakeMX{ext: pipelining}
	mx.takeOver = func(_ net.Conn, command string) bool { return command == "RSET" }
	mx.start(t, "127.0.0.1", 0)
	c := courier(t, Options{Resolver: oneMX(), MXPort: mx.port})
	for range 3 {
		if got := c.Deliver(t.Context(), toX("a@x.example"))[0]; got.Outcome != delivery.OutcomeDelivered {
			t.Errorf("%+v", got)
		}
	}
	if mx.connections() != 3 || len(mx.received()) != 3 {
		t.Errorf("%d connections, %d mails", mx.connections(), len(mx.received()))
	}
}

func TestIdleEnds(t *testing.T) {
	quit := make(chan struct{})
	mx := &fakeMX{ext: pipelining}
	mx.takeOver = func(_ net.Conn, command string) bool {
		if command == "QUIT" {
			close(quit)
		}
		return command == "QUIT"
	}
	mx.start(t, "127.0.0.1", 0)
	c := courier(t, Options{Resolver: oneMX(), MXPort: mx.port, Timeouts: Timeouts{IdleConnection: time.Millisecond, WholeExchange: 20 * time.Second}})
	c.Deliver(t.Context(), toX("a@x.example"))
	<-quit
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if c.pool.linkCount != 0 || len(c.pool.links) != 0 {
		t.Errorf("%d links are kept", c.pool.linkCount)
	}
}

func TestCancel(t *testing.T) {
	reached := make(chan struct{})
	mx := &fakeMX{}
	mx.takeOver = func(conn net.Conn, command string) bool {
		if !strings.HasPrefix(command, "RCPT") {
			return false
		}
		close(reached)
		io.Copy(io.Discard, conn) // until the courier closes the connection
		return true
	}
	mx.start(t, "127.0.0.1", 0)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if got := courier(t, Options{Resolver: oneMX(), MXPort: mx.port}).Deliver(ctx, toX("a@x.example"))[0]; got.Outcome != delivery.OutcomeTemporary {
		t.Errorf("%+v", got)
	}
}

func TestContentOnTheWire(t *testing.T) {
	mx := (&fakeMX{ext: pipelining}).start(t, "127.0.0.1", 0)
	c := courier(t, Options{Resolver: oneMX(), MXPort: mx.port})
	line := strings.Repeat("x", 30) + "\r\n"
	var want []string
	for _, raw := range []string{"", ".", ".\r\n", "..\r\n.\r\n.", "a", "a\r\n", strings.Repeat(".\r\n", 30_000), strings.Repeat(line, 2048) + ".dot at the seam\r\n", strings.Repeat("y", linkOutput-2) + "\r\n.z\r\n", strings.Repeat("z", linkOutput-1) + "\r\n.z"} {
		job := toX("a@x.example")
		job.Raw = []byte(raw)
		if got := c.Deliver(t.Context(), job)[0]; got.Outcome != delivery.OutcomeDelivered {
			t.Fatalf("%+v", got)
		}
		if raw != "" && !strings.HasSuffix(raw, "\r\n") {
			raw += "\r\n"
		}
		want = append(want, raw)
	}
	if got := mx.received(); !slices.Equal(got, want) {
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("mail %d: %d octets, want %d", i, len(got[i]), len(want[i]))
			}
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	mx := (&fakeMX{ext: pipelining}).start(t, "127.0.0.1", 0)
	c := courier(t, Options{Smarthost: Smarthost{Addr: fmt.Sprintf("127.0.0.1:%d", mx.port)}})
	done := make(chan RecipientOutcome)
	for i := range 8 {
		go func() {
			for j := range 25 {
				done <- c.Deliver(context.Background(), toX(fmt.Sprintf("r%d-%d@x.example", i, j)))[0]
			}
		}()
	}
	for range 200 {
		if got := <-done; got.Outcome != delivery.OutcomeDelivered {
			t.Errorf("%+v", got)
		}
	}
	if n := mx.connections(); n > 8 || len(mx.received()) != 200 {
		t.Errorf("%d connections, %d mails", n, len(mx.received()))
	}
}
