package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
)

const (
	damagedInboxes = 30
	damagedMails   = 3 // in each
)

// houseOnDisk returns a closed store with many small inboxes, all of it in tables and value files.
func houseOnDisk(t *testing.T) (*vfs.MemFS, account.ID) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	h, err := openHouse(fs)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	in, err := h.system.SignUp(ctx, "me@example.test", "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	for i := range damagedInboxes {
		prefix := fmt.Sprintf("box%d", i)
		if _, _, err := h.system.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{Prefix: &prefix}); err != nil {
			t.Fatal(err)
		}
		for n := range damagedMails {
			mail := ingest.ParseMessage(ingest.Envelope{MailFrom: "s@x.test", RcptTo: []string{crashAddress(i)}}, fmt.Appendf(nil, "Subject: mail %d\r\n\r\n%s\r\n", n+1, strings.Repeat("words ", 300)))
			if _, err := h.system.Do(ctx, crashAddress(i), mail.ReceiveFor(crashAddress(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 { // a start converts the log to tables
		if err := h.close(); err != nil {
			t.Fatal(err)
		}
		if h, err = openHouse(fs); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	return fs, in.Profile.ID
}

// TestDamageCostsWhatItHit flips bits all over the tables and value files. The list of inboxes
// shows what is readable and names the rest, or says that it is damaged itself. No client is asked to
// retry, and due messages after the damage are found.
func TestDamageCostsWhatItHit(t *testing.T) {
	whole, id := houseOnDisk(t)
	names, err := whole.List("data/db")
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]int{}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") && !strings.HasSuffix(name, ".blob") {
			continue
		}
		info, err := whole.Stat("data/db/" + name)
		if err != nil {
			t.Fatal(err)
		}
		const flips = 12 // each run flips other bits
		for n := range flips {
			fs := whole.CrashClone(vfs.CrashCloneCfg{})
			at := (int(info.Size())*n + rand.IntN(int(info.Size()))) / flips
			if n == flips-1 {
				at = int(info.Size()) - 3
			}
			data, err := fs.UnsafeGetFileDataBuffer("data/db/" + name)
			if err != nil {
				t.Fatal(err)
			}
			data[at] ^= 4
			outcome, err := lookAround(fs, id)
			if err != nil {
				t.Errorf("a bit at %d of %s (%d bytes): %v", at, name, info.Size(), err)
			}
			outcomes[outcome]++
		}
	}
	t.Log(outcomes)
	if outcomes["mails named"] == 0 || outcomes["whole"] == 0 {
		t.Error("the flips do not reach what they are for")
	}
}

// lookAround reads everything twice. It returns an error if damage was not reported, or was
// reported as overload.
func lookAround(fs vfs.FS, id account.ID) (outcome string, silent error) {
	h, err := openHouse(fs)
	if err != nil {
		if text := err.Error(); !strings.Contains(text, ".sst is damaged: ") && !strings.Contains(text, ".blob is damaged: ") || !strings.HasSuffix(text, ". Restore a backup of the folder") {
			return "", fmt.Errorf("refused with %q", text)
		}
		return "refused", nil
	}
	defer func() { silent = errors.Join(silent, h.close()) }()
	for range 2 {
		if outcome, silent = lookOnce(h, id); silent != nil {
			return outcome, silent
		}
	}
	return outcome, nil
}

func lookOnce(h *house, id account.ID) (outcome string, silent error) {
	page, err := h.system.ListInboxes(context.Background(), id, "", 1000, func(*inbox.View) bool { return true })
	if fault.Is(err, fault.DataDamaged) {
		return "list damaged", nil
	}
	if err != nil || len(page.Views)+len(page.DamagedAddresses) != damagedInboxes {
		return "", fmt.Errorf("%d inboxes and %d damaged ones: %v", len(page.Views), len(page.DamagedAddresses), err)
	}
	for _, address := range page.DamagedAddresses {
		if _, err := h.system.InboxView(context.Background(), address); !fault.Is(err, fault.DataDamaged) {
			return "", fmt.Errorf("the damaged inbox %s: %v", address, err)
		}
		for range 2 { // immediately, and after its owner is idle
			if _, err := h.system.Do(context.Background(), address, inbox.Burn{}); !fault.Is(err, fault.DataDamaged) {
				return "", fmt.Errorf("a command to the damaged inbox %s: %v", address, err)
			}
		}
	}
	lost := 0
	for _, v := range page.Views {
		for n := range damagedMails {
			i := slices.IndexFunc(v.Messages, func(m *inbox.Message) bool { return m.ID == int64(n+1) })
			if i < 0 {
				return "", fmt.Errorf("%s: mail %d is missing", v.Address, n+1)
			}
			content, err := h.system.MessageContent(context.Background(), v.Address, int64(n+1))
			switch {
			case v.Messages[i].IsDamaged, fault.Is(err, fault.DataDamaged):
				lost++
			case err != nil || content == nil || content.Doc.Subject != fmt.Sprint("mail ", n+1):
				return "", fmt.Errorf("%s: mail %d: %v, %v", v.Address, n+1, content, err)
			}
		}
	}
	switch {
	case len(page.DamagedAddresses) > 0:
		return "inboxes named", nil
	case lost > 0:
		return "mails named", nil
	}
	return "whole", nil
}
