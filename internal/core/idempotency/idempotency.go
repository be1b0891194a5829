// Package idempotency holds the rules for requests that may be repeated safely. A record of the
// response is written in the same batch as the effect of the request. For a day, a repeat returns
// that response (specification, Repeats). The package knows keys, digests and responses. It does
// not know what a request does or which protocol carries it.
package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"inboxd/internal/base/fault"
)

// Key is the SHA-256 of the operation and the client's name for its request. It is zero if the
// client gave no name.
type Key [sha256.Size]byte

// Digest is the SHA-256 of the request's body.
type Digest [sha256.Size]byte

// Request identifies a request. The zero Request is executed each time.
type Request struct {
	Key    Key
	Digest Digest
}

// field is the header field that errors name.
const field = "Idempotency-Key"

// MaxName is the longest name of a request, in bytes.
const MaxName = 255

// Life is how long a repeat is recognised.
const Life = 24 * time.Hour

// NewRequest identifies a request by a name of 1 to MaxName visible ASCII characters. operation is
// the same for every protocol that offers it. The same name for another operation is another
// request. body is the body as received.
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

// Part returns the identity of one of several parts of a request. Its digest is that of the whole
// request. So reusing the name with another request is refused for each part that was done.
func (r Request) Part(n int) Request {
	if !r.Repeatable() {
		return r
	}
	return Request{Key: sha256.Sum256(binary.BigEndian.AppendUint64(r.Key[:len(r.Key):len(r.Key)], uint64(n))), Digest: r.Digest}
}

// Result is the result of the first request, which its repeats return too.
type Result struct {
	Address string // of the inbox that the request created, else empty
	Told    []byte // the response, encoded by the protocol that the request came through
}

// Record is the stored record of a request. Key and At identify it.
type Record struct {
	Request
	Result
	At    time.Time
	Owner [16]byte // the account whose quota it counts against; zero: written before quotas existed
}

// Size is the approximate size of a record on disk, in bytes.
func (r *Record) Size() int64 { return 256 + int64(len(r.Told)) }

// Limits of the records of one account.
const (
	MaxRecords     = 10_000
	MaxRecordBytes = 16 << 20
)

// Held is what the records of an account use of its quota.
type Held struct {
	Records int
	Bytes   int64
}

// Add counts one more record of the given size.
func (h *Held) Add(size int64) {
	h.Records++
	h.Bytes += size
}

// Room refuses another record if the account has reached its quota.
func (h Held) Room() error {
	switch {
	case h.Records >= MaxRecords:
		return fault.New(fault.Refused, fmt.Sprintf("An account can make at most %d changes with an %s in %d hours. Send this one without it, or later", MaxRecords, field, int(Life.Hours())))
	case h.Bytes >= MaxRecordBytes:
		return fault.New(fault.Refused, fmt.Sprintf("The stored responses to an account's requests with an %s are limited to %d MB in %d hours. Send this one without it, or later", field, MaxRecordBytes>>20, int(Life.Hours())))
	}
	return nil
}

// Over reports whether a repeat at now is a new request.
func (r *Record) Over(now time.Time) bool { return now.Sub(r.At) >= Life }

// Check refuses another request with the same name.
func (r *Record) Check(req Request) error {
	if r.Digest != req.Digest {
		return fault.Field(field, "was already used with another request. Use a new key")
	}
	return nil
}

// Records are the changes of one batch. A record is either put or dropped, never both. The
// goroutine that builds the batch owns them.
type Records struct {
	Put  []Record
	Drop []Record // only Key and At are used
}

// Add puts a record.
func (rs *Records) Add(r Record) { rs.Put = append(rs.Put, r) }

// Remove drops a record, which may also be one of this batch.
func (rs *Records) Remove(key Key, at time.Time) {
	for i := range rs.Put {
		if rs.Put[i].Key == key && rs.Put[i].At.Equal(at) {
			rs.Put = append(rs.Put[:i], rs.Put[i+1:]...)
			break
		}
	}
	rs.Drop = append(rs.Drop, Record{Request: Request{Key: key}, At: at})
}

// Find returns what the batch says about key: the record that was put last, or that a record was
// dropped. If it returns neither, the store decides.
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
