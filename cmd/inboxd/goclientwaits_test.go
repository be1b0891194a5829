package main

import (
	"context"
	"errors"
	netsmtp "net/smtp"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inboxd/http/client"
)

// over returns a context whose time is over.
func over(ctx context.Context) context.Context {
	ctx, cancel := context.WithDeadline(ctx, time.Now())
	cancel()
	return ctx
}

// TestGoClientWaits returns each message once: the oldest matching one, complete, by filter and by
// claim.
func TestGoClientWaits(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	c, address := client.New("http://"+s.http, u.key), u.inbox(t, "waits")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, code := range []string{"111222", "333444", "555666"} {
		if err := s.mail(address, code); err != nil {
			t.Fatal(err)
		}
	}
	var after int64
	for _, want := range []string{"111222", "333444", "555666"} {
		m, err := c.WaitForMessage(ctx, address, client.Wait{After: after, From: "SHOP", Since: time.Now().Add(-time.Hour)})
		if err != nil || m.OTPCode != want || m.Headers["From"] == nil {
			t.Fatalf("%+v %v, want %s", m, err, want)
		}
		after = m.ID
	}
	second := func(m *client.Message) bool { return m.OTPCode == "333444" }
	if m, err := c.WaitForMessage(ctx, address, client.Wait{Match: second, Claim: true}); err != nil || m.ID != 2 {
		t.Errorf("by a function: %+v %v", m, err)
	}
	if m, err := c.WaitForMessage(ctx, address, client.Wait{Claim: true, After: 1}); err != nil || m.ID != 3 {
		t.Errorf("2 is claimed, and not handed out again: %+v %v", m, err)
	}
	if m, err := c.WaitForOTP(ctx, address, 0); err != nil || m.OTPCode != "555666" {
		t.Errorf("the newest code: %+v %v", m, err)
	}
	soon, give := context.WithTimeout(ctx, 300*time.Millisecond)
	defer give()
	var none *client.NoCodeError
	if _, err := c.WaitForOTP(soon, address, 3); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &none) {
		t.Errorf("nothing came: %v", err)
	}
	if err := netsmtp.SendMail(s.smtp, nil, "a@far.test", []string{address}, []byte("Subject: No digits\r\n\r\nHello\r\n")); err != nil {
		t.Fatal(err)
	}
	soon, give = context.WithTimeout(ctx, 3*time.Second) // the message must be seen in it
	defer give()
	if _, err := c.WaitForOTP(soon, address, 3); !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &none) || none.MessageID != 4 || none.Subject != "No digits" {
		t.Errorf("a message without a code: %v", err)
	}
	_, err := c.WaitForMessage(over(ctx), address, client.Wait{OTP: true, From: "bank"})
	if want := "What did arrive:\nmessage 4 from a@far.test, subject \"No digits\": no code\nmessage 3 from no-reply@shop.test, "; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ": code 555666, confidence 1.00") || !strings.Contains(err.Error(), ", already read") {
		t.Errorf("a code of another sender: %v", err)
	}
	if err := c.DeleteMessage(ctx, address, 4); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for m, err := range c.EachMessage(ctx, address, client.MessageQuery{Limit: 2}) {
		if seen++; err != nil || m.ID != int64(4-seen) {
			t.Errorf("%+v %v", m, err)
		}
	}
	if tools, err := c.Tools(ctx, "openai"); err != nil || len(tools) != 6 {
		t.Errorf("tools: %s %v", tools, err)
	}
	for m, err := range c.EachMessageOfAll(ctx, client.AllQuery{Limit: 2}) {
		if seen++; err != nil || m.Inbox != address {
			t.Errorf("%+v %v", m, err)
		}
	}
	if seen != 6 {
		t.Errorf("the pages hold %d messages, want 3 and 3", seen)
	}
}

// TestGoClientOutlivesARestart: a wait and a stream continue after the service was killed, and lose
// nothing.
func TestGoClientOutlivesARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	u := s.signUp(t, "me@example.test")
	c, address := client.New("http://"+s.http, u.key), u.inbox(t, "restart")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	now, err := c.Events(ctx, client.EventQuery{Inbox: address, After: client.Now})
	if err != nil {
		t.Fatal(err)
	}
	followed := make(chan client.Event)
	go func() {
		defer close(followed)
		for e, err := range c.Follow(ctx, client.EventQuery{Inbox: address, After: now.Next}) {
			if err != nil {
				t.Error(err)
				return
			}
			followed <- e
			if e.OTP != "" {
				return
			}
		}
	}()
	waited := make(chan string)
	go func() {
		m, err := c.WaitForOTP(ctx, address, 0)
		if err != nil {
			t.Error(err)
			close(waited)
			return
		}
		waited <- m.OTPCode
	}()
	s.sendText(t, address, "Plain", "nothing")
	if e := <-followed; e.Subject != "Plain" {
		t.Errorf("%+v", e)
	}
	s.kill()
	s = launch(t, dir, "--http", s.http, "--smtp", s.smtp)
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}
	if code := <-waited; code != "482913" {
		t.Errorf("the wait ended with %q", code)
	}
	if e := <-followed; e.OTP != "482913" {
		t.Errorf("the stream went on with %+v", e)
	}
}
