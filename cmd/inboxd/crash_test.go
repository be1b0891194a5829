package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/actors"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/sealed"
	"inboxd/internal/testutil/iterations"
	"inboxd/persist"
)

// house is everything behind the edges, on a file system that can lose what was not synced.
type house struct {
	store  *persist.Store
	system *actors.System
}

func openHouse(fs vfs.FS) (*house, error) {
	quiet := slog.New(slog.DiscardHandler)
	st, err := openRows(fs)
	if err != nil {
		return nil, err
	}
	system, err := actors.Start(actors.Options{Store: st, Namespaces: inbox.Namespaces{ServiceDomain: "x.test", PlainAddresses: true}, NewPlan: account.PlanPaid, Logger: quiet})
	if err != nil {
		return nil, err
	}
	return &house{st, system}, nil
}

func openRows(fs vfs.FS) (*persist.Store, error) {
	return persist.Open("data", persist.Options{FS: fs, Logger: slog.New(slog.DiscardHandler), MemTableBytes: 1 << 20,
		FreeSpace: func() (uint64, uint64, error) { return 1 << 40, 1 << 41, nil }})
}

func (h *house) close() error {
	h.system.Stop()
	return h.store.Close()
}

// ledger is what the senders of one inbox know.
type ledger struct {
	mu        sync.Mutex
	mailCount map[int64]string // id → subject of messages acknowledged, without a requested deletion
	gone      map[int64]bool   // deletion acknowledged
	asked     map[int64]bool   // deletion requested: the message may exist or not
	highest   int64
}

func (l *ledger) received(id int64, subject string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mailCount[id] = subject
	l.highest = max(l.highest, id)
}

// snapshot copies the ledger: everything in it was acknowledged before snapshot returns.
func (l *ledger) snapshot() *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &ledger{mailCount: map[int64]string{}, gone: map[int64]bool{}, highest: l.highest}
	for id, s := range l.mailCount {
		c.mailCount[id] = s
	}
	for id := range l.gone {
		c.gone[id] = true
	}
	return c
}

// deletions returns the ids whose deletion was requested. Taken after a clone, it explains why they
// may be missing.
func (l *ledger) deletions() map[int64]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := map[int64]bool{}
	for id := range l.asked {
		c[id] = true
	}
	return c
}

const crashInboxes = 6

func crashAddress(i int) string { return fmt.Sprintf("box%d@x.test", i) }

// crashEncrypted lists the encrypted inboxes.
func crashEncrypted(i int) bool { return i >= crashInboxes-2 }

// crashKey is the public key of the account. Its private key was discarded.
var crashKey = func() sealed.RecipientKey {
	key, err := sealed.ParseRecipient("public_key", "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p")
	if err != nil {
		panic(err)
	}
	return key
}()

// crashMail is the command that delivers a message to one of the inboxes.
func crashMail(address string, raw []byte) inbox.Receive {
	encrypted := address == crashAddress(crashInboxes-1) || address == crashAddress(crashInboxes-2)
	mail := ingest.ParseMessage(ingest.Envelope{MailFrom: "s@x.test", RcptTo: []string{address}, StoredEncrypted: encrypted}, raw)
	if !encrypted {
		return mail.ReceiveFor(address)
	}
	cmd, err := mail.SealedFor([]string{address}, crashKey, func(d inbox.MessageDigest) (inbox.MessageDigest, error) { return d, nil })
	if err != nil {
		panic(err)
	}
	return cmd
}

// TestCrashClones clones the disk as a power loss would leave it, while messages arrive and are
// deleted. It compares each clone with what was acknowledged before.
func TestCrashClones(t *testing.T) {
	const clones, perRun = 40, 20 // make crash uses 2,000
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range iterations.GroupedRuns(t, "CRASH_CLONES", clones, perRun) {
		if crashRun(t, random, perRun); t.Failed() {
			return
		}
	}
}

