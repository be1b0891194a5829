package main

import (
	"encoding/base64"
	"fmt"
	netsmtp "net/smtp"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/testutil/dnstest"
)

// send queues a message and returns its id.
func (u *user) send(t testing.TB, address string, letter map[string]any) int64 {
	t.Helper()
	a := u.do(t, 202, "POST", "/inboxes/"+address+"/send", letter)
	if a["ok"] != true || a["queued"] != true {
		t.Fatalf("send: %v", a)
	}
	return int64(a["message_id"].(float64))
}

func (u *user) message(t testing.TB, address string, id int64) map[string]any {
	t.Helper()
	return u.do(t, 200, "GET", fmt.Sprintf("/inboxes/%s/messages/%d", address, id), nil)["email"].(map[string]any)
}

// until waits until a sent message has this status.
func (u *user) until(t testing.TB, address string, id int64, status string) map[string]any {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		m := u.message(t, address, id)
		if m["send_status"] == status {
			return m
		}
		if time.Now().After(end) {
			t.Fatalf("message %d is %v (%v), not %s: %s", id, m["send_status"], m["send_error"], status, u.server.stderr)
		}
	}
}

// postal launches a server that sends to receivers found in a DNS of our own.
func postal(t testing.TB, dir string, dns *dnstest.Server, port string, args ...string) *server {
	t.Helper()
	return launch(t, dir, append([]string{
		"--dns", dns.Addr, "--mx-port", port, "--delivery-allow", "127.0.0.0/8", "--retry-schedule", "50ms,100ms", "--log-level", "info",
	}, args...)...)
}

func farZone(t testing.TB) *dnstest.Server {
	return dnstest.StartServer(t, "far.test. 60 IN MX 10 mx.far.test.", "mx.far.test. 60 IN A 127.0.0.1",
		"nomail.test. 60 IN MX 0 .", "backup.test. 60 IN MX 10 gone.far.test.", "backup.test. 60 IN MX 20 mx.far.test.", "gone.far.test. 60 IN A 127.0.0.9")
}

func TestSendsToTheRecipientsServer(t *testing.T) {
	far := receive(t, "127.0.0.1", "0", nil)
	s := postal(t, filepath.Join(t.TempDir(), "data"), farZone(t), far.port)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	id := u.send(t, address, map[string]any{
		"to": "bob@far.test", "cc": []string{"carol@far.test"}, "bcc": []string{"dave@far.test"}, "subject": "Grüße",
		"body": "Hello\n.\nBob", "html": "<p>Hello Bob</p>",
		"attachments": []any{map[string]any{"filename": "a.txt", "content_b64": base64.StdEncoding.EncodeToString([]byte("file"))}},
	})
	m := u.until(t, address, id, "sent")
	if m["direction"] != "out" || m["subject"] != "Grüße" || m["send_error"] != nil || len(m["recipients"].([]any)) != 3 {
		t.Errorf("sent message: %v", m)
	}
	if bcc := fmt.Sprint(m["bcc"]); bcc != "[map[email:dave@far.test name:]]" {
		t.Errorf("bcc: %s", bcc)
	}
	paths := map[string]bool{}
	var c copyOf
	for range 3 {
		raw := c.raw
		if c = <-far.arrived; raw != "" && c.raw != raw {
			t.Error("two copies differ")
		}
		if paths[c.from] = true; len(c.rcpt) != 1 || !strings.Contains(c.from, "agent+b") || !strings.HasSuffix(c.from, "@inbox.localhost") {
			t.Errorf("envelope: %v from %s", c.rcpt, c.from)
		}
	}
	if len(paths) != 3 || len(far.taken()) != 3 {
		t.Errorf("return paths: %v", paths)
	}
	if strings.Contains(c.raw, "dave") {
		t.Error("the blind copy shows")
	}
	if n := strings.Count(c.raw, "DKIM-Signature:"); n != 2 {
		t.Errorf("%d signatures:\n%s", n, c.raw)
	}
	if u.latest(t, address, "") != nil {
		t.Error("latest shows a sent mail")
	}
	if list := u.do(t, 200, "GET", "/inboxes/"+address+"/messages", nil)["emails"].([]any); len(list) != 0 {
		t.Errorf("the list of received mail holds %v", list)
	}
	for _, direction := range []string{"out", "all"} {
		list := u.do(t, 200, "GET", "/inboxes/"+address+"/messages?direction="+direction, nil)["emails"].([]any)
		if len(list) != 1 || list[0].(map[string]any)["send_status"] != "sent" {
			t.Errorf("%s: %v", direction, list)
		}
	}
}

