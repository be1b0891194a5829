package main

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limitFiles limits the server's file descriptors.
func limitFiles(most string) {
	if n, err := strconv.ParseUint(most, 10, 32); err == nil {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			panic(err)
		}
	}
}

func TestConnectionsLeaveFilesToTheStore(t *testing.T) {
	for _, c := range []struct{ limit, asked, web, wantMail, wantWeb int }{
		{1 << 20, 1000, 0, 1000, 200_000}, {4096, 1000, 0, 1000, 2064}, {1024, 1000, 0, 256, 248},
		{256, 1000, 0, 64, 56}, {256, 10, 0, 10, 110}, {1 << 20, 1000, 50, 1000, 50}, {256, 1000, 5000, 64, 56}, {32, 1000, 0, 8, 1},
	} {
		command := &serveCommand{SMTPMaxConns: c.asked, HTTPMaxConns: c.web}
		if mail, web := command.divideDescriptors(c.limit); mail != c.wantMail || web != c.wantWeb {
			t.Errorf("%+v: %d and %d", c, mail, web)
		}
	}
}

// TestOutOfFiles opens more connections than there are descriptors. The accepted ones are served,
// messages that need files are stored, and after the crowd has left, others are accepted.
func TestOutOfFiles(t *testing.T) {
	for _, limit := range []string{"64", "256"} {
		t.Run(limit, func(t *testing.T) { crowd(t, limit) })
	}
}

func crowd(t *testing.T, limit string) {
	t.Setenv("INBOXD_TEST_NOFILE", limit)
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--smtp-max-conns-per-ip", "1000")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	sender, err := net.Dial("tcp", s.smtp)
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	_ = sender.SetDeadline(time.Now().Add(60 * time.Second))
	in := bufio.NewReader(sender)
	reply := func(want string) {
		t.Helper()
		line, err := in.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, want) {
			t.Fatalf("%q %v, want %s", line, err, want)
		}
	}
	reply("220")
	fmt.Fprint(sender, "HELO c.test\r\n")
	reply("250")

	var crowd []net.Conn
	for i := range 600 {
		conn, err := net.Dial("tcp", []string{s.http, s.smtp}[i%2])
		if err != nil {
			t.Fatal(err)
		}
		crowd = append(crowd, conn)
	}
	big := strings.Repeat("a line of a mail that is too large for a row\r\n", 8<<10)
	for range 20 {
		fmt.Fprintf(sender, "MAIL FROM:<a@shop.test>\r\nRCPT TO:<%s>\r\nBDAT %d LAST\r\n%s", address, len(big), big)
		for range 3 {
			reply("250")
		}
	}
	for _, conn := range crowd {
		conn.Close()
	}
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if err = s.mail(address, "482913"); err == nil {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("the crowd has gone, but:", err)
		}
	}
	if got := u.latest(t, address, "?wait=10&otp=true"); got["id"] != 21.0 {
		t.Errorf("latest: %v", got["id"])
	}
	if code := s.terminate(t); code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr)
	}
}
