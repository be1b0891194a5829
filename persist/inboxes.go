package persist

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// inboxTable stores inboxes. The profile and the messages of an inbox are adjacent rows; large
// parts of messages are stored elsewhere.
type inboxTable struct {
	*storageEngine
	blobFiles *blobFiles
}

// The integer keys of this record are on disk: append only; never reorder or reuse.

type profileRecord struct {
	AccountID      account.ID `cbor:"1,keyasint"`
	Label          string     `cbor:"2,keyasint,omitempty"`
	RetentionHours int        `cbor:"3,keyasint,omitempty"`
	CreatedAt      unixMillis `cbor:"4,keyasint,omitempty"`
	DeletedAt      unixMillis `cbor:"5,keyasint,omitempty"`
	LastID         int64      `cbor:"6,keyasint,omitempty"`
	LastEvent      uint64     `cbor:"7,keyasint,omitempty"`
	DueAt          unixMillis `cbor:"8,keyasint,omitempty"`
	KeepNewest     bool       `cbor:"9,keyasint,omitempty"`
	HasCalendar    bool       `cbor:"10,keyasint,omitempty"`
	IsEncrypted    bool       `cbor:"11,keyasint,omitempty"`
}

func (r *profileRecord) copyFrom(p *inbox.Profile) {
	*r = profileRecord{
		AccountID: p.Account, Label: p.Label, RetentionHours: p.RetentionHours,
		CreatedAt: stampOf(p.CreatedAt), DeletedAt: stampOf(p.DeletedAt),
		LastID: p.LastID, LastEvent: p.LastEvent, DueAt: stampOf(p.DueAt), KeepNewest: p.KeepNewest, HasCalendar: p.HasCalendar, IsEncrypted: p.Encrypted,
	}
}

func (r *profileRecord) toProfile(addr string) inbox.Profile {
	return inbox.Profile{
		Address: addr, Account: r.AccountID, Label: r.Label, RetentionHours: r.RetentionHours,
		CreatedAt: r.CreatedAt.toTime(), DeletedAt: r.DeletedAt.toTime(),
		LastID: r.LastID, LastEvent: r.LastEvent, DueAt: r.DueAt.toTime(), KeepNewest: r.KeepNewest, HasCalendar: r.HasCalendar, Encrypted: r.IsEncrypted,
	}
}

// LoadInbox reads an inbox in one range scan over its profile and messages, and a second scan over
// its calendar if it has one. For an address that never existed it returns a State with only the
// address. In a restored folder, new ids start above those that may have been assigned since the
// backup.
func (t *inboxTable) LoadInbox(addr string) (*inbox.State, error) {
	st, err := t.scanInbox(addr)
	if isDamage(err) && !errors.Is(err, errUnknownRow) {
		st, err = t.salvageInbox(addr)
	}
	if err == nil && len(st.Messages) > 0 && st.Account == (inbox.Profile{}).Account {
		err = fmt.Errorf("messages without a profile")
	}
	above := t.folder.MinimumID()
	if err == nil && (st.HasCalendar || above > 0) {
		st.Calendar, err = t.loadCalendar(addr)
	}
	if err != nil {
		return nil, fmt.Errorf("persist: loading %s: %w", addr, err)
	}
	st.LastID, st.LastEvent = max(st.LastID, above), max(st.LastEvent, uint64(above))
	return st, nil
}

// errUnknownRow is a row that a newer program wrote: it is intact, but this program must not skip
// it.
var errUnknownRow = errors.New("unknown row")

func (t *inboxTable) scanInbox(addr string) (*inbox.State, error) {
	st := &inbox.State{Profile: inbox.Profile{Address: addr}}
	prefix := appendText(nil, kindInbox, addr)
	err := t.scanRows(prefixRange(prefix), func(key, value []byte) error {
		switch len(key) - len(prefix) {
		case 0:
			var r profileRecord
			err := decodeRecord(value, &r)
			st.Profile = r.toProfile(addr)
			return err
		case 8:
			return addMessage(st, readNumber(key), value)
		}
		return fmt.Errorf("%w %x", errUnknownRow, key)
	})
	return st, err
}

