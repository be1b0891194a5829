package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"inboxd/actors"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/persist"
)

// BenchmarkDeliver measures the path of a message after SMTP, one message at a time: parsed,
// decided, made durable, visible.
func BenchmarkDeliver(b *testing.B) {
	st, err := persist.Open(filepath.Join(b.TempDir(), "data"), persist.Options{})
	if err != nil {
		b.Fatal(err)
	}
	system, err := actors.Start(actors.Options{Store: st, Namespaces: inbox.Namespaces{ServiceDomain: "x.test", PlainAddresses: true}, NewPlan: account.PlanPaid, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		system.Stop()
		if err := st.Close(); err != nil {
			b.Error(err)
		}
	})
	ctx := context.Background()
	in, err := system.SignUp(ctx, "me@example.test", "correct horse")
	if err != nil {
		b.Fatal(err)
	}
	addresses := make([]string, 1000)
	for i := range addresses {
		prefix := fmt.Sprintf("box%d", i)
		if _, _, err := system.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{Prefix: &prefix}); err != nil {
			b.Fatal(err)
		}
		addresses[i] = prefix + "@x.test"
	}
	raw := "From: Shop <no-reply@shop.test>\r\nSubject: Your sign-in code\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" +
		"<html><body><p>Your verification code is <b>482913</b>.</p>" + strings.Repeat("<p>Thank you for shopping with us today.</p>", 40) + "</body></html>\r\n"
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		env := ingest.Envelope{MailFrom: "a@b.test", RcptTo: addresses[n%len(addresses) : n%len(addresses)+1]}
		if err := system.ReceiveMessage(ctx, env, []byte(raw)); err != nil {
			b.Fatal(err)
		}
	}
}
