package spam

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"inboxd/internal/intake/ingest"
)

// TestRspamdReadsNothingAfterwards checks that a message which is only partly sent when its scan
// ends is not read any more.
func TestRspamdReadsNothingAfterwards(t *testing.T) {
	mail := &lentMessage{raw: []byte("a mail")}
	body := mail.newBody()
	half := make([]byte, 3)
	if _, err := io.ReadFull(body, half); err != nil || string(half) != "a m" {
		t.Fatalf("%q, %v", half, err)
	}
	mail.endLoan()
	if n, err := body.Read(half); n != 0 || err != errOver {
		t.Errorf("%d bytes behind the end, %v", n, err)
	}
	again := (&lentMessage{raw: []byte("a mail")}).newBody()
	if all, err := io.ReadAll(again); err != nil || string(all) != "a mail" {
		t.Errorf("%q, %v", all, err)
	}
}

// TestRspamdGivesTheMailBack uses a scanner that stops reading. The caller owns the bytes again
// after the scan; the race detector finds a client that still reads them.
func TestRspamdGivesTheMailBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reading := make(chan struct{})
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.ReadFull(conn, make([]byte, 1<<10))
		close(reading)
		_, _ = io.Copy(io.Discard, conn)
	}()
	s, err := New("rspamd+http://"+l.Addr().String(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		<-reading
		cancel()
	}()
	raw := bytes.Repeat([]byte("a line of mail\r\n"), 1<<20/16)
	if v := s.Scan(ctx, ingest.Envelope{}, raw); v != nil {
		t.Errorf("a verdict %+v of a scanner that gives none", v)
	}
	for i := range raw {
		raw[i] = 'x'
	}
}
