package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/often"
)

// TestKillsLoseNoSentMail kills the server at random while mail goes out, and holds what the
// receiving side got against what was accepted: every 202 comes to a final status, has at
// most one copy more than there were kills, and all copies of a mail are the same bytes.
func TestKillsLoseNoSentMail(t *testing.T) {
	var lines atomic.Uint64
	far := receive(t, "127.0.0.1", "0", func(line string) string {
		if strings.HasPrefix(line, "RCPT") && lines.Add(1)%7 == 0 {
			return "451 4.3.0 Not now"
		}
		return ""
	})
	far.pause = 10 * time.Millisecond
	dns := farZone(t)
	dir := filepath.Join(t.TempDir(), "data")
	s := postal(t, dir, dns, far.port)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	ledger := map[int64]string{} // id → subject, of what was accepted
	kills := 0
	for n := range often.Times(t, "KILLS", 4) {
		kills++
		u.server = s
		sendUntilKilled(t, u, address, n, ledger)
		s = postal(t, dir, dns, far.port)
	}
	u.server = s
	if len(ledger) < 10*kills {
		t.Fatalf("only %d mails were accepted: the test exercised nothing", len(ledger))
	}
	copies := map[string]map[string]int{}
	for id := range ledger {
		u.until(t, address, id, "sent")
	}
	for _, c := range far.taken() {
		subject := headerOf(c.raw, "Subject")
		if copies[subject] == nil {
			copies[subject] = map[string]int{}
		}
		copies[subject][c.raw]++
	}
	twice := 0
	for id, subject := range ledger {
		got := copies[subject]
		if len(got) != 1 {
			t.Errorf("mail %d (%s) came in %d forms", id, subject, len(got))
		}
		for raw, n := range got {
			if n > 1+kills || strings.Count(raw, "DKIM-Signature:") != 2 {
				t.Errorf("mail %d: %d copies, %d kills\n%s", id, n, kills, raw)
			}
			twice += n - 1
		}
	}
	t.Logf("%d mails accepted, %d copies too many after %d kills", len(ledger), twice, kills)
}

// sendUntilKilled has callers send mail until the server is killed, some moments later.
func sendUntilKilled(t *testing.T, u *user, address string, round uint64, ledger map[int64]string) {
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
				ledger[int64(a.body["message_id"].(float64))] = subject
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
