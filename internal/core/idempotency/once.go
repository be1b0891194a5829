// Package idempotency holds the rule of requests that may be repeated safely: a record of the
// answer goes to disk in the same batch as what the request did, and for a day a repeat
// gets that answer again (specification, Repeats). It knows keys, digests and answers; it
// refuses to know what a request does and how it travels.
package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"inboxd/internal/base/fault"
)

// Key is the SHA-256 of the operation and what the client calls its request; zero when it gave
// no name.
type Key [sha256.Size]byte

// Digest is the SHA-256 of the request's body.
type Digest [sha256.Size]byte

// Request is what makes a request recognisable. The zero Request is done each time it comes.
type Request struct {
	Key    Key
	Digest Digest
}

// field is what faults call the name of a request.
const field = "Idempotency-Key"

// MaxName is the longest name of a request, in bytes.
const MaxName = 255

// Life is how long a repeat is recognised.
const Life = 24 * time.Hour

// NewRequest names a request by 1 to MaxName visible ASCII characters. operation is what is
// asked for, the same by whatever way it is: the same name for another operation is another
// request. The body is as it came.
func NewRequest(name, operation string, body []byte) (Request, error) {
	if !visible(name) {
		return Request{}, fault.Field(field, "must be 1 to 255 visible ASCII characters")
	}
	return Request{Key: sha256.Sum256([]byte(operation + "\x00" + name)), Digest: sha256.Sum256(body)}, nil
}

func visible(name string) bool {
	for i := range len(name) {
		if name[i] <= ' ' || name[i] > '~' {
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}

// Repeatable reports whether the client named its request.
func (r Request) Repeatable() bool { return r.Key != Key{} }

// Part is the name of one of several things that a request asks for. Its digest is that of the whole
// request: the same name with another request is refused for each part that was done.
func (r Request) Part(n int) Request {
	if !r.Repeatable() {
		return r
	}
	return Request{Key: sha256.Sum256(binary.BigEndian.AppendUint64(r.Key[:len(r.Key):len(r.Key)], uint64(n))), Digest: r.Digest}
}

// Result is what the first request came to, and its repeats do.
type Result struct {
	Address string // of the inbox that it made, else empty
	Told    []byte // what the sender was told, in the words of the edge that it came by
}

// Record is what is kept of a request beside what it did. Key and At name it.
type Record struct {
	Request
	Result
	At    time.Time
	Owner [16]byte // the account whose quota it counts against; zero: one from before there was a quota
}

// Size is about what a record takes on disk.
func (r *Record) Size() int64 { return 256 + int64(len(r.Told)) }

// What the records of one account may come to.
const (
	MaxRecords     = 10_000
	MaxRecordBytes = 16 << 20
)

// Held is what the records of an account come to.
type Held struct {
	Records int
	Bytes   int64
}

// Add counts one more, of some size.
func (h *Held) Add(size int64) {
	h.Records++
	h.Bytes += size
}

// Room refuses one more record where the account has all that it may have.
func (h Held) Room() error {
	switch {
	case h.Records >= MaxRecords:
		return fault.New(fault.Refused, fmt.Sprintf("An account can make at most %d changes with an %s in %d hours. Make this one without it, or later", MaxRecords, field, int(Life.Hours())))
	case h.Bytes >= MaxRecordBytes:
		return fault.New(fault.Refused, fmt.Sprintf("The answers to an account's requests with an %s may take %d MB in %d hours. Make this one without it, or later", field, MaxRecordBytes>>20, int(Life.Hours())))
	}
	return nil
}

// Over reports whether a repeat at now is a new request.
func (r *Record) Over(now time.Time) bool { return now.Sub(r.At) >= Life }

// Check refuses another request under the same name.
func (r *Record) Check(req Request) error {
	if r.Digest != req.Digest {
		return fault.Field(field, "was used before, with another request")
	}
	return nil
}

// Records are the changes of one batch: a record is put or dropped, never both. Whoever makes
// the batch owns them.
type Records struct {
	Put  []Record
	Drop []Record // Key and At count
}

// Add puts a record.
func (rs *Records) Add(r Record) { rs.Put = append(rs.Put, r) }

// Remove drops a record, also one of this very batch.
func (rs *Records) Remove(key Key, at time.Time) {
	for i := range rs.Put {
		if rs.Put[i].Key == key && rs.Put[i].At.Equal(at) {
			rs.Put = append(rs.Put[:i], rs.Put[i+1:]...)
			break
		}
	}
	rs.Drop = append(rs.Drop, Record{Request: Request{Key: key}, At: at})
}

// Find returns what the batch says of key: the record put last, or that the one of some
// time is dropped; in neither case it says nothing and the store decides.
func (rs *Records) Find(key Key) (put *Record, dropped bool) {
	for i := len(rs.Put) - 1; i >= 0; i-- {
		if rs.Put[i].Key == key {
			return &rs.Put[i], false
		}
	}
	for i := range rs.Drop {
		dropped = dropped || rs.Drop[i].Key == key
	}
	return nil, dropped
}
