package persist

import (
	"encoding/binary"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
)

// batches is what all tests of this package commit. TestMain starts watching.
var batches struct {
	mu      sync.Mutex
	callers map[string]bool // functions that made a batch; nil if not recorded
}

// watchAll panics at a batch with a key outside the partition that the batch names.
func watchAll() {
	watchBatch = func(p partition.ID, b *pebble.Batch) {
		if err := checkBatch(p, b); err != nil {
			panic(err)
		}
		batches.mu.Lock()
		defer batches.mu.Unlock()
		if batches.callers == nil {
			return
		}
		var stack [16]uintptr
		frames := runtime.CallersFrames(stack[:runtime.Callers(2, stack[:])])
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			name, _, _ := strings.Cut(f.Function[strings.LastIndexByte(f.Function, '/')+1:], ".func")
			name, _, _ = strings.Cut(name, "[")
			batches.callers[name[strings.LastIndexByte(name, '.')+1:]] = true
		}
	}
}

// checkBatch decodes every key of a batch.
func checkBatch(p partition.ID, b *pebble.Batch) error {
	for r := b.Reader(); len(r) > 0; {
		op, key, value, ok, err := r.Next()
		if err != nil || !ok {
			return fmt.Errorf("a batch can't be decoded: %v", err)
		}
		if err := lies(key, p); err != nil {
			return fmt.Errorf("%v in a batch of partition %d: %w", op, p, err)
		}
		if op == pebble.InternalKeyKindRangeDelete {
			if err := endsIn(value, p); err != nil {
				return fmt.Errorf("a range in a batch of partition %d: %w", p, err)
			}
		}
	}
	return nil
}

// lies returns what is wrong with a key of partition p. Every kind of key has a partition.
func lies(key []byte, p partition.ID) error {
	got := partition.ID(0)
	switch rowKind(key[0]) {
	case kindDue, kindMailDue, kindDeliveryDue:
		got = partition.ID(binary.BigEndian.Uint16(key[groupLen+8:]))
		if partition.Group(key[1]) != got.Group() {
			return fmt.Errorf("key %x of partition %d lies in group %d", key, got, key[1])
		}
	default:
		got = partitionOfKey(&key)
	}
	if got != p {
		return fmt.Errorf("key %x is of partition %d", key, got)
	}
	return nil
}

// endsIn is lies for the end of a range, which may be the first key of the next partition.
func endsIn(key []byte, p partition.ID) error {
	if next := appendPrefix(nil, rowKind(key[0]), p+1); slices.Equal(key, next) {
		return nil
	}
	return lies(key, p)
}

