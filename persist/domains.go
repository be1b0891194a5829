package persist

import (
	"fmt"
	"time"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
)

// domainTable stores own domains and the inboxes under each.
type domainTable struct{ *storageEngine }

// The integer keys of these records are on disk: append only; never reorder or reuse.

type domainRecord struct {
	AccountID    []byte             `cbor:"1,keyasint,omitempty"` // absent: not claimed
	ClaimToken   string             `cbor:"2,keyasint,omitempty"`
	Status       domain.ClaimStatus `cbor:"3,keyasint,omitempty"`
	Found        domain.RecordSet   `cbor:"4,keyasint,omitempty"`
	Keys         []domainKeyPart    `cbor:"5,keyasint,omitempty"`
	ClaimedAt    unixMillis         `cbor:"6,keyasint,omitempty"`
	VerifiedAt   unixMillis         `cbor:"7,keyasint,omitempty"`
	CheckedAt    unixMillis         `cbor:"8,keyasint,omitempty"`
	MissingSince unixMillis         `cbor:"9,keyasint,omitempty"`
	InboxCount   int64              `cbor:"10,keyasint,omitempty"`
}

type domainKeyPart struct {
	Selector  string           `cbor:"1,keyasint"`
	Algorithm domain.Algorithm `cbor:"2,keyasint"`
	Public    []byte           `cbor:"3,keyasint"`
	Encrypted []byte           `cbor:"4,keyasint"`
}

func (r *domainRecord) copyFrom(s *domain.State) {
	*r = domainRecord{
		ClaimToken: s.OwnershipToken, Status: s.Status, Found: s.FoundRecords, InboxCount: s.InboxCount,
		Keys:      convertList(s.Keys, func(k domain.DKIMKey) domainKeyPart { return domainKeyPart(k) }),
		ClaimedAt: stampOf(s.ClaimedAt), VerifiedAt: stampOf(s.VerifiedAt), CheckedAt: stampOf(s.CheckedAt), MissingSince: stampOf(s.MissingSince),
	}
	if s.IsClaimed() {
		r.AccountID = s.Account[:]
	}
}

func (r *domainRecord) toState(name string) *domain.State {
	s := &domain.State{
		Name: name, OwnershipToken: r.ClaimToken, Status: r.Status, FoundRecords: r.Found, InboxCount: r.InboxCount,
		Keys:      convertList(r.Keys, func(k domainKeyPart) domain.DKIMKey { return domain.DKIMKey(k) }),
		ClaimedAt: r.ClaimedAt.toTime(), VerifiedAt: r.VerifiedAt.toTime(), CheckedAt: r.CheckedAt.toTime(), MissingSince: r.MissingSince.toTime(),
	}
	if len(r.AccountID) == len(account.ID{}) {
		s.Account = account.ID(r.AccountID)
	}
	return s
}

// attachedKey is the key of an inbox under a domain: [kind][partition][domain 0x00][address].
func attachedKey(name, address string) []byte {
	return append(appendText(nil, kindDomain, name), address...)
}

// LoadDomain reads a domain without the list of its inboxes. For a domain that was never claimed it
// returns a State with only the name.
func (t *domainTable) LoadDomain(name string) (*domain.State, error) {
	var r domainRecord
	if _, err := t.getRecord(appendText(nil, kindDomain, name), &r); err != nil {
		return nil, fmt.Errorf("persist: loading domain %s: %w", name, err)
	}
	return r.toState(name), nil
}

// CommitDomain writes the rows as one atomic batch and returns once it is durable. Errors are
// faults, as in CommitInbox.
func (t *domainTable) CommitDomain(r *domain.Rows) error {
	adds := int64(0)
	if len(r.AttachInboxes) > 0 || r.ClearInboxes && !r.DropRecord {
		adds = 8 << 10
	}
	return t.commitUpdate(partition.Of(r.Name), adds, func(w *batchWriter) {
		all := prefixRange(appendText(nil, kindDomain, r.Name))
		if r.ClearInboxes {
			w.deleteRange(all.afterKey(all.from))
		}
		if r.DropRecord {
			w.deleteKey(all.from)
		}
		if r.PutState != nil {
			var rec domainRecord
			rec.copyFrom(r.PutState)
			w.putRecord(all.from, &rec)
		}
		for _, a := range r.AttachInboxes {
			w.setKey(attachedKey(r.Name, a.Address), attachedValue(a.CreationTimes))
		}
		for _, address := range r.DetachInboxes {
			w.deleteKey(attachedKey(r.Name, address))
		}
	})
}

