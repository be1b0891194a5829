package persist

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
	"inboxd/internal/partition"
)

const (
	// rangeOver is the number of consecutive messages from which one range tombstone is
	// cheaper than a tombstone for each.
	rangeOver = 16
)

// LoadInbox reads an inbox in one range scan over its header and message rows. An address
// that never existed gives a State that holds nothing but the address.
func (s *Store) LoadInbox(addr string) (*inbox.State, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	st := &inbox.State{Profile: inbox.Profile{Address: addr}}
	prefix := appendText(nil, kindInbox, addr)
	err := scan(s.db, prefix, end(prefix), func(key, value []byte) error {
		switch len(key) - len(prefix) {
		case 0:
			var r profileRecord
			err := decode(value, &r)
			st.Profile = r.profile(addr)
			return err
		case 8:
			var r messageRecord
			err := decode(value, &r)
			m := r.message(int64(binary.BigEndian.Uint64(key[len(prefix):])))
			if m.From.Email == addr {
				m.From.Email = addr // one string for all that it sent
			}
			st.Messages = append(st.Messages, m)
			st.Bytes += m.Size
			return err
		}
		return fmt.Errorf("unknown row %x", key)
	})
	if err == nil && len(st.Messages) > 0 && st.Account == (inbox.Profile{}).Account {
		err = fmt.Errorf("messages without a header")
	}
	if err != nil {
		return nil, fmt.Errorf("persist: loading %s: %w", addr, err)
	}
	return st, nil
}

// CommitInbox writes the rows as one atomic batch and returns once it is on disk. Errors
// are faults: StorageFull when rows would add bytes to a nearly full disk, Unavailable
// otherwise; after either nothing was changed.
func (s *Store) CommitInbox(r *inbox.Rows) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if n := inboxBytes(r); n > 0 {
		if err := s.folder.Space.Admit(n); err != nil {
			return err
		}
	}
	w := s.newWriter()
	defer w.release()
	gone := dropped(r)
	s.putInbox(w, r, gone)
	if len(gone) > 0 {
		w.note(s.dropMessages(w, r.Address, gone))
	}
	w.moveDue(r)
	w.moveQueued(r)
	w.putSignatures(r)
	w.dropSignatures(r)
	w.outbox(r.Public)
	if len(r.Once.Put)+len(r.Once.Drop) > 0 {
		w.once(inboxOnce(r.Address), &r.Once)
	}
	return s.commit(partition.Of(r.Address), w)
}

// inboxBytes is what rows add to the disk, 0 when they remove, or tell the outcome of an
// attempt, which must not be lost: then they pass a closed gate.
func inboxBytes(r *inbox.Rows) int64 {
	if len(r.Store) == 0 && (len(r.Drop) > 0 || len(r.Queue) > 0 || r.Profile != nil && !r.Profile.DeletedAt.IsZero()) {
		return 0
	}
	n := int64(512*(1+len(r.Put)+len(r.Public))) + onceBytes(&r.Once)
	for i := range r.Store {
		n += 2 * int64(len(r.Store[i].Raw)) // the bytes, and about as much of content
	}
	return n
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
	slices.Sort(ids)
	return slices.Compact(ids)
}

// putInbox writes header, messages and bulk. A message that the same rows drop again is
// not written at all.
func (s *Store) putInbox(w *writer, r *inbox.Rows, gone []int64) {
	if r.Profile != nil {
		w.rec.profile.from(r.Profile)
		w.key = appendText(w.key[:0], kindInbox, r.Address)
		w.put(w.key, &w.rec.profile)
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
			w.note(s.putBulk(w, r.Address, &r.Store[i]))
		}
	}
}

// putBulk writes content and bytes of one message, each as a row or, when large, as a blob
// file that is on disk before the batch that names it.
func (s *Store) putBulk(w *writer, addr string, m *inbox.Stored) error {
	if m.Content != nil {
		w.rec.content.from(m.Content, m.Unread, &w.rec.auth)
		w.value.Reset()
		if err := encode(&w.value, &w.rec.content); err != nil {
			return err
		}
		if w.value.Len() > blobOver {
			if err := s.putBlob(w, addr, m.ID, blobContent, w.value.Bytes()); err != nil {
				return err
			}
		} else {
			w.key = appendMessage(w.key[:0], kindContent, addr, m.ID)
			w.set(w.key, w.value.Bytes())
		}
	}
	if len(m.Raw) > blobOver {
		return s.putBlob(w, addr, m.ID, blobRaw, m.Raw)
	}
	w.key = appendMessage(w.key[:0], kindRaw, addr, m.ID)
	w.setSealed(w.key, m.Raw)
	return nil
}

