package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	netsmtp "net/smtp"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// offer sends one message to several recipients and returns the reply to each RCPT, nil for an
// accepted one.
func (s *server) offer(t testing.TB, raw string, to ...string) (refused map[string]error) {
	t.Helper()
	c := must1(netsmtp.Dial(s.smtp))(t)
	defer c.Close()
	if err := c.Mail("no-reply@shop.test"); err != nil {
		t.Fatal(err)
	}
	refused = map[string]error{}
	for _, rcpt := range to {
		refused[rcpt] = c.Rcpt(rcpt)
	}
	w := must1(c.Data())(t)
	if _, err := io.WriteString(w, raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return refused
}

// TestEncryptedAndPlainOfOneMail checks that a full inbox does not keep the message from others,
// and that the unencrypted inbox gets it unchanged except for the trace.
func TestEncryptedAndPlainOfOneMail(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "inboxd.toml")
	if err := os.WriteFile(config, []byte("[plans.paid]\nmax_messages = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := launch(t, filepath.Join(dir, "data"), "--config", config)
	u := s.signUp(t, "me@example.test")
	k := newAgeKey(t)
	u.setKey(t, k)
	sealed, open, full := u.vault(t, "sealed"), u.inbox(t, "open"), u.vault(t, "full")
	for range 2 {
		if err := s.mail(full, "111111"); err != nil {
			t.Fatal(err)
		}
	}
	const raw = "From: Shop <no-reply@shop.test>\r\nSubject: To all\r\n\r\nYour code is 482913\r\n"
	for n := range 2 {
		refused := s.offer(t, raw, sealed, full, open)
		if refused[full] == nil || refused[sealed] != nil || refused[open] != nil {
			t.Fatalf("mail %d: %v", n+1, refused)
		}
	}
	if refused := s.offerNone(t, sealed, full, open); len(refused) != 3 {
		t.Errorf("all are full: %v", refused)
	}
	if got := u.latest(t, full, "")["id"]; got != 2.0 {
		t.Errorf("the full one has message %v", got)
	}
	plain, _ := u.get(t, "/inboxes/"+open+"/messages/1/raw")
	envelope, kind := u.get(t, "/inboxes/"+sealed+"/messages/1/raw")
	if kind != "application/age" || !bytes.HasSuffix(plain, []byte(raw)) || !bytes.HasSuffix(k.open(t, envelope), []byte(raw)) {
		t.Errorf("plain %q; %s opens to %q", plain, kind, k.open(t, envelope))
	}
	if got := u.latest(t, open, "")["otp_code"]; got != "482913" {
		t.Errorf("the plain one's code is %v", got)
	}
}

// offerNone is offer to recipients that all refuse.
func (s *server) offerNone(t testing.TB, to ...string) (refused []error) {
	t.Helper()
	c := must1(netsmtp.Dial(s.smtp))(t)
	defer c.Close()
	if err := c.Mail("no-reply@shop.test"); err != nil {
		t.Fatal(err)
	}
	for _, rcpt := range to {
		if err := c.Rcpt(rcpt); err != nil {
			refused = append(refused, err)
		}
	}
	return refused
}

// TestWebhooksOfEncryptedInboxes checks that an event reports that a message arrived and from whom,
// also when it is repeated. An event about a failed sent message contains nothing of its content.
func TestWebhooksOfEncryptedInboxes(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), append(allowLoopback, "--retry-for", "1ms", "--retry-schedule", "1ms")...)
	u := s.signUp(t, "me@example.test")
	k := newAgeKey(t)
	u.setKey(t, k)
	address := u.vault(t, "sealed")
	r := receiveHooks(t, "127.0.0.1:0", func(_ int, w http.ResponseWriter) { io.WriteString(w, "thanks") })
	u.subscribe(t, r.URL+"/hook", "*")
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}
	got := r.wait(t, 1)[0]
	var body map[string]any
	if err := json.Unmarshal([]byte(got.body), &body); err != nil {
		t.Fatal(err)
	}
	at, _ := body["received_at"].(string)
	if want := fmt.Sprint(map[string]any{"event": "message.received", "inbox": address, "from": "no-reply@shop.test", "received_at": at, "encrypted": true}); fmt.Sprint(body) != want || at == "" {
		t.Errorf("told %v, want %s", body, want)
	}
	d := u.delivery(t, settled)
	u.account(t, 202, "POST", fmt.Sprintf("/webhooks/deliveries/%v/redeliver", d["id"]), nil)
	if again := r.wait(t, 2)[1]; again.body != got.body {
		t.Errorf("told again as %s", again.body)
	}
	const secret = "harvest moon"
	id := u.send(t, address, map[string]any{"to": "nobody@inbox.localhost", "subject": secret, "body": secret})
	m := u.until(t, address, id, "failed")
	if m["subject"] != nil || m["body"] != nil || m["send_error"] == nil || m["encrypted"] != true {
		t.Errorf("after it failed: %v", m)
	}
	if opened := k.open(t, envelopeOf(t, m)); !bytes.Contains(opened, []byte(secret)) {
		t.Errorf("its envelope opens to %q", opened)
	}
	if failed := r.wait(t, 3)[2]; !strings.Contains(failed.body, "message.failed") || strings.Contains(failed.body, secret) {
		t.Errorf("told %s", failed.body)
	}
}