func crashRun(t *testing.T, random *rand.Rand, clones int) {
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
	if err := h.system.SetRecipient(ctx, in.Profile.ID, crashKey, ""); err != nil {
		t.Fatal(err)
	}
	ledgers := make([]*ledger, crashInboxes)
	for i := range ledgers {
		prefix := fmt.Sprintf("box%d", i)
		if _, _, err := h.system.CreateInbox(ctx, in.Profile.ID, inbox.CreationRequest{Prefix: &prefix, Encrypted: crashEncrypted(i)}); err != nil {
			t.Fatal(err)
		}
		ledgers[i] = &ledger{mailCount: map[int64]string{}, gone: map[int64]bool{}, asked: map[int64]bool{}}
	}
	stop := make(chan struct{})
	var senders sync.WaitGroup
	progress := make(chan struct{}, 1)
	var pause sync.RWMutex // write-locked while a clone is checked, so that the disk stays small
	for i, l := range ledgers {
		for w := range 2 {
			r := rand.New(rand.NewPCG(random.Uint64(), uint64(w)))
			senders.Go(func() { send(t, h, crashAddress(i), l, r, stop, progress, &pause) })
		}
	}
	for range clones {
		for range random.IntN(12) + 1 {
			<-progress
		}
		before := make([]*ledger, crashInboxes)
		for i, l := range ledgers {
			before[i] = l.snapshot()
		}
		clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[random.IntN(3)], RNG: rand.New(rand.NewPCG(random.Uint64(), 2))})
		deletions := make([]map[int64]bool, crashInboxes)
		for i, l := range ledgers {
			deletions[i] = l.deletions()
		}
		pause.Lock()
		checkClone(t, clone, in, before, deletions)
		pause.Unlock()
	}
	close(stop)
	senders.Wait()
	if err := h.close(); err != nil {
		t.Error(err)
	}
}

// send uses one inbox until stop: messages, some of them large, deletions and burns.
func send(t *testing.T, h *house, address string, l *ledger, r *rand.Rand, stop, progress chan struct{}, pause *sync.RWMutex) {
	for n := 0; ; n++ {
		pause.RLock()
		step(t, h, address, l, r, n)
		pause.RUnlock()
		select {
		case <-stop:
			return
		case progress <- struct{}{}:
		default:
		}
	}
}

// step deletes one message or sends one.
func step(t *testing.T, h *house, address string, l *ledger, r *rand.Rand, n int) {
	ctx := context.Background()
	if id := l.pick(r); id != 0 {
		if _, err := h.system.Do(ctx, address, inbox.DeleteMessage{ID: id}); err != nil && !fault.Is(err, fault.NotFound) {
			t.Error(err)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.gone[id] = true
		return
	}
	subject := fmt.Sprintf("mail %d %d", n, r.Uint64())
	if r.IntN(4) == 0 {
		id, err := h.system.SendMessage(ctx, address, inbox.SendRequest{To: "bob@far.test", Cc: []string{"nobody@x.test"}, Subject: subject, Text: "x"})
		if err != nil {
			t.Error(err)
			return
		}
		l.received(id, subject)
		if r.IntN(2) == 0 { // its status becomes final
			if _, err := h.system.Do(ctx, address, inbox.GiveUp{ID: id, FailureReason: "dropped"}); err != nil && !fault.Is(err, fault.NotFound) {
				t.Error(err)
			}
		}
		return
	}
	size := 1500
	if r.IntN(40) == 0 {
		size = 300 << 10 // stored in a blob file
	}
	raw := fmt.Appendf(nil, "Subject: %s\r\nContent-Disposition: attachment\r\n\r\n%s\r\n", subject, strings.Repeat("words ", size/6))
	answer, err := h.system.Do(ctx, address, crashMail(address, raw))
	if err != nil {
		t.Error(err)
		return
	}
	l.received(answer.ID, subject)
}

// pick chooses, one time in five, an acknowledged message to delete, and records the deletion
// before it is requested.
func (l *ledger) pick(r *rand.Rand) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.IntN(5) != 0 {
		return 0
	}
	for id := range l.mailCount {
		if !l.asked[id] {
			l.asked[id] = true
			return id
		}
	}
	return 0
}