func (s *Store) putBlob(w *writer, addr string, id int64, what byte, data []byte) error {
	rec, err := s.writeBlob(data)
	if err != nil {
		return err
	}
	w.made = append(w.made, rec.Name)
	w.key = append(appendMessage(w.key[:0], kindBlob, addr, id), what)
	w.put(w.key, &rec)
	return nil
}

// dropMessages removes everything of the messages, ascending by id: runs of consecutive
// ids by range, others one by one. Nothing of an id between two others is touched.
func (s *Store) dropMessages(w *writer, addr string, ids []int64) error {
	for len(ids) > 0 {
		run := 1
		for run < len(ids) && ids[run] == ids[run-1]+1 {
			run++
		}
		for _, k := range [...]kind{kindInbox, kindContent, kindRaw} {
			w.dropRun(k, addr, ids[:run])
		}
		if err := s.dropBlobs(w, addr, ids[:run]); err != nil {
			return err
		}
		ids = ids[run:]
	}
	return nil
}

func (w *writer) dropRun(k kind, addr string, run []int64) {
	if len(run) >= rangeOver {
		w.deleteRange(appendMessage(nil, k, addr, run[0]), appendMessage(nil, k, addr, run[len(run)-1]+1))
		return
	}
	for _, id := range run {
		w.key = appendMessage(w.key[:0], k, addr, id)
		w.delete(w.key)
	}
}

// Content returns what is read of a message, nil when it is not there.
func (s *Store) Content(addr string, id int64) (*inbox.Content, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var r contentRecord
	found, err := s.get(appendMessage(nil, kindContent, addr, id), &r)
	if err != nil {
		return nil, fmt.Errorf("persist: content %d of %s: %w", id, addr, err)
	}
	if found {
		return r.content(), nil
	}
	data, err := s.readBlob(append(appendMessage(nil, kindBlob, addr, id), blobContent))
	if data == nil || err != nil {
		return nil, err
	}
	if err := decode(data, &r); err != nil {
		return nil, fmt.Errorf("persist: content %d of %s: %w", id, addr, err)
	}
	return r.content(), nil
}

// Raw returns a message as received, nil when it is not there. The slice is the caller's.
func (s *Store) Raw(addr string, id int64) ([]byte, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	raw, err := s.sealed(appendMessage(nil, kindRaw, addr, id), addr, id)
	if raw != nil || err != nil {
		return raw, err
	}
	return s.readBlob(append(appendMessage(nil, kindBlob, addr, id), blobRaw))
}

// sealed reads bytes that setSealed wrote, nil when there are none.
func (s *Store) sealed(key []byte, addr string, id int64) ([]byte, error) {
	value, done, err := s.lookup(key)
	if err != nil {
		return nil, fmt.Errorf("persist: bytes %d of %s: %w", id, addr, err)
	}
	if value == nil {
		return nil, nil
	}
	defer done()
	if err := checkVersion(value); err != nil {
		return nil, fmt.Errorf("persist: bytes %d of %s: %w", id, addr, err)
	}
	if len(value) < sealedHead || xxh3.Hash(value[sealedHead:]) != binary.BigEndian.Uint64(value[1:]) {
		return nil, fmt.Errorf("persist: bytes %d of %s are damaged", id, addr)
	}
	return append([]byte{}, value[sealedHead:]...), nil
}

// Live reports whether a live inbox has this address: one point look-up.
func (s *Store) Live(addr string) (bool, error) {
	_, live, err := s.header(addr)
	return live, err
}

// AccountOf finds the account whose live inbox has this address, the zero ID when there is
// none: one point look-up.
func (s *Store) AccountOf(addr string) (account.ID, error) {
	p, live, err := s.header(addr)
	if !live {
		return account.ID{}, err
	}
	return p.Account, nil
}

func (s *Store) header(addr string) (p inbox.Profile, live bool, err error) {
	if err := s.enter(); err != nil {
		return p, false, err
	}
	defer s.leave()
	var r profileRecord
	found, err := s.get(appendText(nil, kindInbox, addr), &r)
	if err != nil || !found {
		return p, false, err
	}
	p = r.profile(addr)
	return p, p.Live(), nil
}
