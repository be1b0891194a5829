package webhook

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unicode/utf8"

	"inboxd/internal/inbox"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		subscription, name string
		want               bool
	}{
		{MessageReceived, MessageReceived, true},
		{MessageReceived, MessageDelivered, false},
		{Everything, MessageBounced, true},
		{Everything, "something.new", true},
		{AllCalendar, CalendarCreated, true},
		{AllCalendar, CalendarResponded, true},
		{AllCalendar, MessageReceived, false},
		{AllCalendar, "calendar", false},
		{"message.*", MessageReceived, false}, // not a subscription
		{"", MessageReceived, false},
	} {
		if got := Matches(c.subscription, c.name); got != c.want {
			t.Errorf("Matches(%q, %q) = %v", c.subscription, c.name, got)
		}
	}
}

func TestKnown(t *testing.T) {
	for _, s := range []string{MessageReceived, CalendarResponded, AllCalendar, Everything} {
		if !Known(s) {
			t.Errorf("%s is not known", s)
		}
	}
	for _, s := range []string{"", "message.*", "calendar.", "calendar.event.*", "MESSAGE.RECEIVED", "message.received "} {
		if Known(s) {
			t.Errorf("%q is known", s)
		}
	}
}

// facts are one event of each shape, and what text must survive.
func facts() map[string]inbox.Public {
	at := time.Date(2026, 11, 21, 12, 30, 5, 7e6, time.FixedZone("", 3600))
	received := inbox.Public{
		Number: 7, Name: MessageReceived, Address: "agent@inbox.test", MessageID: 12, At: at,
		From: "no-reply@shop.example", Subject: `Code <482913> & "more" für Sie`, OTP: "482913",
	}
	bare, hostile := received, received
	bare.Subject, bare.OTP, bare.From = "", "", ""
	hostile.Subject = "a\xff\x00\r\n\u2028b"
	sent := inbox.Public{
		Number: 8, Name: MessageDelivered, Address: "agent@inbox.test", MessageID: 13, At: at,
		To: []string{"a@example.com", "b@example.com"}, SendStatus: "sent",
	}
	failed, bounced := sent, sent
	failed.Name, failed.SendStatus, failed.SendError = MessageFailed, "failed", "a@example.com: 550 5.1.1 no such user"
	bounced.Name, bounced.To, bounced.SendError = MessageBounced, []string{"b@example.com"}, "5.2.2 mailbox full"
	return map[string]inbox.Public{
		"message.received": received, "message.received-bare": bare, "message.received-hostile": hostile,
		"message.delivered": sent, "message.failed": failed, "message.bounced": bounced,
		"unknown": {Name: "something.new", Address: "agent@inbox.test", At: at},
	}
}

// TestGolden pins the bytes of bodies: they are signed, and promised for ever.
func TestGolden(t *testing.T) {
	for name, e := range facts() {
		path := filepath.Join("testdata", "golden", name+".json")
		got := Payload(e)
		if *update {
			if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(append(got, '\n'), want) {
			t.Errorf("%s\n got %s\nwant %s", name, got, want)
		}
	}
}

// FuzzPayload: whatever a stranger writes, the body is one line of JSON that says it.
func FuzzPayload(f *testing.F) {
	for _, e := range facts() {
		f.Add(e.Name, e.From, e.Subject, e.OTP, e.SendError)
	}
	f.Fuzz(func(t *testing.T, name, from, subject, otp, sendError string) {
		e := inbox.Public{Name: name, From: from, Subject: subject, OTP: otp, SendError: sendError, To: []string{from}}
		body := Payload(e)
		if bytes.ContainsAny(body, "\r\n") || !utf8.Valid(body) {
			t.Fatalf("not one line of UTF-8: %q", body)
		}
		if !bytes.Equal(body, Payload(e)) {
			t.Fatal("other bytes for the same facts")
		}
		var read map[string]any
		if err := json.Unmarshal(body, &read); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		if name == MessageReceived && utf8.ValidString(subject) && read["subject"] != subject {
			t.Fatalf("subject %q became %q", subject, read["subject"])
		}
	})
}