func TestGreylistingAndFallback(t *testing.T) {
	var asked atomic.Int64
	far := receive(t, "127.0.0.1", "0", func(line string) string {
		if strings.Contains(line, "RCPT TO:<grey@") && asked.Add(1) <= 2 {
			return "451 4.7.1 Greylisted, come back later"
		}
		if strings.Contains(line, "RCPT TO:<never@") {
			return "550 5.1.1 No such user"
		}
		return ""
	})
	s := postal(t, filepath.Join(t.TempDir(), "data"), farZone(t), far.port, "--retry-for", "1h")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	grey := u.send(t, address, map[string]any{"to": "grey@far.test", "body": "x"})
	never := u.send(t, address, map[string]any{"to": "never@far.test", "cc": []string{"bob@far.test"}, "body": "x"})
	backup := u.send(t, address, map[string]any{"to": "bob@backup.test", "body": "x"})
	null := u.send(t, address, map[string]any{"to": "bob@nomail.test", "body": "x"})
	missing := u.send(t, address, map[string]any{"to": "bob@missing.test", "body": "x"})

	u.until(t, address, grey, "sent")
	if n := asked.Load(); n != 3 {
		t.Errorf("%d attempts at the greylisting server", n)
	}
	m := u.until(t, address, never, "failed")
	if !strings.Contains(m["send_error"].(string), "never@far.test") || !strings.Contains(m["send_error"].(string), "No such user") {
		t.Errorf("send_error: %v", m["send_error"])
	}
	var states []string
	for _, r := range m["recipients"].([]any) {
		states = append(states, r.(map[string]any)["status"].(string))
	}
	if fmt.Sprint(states) != "[failed sent]" {
		t.Errorf("recipients: %v", m["recipients"])
	}
	u.until(t, address, backup, "sent")
	u.until(t, address, null, "failed")
	u.until(t, address, missing, "failed")
	s.terminate(t) // which flushes the log
	for _, verb := range []string{"msg=queued", "msg=attempt", "msg=delivered", "msg=failed"} {
		if !strings.Contains(s.stderr.String(), verb) {
			t.Errorf("the log has no %s:\n%s", verb, s.stderr)
		}
	}
}

func TestRecipientsOnThisNode(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	from, to := u.inbox(t, "agent"), u.inbox(t, "other")
	first := u.send(t, from, map[string]any{"to": "Other+tag@inbox.localhost", "subject": "code 482913", "body": "Your code is 482913"})
	got := u.latest(t, to, "?wait=20")
	if got == nil || got["otp_code"] != "482913" || got["envelope_to"] != "other+tag@inbox.localhost" {
		t.Fatalf("latest: %v", got)
	}
	u.until(t, from, first, "sent")
	if dkim := got["auth"].(map[string]any)["dkim"].(map[string]any); dkim["result"] != "pass" || dkim["domain"] != "inbox.localhost" {
		t.Errorf("auth of a mail from this node: %v", got["auth"])
	}
	answer := u.send(t, to, map[string]any{"to": from, "subject": "Re: code", "body": "thanks", "in_reply_to": "<" + got["internet_message_id"].(string) + ">"})
	reply := u.latest(t, from, "?wait=20")
	if refs := fmt.Sprint(reply["references"]); refs != "["+got["internet_message_id"].(string)+"]" || reply["in_reply_to"] != got["internet_message_id"] {
		t.Errorf("thread: %v %v", reply["in_reply_to"], refs)
	}
	u.until(t, to, answer, "sent")
	lost := u.send(t, from, map[string]any{"to": "nobody@inbox.localhost", "body": "x"})
	if m := u.until(t, from, lost, "failed"); !strings.Contains(m["send_error"].(string), "5.1.1") {
		t.Errorf("send_error: %v", m["send_error"])
	}
}

