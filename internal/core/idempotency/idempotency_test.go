package idempotency

import (
	"strings"
	"testing"
	"time"

	"inboxd/internal/base/fault"
)

func TestNamesOfRequests(t *testing.T) {
	for name, good := range map[string]bool{
		"a": true, "!~": true, strings.Repeat("k", 255): true,
		"": false, strings.Repeat("k", 256): false, "a b": false, "a\t": false, "a\x7f": false, "é": false, "\x00": false,
	} {
		r, err := NewRequest(name, "POST /x", nil)
		if (err == nil) != good || r.IsRepeatable() != good || err != nil && !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q: %v, %v", name, r.IsRepeatable(), err)
		}
	}
}

// TestRequestsAreToldApart checks that operation and name select the record, and that the body
// distinguishes requests with the same record.
func TestRequestsAreToldApart(t *testing.T) {
	of := func(name, operation, body string) Request {
		r, _ := NewRequest(name, operation, []byte(body))
		return r
	}
	one := of("k", "POST /a", "{}")
	for _, c := range []struct {
		other          Request
		place, request bool // the same
	}{
		{of("k", "POST /a", "{}"), true, true},
		{of("k", "POST /a", "{} "), true, false},
		{of("l", "POST /a", "{}"), false, true},
		{of("k", "POST /b", "{}"), false, true},
		{of("ak", "POST /", "{}"), false, true},
	} {
		if (c.other.Key == one.Key) != c.place || (c.other.Digest == one.Digest) != c.request {
			t.Errorf("%+v", c)
		}
	}
}

func TestARecordEndsAfterADay(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	r := Record{At: at}
	if r.IsExpired(at.Add(RecordLifetime-time.Millisecond)) || !r.IsExpired(at.Add(RecordLifetime)) {
		t.Error("the end is elsewhere")
	}
	if r.CheckSame(Request{}) != nil || !fault.Is(r.CheckSame(Request{Digest: BodyDigest{1}}), fault.InvalidRequest) {
		t.Error("digests are not compared")
	}
}

func TestRecordsOfOneBatch(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	k := RequestKey{1}
	record := func(d time.Duration) Record { return Record{Request: Request{Key: k}, At: at.Add(d)} }
	var rs BatchRecords
	if put, dropped := rs.Find(k); put != nil || dropped {
		t.Error("an empty batch knows something")
	}
	rs.Add(record(0))
	rs.Remove(k, at)
	if put, dropped := rs.Find(k); put != nil || !dropped || len(rs.PutRecords) != 0 || len(rs.DropRecords) != 1 {
		t.Errorf("put and dropped: %+v", rs)
	}
	rs.Add(record(time.Second))
	if put, _ := rs.Find(k); put == nil || !put.At.Equal(at.Add(time.Second)) {
		t.Errorf("put again: %+v", rs)
	}
}
