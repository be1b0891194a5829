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

// journal is the outbox, to which commits of inboxes add their public events, and the change
// journals of accounts, to which the events move. It tracks how far the journals are durable,
// counted in appends. Any goroutine may use it.
type journal struct {
	*engine

	// appending is held while an append goes into the log, so that whoever saw an entry finds it
	// counted. It guards appended and last. Lock order: syncing before appending.
	appending sync.Mutex
	appended  uint64
	last      [partition.Count]uint64 // of each partition's appends

	syncing sync.Mutex // guards synced
	synced  uint64
}

func outboxKey(dst []byte, p *inbox.Public) []byte {
	return appendNumber(appendText(dst, kindOutbox, p.Address), p.Number)
}

// outbox adds the events to the batch that causes them.
func (w *writer) outbox(events []inbox.Public) {
	for i := range events {
		w.key = outboxKey(w.key[:0], &events[i])
		w.putPublic(w.key, &events[i])
	}
}

func (w *writer) putPublic(key []byte, p *inbox.Public) {
	w.rec.public.from(p)
	w.put(key, &w.rec.public)
}

// Outbox returns up to limit events that no DropOutbox has removed yet, in order within each inbox.
// After a crash it may return events that the journal already has: check with Taken.
func (j *journal) Outbox(limit int) ([]inbox.Public, error) {
	return j.inOutbox(ofKind(kindOutbox), limit)
}

// OutboxBehind is Outbox for the events after one that it returned.
func (j *journal) OutboxBehind(after *inbox.Public, limit int) ([]inbox.Public, error) {
	return j.inOutbox(ofKind(kindOutbox).behind(outboxKey(nil, after)), limit)
}

func (j *journal) inOutbox(keys span, limit int) ([]inbox.Public, error) {
	return listed(limit, readPublic, func(row func(key, value []byte) error) error { return j.scanPast(keys, 1, row) })
}

// OutboxOf is Outbox for the events of one inbox with numbers above after and below below.
func (j *journal) OutboxOf(addr string, after, below uint64, limit int) ([]inbox.Public, error) {
	from, to := inbox.Public{Address: addr, Number: after + 1}, inbox.Public{Address: addr, Number: below}
	return list(j.engine, span{outboxKey(nil, &from), outboxKey(nil, &to)}, limit, readPublic)
}

func readPublic(_, value []byte) (inbox.Public, error) {
	var r publicRecord
	err := decode(value, &r)
	return r.public(), err
}

// DropOutbox removes events that are in their account's journal. It does not wait for the fsync: if
// a crash restores them, they are deduplicated.
func (j *journal) DropOutbox(events []inbox.Public) error {
	of := func(p *inbox.Public) partition.ID { return partition.Of(p.Address) }
	return updateEachLater(j.engine, events, of, func(w *writer, p *inbox.Public) {
		w.key = outboxKey(w.key[:0], p)
		w.delete(w.key)
	})
}

func journalKey(dst []byte, id account.ID, seq uint64) []byte {
	return appendNumber(appendOwner(dst, kindJournal, id), seq)
}

// takenKey is the key of the last event taken from an inbox: [kind][partition][id][address].
func takenKey(dst []byte, id account.ID, addr string) []byte {
	return append(appendOwner(dst, kindTaken, id), addr...)
}

// taken records the last event of each inbox. Events of one inbox ascend, so the last one wins.
func (w *writer) taken(id account.ID, events []inbox.Public) {
	for i := range events {
		if i+1 < len(events) && events[i+1].Address == events[i].Address {
			continue
		}
		w.key = takenKey(w.key[:0], id, events[i].Address)
		w.set(w.key, keyed(nil, int64(events[i].Number)))
	}
}