func checkClone(t *testing.T, clone vfs.FS, in account.SignedIn, before []*ledger, deletions []map[int64]bool) {
	t.Helper()
	if _, err := persist.CheckFolder("data", persist.Options{FS: clone, Logger: slog.New(slog.DiscardHandler)}, func(problem string) {
		t.Errorf("a check of the clone finds: %s", problem)
	}); err != nil {
		t.Error(err)
	}
	checkMailQueue(t, clone)
	h, err := openHouse(clone)
	if err != nil {
		t.Errorf("the clone does not open, all of it is lost: %v", err)
		return
	}
	defer h.close()
	ctx := context.Background()
	if _, err := h.system.Authenticate(ctx, []byte(in.Token)); err != nil {
		t.Errorf("the session is lost: %v", err)
	}
	for i, l := range before {
		view, err := h.system.InboxView(ctx, crashAddress(i))
		if err != nil {
			t.Errorf("inbox %d is lost: %v", i, err)
			continue
		}
		there := map[int64]bool{}
		for _, m := range view.Messages {
			there[m.ID] = true
			checkWhole(t, h, view.Address, m)
		}
		for id, subject := range l.mailCount {
			if !there[id] && !deletions[i][id] {
				t.Errorf("inbox %d: mail %d (%s) was acknowledged and is lost", i, id, subject)
			}
		}
		for id := range l.gone {
			if there[id] {
				t.Errorf("inbox %d: mail %d was deleted and is back", i, id)
			}
		}
		answer, err := h.system.Do(ctx, view.Address, crashMail(view.Address, []byte("\r\nx")))
		if err != nil || answer.ID <= l.highest {
			t.Errorf("inbox %d: the next mail gets id %d after %d, %v", i, answer.ID, l.highest, err)
		}
	}
}

// checkMailQueue checks that every waiting sent message has exactly one entry in the queue, that an
// encrypted one has its copy for the attempts, and that there are no others. It runs before the
// queue starts.
func checkMailQueue(t *testing.T, clone vfs.FS) {
	t.Helper()
	rows, err := openRows(clone)
	if err != nil {
		t.Error(err)
		return
	}
	defer rows.Close()
	queue, _, err := rows.MailQueue(inbox.QueueEntry{}, 1<<20)
	if err != nil {
		t.Error(err)
	}
	entries := map[string]time.Time{}
	for _, q := range queue {
		entries[fmt.Sprint(q.Address, q.ID)] = q.At
	}
	senders := []string{"noreply@x.test"} // of the message about the key
	for i := range crashInboxes {
		senders = append(senders, crashAddress(i))
	}
	for _, sender := range senders {
		state, err := rows.LoadInbox(sender)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range state.Messages {
			name := fmt.Sprint(state.Address, m.ID)
			if at, there := entries[name]; m.IsWaiting() != there || there && !at.Equal(m.OutgoingDelivery.NextDue) {
				t.Errorf("sent mail %s: %+v, in the queue %v at %v", name, m.OutgoingDelivery, there, at)
			}
			delete(entries, name)
			if copied, err := rows.QueuedCopy(state.Address, m.ID); err != nil || (copied != nil) != (m.EncryptedState != nil && m.IsWaiting()) {
				t.Errorf("sent mail %s waits: %v; the copy for that has %d bytes, %v", name, m.IsWaiting(), len(copied), err)
			}
		}
	}
	for name := range entries {
		t.Errorf("the queue holds %s, which is no mail", name)
	}
}

// checkWhole checks that a listed message is complete.
func checkWhole(t *testing.T, h *house, address string, m *inbox.Message) {
	t.Helper()
	content, err := h.system.MessageContent(context.Background(), address, m.ID)
	if err != nil || content == nil || content.Doc.Subject != m.Subject {
		t.Errorf("%s: mail %d is half there: %v, %v", address, m.ID, content, err)
	}
	size := m.Size
	if m.EncryptedState != nil {
		size = sealed.EnvelopeSize(m.Size)
	}
	if m.EncryptedState != nil && m.EncryptedState.MaxFileID > 0 {
		if file, err := h.system.AttachmentFile(context.Background(), address, m.ID, m.EncryptedState.MaxFileID); err != nil || file == nil {
			t.Errorf("%s: a file of mail %d is missing: %v", address, m.ID, err)
		}
	}
	if raw, err := h.system.RawMessage(context.Background(), address, m.ID); err != nil || raw == nil || raw.Size() != size {
		t.Errorf("%s: mail %d is not its %d bytes: %v, %v", address, m.ID, m.Size, raw, err)
	}
}
