package persist

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
)

func requestAt(key byte, moment int) idempotency.Record {
	return idempotency.Record{
		Request: idempotency.Request{Key: idempotency.RequestKey{key}, Digest: idempotency.BodyDigest{byte(moment)}}, At: at(moment),
		FirstResult: idempotency.FirstResult{EncodedResponse: fmt.Appendf(nil, `{"n":%d}`, moment)},
	}
}

// TestRecordsOfRequests checks that the newest record is found by its owner and name. It is written
// in the batch of a change, and found after the store was reopened.
func TestRecordsOfRequests(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	id := accountID(1)
	mine, later, other := requestAt(1, 1), requestAt(1, 2), requestAt(2, 3)
	mine.Address = "i@example.org"
	must(t, s.CommitAccount(&account.Rows{ID: id, IdempotencyRecords: idempotency.BatchRecords{PutRecords: []idempotency.Record{mine, other}}}))
	rows := mail("i@example.org", 1, "raw")
	rows.IdempotencyRecords.Add(other)
	must(t, s.CommitInbox(rows))
	want := func(got *idempotency.Record, err error, want *idempotency.Record) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("found %+v, %v; want %+v", got, err, want)
		}
	}
	look := func(s *Store) {
		t.Helper()
		got, err := s.AccountOnce(id, idempotency.RequestKey{1})
		want(got, err, &mine)
		got, err = s.AccountOnce(accountID(2), idempotency.RequestKey{1})
		want(got, err, nil)
		got, err = s.InboxOnce("i@example.org", idempotency.RequestKey{2})
		want(got, err, &other)
		got, err = s.InboxOnce("i@example.org", idempotency.RequestKey{1})
		want(got, err, nil)
	}
	look(s)
	must(t, s.Close())
	s = open(t, fs)
	look(s)
	must(t, s.CommitAccount(&account.Rows{ID: id, IdempotencyRecords: idempotency.BatchRecords{DropRecords: []idempotency.Record{mine}, PutRecords: []idempotency.Record{later}}}))
	got, err := s.AccountOnce(id, idempotency.RequestKey{1})
	want(got, err, &later)
}

// TestOldRecordsAreForgotten checks the removal in bounded steps, and that no other record is
// removed.
func TestOldRecordsAreForgotten(t *testing.T) {
	s := open(t, vfs.NewMem())
	for n := range byte(30) {
		must(t, s.CommitAccount(&account.Rows{ID: accountID(n), IdempotencyRecords: idempotency.BatchRecords{PutRecords: []idempotency.Record{requestAt(n, int(n))}}}))
		must(t, s.CommitInbox(&inbox.Rows{Address: fmt.Sprintf("i%d@example.org", n), IdempotencyRecords: idempotency.BatchRecords{PutRecords: []idempotency.Record{requestAt(n, int(n))}}}))
	}
	steps := 0
	for place := []byte(nil); ; steps++ {
		next, err := s.ForgetOnce(at(20), place, 7, func(*idempotency.Record) {})
		must(t, err)
		if place = next; next == nil {
			break
		}
	}
	if steps != 60/7 {
		t.Errorf("%d steps", steps)
	}
	for n := range byte(30) {
		a, err := s.AccountOnce(accountID(n), idempotency.RequestKey{n})
		must(t, err)
		i, err := s.InboxOnce(fmt.Sprintf("i%d@example.org", n), idempotency.RequestKey{n})
		must(t, err)
		if (a != nil) != (n >= 20) || (i != nil) != (n >= 20) {
			t.Errorf("record %d: %v, %v", n, a, i)
		}
	}
}
