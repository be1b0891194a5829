package persist

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"time"
	"unique"

	"github.com/fxamacker/cbor/v2"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
)

// kind is the first byte of every key. On disk: append only; never reorder. 4, 15 and 21 were used
// before the first release.
type kind byte

const (
	kindInbox       kind = 1  // address → profile; address, message id → message
	kindContent     kind = 2  // address, message id → parsed content of a message
	kindRaw         kind = 3  // address, message id → bytes as received; the same, 1 → signature fields
	kindOutbox      kind = 5  // address, event number → public event
	kindAccount     kind = 6  // account → profile; account, part, … → see below
	kindList        kind = 7  // account, newest first, address → nothing
	kindCredential  kind = 8  // token hash → account, and key id
	kindEmail       kind = 9  // e-mail address → account
	kindJournal     kind = 10 // account, sequence number → public event
	kindBlob        kind = 11 // address, message id, what → blob file
	kindPosition    kind = 12 // partition → number of its synced commits
	kindSubdomain   kind = 13 // label below the service domain → account and number of its claim
	kindRequest     kind = 14 // account or address, request name, time → response
	kindSuppression kind = 16 // account, e-mail address → why no messages are sent there
	kindDomain      kind = 17 // domain → record; domain, address → an inbox under it
	kindDomainList  kind = 18 // account, domain → mark
	kindLastCall    kind = 19 // account, webhook id → its last attempt
	kindDelivery    kind = 20 // account, delivery id → delivery
	kindInboxKey    kind = 22 // account, address → key id
	kindClosing     kind = 23 // account → nothing
	kindDue         kind = 24 // group, time, address → nothing
	kindMailDue     kind = 25 // group, time, address, message id → message that waits to be sent
	kindDeliveryDue kind = 26 // group, time, account, delivery id → webhook id
	kindTaken       kind = 27 // account, address → event number
	kindClaim       kind = 28 // account, whether the label is random, label → claim of a subdomain
	kindCalendar    kind = 29 // address → calendar; address, meeting id → meeting
	kindLink        kind = 30 // token hash → address of the inbox whose calendar it opens
	kindCopyDue     kind = 31 // address → nothing
	kindSpare       kind = 32 // address → spare copy of the profile, far from the original
)

// Parts of an account's rows under kindAccount. On disk: append only; never reorder. 4, 15 and 21
// were used before the first release.
const (
	partKey      byte = 1 // key id
	partSession  byte = 2 // token hash
	partReserved byte = 3 // address of a reserved inbox
	partReset    byte = 4 // hash of a password-reset token
	partUsage    byte = 5 // daily counts
	partWebhook  byte = 7 // webhook id
)

// prefixLen is the length of [kind][partition].
const prefixLen = 3

// idLen is the length of an account id in a key; it needs no terminator.
const idLen = len(account.ID{})

// appendNumber appends an id or a sequence number to a key.
func appendNumber[N int64 | uint64](dst []byte, n N) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(n))
}

// readNumber reads the number at the end of a key.
func readNumber(key []byte) int64 { return int64(binary.BigEndian.Uint64(key[len(key)-8:])) }

func appendPrefix(dst []byte, k kind, p partition.ID) []byte {
	return append(dst, byte(k), byte(p>>8), byte(p))
}

// partitionOfKey reads the partition of a row outside the due indexes.
func partitionOfKey(key *[]byte) partition.ID {
	return partition.ID(binary.BigEndian.Uint16((*key)[1:]))
}

// groupOfKey reads the group of any row.
func groupOfKey(key []byte) partition.Group {
	switch kind(key[0]) {
	case kindDue, kindMailDue, kindDeliveryDue:
		return partition.Group(key[1])
	}
	return partitionOfKey(&key).Group()
}

// appendText starts the key of an entity named by text: [kind][partition][text 0x00]. Addresses and
// e-mail addresses never contain 0x00, so the keys of different entities never overlap.
func appendText(dst []byte, k kind, text string) []byte {
	dst = appendPrefix(dst, k, partition.Of(text))
	return append(append(dst, text...), 0)
}

// appendOwner starts the key of an account's row: [kind][partition][id].
func appendOwner(dst []byte, k kind, id account.ID) []byte {
	return append(appendPrefix(dst, k, id.Partition()), id[:]...)
}

// appendMessage is the key of a row of one message: [kind][partition][address 0x00][id].
func appendMessage(dst []byte, k kind, addr string, id int64) []byte {
	return appendNumber(appendText(dst, k, addr), id)
}

// appendTime encodes t so that byte order is time order, also for negative milliseconds.
func appendTime(dst []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(t.UnixMilli())^1<<63)
}

func readTime(key []byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(key) ^ 1<<63)).UTC()
}

// appendDue starts the key of a due index: [kind][group][time][partition]. The entries of a group
// are adjacent and start with the time, so that a scan of each group finds what is due next over
// all partitions.
func appendDue(dst []byte, k kind, at time.Time, p partition.ID) []byte {
	dst = append(dst, byte(k), byte(p.Group()))
	return append(appendTime(dst, at), byte(p>>8), byte(p))
}

// groupLen is the length of [kind][group], timeLen that of a time, dueHead of what appendDue writes.
const (
	groupLen = 1 + 1
	timeLen  = 8
	dueHead  = groupLen + timeLen + 2
)

// ofGroup are all keys of a group in a due index.
func ofGroup(k kind, g partition.Group) span {
	return span{[]byte{byte(k), byte(g)}, []byte{byte(k), byte(g) + 1}}
}

// partitionsOf are the keys of a kind in the partitions of a group.
func partitionsOf(k kind, g partition.Group) span {
	const each = partition.Count / partition.Groups
	first := partition.ID(g) * each
	return span{appendPrefix(nil, k, first), end(appendPrefix(nil, k, first+each-1))}
}

// dueTime reads the time of a key of a due index.
func dueTime(key []byte) time.Time { return readTime(key[groupLen:]) }

func appendPart(dst []byte, id account.ID, part byte) []byte {
	return append(appendOwner(dst, kindAccount, id), part)
}

// end returns the first key after all keys that begin with prefix.
func end(prefix []byte) []byte {
	key := append([]byte(nil), prefix...)
	for i := len(key) - 1; ; i-- { // the kind is below 0xff, so the loop ends
		if key[i]++; key[i] != 0 {
			return key[:i+1]
		}
	}
}

// recordVersion is the first byte of every record. A new field takes the next integer key and needs
// no new version; a changed meaning does. On disk: append only.
const recordVersion = 1

// encoding is RFC 8949 §4.2.1 core deterministic CBOR: the same value gives the same bytes.
var encoding = func() cbor.UserBufferEncMode {
	m, err := cbor.CoreDetEncOptions().UserBufferEncMode()
	if err != nil {
		panic(err)
	}
	return m
}()

// decoding accepts whatever was stored, including text that is not UTF-8, and long lists.
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

// decode reads a record into rec, a pointer to a record struct. It does not retain data.
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

// stamp is a time in a record: Unix milliseconds, 0 for the zero time. The Unix epoch itself is
// stored as the smallest number.
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

// convert converts a list to its record form or back; empty becomes nil, which is not stored.
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

// shared returns an interned copy of text, for values that many records have in common.
func shared(text string) string { return unique.Make(text).Value() }

// optional converts a if it is not nil.
func optional[A, B any](a *A, to func(A) B) *B {
	if a == nil {
		return nil
	}
	b := to(*a)
	return &b
}
