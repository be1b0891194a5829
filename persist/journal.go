package persist

import (
	"fmt"
	"sync"
	"time"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
)

// journalTable is the outbox, to which commits of inboxes add their public events, and the change
// journals of accounts, to which the events move. It tracks how far the journals are durable,
// counted in appends. Any goroutine may use it.
type journalTable struct {
	*storageEngine

	// appendMu is held while an append goes into the log, so that whoever saw an entry finds it
	// counted. It guards appended and last. Lock order: syncing before appending.
	appendMu    sync.Mutex
	appendCount uint64
	lastAppends [partition.NumPartitions]uint64 // of each partition's appends

	syncMu      sync.Mutex // guards synced
	syncedCount uint64
}

func outboxKey(dst []byte, p *inbox.PublicEvent) []byte {
	return appendNumber(appendText(dst, kindOutbox, p.Address), p.SequenceNumber)
}

// outbox adds the events to the batch that causes them.
func (w *batchWriter) outbox(events []inbox.PublicEvent) {
	for i := range events {
		w.keyBuf = outboxKey(w.keyBuf[:0], &events[i])
		w.putPublic(w.keyBuf, &events[i])
	}
}

func (w *batchWriter) putPublic(key []byte, p *inbox.PublicEvent) {
	w.rec.public.copyFrom(p)
	w.putRecord(key, &w.rec.public)
}

// Outbox returns up to limit events that no DropOutbox has removed yet, in order within each inbox.
// After a crash it may return events that the journal already has: check with Taken.
func (j *journalTable) Outbox(limit int) ([]inbox.PublicEvent, error) {
	return j.inOutbox(ofKind(kindOutbox), limit)
}

// OutboxBehind is Outbox for the events after one that it returned.
func (j *journalTable) OutboxBehind(after *inbox.PublicEvent, limit int) ([]inbox.PublicEvent, error) {
	return j.inOutbox(ofKind(kindOutbox).afterKey(outboxKey(nil, after)), limit)
}

func (j *journalTable) inOutbox(keys keyRange, limit int) ([]inbox.PublicEvent, error) {
	return collectRows(limit, readPublic, func(row func(key, value []byte) error) error { return j.scanPast(keys, 1, row) })
}

// OutboxOf is Outbox for the events of one inbox with numbers above after and below below.
func (j *journalTable) OutboxOf(addr string, after, below uint64, limit int) ([]inbox.PublicEvent, error) {
	from, to := inbox.PublicEvent{Address: addr, SequenceNumber: after + 1}, inbox.PublicEvent{Address: addr, SequenceNumber: below}
	return listRows(j.storageEngine, keyRange{outboxKey(nil, &from), outboxKey(nil, &to)}, limit, readPublic)
}

func readPublic(_, value []byte) (inbox.PublicEvent, error) {
	var r publicRecord
	err := decodeRecord(value, &r)
	return r.toPublic(), err
}

// DropOutbox removes events that are in their account's journal. It does not wait for the fsync: if
// a crash restores them, they are deduplicated.
func (j *journalTable) DropOutbox(events []inbox.PublicEvent) error {
	of := func(p *inbox.PublicEvent) partition.ID { return partition.Of(p.Address) }
	return updateEachLater(j.storageEngine, events, of, func(w *batchWriter, p *inbox.PublicEvent) {
		w.keyBuf = outboxKey(w.keyBuf[:0], p)
		w.deleteKey(w.keyBuf)
	})
}

func journalKey(dst []byte, id account.ID, seq uint64) []byte {
	return appendNumber(appendOwner(dst, kindJournal, id), seq)
}

// takenKey is the key of the last event taken from an inbox: [kind][partition][id][address].
func takenKey(dst []byte, id account.ID, addr string) []byte {
	return append(appendOwner(dst, kindTaken, id), addr...)
}

// writeTaken records the last event of each inbox. Events of one inbox ascend, so the last one wins.
func (w *batchWriter) writeTaken(id account.ID, events []inbox.PublicEvent) {
	for i := range events {
		if i+1 < len(events) && events[i+1].Address == events[i].Address {
			continue
		}
		w.keyBuf = takenKey(w.keyBuf[:0], id, events[i].Address)
		w.setKey(w.keyBuf, keyedValue(nil, int64(events[i].SequenceNumber)))
	}
}

// LastTaken returns the number of an inbox's last event in the account's journal; 0 if it has none, or
// if it was trimmed.
func (j *journalTable) LastTaken(id account.ID, addr string) (number uint64, err error) {
	_, err = j.readRow(takenKey(nil, id, addr), func(value []byte) error {
		if err := checkVersion(value); err != nil || len(value) != 1+8 {
			return fmt.Errorf("persist: damaged number of the last event of %s: %v", addr, err)
		}
		number = uint64(readNumber(value))
		return nil
	})
	return number, err
}

