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
	*engine
	blobs *blobFiles
}

// The integer keys of this record are on disk: append only; never reorder or reuse.

type profileRecord struct {
	Account        account.ID `cbor:"1,keyasint"`
	Label          string     `cbor:"2,keyasint,omitempty"`
	RetentionHours int        `cbor:"3,keyasint,omitempty"`
	CreatedAt      stamp      `cbor:"4,keyasint,omitempty"`
	DeletedAt      stamp      `cbor:"5,keyasint,omitempty"`
	LastID         int64      `cbor:"6,keyasint,omitempty"`
	LastEvent      uint64     `cbor:"7,keyasint,omitempty"`
	DueAt          stamp      `cbor:"8,keyasint,omitempty"`
	KeepNewest     bool       `cbor:"9,keyasint,omitempty"`
	HasCalendar    bool       `cbor:"10,keyasint,omitempty"`
	Encrypted      bool       `cbor:"11,keyasint,omitempty"`
}

func (r *profileRecord) from(p *inbox.Profile) {
	*r = profileRecord{
		Account: p.Account, Label: p.Label, RetentionHours: p.RetentionHours,
		CreatedAt: stampOf(p.CreatedAt), DeletedAt: stampOf(p.DeletedAt),
		LastID: p.LastID, LastEvent: p.LastEvent, DueAt: stampOf(p.DueAt), KeepNewest: p.KeepNewest, HasCalendar: p.HasCalendar, Encrypted: p.Encrypted,
	}
}

func (r *profileRecord) profile(addr string) inbox.Profile {
	return inbox.Profile{
		Address: addr, Account: r.Account, Label: r.Label, RetentionHours: r.RetentionHours,
		CreatedAt: r.CreatedAt.time(), DeletedAt: r.DeletedAt.time(),
		LastID: r.LastID, LastEvent: r.LastEvent, DueAt: r.DueAt.time(), KeepNewest: r.KeepNewest, HasCalendar: r.HasCalendar, Encrypted: r.Encrypted,
	}
}

