//go:build failpoints

package main

import (
	netsmtp "net/smtp"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestFailpointParserPanicCostsOneMailsForm sends a message on which the parser panics.
func TestFailpointParserPanicCostsOneMailsForm(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	text := "From: a@b.test\r\nSubject: marked\r\nX-Failpoint: parser-panic\r\n\r\nYour code is 482913.\r\n"
	if err := netsmtp.SendMail(s.smtp, nil, "a@b.test", []string{address}, []byte(text)); err != nil {
		t.Fatalf("the marked mail: %v", err)
	}
	got := u.latest(t, address, "")
	if got["id"] != 1.0 || got["degraded"] != true || got["otp_code"] != nil {
		t.Errorf("latest: %v", got)
	}
	a, err := s.call("GET", "/api/v1/inboxes/"+address+"/messages/1/raw", map[string]string{"X-API-Key": u.key}, nil)
	if err != nil || a.status != 200 || a.header.Get("Content-Type") != "message/rfc822" {
		t.Errorf("raw: %v %v", a, err)
	}
	if err := s.mail(address, "550011"); err != nil {
		t.Fatal(err)
	}
	if got := u.latest(t, address, ""); got["otp_code"] != "550011" {
		t.Errorf("the next mail: %v", got)
	}
}

// TestFailpointsAroundTheOwnersCopy kills the server before and after the copy of a change is
// queued: the owner gets it once.
func TestFailpointsAroundTheOwnersCopy(t *testing.T) {
	for _, point := range []string{"owners-copy-due", "owners-copy-queued"} {
		t.Run(point, func(t *testing.T) {
			far := ownersServer(t)
			dns := farZone(t)
			dir := filepath.Join(t.TempDir(), "data")
			s := postal(t, dir, dns, far.port)
			u := s.signUp(t, "owner@far.test")
			path := "/inboxes/" + u.inbox(t, "agent") + "/calendar"
			u.do(t, 200, "PUT", path+"/owner", map[string]any{"enabled": true})
			id := meetingOf(u.do(t, 202, "POST", path+"/events", map[string]any{"title": "Plan", "start": "2030-01-01T10:00:00Z", "attendees": []any{"guest@far.test"}}))
			far.until(t, "REQUEST 1")
			s.kill()
			t.Setenv("FAILPOINT", point)
			s = postal(t, dir, dns, far.port)
			u.server = s
			u.do(t, 202, "PATCH", path+"/events/"+id, map[string]any{"title": "Changed"})
			if point == "owners-copy-queued" {
				far.until(t, "REQUEST 2")
			}
			s.kill()
			if point == "owners-copy-due" {
				far.once(t, "REQUEST 1")
			}
			t.Setenv("FAILPOINT", "")
			s = postal(t, dir, dns, far.port)
			u.server = s
			far.until(t, "REQUEST 2")
			u.do(t, 202, "PATCH", path+"/events/"+id, map[string]any{"title": "Changed again"})
			far.until(t, "REQUEST 3")
			far.once(t, "REQUEST 1", "REQUEST 2", "REQUEST 3")
		})
	}
}

// TestFailpointsAroundAnOrder kills the server after a meeting was validated and before anything is
// durable, and after all is durable and before the response. After a retry there is one meeting and
// one message, with one SEQUENCE.
func TestFailpointsAroundAnOrder(t *testing.T) {
	for point, kept := range map[string]int{"order-weighed": 0, "order-committed": 1} {
		t.Run(point, func(t *testing.T) {
			far := receive(t, "127.0.0.1", "0", func(string) string { return "" })
			dns := farZone(t)
			dir := filepath.Join(t.TempDir(), "data")
			t.Setenv("FAILPOINT", point)
			s := postal(t, dir, dns, far.port)
			u := s.signUp(t, "me@example.test")
			path := "/inboxes/" + u.inbox(t, "agent") + "/calendar/events"
			header := map[string]string{"X-API-Key": u.key, "Idempotency-Key": "once"}
			order := map[string]any{"title": "Plan", "start": "2030-01-01T10:00:00Z", "attendees": []any{"guest@far.test"}}
			cut := make(chan error, 1)
			go func() {
				_, err := s.call("POST", "/api/v1"+path, header, order)
				cut <- err
			}()
			for end := time.Now().Add(20 * time.Second); !strings.Contains(s.stderr.String(), "failpoint "+point); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("never there: %s", s.stderr)
				}
			}
			s.kill()
			if err := <-cut; err == nil {
				t.Error("the order was answered")
			}
			t.Setenv("FAILPOINT", "")
			s = postal(t, dir, dns, far.port)
			u.server = s
			if list := u.do(t, 200, "GET", path, nil)["events"].([]any); len(list) != kept {
				t.Fatalf("after the kill there are %v", list)
			}
			first, err := s.call("POST", "/api/v1"+path, header, order)
			if err != nil || first.status != 202 {
				t.Fatalf("the repeat: %v %v", first, err)
			}
			again, err := s.call("POST", "/api/v1"+path, header, order)
			if err != nil || !reflect.DeepEqual(again.body, first.body) {
				t.Errorf("another repeat: %v %v", again, err)
			}
			if list := u.do(t, 200, "GET", path, nil)["events"].([]any); len(list) != 1 {
				t.Errorf("after the repeats there are %v", list)
			}
			for end := time.Now().Add(20 * time.Second); len(far.taken()) == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			}
			u.do(t, 202, "POST", path+"/"+meetingOf(first.body)+"/cancel", nil)
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if mailCount := far.taken(); methodOf.FindStringSubmatch(mailCount[len(mailCount)-1].raw)[1] == "CANCEL" {
					break
				}
			}
			forms := map[string]bool{} // an attempt interrupted by a kill is repeated with the same bytes
			for _, mail := range far.taken() {
				forms[mail.raw] = true
			}
			if len(forms) != 2 {
				t.Errorf("the guest got %d mails", len(forms))
			}
		})
	}
}