// Taken returns the number of an inbox's last event in the account's journal; 0 if it has none, or
// if it was trimmed.
func (j *journal) Taken(id account.ID, addr string) (number uint64, err error) {
	_, err = j.read(takenKey(nil, id, addr), func(value []byte) error {
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
func (j *journal) AppendJournal(id account.ID, from uint64, events []inbox.Public, deliveries []webhook.Delivery) error {
	j.appending.Lock()
	defer j.appending.Unlock()
	j.appended++
	j.last[id.Partition()] = j.appended
	return j.updateLater(id.Partition(), func(w *writer) {
		for i := range events {
			w.key = journalKey(w.key[:0], id, from+uint64(i))
			w.putPublic(w.key, &events[i])
		}
		w.taken(id, events)
		for i := range deliveries {
			w.putDelivery(&deliveries[i])
		}
	})
}

// JournalEnd returns the number of the account's newest journal entry, 0 if it never had one. In a
// restored folder it is at least the number above which new entries start.
func (j *journal) JournalEnd(id account.ID) (seq uint64, err error) {
	seq = uint64(j.folder.Above())
	err = j.scanBack(under(appendOwner(nil, kindJournal, id)), func(key, _ []byte) error {
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
func (j *journal) JournalPage(id account.ID, after uint64, address string, since time.Time, limit changefeed.Limit) (changefeed.Page, error) {
	page := changefeed.Page{Last: after}
	keys := under(appendOwner(nil, kindJournal, id)).behind(journalKey(nil, id, after))
	scanned, read := 0, 0
	err := j.scan(keys, func(key, value []byte) error {
		if page.More = len(page.Entries) == limit.Entries || scanned == pageScan || read >= pageScanBytes; page.More {
			return errStop
		}
		var r publicRecord
		if err := decode(value, &r); err != nil {
			return fmt.Errorf("persist: journal of %s: %w", id, err)
		}
		seq := uint64(readNumber(key))
		old := r.At.time().Before(since)
		wanted := !old && (address == "" || r.Address == address)
		if wanted && len(value) > limit.Bytes-page.Size {
			page.More, page.Need = true, len(value)
			return errStop
		}
		page.Gap = page.Gap || old || seq != page.Last+1
		page.Last = seq
		scanned++
		read += len(value)
		if wanted {
			page.Size += len(value)
			page.Entries = append(page.Entries, changefeed.Entry{Seq: seq, Public: r.public()})
		}
		return nil
	})
	return page, err
}

// SyncJournal returns when everything that was in the account's journal before the call is durable.
// Then a number that a reader has seen means the same event after any crash. Without pending
// entries it costs two locks; concurrent callers share one fsync.
func (j *journal) SyncJournal(id account.ID) error {
	_, need := j.count(id)
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.synced >= need {
		return nil
	}
	covered, _ := j.count(id)
	if err := j.syncLog(); err != nil {
		return err
	}
	j.synced = covered
	return nil
}

// count returns the number of all appends, and their number at the last append to the account's
// partition.
func (j *journal) count(id account.ID) (all, here uint64) {
	j.appending.Lock()
	defer j.appending.Unlock()
	return j.appended, j.last[id.Partition()]
}

// ForgetEvents deletes the content of messages that are gone from entries of the account's journal.
// It does not wait for the fsync. The caller must not append or trim concurrently.
func (j *journal) ForgetEvents(id account.ID, numbers []uint64) error {
	forgotten := map[uint64]inbox.Public{}
	for _, n := range numbers {
		var r publicRecord
		found, err := j.get(journalKey(nil, id, n), &r)
		if err != nil {
			return fmt.Errorf("persist: journal of %s: %w", id, err)
		}
		if found {
			e := r.public()
			e.Forget()
			forgotten[n] = e
		}
	}
	return j.updateLater(id.Partition(), func(w *writer) {
		for n, e := range forgotten {
			w.key = journalKey(w.key[:0], id, n)
			w.putPublic(w.key, &e)
		}
	})
}

// JournalAccounts returns up to limit accounts that have had events, after the id after, in the
// order of their partitions. The zero id starts.
func (j *journal) JournalAccounts(after account.ID, limit int) ([]account.ID, error) {
	return j.owners(kindJournal, after, limit)
}

// TrimJournal removes the entries from before the given time, but never the newest entry of all: it
// holds the last number, so that no number is assigned twice. The last event number of an inbox is
// removed with the entry of that event. It does not wait for the fsync. The caller must not append
// concurrently.
func (j *journal) TrimJournal(id account.ID, before time.Time) error {
	all := under(appendOwner(nil, kindJournal, id))
	old := span{all.from, nil}  // up to the first key that remains
	last := map[string]uint64{} // last event of each inbox among the removed entries
	var newest struct {
		address string
		number  uint64
	} // event of the entry at old.to
	err := j.scan(all, func(key, value []byte) error {
		if old.to != nil {
			last[newest.address] = newest.number
		}
		old.to = append(old.to[:0], key...)
		var r publicRecord
		if err := decode(value, &r); err != nil {
			return fmt.Errorf("persist: journal of %s: %w", id, err)
		}
		if !r.At.time().Before(before) {
			return errStop
		}
		newest.address, newest.number = r.Address, r.Number
		return nil
	})
	if old.to == nil || err != nil {
		return err
	}
	for addr, number := range last {
		noted, err := j.Taken(id, addr)
		if err != nil {
			return err
		}
		if noted != number {
			delete(last, addr) // newer entries remain
		}
	}
	return j.updateLater(id.Partition(), func(w *writer) {
		w.deleteRange(old)
		for addr := range last {
			w.delete(takenKey(nil, id, addr))
		}
	})
}

// The integer keys of this record are on disk: append only; never reorder or reuse.

type publicRecord struct {
	Number    uint64     `cbor:"1,keyasint"`
	Name      string     `cbor:"2,keyasint"`
	Account   account.ID `cbor:"3,keyasint"`
	Address   string     `cbor:"4,keyasint"`
	MessageID int64      `cbor:"5,keyasint,omitempty"`
	At        stamp      `cbor:"6,keyasint,omitempty"`
	From      string     `cbor:"7,keyasint,omitempty"`
	Subject   string     `cbor:"8,keyasint,omitempty"`
	OTP       string     `cbor:"9,keyasint,omitempty"`

	To         []string `cbor:"10,keyasint,omitempty"`
	SendStatus string   `cbor:"11,keyasint,omitempty"`
	SendError  string   `cbor:"12,keyasint,omitempty"`

	Encrypted bool            `cbor:"13,keyasint,omitempty"`
	Meeting   *meetingRecord  `cbor:"14,keyasint,omitempty"`
	Attendee  *attendeeRecord `cbor:"15,keyasint,omitempty"`

	Recipients []recipientRecord `cbor:"16,keyasint,omitempty"` // e-mail and status of each
	Gone       bool              `cbor:"17,keyasint,omitempty"`
	EnvelopeTo string            `cbor:"18,keyasint,omitempty"`
	Named      []string          `cbor:"19,keyasint,omitempty"` // as in messageRecord
}

func (r *publicRecord) from(p *inbox.Public) {
	*r = publicRecord{
		Number: p.Number, Name: p.Name, Account: p.Account, Address: p.Address, MessageID: p.MessageID,
		At: stampOf(p.At), From: p.From, Subject: p.Subject, OTP: p.OTP, EnvelopeTo: p.EnvelopeTo, Named: p.Named,
		To: p.To, SendStatus: p.SendStatus, SendError: p.SendError, Recipients: convert(p.Recipients, recordOutcome),
		Encrypted: p.Encrypted, Gone: p.Gone, Meeting: optional(p.Meeting, recordMeeting), Attendee: optional(p.Attendee, recordAttendee),
	}
}

func (r *publicRecord) public() inbox.Public {
	return inbox.Public{
		Number: r.Number, Name: r.Name, Account: r.Account, Address: r.Address, MessageID: r.MessageID,
		At: r.At.time(), From: r.From, Subject: r.Subject, OTP: r.OTP, EnvelopeTo: r.EnvelopeTo, Named: r.Named,
		To: r.To, SendStatus: r.SendStatus, SendError: r.SendError, Recipients: convert(r.Recipients, recipientRecord.outcome),
		Encrypted: r.Encrypted, Gone: r.Gone, Meeting: optional(r.Meeting, meetingRecord.meeting), Attendee: optional(r.Attendee, attendeeRecord.attendee),
	}
}

func recordOutcome(r delivery.Recipient) recipientRecord {
	return recipientRecord{Email: r.Email, Status: r.Status}
}

func (r recipientRecord) outcome() delivery.Recipient {
	return delivery.Recipient{Email: r.Email, Status: r.Status}
}