func TestSendQuotaIsExact(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir, "--default-plan", "free")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	var accepted, refused atomic.Int64
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			for range 3 {
				a, err := s.call("POST", "/api/v1/inboxes/"+address+"/send", map[string]string{"X-API-Key": u.key}, map[string]any{"to": address, "body": "x"})
				switch {
				case err == nil && a.status == 202:
					accepted.Add(1)
				case err == nil && a.status == 400 && strings.Contains(a.body["detail"].(string), "at most 100 sends a day"):
					refused.Add(1)
				default:
					t.Errorf("%v %v", a, err)
				}
			}
		})
	}
	callers.Wait()
	if accepted.Load() != 100 || refused.Load() != 50 {
		t.Errorf("%d accepted, %d refused", accepted.Load(), refused.Load())
	}
	s.kill()
	s = launch(t, dir, "--default-plan", "free")
	u.server = s
	u.do(t, 400, "POST", "/inboxes/"+address+"/send", map[string]any{"to": address, "body": "x"})
}

// TestOperatorSeesTheQueue lists, retries and drops waiting messages.
func TestOperatorSeesTheQueue(t *testing.T) {
	var open atomic.Bool
	far := receive(t, "127.0.0.1", "0", func(line string) string {
		if strings.HasPrefix(line, "RCPT") && !open.Load() {
			return "451 4.3.0 Not now"
		}
		return ""
	})
	dir := filepath.Join(t.TempDir(), "data")
	s := postal(t, dir, farZone(t), far.port, "--retry-schedule", "1h")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	first := u.send(t, address, map[string]any{"to": "bob@far.test", "body": "x"})
	second := u.send(t, address, map[string]any{"to": "carol@far.test", "body": "x"})
	u.until(t, address, first, "retrying")
	u.until(t, address, second, "retrying")
	admin := func(args ...string) string {
		t.Helper()
		out, err := command(append([]string{"admin", "--data", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if list := admin("queue", "list"); !strings.Contains(list, "bob@far.test") || !strings.Contains(list, "Not now") || strings.Count(list, "retrying") != 2 {
		t.Errorf("queue list:\n%s", list)
	}
	open.Store(true)
	admin("queue", "retry", address, fmt.Sprint(first))
	u.until(t, address, first, "sent")
	admin("queue", "drop", address, fmt.Sprint(second))
	if m := u.until(t, address, second, "failed"); !strings.Contains(m["send_error"].(string), "dropped") {
		t.Errorf("send_error: %v", m["send_error"])
	}
	if list := admin("queue", "list"); strings.Contains(list, "far.test") {
		t.Errorf("queue list at the end:\n%s", list)
	}
	if out, err := command("admin", "--data", dir, "queue", "drop", address, "77").CombinedOutput(); err == nil || !strings.Contains(string(out), "is not in the queue") {
		t.Errorf("%v %s", err, out)
	}
	if records := admin("dkim", "show"); strings.Count(records, "_domainkey.inbox.localhost") < 2 {
		t.Errorf("dkim show:\n%s", records)
	}
}

// bounceOf returns the report of another server that it could not deliver to rcpt.
func bounceOf(rcpt string) string {
	return "From: mailer-daemon@far.test\r\nSubject: failed\r\nMIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n" +
		"--b\r\nContent-Type: text/plain\r\n\r\nIt failed.\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.far.test\r\n\r\n" +
		"Final-Recipient: rfc822; " + rcpt + "\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n--b--\r\n"
}

// TestBounceComesBackOverSMTP returns a bounce to the return path that the receiver saw. A forged
// one is refused at RCPT.
func TestBounceComesBackOverSMTP(t *testing.T) {
	far := receive(t, "127.0.0.1", "0", nil)
	s := postal(t, filepath.Join(t.TempDir(), "data"), farZone(t), far.port)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	id := u.send(t, address, map[string]any{"to": "bob@far.test", "body": "x"})
	u.until(t, address, id, "sent")
	back := (<-far.arrived).from
	dsn := bounceOf("bob@far.test")
	local, domain, _ := strings.Cut(back, "@")
	forged := local[:len(local)-8] + strings.Repeat("a", 8) + "@" + domain
	if err := netsmtp.SendMail(s.smtp, nil, "", []string{forged}, []byte(dsn)); err == nil || !strings.HasPrefix(err.Error(), "550") {
		t.Errorf("a forged return path: %v", err)
	}
	if err := netsmtp.SendMail(s.smtp, nil, "", []string{back}, []byte(dsn)); err != nil {
		t.Fatal(err)
	}
	m := u.message(t, address, id)
	if r := m["recipients"].([]any)[0].(map[string]any); r["status"] != "bounced" || m["send_status"] != "sent" || m["send_error"] != "bob@far.test: The mailbox does not exist (5.1.1)" {
		t.Errorf("after the bounce: %v", m)
	}
	if u.latest(t, address, "") != nil {
		t.Error("the bounce is a mail of the inbox")
	}
	a, err := s.call("POST", "/api/v1/inboxes/"+address+"/send", map[string]string{"X-API-Key": u.key}, map[string]any{"to": "bob@far.test", "body": "x"})
	if err != nil || a.status != 400 || a.body["detail"] != "Mail to bob@far.test bounced before, so it is not sent there. To allow it again, call DELETE /api/v1/suppressions/{email} (email:send)" {
		t.Errorf("to a suppressed address: %v %v", a, err)
	}
	if a, err := s.call("DELETE", "/api/v1/suppressions/bob@far.test", map[string]string{"X-API-Key": u.key}, nil); err != nil || a.status != 200 {
		t.Errorf("lifted: %v %v", a, err)
	}
	u.send(t, address, map[string]any{"to": "bob@far.test", "body": "x"})
}

// TestAGuestCannotBounceAnother: a recipient knows only the return path of its own copy. With it,
// it can report that this copy was not delivered, but nothing about other recipients.
func TestAGuestCannotBounceAnother(t *testing.T) {
	far := receive(t, "127.0.0.1", "0", nil)
	s := postal(t, filepath.Join(t.TempDir(), "data"), farZone(t), far.port)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	id := u.send(t, address, map[string]any{"to": "mallory@far.test", "cc": []string{"bob@far.test"}, "body": "x"})
	u.until(t, address, id, "sent")
	report := func(about string) string {
		for _, c := range far.taken() {
			if c.rcpt[0] == "mallory@far.test" {
				if err := netsmtp.SendMail(s.smtp, nil, "", []string{c.from}, []byte(bounceOf(about))); err != nil {
					t.Fatal(err)
				}
			}
		}
		var states []string
		for _, r := range u.message(t, address, id)["recipients"].([]any) {
			states = append(states, r.(map[string]any)["status"].(string))
		}
		return fmt.Sprint(states)
	}
	if states := report("bob@far.test"); states != "[sent sent]" {
		t.Errorf("after a report about another recipient: %s", states)
	}
	if u.latest(t, address, "") != nil {
		t.Error("the report is a message of the inbox")
	}
	u.until(t, address, u.send(t, address, map[string]any{"to": "bob@far.test", "body": "x"}), "sent")
	if states := report("mallory@far.test"); states != "[bounced sent]" {
		t.Errorf("after a report about himself: %s", states)
	}
}