// AppendJournal adds events to the account's journal, numbered from, from+1 and so on. The same
// batch holds their webhook deliveries and the last event number of each inbox. It does not wait
// for the fsync: the synced outbox rows remain until DropOutbox, which is called after this
// append's position is Reached.
func (j *journalTable) AppendJournal(id account.ID, from uint64, events []inbox.PublicEvent, deliveries []webhook.Delivery) error {
	j.appendMu.Lock()
	defer j.appendMu.Unlock()
	j.appendCount++
	j.lastAppends[id.HomePartition()] = j.appendCount
	return j.updateLater(id.HomePartition(), func(w *batchWriter) {
		for i := range events {
			w.keyBuf = journalKey(w.keyBuf[:0], id, from+uint64(i))
			w.putPublic(w.keyBuf, &events[i])
		}
		w.writeTaken(id, events)
		for i := range deliveries {
			w.putDelivery(&deliveries[i])
		}
	})
}

// JournalEnd returns the number of the account's newest journal entry, 0 if it never had one. In a
// restored folder it is at least the number above which new entries start.
func (j *journalTable) JournalEnd(id account.ID) (seq uint64, err error) {
	seq = uint64(j.folder.MinimumID())
	err = j.scanBack(prefixRange(appendOwner(nil, kindJournal, id)), func(key, _ []byte) error {
		seq = max(seq, uint64(readNumber(key)))
		return errStop
	})
	return seq, err
}

// pageScan bounds how many entries one read of a journal examines, and pageScanBytes their total
// size: about 10 ms of work.
const (
	pageScan      = 10_000
	pageScanBytes = 8 << 20
)

// JournalPage reads entries with numbers above after, not older than since, of one inbox unless
// address is empty, up to a limit. It ends before a row that does not fit, even the first one. A
// crash may lose what it returned until SyncJournal has returned.
func (j *journalTable) JournalPage(id account.ID, after uint64, address string, since time.Time, limit changefeed.ReadLimit) (changefeed.JournalPage, error) {
	page := changefeed.JournalPage{LastPosition: after}
	keys := prefixRange(appendOwner(nil, kindJournal, id)).afterKey(journalKey(nil, id, after))
	scanned, read := 0, 0
	err := j.scanRows(keys, func(key, value []byte) error {
		if page.HasMore = len(page.Entries) == limit.MaxEntries || scanned == pageScan || read >= pageScanBytes; page.HasMore {
			return errStop
		}
		var r publicRecord
		if err := decodeRecord(value, &r); err != nil {
			return fmt.Errorf("persist: journal of %s: %w", id, err)
		}
		seq := uint64(readNumber(key))
		old := r.At.toTime().Before(since)
		wanted := !old && (address == "" || r.InboxAddress == address)
		if wanted && len(value) > limit.MaxBytes-page.RowBytes {
			page.HasMore, page.NeededBytes = true, len(value)
			return errStop
		}
		page.HasGap = page.HasGap || old || seq != page.LastPosition+1
		page.LastPosition = seq
		scanned++
		read += len(value)
		if wanted {
			page.RowBytes += len(value)
			page.Entries = append(page.Entries, changefeed.JournalEntry{Seq: seq, PublicEvent: r.toPublic()})
		}
		return nil
	})
	return page, err
}

// SyncJournal returns when everything that was in the account's journal before the call is durable.
// Then a number that a reader has seen means the same event after any crash. Without pending
// entries it costs two locks; concurrent callers share one fsync.
func (j *journalTable) SyncJournal(id account.ID) error {
	_, need := j.countAppends(id)
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	if j.syncedCount >= need {
		return nil
	}
	covered, _ := j.countAppends(id)
	if err := j.syncLog(); err != nil {
		return err
	}
	j.syncedCount = covered
	return nil
}

// countAppends returns the number of all appends, and their number at the last append to the account's
// partition.
func (j *journalTable) countAppends(id account.ID) (all, here uint64) {
	j.appendMu.Lock()
	defer j.appendMu.Unlock()
	return j.appendCount, j.lastAppends[id.HomePartition()]
}

// ForgetEvents deletes the content of messages that are gone from entries of the account's journal.
// It does not wait for the fsync. The caller must not append or trim concurrently.
func (j *journalTable) ForgetEvents(id account.ID, numbers []uint64) error {
	forgotten := map[uint64]inbox.PublicEvent{}
	for _, n := range numbers {
		var r publicRecord
		found, err := j.getRecord(journalKey(nil, id, n), &r)
		if err != nil {
			return fmt.Errorf("persist: journal of %s: %w", id, err)
		}
		if found {
			e := r.toPublic()
			e.RedactDeleted()
			forgotten[n] = e
		}
	}
	return j.updateLater(id.HomePartition(), func(w *batchWriter) {
		for n, e := range forgotten {
			w.keyBuf = journalKey(w.keyBuf[:0], id, n)
			w.putPublic(w.keyBuf, &e)
		}
	})
}

// JournalAccounts returns up to limit accounts that have had events, after the id after, in the
// order of their partitions. The zero id starts.
func (j *journalTable) JournalAccounts(after account.ID, limit int) ([]account.ID, error) {
	return j.listOwners(kindJournal, after, limit)
}

