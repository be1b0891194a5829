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

// rowKind is the first byte of every key. On disk: append only; never reorder. 4, 15 and 21 were used
// before the first release.
type rowKind byte

const (
	kindInbox       rowKind = 1  // address → profile; address, message id → message
	kindContent     rowKind = 2  // address, message id → parsed content of a message
	kindRaw         rowKind = 3  // address, message id → bytes as received; the same, 1 → signature fields
	kindOutbox      rowKind = 5  // address, event number → public event
	kindAccount     rowKind = 6  // account → profile; account, part, … → see below
	kindList        rowKind = 7  // account, newest first, address → nothing
	kindCredential  rowKind = 8  // token hash → account, and key id
	kindEmail       rowKind = 9  // e-mail address → account
	kindJournal     rowKind = 10 // account, sequence number → public event
	kindBlob        rowKind = 11 // address, message id, what → blob file
	kindPosition    rowKind = 12 // partition → number of its synced commits
	kindSubdomain   rowKind = 13 // label below the service domain → account and number of its claim
	kindRequest     rowKind = 14 // account or address, request name, time → response
	kindSuppression rowKind = 16 // account, e-mail address → why no messages are sent there
	kindDomain      rowKind = 17 // domain → record; domain, address → an inbox under it
	kindDomainList  rowKind = 18 // account, domain → mark
	kindLastCall    rowKind = 19 // account, webhook id → its last attempt
	kindDelivery    rowKind = 20 // account, delivery id → delivery
	kindInboxKey    rowKind = 22 // account, address → key id
	kindClosing     rowKind = 23 // account → nothing
	kindDue         rowKind = 24 // group, time, address → nothing
	kindMailDue     rowKind = 25 // group, time, address, message id → message that waits to be sent
	kindDeliveryDue rowKind = 26 // group, time, account, delivery id → webhook id
	kindTaken       rowKind = 27 // account, address → event number
	kindClaim       rowKind = 28 // account, whether the label is random, label → claim of a subdomain
	kindCalendar    rowKind = 29 // address → calendar; address, meeting id → meeting
	kindLink        rowKind = 30 // token hash → address of the inbox whose calendar it opens
	kindCopyDue     rowKind = 31 // address → nothing
	kindSpare       rowKind = 32 // address → spare copy of the profile, far from the original
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

func appendPrefix(dst []byte, k rowKind, p partition.ID) []byte {
	return append(dst, byte(k), byte(p>>8), byte(p))
}

// partitionOfKey reads the partition of a row outside the due indexes.
func partitionOfKey(key *[]byte) partition.ID {
	return partition.ID(binary.BigEndian.Uint16((*key)[1:]))
}

// groupOfKey reads the group of any row.
func groupOfKey(key []byte) partition.Group {
	switch rowKind(key[0]) {
	case kindDue, kindMailDue, kindDeliveryDue:
		return partition.Group(key[1])
	}
	return partitionOfKey(&key).Group()
}

// appendText starts the key of an entity named by text: [kind][partition][text 0x00]. Addresses and
// e-mail addresses never contain 0x00, so the keys of different entities never overlap.
func appendText(dst []byte, k rowKind, text string) []byte {
	dst = appendPrefix(dst, k, partition.Of(text))
	return append(append(dst, text...), 0)
}

// appendOwner starts the key of an account's row: [kind][partition][id].
func appendOwner(dst []byte, k rowKind, id account.ID) []byte {
	return append(appendPrefix(dst, k, id.HomePartition()), id[:]...)
}

// appendMessage is the key of a row of one message: [kind][partition][address 0x00][id].
func appendMessage(dst []byte, k rowKind, addr string, id int64) []byte {
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
func appendDue(dst []byte, k rowKind, at time.Time, p partition.ID) []byte {
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
func ofGroup(k rowKind, g partition.Group) keyRange {
	return keyRange{[]byte{byte(k), byte(g)}, []byte{byte(k), byte(g) + 1}}
}

// partitionsOf are the keys of a kind in the partitions of a group.
func partitionsOf(k rowKind, g partition.Group) keyRange {
	const each = partition.NumPartitions / partition.NumGroups
	first := partition.ID(g) * each
	return keyRange{appendPrefix(nil, k, first), endOfPrefix(appendPrefix(nil, k, first+each-1))}
}

// dueTime reads the time of a key of a due index.
func dueTime(key []byte) time.Time { return readTime(key[groupLen:]) }

func appendPart(dst []byte, id account.ID, part byte) []byte {
	return append(appendOwner(dst, kindAccount, id), part)
}

// endOfPrefix returns the first key after all keys that begin with prefix.
func endOfPrefix(prefix []byte) []byte {
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

// encodeMode is RFC 8949 §4.2.1 core deterministic CBOR: the same value gives the same bytes.
var encodeMode = func() cbor.UserBufferEncMode {
	m, err := cbor.CoreDetEncOptions().UserBufferEncMode()
	if err != nil {
		panic(err)
	}
	return m
}()

// decodeMode accepts whatever was stored, including text that is not UTF-8, and long lists.
var decodeMode = func() cbor.DecMode {
	m, err := cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid, MaxArrayElements: math.MaxInt32}.DecMode()
	if err != nil {
		panic(err)
	}
	return m
}()

// encodeRecord appends the record to buf. rec is a pointer to a record struct.
func encodeRecord(buf *bytes.Buffer, rec any) error {
	buf.WriteByte(recordVersion)
	return encodeMode.MarshalToBuffer(rec, buf)
}

// decodeRecord reads a record into rec, a pointer to a record struct. It does not retain data.
func decodeRecord(data []byte, rec any) error {
	if err := checkVersion(data); err != nil {
		return err
	}
	return decodeMode.Unmarshal(data[1:], rec)
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

// unixMillis is a time in a record: Unix milliseconds, 0 for the zero time. The Unix epoch itself is
// stored as the smallest number.
type unixMillis int64

const epochStamp unixMillis = math.MinInt64

func stampOf(t time.Time) unixMillis {
	if t.IsZero() {
		return 0
	}
	if ms := t.UnixMilli(); ms != 0 {
		return unixMillis(ms)
	}
	return epochStamp
}

func (s unixMillis) toTime() time.Time {
	switch s {
	case 0:
		return time.Time{}
	case epochStamp:
		return time.UnixMilli(0).UTC()
	}
	return time.UnixMilli(int64(s)).UTC()
}

// convertList converts a list to its record form or back; empty becomes nil, which is not stored.
func convertList[A, B any](in []A, one func(A) B) []B {
	if len(in) == 0 {
		return nil
	}
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = one(a)
	}
	return out
}

// internString returns an interned copy of text, for values that many records have in common.
func internString(text string) string { return unique.Make(text).Value() }

// convertOptional converts a if it is not nil.
func convertOptional[A, B any](a *A, to func(A) B) *B {
	if a == nil {
		return nil
	}
	b := to(*a)
	return &b
}
