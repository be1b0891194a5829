package http

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math"

	"inboxd/internal/account"
)

// A cursor is a position in an account's change journal: a version byte, the number of the
// last event before it (8 bytes), and four bytes that tie both to the account, in base64.
// It means the same after any restart.
const (
	cursorVersion = 1
	cursorSum     = 4
	cursorBytes   = 1 + 8 + cursorSum
)

func appendCursor(dst []byte, id account.ID, seq uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{cursorVersion}, seq)
	b = append(b, cursorCheck(id, b)...)
	return base64.RawURLEncoding.AppendEncode(dst, b)
}

// parseCursor reads a cursor that this service gave to the account.
func parseCursor(id account.ID, cursor string) (seq uint64, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) != cursorBytes || b[0] != cursorVersion {
		return 0, false
	}
	head, sum := b[:cursorBytes-cursorSum], b[cursorBytes-cursorSum:]
	return binary.BigEndian.Uint64(head[1:]), string(sum) == string(cursorCheck(id, head))
}

func cursorCheck(id account.ID, head []byte) []byte {
	sum := sha256.Sum256(append(append(make([]byte, 0, 32), id[:]...), head...))
	return sum[:cursorSum]
}

// place is where a message stands among those of all inboxes: newest first.
type place struct {
	at      int64 // Unix milliseconds
	address string
	id      int64
}

// compare orders places as they are shown.
func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(q.at, p.at), cmp.Compare(p.address, q.address), cmp.Compare(q.id, p.id))
}

func (p place) cursor() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.at))
	b = binary.BigEndian.AppendUint64(b, uint64(p.id))
	return base64.RawURLEncoding.EncodeToString(append(b, p.address...))
}

// place reads a cursor; absent, it is before everything.
func (q *query) place(name string) place {
	given := q.raw(name)
	if given == "" {
		return place{at: math.MaxInt64}
	}
	b, err := base64.RawURLEncoding.DecodeString(given)
	if err != nil || len(b) < 17 {
		q.bad(name, "is not a cursor of this list. Take it from 'next_cursor'")
		return place{}
	}
	return place{int64(binary.BigEndian.Uint64(b)), string(b[16:]), int64(binary.BigEndian.Uint64(b[8:]))}
}
