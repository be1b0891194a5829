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