// TestSealingIsBounded checks that a message of 25 MB with ten files takes at most twice its size
// and 16 MiB of memory, and little more than its size on disk.
func TestSealingIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("25 MB")
	}
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	u.setKey(t, newAgeKey(t))
	address := u.vault(t, "sealed")
	var raw strings.Builder
	raw.WriteString("From: a@b.test\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n")
	line := strings.Repeat("QUJD", 19) + "\r\n"
	const files, each = 10, 2_400_000
	for n := range files {
		fmt.Fprintf(&raw, "--b\r\nContent-Disposition: attachment; filename=%d.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n", n)
		raw.WriteString(strings.Repeat(line, each/len(line)))
		raw.WriteString("\r\n")
	}
	raw.WriteString("--b--\r\n")
	const allocated = "go_memstats_alloc_bytes_total"
	before, peak := s.metric(t, allocated), peakMemory(t, s)
	s.offer(t, raw.String(), address)
	often := 3
	if raced {
		often = 6 // pools lose entries, so that races are found
	}
	if spent, limit := int64(s.metric(t, allocated)-before), int64(often*raw.Len()); spent > limit {
		t.Errorf("for %d MB %d MB were allocated, at most %d should be", raw.Len()>>20, spent>>20, limit>>20)
	}
	// The race detector keeps a copy of all memory.
	if grown, limit := peakMemory(t, s)-peak, int64(2*raw.Len()+16<<20); !raced && grown > limit {
		t.Errorf("%d MB took %d MB of memory, at most %d are allowed", raw.Len()>>20, grown>>20, limit>>20)
	}
	envelope, _ := u.get(t, "/inboxes/"+address+"/messages/1/raw")
	kept, inside := int64(len(envelope)), int64(0)
	m := u.message(t, address, 1)
	for _, a := range m["attachments"].([]any) {
		file := a.(map[string]any)
		if file["truncated"] == true {
			continue // exceeds the limit for all files
		}
		bytes, _ := u.get(t, fmt.Sprintf("/inboxes/%s/messages/1/attachments/%v", address, file["id"]))
		kept += int64(len(bytes))
		inside += int64(file["size_bytes"].(float64))
	}
	if limit := int64(raw.Len())*11/10 + inside + 1024; kept > limit || inside == 0 {
		t.Errorf("%d bytes with %d of files take %d, at most %d are allowed", raw.Len(), inside, kept, limit)
	}
}

// peakMemory returns the maximum resident memory of a server.
func peakMemory(t testing.TB, s *server) (kib int64) {
	t.Helper()
	text := string(must1(os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid)))(t))
	if _, err := fmt.Sscanf(text[strings.Index(text, "VmHWM:"):], "VmHWM: %d kB", &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// raced is true if the race detector is built in.
var raced bool
