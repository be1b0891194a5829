package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	netsmtp "net/smtp"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"inboxd/actors"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/persist"
)

// stuckSyncs is a disk that accepts writes. While it is frozen, no sync of a log ends.
type stuckSyncs struct{ thaw atomic.Pointer[chan struct{}] }

func (d *stuckSyncs) String() string { return "stuck syncs" }

func (d *stuckSyncs) MaybeError(op errorfs.Op) error {
	sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	if thaw := d.thaw.Load(); thaw != nil && sync && strings.HasSuffix(op.Path, ".log") {
		<-*thaw
	}
	return nil
}

func (d *stuckSyncs) freeze() { thaw := make(chan struct{}); d.thaw.Store(&thaw) }
func (d *stuckSyncs) melt()   { close(*d.thaw.Swap(nil)) }

func openDoubtful(t *testing.T, fs vfs.FS, room *atomic.Bool) *house {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	st, err := persist.Open("data", persist.Options{FS: fs, Logger: quiet, MemTableBytes: 1 << 20, FreeSpace: func() (uint64, uint64, error) {
		if room.Load() {
			return 1 << 40, 1 << 41, nil
		}
		return 0, 1 << 41, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	system, err := actors.Start(actors.Options{Store: st, Namespaces: inbox.Namespaces{ServiceDomain: "x.test", PlainAddresses: true}, NewPlan: account.PlanPaid, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return &house{st, system}
}

// TestFrozenMailIsStoredOnce freezes the disk for 44 s. The sender gets a temporary error and tries
// again. Afterwards the message is stored once, whether the disk recovers, turns out to be full, or
// the process is killed while the message is in the log. It is stored twice if the sender sends it
// again after the 250.
func TestFrozenMailIsStoredOnce(t *testing.T) {
	for _, end := range []string{"thaw", "thaw, and full", "kill"} {
		t.Run(end, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { frozenMail(t, end) }) })
	}
}

func frozenMail(t *testing.T, end string) {
	var disk stuckSyncs
	var room atomic.Bool
	room.Store(true)
	mem := vfs.NewCrashableMem()
	h := openDoubtful(t, errorfs.Wrap(mem, &disk), &room)
	ctx := context.Background()
	in, err := h.system.SignUp(ctx, "me@example.test", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	prefix := "box"
	if _, _, err := h.system.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{Prefix: &prefix}); err != nil {
		t.Fatal(err)
	}
	offers := 0
	offer := func(h *house, text string) error {
		offers++
		trace := fmt.Sprintf("Return-Path: <s@far.test>\r\nReceived: from far ([192.0.2.1])\r\n\tby x.test with ESMTP id %d\r\n\tfor <box+tag@x.test>;\r\n\t%s\r\n", offers, time.Now().Format(time.RFC1123Z))
		env := ingest.Envelope{MailFrom: "s@far.test", RcptTo: []string{"box+tag@x.test"}, TraceLen: len(trace)}
		return h.system.ReceiveMessage(ctx, env, []byte(trace+text+"\r\n\r\nbody\r\n"))
	}
	stored := func(h *house, want int, when string) {
		t.Helper()
		view, err := h.system.InboxView(ctx, "box@x.test")
		if err != nil || len(view.Messages) != want {
			t.Fatalf("%s: %v, %v, want %d", when, view, err, want)
		}
	}
	const before, late = "Message-ID: <1@far.test>", "Message-ID: <2@far.test>"
	for _, text := range []string{before, "Message-ID: <3@far.test>"} {
		if err := offer(h, text); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second) // it is recorded as acknowledged, and no flush blocks the log
	}
	disk.freeze()
	began := time.Now()
	if err := offer(h, late); !fault.Is(err, fault.StorageFull) || time.Since(began) > 5*time.Second {
		t.Fatalf("on a frozen disk: %v after %v", err, time.Since(began))
	}
	time.Sleep(44*time.Second - time.Since(began))
	killed := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
	room.Store(end != "thaw, and full")
	time.Sleep(time.Second)
	disk.melt()
	time.Sleep(time.Second)
	synctest.Wait()
	stored(h, 3, "at the thaw")
	room.Store(true)
	time.Sleep(10 * time.Second)
	if strings.HasPrefix(end, "kill") {
		if err := h.close(); err != nil {
			t.Fatal(err)
		}
		h = openDoubtful(t, killed, &room)
		stored(h, 3, "after the kill")
	}
	for n, want := range []int{3, 4} {
		if err := offer(h, late); err != nil {
			t.Fatal(err)
		}
		stored(h, want, fmt.Sprint("repeat ", n+1))
	}
	if err := offer(h, before); err != nil {
		t.Fatal(err)
	}
	stored(h, 5, "what was answered before the freeze, once more")
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
}

// TestTheSameTextAroundAKill checks that equal messages without a Message-ID are two messages.
func TestTheSameTextAroundAKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	u := s.signUp(t, "me@example.test")
	to := u.inbox(t, "agent")
	for n := 1.0; n <= 3; n++ {
		if err := netsmtp.SendMail(s.smtp, nil, "a@shop.test", []string{to}, []byte("Subject: hello\r\n\r\nhello\r\n")); err != nil {
			t.Fatal(err)
		}
		if got := u.latest(t, to, ""); got["id"] != n {
			t.Errorf("mail %v: %v", n, got["id"])
		}
		s.kill()
		s = launch(t, dir)
		u.server = s
	}
}
