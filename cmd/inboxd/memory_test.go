package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// metric reads one value from /metrics.
func (s *server) metric(t *testing.T, name string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(s.scrape(t))
	if m == nil {
		t.Fatalf("no metric %s", name)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestLargeMailCosts checks that a message of 25 MB costs at most 64 MB of heap, even if nothing
// that it allocates between socket and disk were collected.
func TestLargeMailCosts(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	inbox := u.inbox(t, "agent")
	text := strings.Repeat(strings.Repeat("text ", 14)+"\r\n", (25<<20-1000)/72)
	chunk := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("attachment-bytes-", 4)[:57])) + "\r\n"
	for name, mail := range map[string]string{
		"text":       "Subject: large\r\n\r\n" + text,
		"attachment": "Subject: large\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n" + strings.Repeat(chunk, (25<<20-1000)/len(chunk)),
		"html":       "Subject: large\r\nContent-Type: text/html\r\n\r\n<p>" + text,
	} {
		before := s.metric(t, "go_memstats_alloc_bytes_total")
		converse(t, s.smtp, inbox, mail)
		spent := s.metric(t, "go_memstats_alloc_bytes_total") - before
		said := fmt.Sprintf("%s: %.1f MB allocated for %.1f MB", name, spent/(1<<20), float64(len(mail))/(1<<20))
		if t.Log(said); spent > 64<<20 {
			t.Error(said)
		}
		if got := u.latest(t, inbox, "?fields=size_bytes"); got["size_bytes"].(float64) < float64(len(mail)) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestHostileConnectionsHoldLittle tests clients that send a large body without a key, and clients
// that request a large message and do not read it.
func TestHostileConnectionsHoldLittle(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	inbox := u.inbox(t, "agent")
	converse(t, s.smtp, inbox, "Subject: large\r\n\r\n"+strings.Repeat(strings.Repeat("text ", 14)+"\r\n", 5<<20/72))
	part := strings.Repeat("x", 4<<20)
	for name, request := range map[string]string{
		"bodies":  fmt.Sprintf("POST /api/v1/inboxes/%s/send HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", inbox, 32<<20, part),
		"answers": fmt.Sprintf("GET /api/v1/inboxes/%s/messages/1/raw HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", inbox, u.key),
	} {
		before := s.metric(t, "process_resident_memory_bytes")
		var all sync.WaitGroup
		for range 40 {
			c, err := net.Dial("tcp", s.http)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.(*net.TCPConn).SetReadBuffer(4 << 10)
			all.Go(func() {
				io.WriteString(c, request) // a refusal may interrupt it
				if name == "answers" {
					io.ReadFull(c, make([]byte, 16))
				}
			})
		}
		all.Wait()
		held := s.metric(t, "process_resident_memory_bytes") - before
		said := fmt.Sprintf("%s: %.1f MB more are resident", name, held/(1<<20))
		if t.Log(said); held > 64<<20 {
			t.Error(said)
		}
	}
}

// TestBodiesBeyondMemory checks that a body that is announced as larger than any memory, or has no
// end, is refused before it takes memory.
func TestBodiesBeyondMemory(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	inbox := u.inbox(t, "agent")
	head := fmt.Sprintf("POST /api/v1/inboxes/%s/send HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Type: application/json\r\n", inbox, u.key)
	mail := "EHLO c.test\r\nMAIL FROM:<a@shop.test>\r\n"
	rcpt := "RCPT TO:<" + inbox + ">\r\n"
	for name, c := range map[string]struct{ at, say, again, want string }{
		"length":      {s.http, head + "Content-Length: 1099511627776\r\n\r\n", strings.Repeat("x", 1<<20), "HTTP/1.1 413"},
		"overflow":    {s.http, head + "Content-Length: 99999999999999999999999\r\n\r\n", strings.Repeat("x", 1<<20), "HTTP/1.1 4"},
		"chunks":      {s.http, head + "Transfer-Encoding: chunked\r\n\r\n", "100000\r\n" + strings.Repeat("x", 1<<20) + "\r\n", "HTTP/1.1 413"},
		"SIZE":        {s.smtp, "EHLO c.test\r\nMAIL FROM:<a@shop.test> SIZE=1099511627776\r\n", "", "552"},
		"BDAT":        {s.smtp, mail + rcpt + "BDAT 1099511627776 LAST\r\n", strings.Repeat("x", 1<<20), "552"},
		"a body":      {s.smtp, mail + rcpt + "DATA\r\n", strings.Repeat(strings.Repeat("x", 70)+"\r\n", 1<<20/72), "552"},
		"one line":    {s.smtp, mail + rcpt + "DATA\r\n", strings.Repeat("x", 1<<20), "5"},
		"one command": {s.smtp, "EHLO ", strings.Repeat("x", 1<<20), "500"},
	} {
		before := s.metric(t, "process_resident_memory_bytes")
		if got := flood(t, c.at, c.say, c.again); !strings.Contains("\n"+got, "\n"+c.want) {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
		if held := s.metric(t, "process_resident_memory_bytes") - before; held > 64<<20 {
			t.Errorf("%s: %.1f MB more are resident", name, held/(1<<20))
		}
	}
	if err := s.mail(inbox, "482913"); err != nil {
		t.Error(err)
	}
}

// flood sends a text, and then another one repeatedly until it has sent a hundred megabytes or is
// refused. It returns the complete response.
func flood(t *testing.T, at, say, again string) string {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	go func() {
		_, err := io.WriteString(conn, say)
		for n := 0; err == nil && again != "" && n < 100; n++ {
			_, err = io.WriteString(conn, again)
		}
		if strings.HasPrefix(say, "EHLO") {
			_, _ = io.WriteString(conn, "\r\n.\r\nQUIT\r\n")
		}
	}()
	answer, _ := io.ReadAll(conn) // a reset ends it, too
	return string(answer)
}
