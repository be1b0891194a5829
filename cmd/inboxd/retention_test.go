package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/actors"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/persist"
)

// TestRetentionAtScale lets the messages of many inboxes expire at once, on a real disk. None of
// them is readable from that moment on. A start removes them from the disk with their blob files,
// step by step, and newer messages stay.
func TestRetentionAtScale(t *testing.T) {
	const inboxes = 600
	var clock atomic.Int64
	clock.Store(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC).UnixMilli())
	now := func() time.Time { return time.UnixMilli(clock.Load()) }
	dir := filepath.Join(t.TempDir(), "data")
	open := func() *house {
		quiet := slog.New(slog.DiscardHandler)
		st, err := persist.Open(dir, persist.Options{Logger: quiet, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		system, err := actors.Start(actors.Options{Store: st, Namespaces: inbox.Namespaces{ServiceDomain: "x.test", PlainAddresses: true}, NewPlan: account.PlanPaid, Logger: quiet, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return &house{st, system}
	}
	h := open()
	in, err := h.system.SignUp(t.Context(), "me@example.test", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	address := func(i int) string { return fmt.Sprintf("box%d@x.test", i) }
	large := []byte("Subject: large\r\n\r\n" + strings.Repeat("0123456789abcde\r\n", 20_000))
	fill := func(i int) {
		prefix, hour := fmt.Sprintf("box%d", i), 1
		_, _, err := h.system.CreateInbox(t.Context(), in.Profile.ID, inbox.CreationRequest{Prefix: &prefix, RetentionHours: &hour})
		raw := []byte("Subject: x\r\n\r\nx\r\n")
		if i%100 == 0 {
			raw = large
		}
		if err == nil {
			err = h.system.ReceiveMessage(t.Context(), ingest.Envelope{RcptTo: []string{address(i)}}, raw)
		}
		if err != nil {
			t.Error(err)
		}
	}
	var workers sync.WaitGroup
	for w := range 16 {
		workers.Go(func() {
			for i := w; i < inboxes; i += 16 {
				fill(i)
			}
		})
	}
	workers.Wait()
	if blobs := h.store.ReadStats().BlobFiles; blobs < inboxes/100 {
		t.Fatalf("%d blob files", blobs)
	}
	clock.Add(time.Minute.Milliseconds())
	fill(inboxes)
	clock.Add(59 * time.Minute.Milliseconds())
	readable := func() (ids []int) {
		for i := range inboxes + 1 {
			v, err := h.system.InboxView(t.Context(), address(i))
			if err != nil {
				t.Fatal(err)
			}
			if v.LatestMatching(now(), nil) != nil {
				ids = append(ids, i)
			}
		}
		return ids
	}
	if got := readable(); !slices.Equal(got, []int{inboxes}) {
		t.Errorf("readable at their end: %d inboxes", len(got))
	}
	if err := h.close(); err != nil {
		t.Fatal(err)
	}

	h = open()
	defer h.close()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		due, _, err := h.store.DueInboxes(now(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(due) == 0 && h.store.ReadStats().BlobFiles <= 2 { // those of the last inbox
			break
		}
		if time.Now().After(end) {
			t.Fatalf("still due: %v; %d blob files", due, h.store.ReadStats().BlobFiles)
		}
	}
	if raw, err := h.system.RawMessage(t.Context(), address(0), 1); err == nil && raw != nil {
		t.Errorf("%d bytes of an expired mail are left", raw.Size())
	}
	if got := readable(); !slices.Equal(got, []int{inboxes}) {
		t.Errorf("after the sweep: %d inboxes have mail", len(got))
	}
}