// LoadInbox reads an inbox in one range scan over its profile and messages, and a second scan over
// its calendar if it has one. For an address that never existed it returns a State with only the
// address. In a restored folder, new ids start above those that may have been assigned since the
// backup.
func (t *inboxTable) LoadInbox(addr string) (*inbox.State, error) {
	st, err := t.scanInbox(addr)
	if damages(err) && !errors.Is(err, errUnknownRow) {
		st, err = t.salvage(addr)
	}
	if err == nil && len(st.Messages) > 0 && st.Account == (inbox.Profile{}).Account {
		err = fmt.Errorf("messages without a profile")
	}
	above := t.folder.Above()
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
	err := t.scan(under(prefix), func(key, value []byte) error {
		switch len(key) - len(prefix) {
		case 0:
			var r profileRecord
			err := decode(value, &r)
			st.Profile = r.profile(addr)
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
	if err := decode(value, &r); err != nil {
		return err
	}
	m := r.message(id)
	if m.From.Email == st.Address {
		m.From.Email = st.Address // one string for all messages that it sent
	}
	st.Add(m)
	return nil
}

// Live reports whether a live inbox has this address: one point look-up.
func (t *inboxTable) Live(addr string) (bool, error) {
	p, err := t.profile(addr)
	return p.Live(), err
}

// AccountOf finds the account whose live inbox has this address, the zero ID if not found: one
// point look-up.
func (t *inboxTable) AccountOf(addr string) (account.ID, error) {
	p, err := t.profile(addr)
	if !p.Live() {
		return account.ID{}, err
	}
	return p.Account, nil
}

// Encryption finds the account whose live inbox has this address, and whether the inbox is
// encrypted; the zero ID if not found: one point look-up.
func (t *inboxTable) Encryption(addr string) (id account.ID, encrypted bool, err error) {
	p, err := t.profile(addr)
	if !p.Live() {
		return account.ID{}, false, err
	}
	return p.Account, p.Encrypted, nil
}

func (t *inboxTable) profile(addr string) (p inbox.Profile, err error) {
	var r profileRecord
	found, err := t.get(appendText(nil, kindInbox, addr), &r)
	if damages(err) {
		found, err = t.spare(addr, &r, t.damaged(addr, wholeInbox, err))
	}
	if !found || err != nil {
		return p, err
	}
	return r.profile(addr), nil
}

// CommitInbox writes the rows as one atomic batch and returns once it is durable. Errors are
// faults: StorageFull if the rows would add bytes to a nearly full disk, otherwise Unavailable.
// After either, nothing was changed.
func (t *inboxTable) CommitInbox(r *inbox.Rows) error {
	return t.during(func() error {
		gone := dropped(r)
		var files blobMoves
		err := t.updateInside(partition.Of(r.Address), inboxBytes(r), func(w *writer) {
			t.putInbox(w, r, gone, &files)
			t.dropMessages(w, r.Address, gone, &files)
			w.putCalendar(r)
			w.moveDue(r)
			w.moveQueued(r)
			w.signatures(r)
			t.settleSealed(w, r, gone, &files)
			w.outbox(r.Public)
			w.links(r)
			w.copyDue(r)
			if len(r.Once.Put)+len(r.Once.Drop) > 0 {
				w.requests(inboxRequests(r.Address), &r.Once)
			}
		})
		if err != nil {
			t.blobs.remove(files.made)
		} else {
			t.blobs.remove(files.dropped)
		}
		return err
	})
}

// inboxBytes is what rows add to the disk in bytes. A full disk must not refuse rows that remove
// data, record the outcome of an attempt, or mark a message as in doubt. For those it is 0.
func inboxBytes(r *inbox.Rows) int64 {
	ended := 0
	for _, l := range r.Links {
		if l.Gone {
			ended++
		}
	}
	ends := r.Doubted || ended+len(r.Drop)+len(r.DropMeetings)+len(r.Queue)+len(r.DueStray) > 0 || r.Profile != nil && !r.Profile.DeletedAt.IsZero()
	if ends && len(r.Store)+len(r.Meetings)+len(r.Links)-ended == 0 {
		return 0
	}
	n := int64(512*(1+len(r.Put)+len(r.Public))) + requestBytes(&r.Once)
	for i := range r.Store {
		n += r.Store[i].Size() + int64(len(r.Store[i].Raw)) // the raw bytes, and about as much of content
	}
	for _, m := range r.Meetings {
		n += m.Bytes
	}
	return n
}

// copyDue sets or removes the mark of an inbox in which an owner's copy is due.
func (w *writer) copyDue(r *inbox.Rows) {
	if r.CopyDue == nil {
		return
	}
	w.key = appendText(w.key[:0], kindCopyDue, r.Address)
	if *r.CopyDue {
		w.mark(w.key)
	} else {
		w.delete(w.key)
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

// dropped returns the ids to drop, ascending.
func dropped(r *inbox.Rows) []int64 {
	if len(r.Drop) == 0 {
		return nil
	}
	ids := make([]int64, len(r.Drop))
	for i, m := range r.Drop {
		ids[i] = m.ID
	}
	return ascending(ids)
}

// ascending sorts ids and removes duplicates.
func ascending(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// runs iterates over the runs of consecutive ids in an ascending list.
func runs(ids []int64) iter.Seq[[]int64] {
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
func (t *inboxTable) putInbox(w *writer, r *inbox.Rows, gone []int64, files *blobMoves) {
	if r.Profile != nil {
		w.rec.profile.from(r.Profile)
		w.key = appendText(w.key[:0], kindInbox, r.Address)
		w.put(w.key, &w.rec.profile)
		if r.Spare {
			w.key = appendText(w.key[:0], kindSpare, r.Address)
			w.put(w.key, &w.rec.profile)
		}
	}
	for _, m := range r.Put {
		if _, dead := slices.BinarySearch(gone, m.ID); dead {
			continue
		}
		w.rec.message.from(m)
		w.key = appendMessage(w.key[:0], kindInbox, r.Address, m.ID)
		w.put(w.key, &w.rec.message)
	}
	for i := range r.Store {
		if _, dead := slices.BinarySearch(gone, r.Store[i].ID); !dead && w.err == nil {
			t.putContent(w, r.Address, &r.Store[i], files)
			t.putRaw(w, r.Address, &r.Store[i], files)
			t.putSealed(w, r, &r.Store[i], files)
		}
	}
}

// rangeOver is the number of consecutive messages from which one range tombstone is cheaper than a
// tombstone for each.
const rangeOver = 16

// dropMessages removes all rows of the messages, which ascend by id: runs of consecutive ids by
// range, others one by one. Ids between them are not touched.
func (t *inboxTable) dropMessages(w *writer, addr string, ids []int64, files *blobMoves) {
	for run := range runs(ids) {
		for _, k := range [...]kind{kindInbox, kindContent, kindRaw} {
			w.dropRun(run, func(dst []byte, id int64) []byte { return appendMessage(dst, k, addr, id) })
		}
		t.blobs.drop(w, addr, run, files)
	}
}

// dropRun deletes the rows of consecutive ids.
func (w *writer) dropRun(run []int64, key func(dst []byte, id int64) []byte) {
	if len(run) >= rangeOver {
		w.deleteRange(span{key(nil, run[0]), key(nil, run[len(run)-1]+1)})
		return
	}
	for _, id := range run {
		w.key = key(w.key[:0], id)
		w.delete(w.key)
	}
}
