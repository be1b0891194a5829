// Package idempotency holds the rules for requests that may be repeated safely. A record of the
// response is written in the same batch as the effect of the request. For a day, a repeat returns
// that response (specification, Repeats). The package knows keys, digests and responses. It does
// not know what a request does or which protocol carries it.
package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"inboxd/internal/base/fault"
)

// RequestKey is the SHA-256 of the operation and the client's name for its request. It is zero if the
// client gave no name.
type RequestKey [sha256.Size]byte

// BodyDigest is the SHA-256 of the request's body.
type BodyDigest [sha256.Size]byte

// Request identifies a request. The zero Request is executed each time.
type Request struct {
	Key    RequestKey
	Digest BodyDigest
}

// headerField is the header field that errors name.
const headerField = "Idempotency-Key"

// MaxName is the longest name of a request, in bytes.
const MaxName = 255

// RecordLifetime is how long a repeat is recognised.
const RecordLifetime = 24 * time.Hour

// NewRequest identifies a request by a name of 1 to MaxName visible ASCII characters. operation is
// the same for every protocol that offers it. The same name for another operation is another
// request. body is the body as received.
func NewRequest(name, operation string, body []byte) (Request, error) {
	if !isVisible(name) {
		return Request{}, fault.InvalidField(headerField, "must be 1 to 255 visible ASCII characters")
	}
	return Request{Key: sha256.Sum256([]byte(operation + "\x00" + name)), Digest: sha256.Sum256(body)}, nil
}

func isVisible(name string) bool {
	for i := range len(name) {
		if name[i] <= ' ' || name[i] > '~' {
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}

// IsRepeatable reports whether the client named its request.
func (r Request) IsRepeatable() bool { return r.Key != RequestKey{} }

// ForPart returns the identity of one of several parts of a request. Its digest is that of the whole
// request. So reusing the name with another request is refused for each part that was done.
func (r Request) ForPart(n int) Request {
	if !r.IsRepeatable() {
		return r
	}
	return Request{Key: sha256.Sum256(binary.BigEndian.AppendUint64(r.Key[:len(r.Key):len(r.Key)], uint64(n))), Digest: r.Digest}
}

// FirstResult is the result of the first request, which its repeats return too.
type FirstResult struct {
	Address         string // of the inbox that the request created, else empty
	EncodedResponse []byte // the response, encoded by the protocol that the request came through
}

// Record is the stored record of a request. Key and At identify it.
type Record struct {
	Request
	FirstResult
	At    time.Time
	Owner [16]byte // the account whose quota it counts against; zero: written before quotas existed
}

// Size is the approximate size of a record on disk, in bytes.
func (r *Record) Size() int64 { return 256 + int64(len(r.EncodedResponse)) }

// Limits of the records of one account.
const (
	MaxRecords     = 10_000
	MaxRecordBytes = 16 << 20
)

// RecordUsage is what the records of an account use of its quota.
type RecordUsage struct {
	Records int
	Bytes   int64
}

// AddRecord counts one more record of the given size.
func (h *RecordUsage) AddRecord(size int64) {
	h.Records++
	h.Bytes += size
}

// CheckQuota refuses another record if the account has reached its quota.
func (h RecordUsage) CheckQuota() error {
	switch {
	case h.Records >= MaxRecords:
		return fault.Refuse(fault.CodeLimitReached, "An account can make at most %d changes with an %s in %d hours. Send this one without it, or later", MaxRecords, headerField, int(RecordLifetime.Hours()))
	case h.Bytes >= MaxRecordBytes:
		return fault.Refuse(fault.CodeLimitReached, "The stored responses to an account's requests with an %s are limited to %d MB in %d hours. Send this one without it, or later", headerField, MaxRecordBytes>>20, int(RecordLifetime.Hours()))
	}
	return nil
}

// IsExpired reports whether a repeat at now is a new request.
func (r *Record) IsExpired(now time.Time) bool { return now.Sub(r.At) >= RecordLifetime }

// CheckSame refuses another request with the same name.
func (r *Record) CheckSame(req Request) error {
	if r.Digest != req.Digest {
		return &fault.Error{Kind: fault.InvalidRequest, Code: fault.CodeIdempotencyKeyReused, FieldName: headerField, Detail: "was already used with another request. Use a new key"}
	}
	return nil
}

// BatchRecords are the changes of one batch. A record is either put or dropped, never both. The
// goroutine that builds the batch owns them.
type BatchRecords struct {
	PutRecords  []Record
	DropRecords []Record // only Key and At are used
}

// Add puts a record.
func (rs *BatchRecords) Add(r Record) { rs.PutRecords = append(rs.PutRecords, r) }

// Remove drops a record, which may also be one of this batch.
func (rs *BatchRecords) Remove(key RequestKey, at time.Time) {
	for i := range rs.PutRecords {
		if rs.PutRecords[i].Key == key && rs.PutRecords[i].At.Equal(at) {
			rs.PutRecords = append(rs.PutRecords[:i], rs.PutRecords[i+1:]...)
			break
		}
	}
	rs.DropRecords = append(rs.DropRecords, Record{Request: Request{Key: key}, At: at})
}

// Find returns what the batch says about key: the record that was put last, or that a record was
// dropped. If it returns neither, the store decides.
func (rs *BatchRecords) Find(key RequestKey) (put *Record, dropped bool) {
	for i := len(rs.PutRecords) - 1; i >= 0; i-- {
		if rs.PutRecords[i].Key == key {
			return &rs.PutRecords[i], false
		}
	}
	for i := range rs.DropRecords {
		dropped = dropped || rs.DropRecords[i].Key == key
	}
	return nil, dropped
}