// TestNoBatchHasTwoPartitions makes every call that writes, over many entities where possible. All
// tests check that each batch is of the one partition that it names.
func TestNoBatchHasTwoPartitions(t *testing.T) {
	batches.mu.Lock()
	batches.callers = map[string]bool{}
	batches.mu.Unlock()
	s := open(t, vfs.NewMem())
	id := accountID(1)
	var events []inbox.PublicEvent
	var many idempotency.BatchRecords
	for n := range 40 {
		addr := fmt.Sprintf("i%d@example.org", n)
		r := sent(addr, 1, at(n))
		r.DueTo = at(n)
		r.IdempotencyRecords.PutRecords = []idempotency.Record{{Request: idempotency.Request{Key: idempotency.RequestKey{byte(n)}}, At: at(n)}}
		must(t, s.CommitInbox(r))
		events = append(events, r.PublicEvents...)
		many.PutRecords = append(many.PutRecords, idempotency.Record{Request: idempotency.Request{Key: idempotency.RequestKey{byte(n)}}, At: at(n)})
	}
	hook := account.Webhook{ID: 1, URL: "https://example.com", Secret: "s"}
	must(t, s.CommitAccount(&account.Rows{ID: id, Profile: &account.Profile{ID: id, Email: "e"}, PutKeys: []*account.APIKey{{ID: 1, Kind: account.KindInboxKey, Inbox: victim}},
		PutSessions: []*account.Session{{Hash: account.TokenHash{1}}}, PutWebhooks: []*account.Webhook{&hook}, NewWebhooks: []int64{1},
		PutInboxes: []account.InboxEntry{{Address: victim, IsLive: true}, {Address: "r@x"}}, IdempotencyRecords: many}))
	must(t, s.CommitAccount(&account.Rows{ID: id, Sends: &account.SendCount{UTCDay: 1, Count: 1}}))
	must(t, s.AppendJournal(id, 1, events, deliveriesOf(id, 1, 9)))
	must(t, s.DropOutbox(events))
	must(t, s.ForgetEvents(id, []uint64{1}))
	must(t, s.TrimJournal(id, at(1000)))
	must(t, s.SyncJournal(id))
	must(t, s.CommitDeliveries(id, []webhook.DeliveryChange{deliveriesOf(id, 1, 1)[0].DueEntry().MoveTo(at(5))}))
	if n, err := s.TrimDeliveries(id, 0, at(100), 100, 100); n == 0 || err != nil {
		t.Errorf("%d deliveries trimmed, %v", n, err)
	}
	if _, err := s.ForgetOnce(at(1000), nil, 1000, func(*idempotency.Record) {}); err != nil || forgotten(t, s) != 0 {
		t.Errorf("%d records of requests are left, %v", forgotten(t, s), err)
	}
	must(t, s.SetEmail("e@example.org", account.NameHolder{Account: id}))
	must(t, s.SetSubdomain("fleet", account.NameHolder{Account: id, ClaimNumber: 1}))
	must(t, s.PutSuppression(id, account.Suppression{Email: "x@y"}))
	if dropped, err := s.DropSuppression(id, "x@y"); !dropped || err != nil {
		t.Error(dropped, err)
	}
	must(t, s.CommitDomain(&domain.Rows{Name: "example.org", PutState: &domain.State{Name: "example.org"}, AttachInboxes: []domain.AttachedInbox{{Address: victim, CreationTimes: []time.Time{at(1)}}}, ClearInboxes: true}))
	must(t, s.CommitAccount(&account.Rows{ID: id, PutDomains: []account.ListedDomain{{Name: "example.org", WrittenAt: at(1)}}}))
	must(t, s.CommitAccount(&account.Rows{ID: id, Claims: []account.SubdomainClaim{{Label: "fleet", SerialNumber: 1}, {Label: "a", IsRandom: true}}}))
	must(t, s.CommitAccount(&account.Rows{ID: id, EraseAll: true}))
	writers, doors := callsOf(t, "update", "updateInside", "updateLater", "updateEachLater"), callsOf(t, "Apply", "ApplyNoSyncWait", "Commit", "NewBatch", "Set", "SetDeferred", "Delete", "SingleDelete", "DeleteRange", "LogData")
	batches.mu.Lock()
	defer batches.mu.Unlock()
	defer func() { batches.callers = nil }()
	for _, name := range writers {
		if !batches.callers[name] {
			t.Errorf("%s writes, and this test does not call it", name)
		}
	}
	// syncLog writes no key. beginCopy, keepRow, settlePart and writeBatch belong to a repair: they
	// write into a folder that is not open.
	if want := []string{"beginCopy", "deleteKey", "deleteRange", "enqueue", "fillBatch", "keepProfile", "keepRow", "setKey", "setRaw", "settleDue", "settlePart", "syncLog", "updateLater", "writeBatch"}; !slices.Equal(doors, want) {
		t.Errorf("batches are made and applied in %v, not in %v", doors, want)
	}
}

func forgotten(t *testing.T, s *Store) int {
	rows, err := listRows(s.storageEngine, ofKind(kindRequest), -1, func(_, _ []byte) (time.Time, error) { return time.Time{}, nil })
	must(t, err)
	return len(rows)
}

// callsOf lists the functions of this package, except the given ones, that call one of them.
func callsOf(t *testing.T, names ...string) (callers []string) {
	files, err := filepath.Glob("*.go")
	must(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		must(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || slices.Contains(names, f.Name.Name) && names[0] == "update" {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && slices.Contains(names, calledName(call)) && !slices.Contains(callers, f.Name.Name) {
					callers = append(callers, f.Name.Name)
				}
				return true
			})
		}
	}
	slices.Sort(callers)
	return callers
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}
