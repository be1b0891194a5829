package persist

import (
	"bytes"
	"fmt"
	"math"
	"time"
	"unique"

	"github.com/fxamacker/cbor/v2"
)

// recordVersion is the first byte of every record. A field that is added takes the next
// integer key and needs no new version; a changed meaning does. Stored: append only.
const recordVersion = 1

// encoding is RFC 8949 §4.2.1 core deterministic CBOR: the same value gives the same bytes.
var encoding = func() cbor.UserBufferEncMode {
	m, err := cbor.CoreDetEncOptions().UserBufferEncMode()
	if err != nil {
		panic(err)
	}
	return m
}()

// decoding takes back whatever was stored: text that is not UTF-8 too, and long lists.
var decoding = func() cbor.DecMode {
	m, err := cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid, MaxArrayElements: math.MaxInt32}.DecMode()
	if err != nil {
		panic(err)
	}
	return m
}()

// encode appends the record to buf. rec is a pointer to a record struct.
func encode(buf *bytes.Buffer, rec any) error {
	buf.WriteByte(recordVersion)
	return encoding.MarshalToBuffer(rec, buf)
}

// decode reads a record into rec, a pointer to a record struct. The data are not kept.
func decode(data []byte, rec any) error {
	if err := checkVersion(data); err != nil {
		return err
	}
	return decoding.Unmarshal(data[1:], rec)
}

func checkVersion(data []byte) error {
	switch {
	case len(data) == 0:
		return fmt.Errorf("empty record")
	case data[0] != recordVersion:
		return fmt.Errorf("record version %d, this program reads %d", data[0], recordVersion)
	}
	return nil
}

// stamp is a time in a record: Unix milliseconds, 0 for the zero time. The millisecond
// that would be 0 itself is kept as the smallest number.
type stamp int64

const epoch stamp = math.MinInt64

func stampOf(t time.Time) stamp {
	if t.IsZero() {
		return 0
	}
	if ms := t.UnixMilli(); ms != 0 {
		return stamp(ms)
	}
	return epoch
}

func (s stamp) time() time.Time {
	switch s {
	case 0:
		return time.Time{}
	case epoch:
		return time.UnixMilli(0).UTC()
	}
	return time.UnixMilli(int64(s)).UTC()
}

// convert maps a list to its record form or back; empty becomes nil, which is not stored.
func convert[A, B any](in []A, one func(A) B) []B {
	if len(in) == 0 {
		return nil
	}
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = one(a)
	}
	return out
}

// shared returns the same text from memory that all who have it share: for what many records say alike.
func shared(text string) string { return unique.Make(text).Value() }

// optional converts what is there.
func optional[A, B any](a *A, to func(A) B) *B {
	if a == nil {
		return nil
	}
	b := to(*a)
	return &b
}