// addMessage reads a message's row into st.
func addMessage(st *inbox.State, id int64, value []byte) error {
	var r messageRecord
	if err := decodeRecord(value, &r); err != nil {
		return err
	}
	m := r.toMessage(id)
	if m.From.Email == st.Address {
		m.From.Email = st.Address // one string for all messages that it sent
	}
	st.AddMessage(m)
	return nil
}

// InboxExists reports whether a live inbox has this address: one point look-up.
func (t *inboxTable) InboxExists(addr string) (bool, error) {
	p, err := t.readProfile(addr)
	return p.IsLive(), err
}

// AccountOf finds the account whose live inbox has this address, the zero ID if not found: one
// point look-up.
func (t *inboxTable) AccountOf(addr string) (account.ID, error) {
	p, err := t.readProfile(addr)
	if !p.IsLive() {
		return account.ID{}, err
	}
	return p.Account, nil
}

// InboxEncryption finds the account whose live inbox has this address, and whether the inbox is
// encrypted; the zero ID if not found: one point look-up.
func (t *inboxTable) InboxEncryption(addr string) (id account.ID, encrypted bool, err error) {
	p, err := t.readProfile(addr)
	if !p.IsLive() {
		return account.ID{}, false, err
	}
	return p.Account, p.Encrypted, nil
}

func (t *inboxTable) readProfile(addr string) (p inbox.Profile, err error) {
	var r profileRecord
	found, err := t.getRecord(appendText(nil, kindInbox, addr), &r)
	if isDamage(err) {
		found, err = t.readSpare(addr, &r, t.damagedError(addr, wholeInbox, err))
	}
	if !found || err != nil {
		return p, err
	}
	return r.toProfile(addr), nil
}

// CommitInbox writes the rows as one atomic batch and returns once it is durable. Errors are
// faults: StorageFull if the rows would add bytes to a nearly full disk, otherwise Unavailable.
// After either, nothing was changed.
func (t *inboxTable) CommitInbox(r *inbox.Rows) error {
	return t.runCall(func() error {
		gone := droppedIDs(r)
		var files blobMoves
		err := t.updateInside(partition.Of(r.Address), inboxBytes(r), func(w *batchWriter) {
			t.putInbox(w, r, gone, &files)
			t.dropMessages(w, r.Address, gone, &files)
			w.putCalendar(r)
			w.moveDue(r)
			w.moveQueued(r)
			w.writeSignatures(r)
			t.settleSealed(w, r, gone, &files)
			w.outbox(r.PublicEvents)
			w.writeLinks(r)
			w.copyDue(r)
			if len(r.IdempotencyRecords.PutRecords)+len(r.IdempotencyRecords.DropRecords) > 0 {
				w.writeRequests(inboxRequests(r.Address), &r.IdempotencyRecords)
			}
		})
		if err != nil {
			t.blobFiles.removeFiles(files.createdBlobs)
		} else {
			t.blobFiles.removeFiles(files.droppedBlobs)
		}
		return err
	})
}

// inboxBytes is what rows add to the disk in bytes. A full disk must not refuse rows that remove
// data, record the outcome of an attempt, or mark a message as in doubt. For those it is 0.
func inboxBytes(r *inbox.Rows) int64 {
	ended := 0
	for _, l := range r.LinkRows {
		if l.IsRemoved {
			ended++
		}
	}
	ends := r.HasAmbiguous || ended+len(r.DropMessages)+len(r.DropMeetings)+len(r.QueueMoves)+len(r.DueStray) > 0 || r.Profile != nil && !r.Profile.DeletedAt.IsZero()
	if ends && len(r.StoreMessages)+len(r.PutMeetings)+len(r.LinkRows)-ended == 0 {
		return 0
	}
	n := int64(512*(1+len(r.PutMessages)+len(r.PublicEvents))) + requestBytes(&r.IdempotencyRecords)
	for i := range r.StoreMessages {
		n += r.StoreMessages[i].Size() + int64(len(r.StoreMessages[i].Raw)) // the raw bytes, and about as much of content
	}
	for _, m := range r.PutMeetings {
		n += m.RowBytes
	}
	return n
}

