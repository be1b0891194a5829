package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/testutil/iterations"
)

// TestKillsLoseNoSentMail kills the server at random while messages are sent, and compares what the
// receivers got with what was accepted. Every 202 reaches a final status, has at most one extra
// copy per kill, and all copies of a message have the same bytes.
func TestKillsLoseNoSentMail(t *testing.T) {
	var lines atomic.Uint64
	far := receive(t, "127.0.0.1", "0", func(line string) string {
		if strings.HasPrefix(line, "RCPT") && lines.Add(1)%7 == 0 {
			return "451 4.3.0 Not now"
		}
		return ""
	})
	far.pause = 10 * time.Millisecond
	dns, home := farZone(t), t.TempDir()
	config := filepath.Join(home, "inboxd.toml") // hours of kills send more than a plan allows
	if err := os.WriteFile(config, []byte("[plans.paid]\nsends_per_day = 10000000\nmax_messages = 100000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *server { return postal(t, filepath.Join(home, "data"), dns, far.port, "--config", config) }
	s := start()
	u := s.signUp(t, "me@example.test")
	const perInbox = 1_000 // kills until it is nearly full
	address := ""
	ledger := map[sentMail]string{} // subjects of accepted messages
	sent := map[sentMail]bool{}
	settle := func() {
		u.server = s
		for m := range ledger {
			if !sent[m] {
				u.until(t, m.address, m.id, "sent")
				sent[m] = true
			}
		}
	}
	kills := 0
	for n := range iterations.Times(t, "KILLS", 4) {
		u.server = s
		if kills%perInbox == 0 {
			address = u.inbox(t, fmt.Sprintf("agent%d", kills))
		}
		kills++
		sendUntilKilled(t, u, address, n, ledger)
		if s = start(); kills%50 == 0 {
			settle() // otherwise thousands of messages are left for the end
		}
	}
	settle()
	if len(ledger) < 10*kills {
		t.Fatalf("only %d mails were accepted: the test exercised nothing", len(ledger))
	}
	copies := map[string]map[string]int{}
	for _, c := range far.taken() {
		subject := headerOf(c.raw, "Subject")
		if copies[subject] == nil {
			copies[subject] = map[string]int{}
		}
		copies[subject][c.raw]++
	}
	twice := 0
	for m, subject := range ledger {
		got := copies[subject]
		if len(got) != 1 {
			t.Errorf("mail %v (%s) came in %d forms", m, subject, len(got))
		}
		for raw, n := range got {
			if n > 1+kills || strings.Count(raw, "DKIM-Signature:") != 2 {
				t.Errorf("mail %v: %d copies, %d kills\n%s", m, n, kills, raw)
			}
			twice += n - 1
		}
	}
	t.Logf("%d mails accepted, %d copies too many after %d kills", len(ledger), twice, kills)
}

// sentMail identifies an accepted message.
type sentMail struct {
	address string
	id      int64
}

// sendUntilKilled sends messages from several goroutines until the server is killed, some moments
// later.
func sendUntilKilled(t *testing.T, u *user, address string, round uint64, ledger map[sentMail]string) {
	t.Helper()
	var mu sync.Mutex
	var callers sync.WaitGroup
	var accepted atomic.Int64
	for w := range 4 {
		callers.Go(func() {
			for n := 0; ; n++ {
				subject := fmt.Sprintf("mail-%d-%d-%d", round, w, n)
				a, err := u.server.call("POST", "/api/v1/inboxes/"+address+"/send", map[string]string{"X-API-Key": u.key},
					map[string]any{"to": fmt.Sprintf("bob%d@far.test", w), "subject": subject, "body": "x"})
				if err != nil {
					return // killed
				}
				if a.status != 202 {
					t.Errorf("send: %d %v", a.status, a.body)
					return
				}
				mu.Lock()
				ledger[sentMail{address, int64(a.body["message_id"].(float64))}] = subject
				mu.Unlock()
				accepted.Add(1)
			}
		})
	}
	for least := int64(20 + rand.IntN(60)); accepted.Load() < least && !t.Failed(); {
		time.Sleep(time.Millisecond)
	}
	u.server.kill()
	callers.Wait()
}

func headerOf(raw, name string) string {
	for line := range strings.SplitSeq(raw, "\r\n") {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return value
		}
		if line == "" {
			break
		}
	}
	return ""
}

// TestCheckWhileAttemptsHang: the folder of a server that was killed or stopped during attempts for
// webhooks and messages is intact, and the next run continues all of them.
func TestCheckWhileAttemptsHang(t *testing.T) {
	t.Parallel() // it waits most of the time
	for name, end := range map[string]func(*server) bool{
		"killed":  func(s *server) bool { s.kill(); return true },
		"stopped": func(s *server) bool { return s.terminate(t) == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const each = 5
			hang := make(chan struct{})
			var open sync.Once
			answer := func() { open.Do(func() { close(hang) }) }
			attempts := make(chan struct{}, 1000)
			far := receive(t, "127.0.0.1", "0", func(line string) string {
				if strings.HasPrefix(line, "MAIL") {
					attempts <- struct{}{}
					<-hang
				}
				return ""
			})
			hooks := receiveHooks(t, "127.0.0.1:0", func(int, http.ResponseWriter) { <-hang })
			t.Cleanup(answer) // before the receivers end
			dns, dir := farZone(t), filepath.Join(t.TempDir(), "data")
			s := postal(t, dir, dns, far.port, allowLoopback...)
			u := s.signUp(t, "me@example.test")
			address := u.inbox(t, "agent")
			u.subscribe(t, hooks.URL, "message.received")
			var sent []int64
			for n := range each {
				if err := s.mail(address, fmt.Sprint(111111+n)); err != nil {
					t.Fatal(err)
				}
				sent = append(sent, u.send(t, address, map[string]any{"to": fmt.Sprintf("bob%d@far.test", n), "subject": "s", "body": "x"}))
			}
			hooks.wait(t, each)
			<-attempts
			if !end(s) {
				t.Error("the server did not stop in order")
			}
			if out, code := run("check", dir); code != 0 {
				t.Errorf("exit code %d: %s", code, out)
			}
			answer()
			s = postal(t, dir, dns, far.port, allowLoopback...)
			u.server = s
			for _, id := range sent {
				u.until(t, address, id, "sent")
			}
			for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				all := u.account(t, 200, "GET", "/webhooks/deliveries", nil)["deliveries"].([]any)
				if len(all) == each && !slices.ContainsFunc(all, func(d any) bool { return d.(map[string]any)["state"] != "succeeded" }) {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("the deliveries are %v", all)
				}
			}
		})
	}
}