// TrimJournal removes the entries from before the given time, but never the newest entry of all: it
// holds the last number, so that no number is assigned twice. The last event number of an inbox is
// removed with the entry of that event. It does not wait for the fsync. The caller must not append
// concurrently.
func (j *journalTable) TrimJournal(id account.ID, before time.Time) error {
	all := prefixRange(appendOwner(nil, kindJournal, id))
	old := keyRange{all.from, nil} // up to the first key that remains
	last := map[string]uint64{}    // last event of each inbox among the removed entries
	var newest struct {
		address string
		number  uint64
	} // event of the entry at old.to
	err := j.scanRows(all, func(key, value []byte) error {
		if old.to != nil {
			last[newest.address] = newest.number
		}
		old.to = append(old.to[:0], key...)
		var r publicRecord
		if err := decodeRecord(value, &r); err != nil {
			return fmt.Errorf("persist: journal of %s: %w", id, err)
		}
		if !r.At.toTime().Before(before) {
			return errStop
		}
		newest.address, newest.number = r.InboxAddress, r.EventNumber
		return nil
	})
	if old.to == nil || err != nil {
		return err
	}
	for addr, number := range last {
		noted, err := j.LastTaken(id, addr)
		if err != nil {
			return err
		}
		if noted != number {
			delete(last, addr) // newer entries remain
		}
	}
	return j.updateLater(id.HomePartition(), func(w *batchWriter) {
		w.deleteRange(old)
		for addr := range last {
			w.deleteKey(takenKey(nil, id, addr))
		}
	})
}

// The integer keys of this record are on disk: append only; never reorder or reuse.

type publicRecord struct {
	EventNumber  uint64     `cbor:"1,keyasint"`
	EventName    string     `cbor:"2,keyasint"`
	AccountID    account.ID `cbor:"3,keyasint"`
	InboxAddress string     `cbor:"4,keyasint"`
	MessageID    int64      `cbor:"5,keyasint,omitempty"`
	At           unixMillis `cbor:"6,keyasint,omitempty"`
	FromAddress  string     `cbor:"7,keyasint,omitempty"`
	Subject      string     `cbor:"8,keyasint,omitempty"`
	OTP          string     `cbor:"9,keyasint,omitempty"`

	To         []string `cbor:"10,keyasint,omitempty"`
	SendStatus string   `cbor:"11,keyasint,omitempty"`
	SendError  string   `cbor:"12,keyasint,omitempty"`

	IsEncrypted bool            `cbor:"13,keyasint,omitempty"`
	Meeting     *meetingRecord  `cbor:"14,keyasint,omitempty"`
	Attendee    *attendeeRecord `cbor:"15,keyasint,omitempty"`

	Recipients      []recipientRecord `cbor:"16,keyasint,omitempty"` // e-mail and status of each
	IsGone          bool              `cbor:"17,keyasint,omitempty"`
	EnvelopeTo      string            `cbor:"18,keyasint,omitempty"`
	NamedRecipients []string          `cbor:"19,keyasint,omitempty"` // as in messageRecord
}

func (r *publicRecord) copyFrom(p *inbox.PublicEvent) {
	*r = publicRecord{
		EventNumber: p.SequenceNumber, EventName: p.EventName, AccountID: p.Account, InboxAddress: p.Address, MessageID: p.MessageID,
		At: stampOf(p.At), FromAddress: p.From, Subject: p.Subject, OTP: p.OTP, EnvelopeTo: p.EnvelopeTo, NamedRecipients: p.NamedRecipients,
		To: p.To, SendStatus: p.SendStatus, SendError: p.SendError, Recipients: convertList(p.Recipients, recordOutcome),
		IsEncrypted: p.Encrypted, IsGone: p.MessageDeleted, Meeting: convertOptional(p.Meeting, recordMeeting), Attendee: convertOptional(p.Attendee, recordAttendee),
	}
}

func (r *publicRecord) toPublic() inbox.PublicEvent {
	return inbox.PublicEvent{
		SequenceNumber: r.EventNumber, EventName: r.EventName, Account: r.AccountID, Address: r.InboxAddress, MessageID: r.MessageID,
		At: r.At.toTime(), From: r.FromAddress, Subject: r.Subject, OTP: r.OTP, EnvelopeTo: r.EnvelopeTo, NamedRecipients: r.NamedRecipients,
		To: r.To, SendStatus: r.SendStatus, SendError: r.SendError, Recipients: convertList(r.Recipients, recipientRecord.toOutcome),
		Encrypted: r.IsEncrypted, MessageDeleted: r.IsGone, Meeting: convertOptional(r.Meeting, meetingRecord.toMeeting), Attendee: convertOptional(r.Attendee, attendeeRecord.attendee),
	}
}

func recordOutcome(r delivery.RecipientState) recipientRecord {
	return recipientRecord{Email: r.Email, Status: r.Status}
}

func (r recipientRecord) toOutcome() delivery.RecipientState {
	return delivery.RecipientState{Email: r.Email, Status: r.Status}
}
