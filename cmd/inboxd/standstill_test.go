package main

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// standstill is longer than a server stays ready without a synced write.
const standstill = 6 * time.Second

// TestStandstill stops the process (SIGSTOP) during a body, with a waiting poll. After it
// continues, nothing has timed out that its peers kept alive, the message is stored once, the poll
// gets it, and the server is ready.
func TestStandstill(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	polled := make(chan map[string]any, 1)
	go func() {
		a, _ := s.call("GET", "/api/v1/inboxes/"+address+"/latest?wait=60", map[string]string{"X-API-Key": u.key}, nil)
		email, _ := a.body["email"].(map[string]any)
		polled <- email
	}()
	for s.metric(t, "inboxd_http_long_polls") != 1 {
		time.Sleep(time.Millisecond)
	}
	conn, err := net.Dial("tcp", s.smtp)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	say := dialogue(t, conn)
	say("", "220")
	say("HELO c.test\r\n", "250")
	say("MAIL FROM:<a@shop.test>\r\n", "250")
	say("RCPT TO:<"+address+">\r\n", "250")
	say("DATA\r\n", "354")
	say("Subject: Sign in\r\n\r\nYour code is ", "")
	_ = s.cmd.Process.Signal(syscall.SIGSTOP)
	say("482913\r\n", "")
	time.Sleep(standstill)
	_ = s.cmd.Process.Signal(syscall.SIGCONT)
	if a, err := s.call("GET", "/readyz", nil, nil); err != nil || a.status != 200 {
		t.Errorf("readyz: %d %v", a.status, err)
	}
	say(".\r\n", "250")
	if got := <-polled; got["otp_code"] != "482913" {
		t.Errorf("the poll that waited: %v", got)
	}
	if err := s.mail(address, "111111"); err != nil {
		t.Error(err)
	}
	if got := u.latest(t, address, ""); got["id"] != 2.0 || got["otp_code"] != "111111" {
		t.Errorf("latest: %v", got)
	}
	if code := s.terminate(t); code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr)
	}
}