// copyDue sets or removes the mark of an inbox in which an owner's copy is due.
func (w *batchWriter) copyDue(r *inbox.Rows) {
	if r.CopyDue == nil {
		return
	}
	w.keyBuf = appendText(w.keyBuf[:0], kindCopyDue, r.Address)
	if *r.CopyDue {
		w.markKey(w.keyBuf)
	} else {
		w.deleteKey(w.keyBuf)
	}
}

// CopiesDue calls inbox for each inbox of a group in which an owner's copy is due. It skips damaged
// rows.
func (t *inboxTable) CopiesDue(g partition.Group, inbox func(addr string)) error {
	return t.scanPast(partitionsOf(kindCopyDue, g), 1, func(key, _ []byte) error {
		inbox(string(key[prefixLen : len(key)-1]))
		return nil
	})
}

// droppedIDs returns the ids to drop, ascending.
func droppedIDs(r *inbox.Rows) []int64 {
	if len(r.DropMessages) == 0 {
		return nil
	}
	ids := make([]int64, len(r.DropMessages))
	for i, m := range r.DropMessages {
		ids[i] = m.ID
	}
	return sortIDs(ids)
}

// sortIDs sorts ids and removes duplicates.
func sortIDs(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// idRuns iterates over the runs of consecutive ids in an ascending list.
func idRuns(ids []int64) iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		for len(ids) > 0 {
			run := 1
			for run < len(ids) && ids[run] == ids[run-1]+1 {
				run++
			}
			if !yield(ids[:run]) {
				return
			}
			ids = ids[run:]
		}
	}
}

// putInbox writes the profile, the messages and their large parts. A message that the same rows
// drop again is not written at all.
func (t *inboxTable) putInbox(w *batchWriter, r *inbox.Rows, gone []int64, files *blobMoves) {
	if r.Profile != nil {
		w.rec.profile.copyFrom(r.Profile)
		w.keyBuf = appendText(w.keyBuf[:0], kindInbox, r.Address)
		w.putRecord(w.keyBuf, &w.rec.profile)
		if r.WriteSpareCopy {
			w.keyBuf = appendText(w.keyBuf[:0], kindSpare, r.Address)
			w.putRecord(w.keyBuf, &w.rec.profile)
		}
	}
	for _, m := range r.PutMessages {
		if _, dead := slices.BinarySearch(gone, m.ID); dead {
			continue
		}
		w.rec.message.copyFrom(m)
		w.keyBuf = appendMessage(w.keyBuf[:0], kindInbox, r.Address, m.ID)
		w.putRecord(w.keyBuf, &w.rec.message)
	}
	for i := range r.StoreMessages {
		if _, dead := slices.BinarySearch(gone, r.StoreMessages[i].ID); !dead && w.firstErr == nil {
			t.putContent(w, r.Address, &r.StoreMessages[i], files)
			t.putRaw(w, r.Address, &r.StoreMessages[i], files)
			t.putSealed(w, r, &r.StoreMessages[i], files)
		}
	}
}

// rangeOver is the number of consecutive messages from which one range tombstone is cheaper than a
// tombstone for each.
const rangeOver = 16

// dropMessages removes all rows of the messages, which ascend by id: runs of consecutive ids by
// range, others one by one. Ids between them are not touched.
func (t *inboxTable) dropMessages(w *batchWriter, addr string, ids []int64, files *blobMoves) {
	for run := range idRuns(ids) {
		for _, k := range [...]rowKind{kindInbox, kindContent, kindRaw} {
			w.dropRun(run, func(dst []byte, id int64) []byte { return appendMessage(dst, k, addr, id) })
		}
		t.blobFiles.dropBlobs(w, addr, run, files)
	}
}

// dropRun deletes the rows of consecutive ids.
func (w *batchWriter) dropRun(run []int64, key func(dst []byte, id int64) []byte) {
	if len(run) >= rangeOver {
		w.deleteRange(keyRange{key(nil, run[0]), key(nil, run[len(run)-1]+1)})
		return
	}
	for _, id := range run {
		w.keyBuf = key(w.keyBuf[:0], id)
		w.deleteKey(w.keyBuf)
	}
}
