package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"inboxd/actors"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/persist"
)

// BenchmarkRefusedInbox compares how long a refusal takes, depending on what exists. The four
// results must be close together, so that timing does not reveal what exists.
func BenchmarkRefusedInbox(b *testing.B) {
	disk, err := persist.Open(filepath.Join(b.TempDir(), "data"), persist.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer disk.Close()
	ctx := context.Background()
	other, me := account.ID{1}, account.ID{2}
	begin := func() *actors.System {
		s, err := actors.Start(actors.Options{Store: disk, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	s := begin()
	const each = 200
	for n := range each {
		for _, what := range []string{"warm", "cold", "deleted"} {
			address := fmt.Sprintf("%s%d@inbox.localhost", what, n)
			if _, err := s.Do(ctx, address, inbox.Create{Address: address, Account: other, RetentionHours: 1, At: s.Now()}); err != nil {
				b.Fatal(err)
			}
			if what == "deleted" {
				if _, err := s.Do(ctx, address, inbox.Delete{}); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	s.Stop()
	s = begin()
	defer s.Stop()
	for n := range each {
		if _, err := s.InboxView(ctx, fmt.Sprintf("warm%d@inbox.localhost", n)); err != nil {
			b.Fatal(err)
		}
	}
	for _, what := range []string{"warm", "cold", "deleted", "never"} {
		b.Run(what, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				if _, err := s.ViewFor(ctx, me, fmt.Sprintf("%s%d@inbox.localhost", what, n%each)); err == nil {
					b.Fatal("not refused")
				}
			}
		})
	}
}
