package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// heldWorld is a server whose webhook, and the messages to one of its inboxes, go to places where a
// test can count them.
type heldWorld struct {
	*user
	from, to string
	hooks    *hookReceiver
}

func (w *heldWorld) calls() int {
	w.hooks.mu.Lock()
	defer w.hooks.mu.Unlock()
	return len(w.hooks.calls)
}

func (w *heldWorld) sendOne(t *testing.T) int64 {
	t.Helper()
	return w.user.send(t, w.from, map[string]any{"to": w.to, "subject": "s", "body": "t"})
}

func (w *heldWorld) queued(t *testing.T, id int64) bool {
	t.Helper()
	return w.message(t, w.from, id)["send_status"] == "queued"
}

// TestARestoredBackupHoldsWhatWaits: messages and webhooks of a restored backup, and those accepted
// later, wait for the operator, across restarts. Received messages are processed. After the release
// nothing is held again, even after a kill immediately after it. A restart of the original, a copy
// of it and a repaired copy hold nothing.
func TestARestoredBackupHoldsWhatWaits(t *testing.T) {
	home := t.TempDir()
	dir, copied := filepath.Join(home, "data"), filepath.Join(home, "copy")
	flags := []string{"--webhook-allow", "127.0.0.0/8", "--default-plan", "paid"}
	w := &heldWorld{hooks: receiveHooks(t, "127.0.0.1:0", func(_ int, w http.ResponseWriter) { w.WriteHeader(200) })}
	start := func(dir string, more ...string) {
		t.Helper()
		s := launch(t, dir, append(flags, more...)...)
		if w.user == nil {
			w.user = s.signUp(t, "me@example.test")
		}
		w.server = s
	}
	start(dir)
	w.from, w.to = w.inbox(t, "from"), w.inbox(t, "to")
	w.subscribe(t, w.hooks.URL, "message.received")
	w.until(t, w.from, w.sendOne(t), "sent")
	for _, to := range []string{copied, copied + "2"} {
		if out, code := run("admin", "--data", dir, "backup", to); code != 0 {
			t.Fatal(out)
		}
	}
	w.server.kill()
	start(dir)
	w.until(t, w.from, w.sendOne(t), "sent")
	w.server.kill()

	start(copied)
	id := w.sendOne(t)
	before := w.calls()
	if err := w.server.mail(w.to, "482913"); err != nil {
		t.Fatal(err)
	}
	for restart := range 2 {
		w.latest(t, w.to, "?otp=true")
		time.Sleep(500 * time.Millisecond)
		if !w.queued(t, id) || w.calls() != before {
			t.Fatalf("held: the message is queued: %v, %d calls", w.queued(t, id), w.calls()-before)
		}
		if out, _ := run("admin", "--data", copied, "stats"); !strings.Contains(out, "queue release") {
			t.Errorf("stats say:\n%s", out)
		}
		if out, code := run("admin", "--data", copied, "queue", "retry", w.from, "1"); code == 0 || !strings.Contains(out, "held") {
			t.Errorf("a retry of what is held: %s", out)
		}
		if restart == 0 {
			w.server.kill()
			start(copied)
		}
	}
	if out, code := run("admin", "--data", copied, "queue", "release"); code != 0 || !strings.Contains(out, "released: 1 waiting messages") {
		t.Errorf("exit %d: %s", code, out)
	}
	w.server.kill()
	start(copied)
	w.until(t, w.from, id, "sent")
	for end := time.Now().Add(20 * time.Second); w.calls() < before+2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d calls after the release", w.calls()-before)
		}
	}
	if out, _ := run("admin", "--data", copied, "queue", "release"); !strings.Contains(out, "nothing was held") {
		t.Errorf("again: %s", out)
	}
	w.server.kill()

	start(copied+"2", "--resume-queue")
	w.until(t, w.from, w.sendOne(t), "sent")
	w.server.kill()
	start(copied + "2")
	w.until(t, w.from, w.sendOne(t), "sent")
	w.server.terminate(t)

	if out, code := run("check", copied+"2", "--repair", filepath.Join(home, "repaired")); code != 0 {
		t.Fatal(out)
	}
	start(filepath.Join(home, "repaired"))
	w.until(t, w.from, w.sendOne(t), "sent")
}