// attachedValue is the version and the times, 8 bytes each.
func attachedValue(times []time.Time) []byte {
	value := []byte{recordVersion}
	for _, at := range times {
		value = appendTime(value, at)
	}
	return value
}

// readAttached reads what attachedValue wrote. A value without times was stored before times
// existed.
func readAttached(value []byte) ([]time.Time, error) {
	if err := checkVersion(value); err != nil || len(value)%8 != 1 {
		return nil, fmt.Errorf("persist: damaged inbox of a domain %x: %v", value, err)
	}
	times := make([]time.Time, 0, 1)
	for rest := value[1:]; len(rest) > 0; rest = rest[8:] {
		times = append(times, readTime(rest))
	}
	if len(times) == 0 {
		times = append(times, time.Time{})
	}
	return times, nil
}

// AttachedAt returns the times in the domain's list for an address, or nothing if the list does not
// have it.
func (t *domainTable) AttachedAt(name, address string) (times []time.Time, err error) {
	_, err = t.readRow(attachedKey(name, address), func(value []byte) error {
		times, err = readAttached(value)
		return err
	})
	return times, err
}

// AttachedInboxes returns up to limit entries of the domain's list after an address.
func (t *domainTable) AttachedInboxes(name, after string, limit int) ([]domain.AttachedInbox, error) {
	all := prefixRange(appendText(nil, kindDomain, name))
	return listRows(t.storageEngine, all.afterKey(attachedKey(name, after)), limit, func(key, value []byte) (domain.AttachedInbox, error) {
		times, err := readAttached(value)
		return domain.AttachedInbox{Address: string(key[len(all.from):]), CreationTimes: times}, err
	})
}

// ListDomains returns up to limit domains that have a record, after the name after, in the order of
// their partitions. The empty name starts.
func (t *domainTable) ListDomains(after string, limit int) (out []*domain.State, err error) {
	keys := ofKind(kindDomain)
	if after != "" {
		keys.from = endOfPrefix(appendText(nil, kindDomain, after))
	}
	err = t.scanHeads(keys, func(key, value []byte) ([]byte, error) {
		if len(out) == limit {
			return nil, errStop
		}
		// Each domain's first row is its record; the next domain follows after all its inboxes.
		name := string(key[prefixLen : len(key)-1])
		var r domainRecord
		if err := decodeRecord(value, &r); err != nil {
			return nil, fmt.Errorf("persist: domain %s: %w", name, err)
		}
		out = append(out, r.toState(name))
		return key, nil
	})
	return out, err
}

// domainListKey is the key of an entry of an account's list: [kind][partition][id][domain].
func domainListKey(id account.ID, name string) []byte {
	return append(appendOwner(nil, kindDomainList, id), name...)
}

// listedValue is the version and the mark.
func listedValue(mark time.Time) []byte { return appendTime([]byte{recordVersion}, mark) }

// readListedMark reads what listedValue wrote. A value without a mark was stored before marks
// existed.
func readListedMark(value []byte) (time.Time, error) {
	switch err := checkVersion(value); {
	case err == nil && len(value) == 1:
		return time.Time{}, nil
	case err != nil || len(value) != 1+8:
		return time.Time{}, fmt.Errorf("persist: damaged entry of a list of domains %x: %v", value, err)
	}
	return readTime(value[1:]), nil
}

// writeDomains writes the changes of the account's list of own domains.
func (w *batchWriter) writeDomains(r *account.Rows) {
	for _, l := range r.PutDomains {
		w.setKey(domainListKey(r.ID, l.Name), listedValue(l.WrittenAt))
	}
	for _, name := range r.DropDomains {
		w.deleteKey(domainListKey(r.ID, name))
	}
}

// loadDomains reads the list of an account's own domains.
func (t *accountTable) loadDomains(id account.ID) (map[string]time.Time, error) {
	all, marks := prefixRange(appendOwner(nil, kindDomainList, id)), map[string]time.Time{}
	return marks, t.scanRows(all, func(key, value []byte) (err error) {
		marks[string(key[len(all.from):])], err = readListedMark(value)
		return err
	})
}
