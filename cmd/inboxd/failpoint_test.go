//go:build failpoints

package main

import (
	netsmtp "net/smtp"
	"path/filepath"
	"testing"
)

// TestFailpointParserPanicCostsOneMailsForm sends a mail on which the parser panics.
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

// TestFailpointsAroundTheOwnersCopy kills the server before the copy of a change is queued, and after: the
// owner gets it once.
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
