package courier

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/core/delivery"
	"inboxd/internal/testutil/testtools"
)

// flood writes block repeatedly until the courier closes the connection.
func flood(conn net.Conn, block string) bool {
	raw := bytes.Repeat([]byte(block), 1+64<<10/len(block))
	for {
		if _, err := conn.Write(raw); err != nil {
			return true
		}
	}
}

// Hostile servers cost a limited time, and less than 1 MB whatever they send.
func TestHostileServers(t *testing.T) {
	at := func(place string, then func(net.Conn) bool) func(net.Conn, string) bool {
		return func(conn net.Conn, command string) bool {
			if place == "" && command != "" || !strings.HasPrefix(command, place) {
				return false
			}
			return then(conn)
		}
	}
	drip := func(conn net.Conn) bool {
		for {
			if _, err := conn.Write([]byte("2")); err != nil {
				return true
			}
			time.Sleep(50 * time.Millisecond) // this is the attack
		}
	}
	silent := func(conn net.Conn) bool { io.Copy(io.Discard, conn); return true }
	floods := map[string]string{"lines": "250-x\r\n", "a line": "2", "LFs": "\n", "codes": "250 ok\r\n", "NULs": "\x00", "8-bit": "250-\xff\xfe\r\n"}
	servers := map[string]func(net.Conn, string) bool{}
	for _, place := range []string{"", "EHLO", "STARTTLS", "MAIL", "RCPT", "DATA", "."} {
		for name, block := range floods {
			servers[place+" flood of "+name] = at(place, func(conn net.Conn) bool { return flood(conn, block) })
		}
		servers[place+" drip"] = at(place, drip)
		servers[place+" silence"] = at(place, silent)
	}
	for name, takeOver := range servers {
		t.Run(name, func(t *testing.T) {
			ext := []string{"PIPELINING"}
			if strings.HasPrefix(name, "STARTTLS") {
				ext = withTLS
			}
			mx := (&fakeMX{ext: ext, takeOver: takeOver}).start(t, "127.0.0.1", 0)
			patience := 150 * time.Millisecond
			c := courier(t, Options{Resolver: oneMX(), MXPort: mx.port, Timeouts: Timeouts{Connect: patience, Command: patience, FinalDot: patience, WholeExchange: 20 * time.Second}})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := c.Deliver(t.Context(), toX("a@x.example"))[0]
			runtime.ReadMemStats(&after)
			mayDeliver := strings.HasSuffix(name, "flood of codes") // losing their own messages harms only them
			if got.Outcome != delivery.OutcomeTemporary && !mayDeliver || len(got.Text) > maxReasonLen {
				t.Errorf("%+v", got)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
				t.Errorf("%d octets were allocated", used)
			}
		})
	}
}

// The whole exchange ends in time even if each step does.
func TestWholeExchangeEnds(t *testing.T) {
	t.Parallel() // it mostly waits
	dns := oneMX()
	mx := (&fakeMX{takeOver: func(conn net.Conn, _ string) bool { io.Copy(io.Discard, conn); return true }}).start(t, "127.0.0.1", 0)
	c := courier(t, Options{Resolver: dns, MXPort: mx.port, Timeouts: Timeouts{WholeExchange: 2 * time.Second}})
	got := c.Deliver(t.Context(), toX("a@x.example"))[0]
	if got.Outcome != delivery.OutcomeTemporary || got.Enhanced != "4.4.2" {
		t.Errorf("%+v", got)
	}
}

func TestReadReply(t *testing.T) {
	for _, c := range []struct {
		wire string
		want serverReply
		ok   bool
	}{
		{"250 ok\r\n", serverReply{250, "", "ok"}, true},
		{"250\r\n", serverReply{250, "", ""}, true},
		{"250-a\r\n250-b\n250 c\r\n", serverReply{250, "", "a b c"}, true},
		{"550-5.1.1 a\r\n550 5.1.1 b\r\n", serverReply{550, "5.1.1", "a b"}, true},
		{"550 4.1.1 class\r\n", serverReply{550, "", "4.1.1 class"}, true},
		{"550 5.1 short\r\n", serverReply{550, "", "5.1 short"}, true},
		{"550 5.1.1\r\n", serverReply{550, "5.1.1", ""}, true},
		{"550 \x1b[31mred\x00\xff\r\n", serverReply{550, "", "[31mred ?"}, true},
		{"250-a\r\n251 b\r\n", serverReply{}, false},
		{"250-a\r\n", serverReply{}, false},
		{"250 a", serverReply{}, false},
		{"25 a\r\n", serverReply{}, false}, {"\r\n", serverReply{}, false}, {"250xa\r\n", serverReply{}, false}, {"199 a\r\n", serverReply{}, false}, {"600 a\r\n", serverReply{}, false}, {"2x0 a\r\n", serverReply{}, false},
		{strings.Repeat("250-x\r\n", maxReplyLines-1) + "250 x\r\n", serverReply{250, "", strings.TrimSpace(strings.Repeat("x ", maxReplyText/2))}, true},
		{strings.Repeat("250-x\r\n", maxReplyLines) + "250 x\r\n", serverReply{}, false},
		{strings.Repeat("250-"+strings.Repeat("y", 1000)+"\r\n", 66) + "250 x\r\n", serverReply{}, false},
		{"250 " + strings.Repeat("z", maxReplyLine) + "\r\n", serverReply{}, false},
	} {
		got, err := readReply(bufio.NewReaderSize(strings.NewReader(c.wire), maxReplyLine), nil)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%.40q: %+v %v", c.wire, got, err)
		}
	}
}

