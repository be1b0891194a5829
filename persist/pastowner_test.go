package persist

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
)

// ofNoPartition are the methods of a Store that return no rows. A backup copies the folder, whoever
// owns the rows.
var ofNoPartition = []string{
	"BackupTo", "ClockSeen", "ClockTrusted", "Close", "Decrypt", "DrainGroup", "EncryptSecret", "IsFull", "IsHeld", "ComputeMAC", "WritePosition", "WaitForPosition", "ReleaseHold", "ReadStats", "SyncJournal", "UnacknowledgedPeriod", "CheckWritable",
}

// overMany are the methods that scan many partitions and skip those of other nodes.
var overMany = []string{
	"ListAccounts", "ListClosing", "CopiesDue", "DeliveryAccounts", "ListDomains", "DueDeliveries", "DueInboxes", "EachQueued", "ForgetOnce", "JournalAccounts",
	"LeftQueued", "MailQueue", "Outbox", "OutboxBehind", "QueuedIn", "ReadTotals",
}

// TestNothingIsReadOrWrittenPastTheOwner calls every method of a store. Methods over many
// partitions must return something while everything is owned. While nothing is owned, methods about
// one entity are refused, and the others return nothing.
func TestNothingIsReadOrWrittenPastTheOwner(t *testing.T) {
	reads, batches := hearPastOwner(t)
	o := options(vfs.NewMem())
	o.Owner = partition.NewOwner(partition.AllGroups())
	s, err := Open(folder, o)
	must(t, err)
	defer closeStore(t, s)
	fillEveryTable(t, s)
	for !s.totalsCounter.allCounted { // one call counts only for a limited time, which may not cover every group on a busy machine
		must(t, s.countNext())
	}
	for _, name := range overMany {
		if results, err := callAnyhow(t, s, name); err != nil || !slices.ContainsFunc(results, isSomething) {
			t.Errorf("%s gives %v, %v while all is owned", name, results, err)
		}
	}
	before := everyRow(t, s)
	for g := range partition.Group(partition.NumGroups) {
		o.Owner.SetOwned(g, false)
	}
	for m := range reflect.TypeOf(s).Methods() {
		if slices.Contains(ofNoPartition, m.Name) {
			continue
		}
		results, err := callAnyhow(t, s, m.Name)
		if many := slices.Contains(overMany, m.Name); many && err != nil || !many && !fault.Is(err, fault.MovedAway) {
			t.Errorf("%s: %v", m.Name, err)
		}
		if err == nil && slices.ContainsFunc(results, isSomething) {
			t.Errorf("%s gives %v of what is another node's", m.Name, results)
		}
	}
	if after := everyRow(t, s); !maps.Equal(before, after) {
		t.Errorf("%d rows, %d before", len(after), len(before))
	}
	if *reads == 0 || *batches == 0 {
		t.Errorf("nobody would hear of what is past the owner: %d reads, %d batches", *reads, *batches)
	}
}

// hearPastOwner counts refusals until the test ends, and disables the panic.
func hearPastOwner(t *testing.T) (reads, batches *int) {
	reads, batches = new(int), new(int)
	before := pastOwner
	t.Cleanup(func() { pastOwner = before })
	pastOwner = func(_ bool, of any) {
		if _, batch := of.(partition.ID); batch {
			*batches++
		} else {
			*reads++
		}
	}
	return reads, batches
}