func FuzzReadReply(f *testing.F) {
	for _, wire := range []string{"250 ok\r\n", "250-a\r\n250 2.1.0 b\r\n", "550-5.1.1 a\n550 5.1.1 b\n", "421\r\n", "25", "250-\r\n251 x\r\n", "554 5.7.1 \xff\x00\r\n"} {
		f.Add([]byte(wire))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		var ext extensions
		a, err := readReply(bufio.NewReaderSize(bytes.NewReader(wire), maxReplyLine), ext.parseExtension)
		if err != nil {
			return
		}
		if a.code < 200 || a.code > 599 || len(a.text) > maxReplyText+1 || strings.ContainsAny(a.String(), "\r\n\x00\x1b") {
			t.Fatalf("%+v", a)
		}
		if a.enhancedCode != "" && int(a.enhancedCode[0]-'0') != a.code/100 {
			t.Fatalf("%+v", a)
		}
	})
}

// sink starts Postfix's own test server, which shares no code with our fakes.
func sink(t testing.TB, flags ...string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	l.Close()              // smtp-sink cannot use an open socket
	if os.Geteuid() == 0 { // it refuses to run as root
		flags = append([]string{"-u", "nobody"}, flags...)
	}
	cmd := exec.Command(testtools.ProgramPath(t, "smtp-sink"), append(flags, addr, "1000")...)
	cmd.Dir = os.TempDir() // the user nobody must be able to enter it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	for {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return addr
		}
		select {
		case <-ended:
			t.Fatal("smtp-sink ended: ", cmd.ProcessState)
		case <-time.After(5 * time.Millisecond): // between two attempts
		}
	}
}

func TestSink(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		want  delivery.AttemptOutcome
	}{
		{"as it is", nil, delivery.OutcomeDelivered},
		{"without ESMTP", []string{"-e"}, delivery.OutcomeDelivered},
		{"without pipelining", []string{"-p"}, delivery.OutcomeDelivered},
		{"5xx to RCPT", []string{"-f", "rcpt"}, delivery.OutcomePermanent},
		{"4xx to MAIL", []string{"-r", "mail"}, delivery.OutcomeTemporary},
		{"4xx at the dot", []string{"-r", "."}, delivery.OutcomeTemporary},
		{"hangs up at DATA", []string{"-q", "data"}, delivery.OutcomeTemporary},
		{"hangs up at the dot", []string{"-q", "."}, delivery.OutcomeTemporary},
	} {
		t.Run(c.name, func(t *testing.T) {
			courier := courier(t, Options{Smarthost: Smarthost{Addr: sink(t, c.flags...)}})
			for range 3 {
				for _, got := range courier.Deliver(t.Context(), toX("a@x.example", "b@y.example")) {
					if got.Outcome != c.want {
						t.Errorf("%+v", got)
					}
				}
			}
		})
	}
}

// BenchmarkDrain sends a queue of 2 KB messages to a smarthost with 16 workers.
func BenchmarkDrain(b *testing.B) {
	c := courier(b, Options{Smarthost: Smarthost{Addr: sink(b)}})
	raw := []byte("Subject: s\r\n\r\n" + strings.Repeat("A line of a mail, as people write it.\r\n", 52))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for left.Add(-1) >= 0 {
				got := c.Deliver(context.Background(), DeliveryRequest{Domain: "x.example", Rcpts: []string{"a@x.example"}, Raw: raw})
				if got[0].Outcome != delivery.OutcomeDelivered {
					b.Errorf("%+v", got)
					return
				}
			}
		})
	}
	workers.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "mails/s")
}