// TestAReadInPiecesEnds checks that it ends if the inbox moves to another node between two reads.
func TestAReadInPiecesEnds(t *testing.T) {
	for name, size := range map[string]int{"row": 100, "file": blobOver + 1} {
		o := options(vfs.NewMem())
		o.Owner = partition.NewOwner(partition.AllGroups())
		s, err := Open(folder, o)
		must(t, err)
		must(t, s.CommitInbox(&inbox.Rows{Address: victim, Profile: &inbox.Profile{Address: victim}, PutMessages: []*inbox.Message{{ID: 1}}, StoreMessages: []inbox.StoredMessage{{ID: 1, Raw: make([]byte, size)}}}))
		raw, err := s.OpenRaw(victim, 1)
		must(t, err)
		if n, err := raw.ReadAt(make([]byte, 10), 0); n != 10 || err != nil {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		o.Owner.SetOwned(partition.Of(victim).Group(), false)
		if n, err := raw.ReadAt(make([]byte, 10), 10); n != 0 || !fault.Is(err, fault.MovedAway) {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		closeStore(t, s)
	}
}

// fillEveryTable writes something that each method over many partitions returns.
func fillEveryTable(t *testing.T, s *Store) {
	id := accountID(1)
	r := sent(victim, 1, at(10))
	r.Profile = &inbox.Profile{Address: victim, Account: id, CreatedAt: at(1), DeletedAt: at(2)}
	r.DueTo, r.CopyDue = at(10), new(true)
	r.PublicEvents = []inbox.PublicEvent{{Account: id, Address: victim, SequenceNumber: 1, At: at(1)}}
	r.IdempotencyRecords.PutRecords = []idempotency.Record{{Request: idempotency.Request{Key: idempotency.RequestKey{1}}, At: at(1)}, {Request: idempotency.Request{Key: idempotency.RequestKey{2}}, At: at(1)}}
	must(t, s.CommitInbox(r))
	must(t, s.CommitAccount(&account.Rows{ID: id, Profile: &account.Profile{ID: id, Email: "e", CreatedAt: at(1), ClosingAt: at(2)}}))
	must(t, s.AppendJournal(id, 1, r.PublicEvents, deliveriesOf(id, 1, 3)))
	must(t, s.CommitDomain(&domain.Rows{Name: victim, PutState: &domain.State{Name: victim}}))
}

// everyRow returns everything on disk except positions.
func everyRow(t *testing.T, s *Store) map[string]string {
	rows := map[string]string{}
	must(t, scanKeys(s.db, keyRange{[]byte{0}, []byte{0xff}}, func(key, value []byte) error {
		rows[string(key)] = string(value)
		return nil
	}))
	return rows
}

// callAnyhow calls a method by its name, with a value for each argument, and returns its results
// without the error.
func callAnyhow(t *testing.T, s *Store, name string) (results []reflect.Value, err error) {
	id, public := accountID(1), []inbox.PublicEvent{{Account: accountID(1), Address: victim, SequenceNumber: 1, At: at(1)}}
	rows := sent(victim, 2, at(20))
	arguments := map[reflect.Type]any{}
	for _, v := range []any{
		victim, id, id.HomePartition(), 1, int64(1), uint64(3), at(2000), public, []uint64{1}, deliveriesOf(id, 4, 5), rows, []byte(nil),
		&account.Rows{ID: id, Profile: &account.Profile{ID: id}}, &domain.Rows{Name: victim, PutState: &domain.State{Name: victim}},
		[]webhook.DeliveryChange{deliveriesOf(id, 1, 1)[0].DueEntry().MoveTo(at(5))}, account.Suppression{Email: victim},
		&inbox.PublicEvent{Address: victim}, partition.Of(victim).Group(), changefeed.EntryLimit(9),
	} {
		arguments[reflect.TypeOf(v)] = v
	}
	called := 0
	arguments[reflect.TypeFor[func(inbox.QueueEntry)]()] = func(inbox.QueueEntry) { called++ }
	arguments[reflect.TypeFor[func(*idempotency.Record)]()] = func(*idempotency.Record) { called++ }
	arguments[reflect.TypeFor[func(string)]()] = func(string) { called++ }
	switch name { // pages start at the first entry, and nothing is removed while everything is owned
	case "ListAccounts", "DeliveryAccounts", "JournalAccounts":
		arguments[reflect.TypeOf(id)] = account.ID{}
	case "ListDomains":
		arguments[reflect.TypeOf("")] = ""
	case "ForgetOnce":
		arguments[reflect.TypeOf(time.Time{})] = time.Time{}
	}
	method := reflect.ValueOf(s).MethodByName(name)
	in := make([]reflect.Value, method.Type().NumIn())
	for i := range in {
		of := method.Type().In(i)
		if in[i] = reflect.Zero(of); arguments[of] != nil {
			in[i] = reflect.ValueOf(arguments[of])
		}
	}
	for _, out := range method.Call(in) {
		if out.Type() == reflect.TypeFor[error]() {
			err, _ = out.Interface().(error)
			continue
		}
		results = append(results, out)
	}
	return append(results, reflect.ValueOf(called)), err
}

// isSomething reports whether a result reveals a row.
func isSomething(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() > 0
	}
	return !v.IsZero()
}
