package persist

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
	"inboxd/persist/disk"
)

// damagedMessages records which messages were found damaged, so that each is logged and counted
// only once, however often it is read. mu guards all fields.
type damagedMessages struct {
	mu    sync.Mutex
	known map[messageName]struct{}
}

type messageName struct {
	address string
	id      int64
}

// note reports whether name is new.
func (d *damagedMessages) note(name messageName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[messageName]struct{}{}
	}
	before := len(d.known)
	d.known[name] = struct{}{}
	return len(d.known) > before
}

func (d *damagedMessages) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.known)
}

// named formats an error about a file of the engine as one line with the file's name. Pebble
// attaches that name without printing it.
func named(err error) error {
	if d := (disk.DamagedFile{}); errors.As(err, &d) {
		return d // without the engine's text
	}
	info := pebble.ExtractDataCorruptionInfo(err)
	if info == nil {
		return err
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("the file %s is damaged: %s", info.Path, text)
}

// lost converts a read error. If the engine or the file system below it found a damaged file, a
// retry is pointless.
func lost(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) && !errors.Is(err, disk.ErrDamaged) {
		return err
	}
	return fault.Wrap(fault.Damaged, "A part of this is damaged on the disk of this service and cannot be read", named(err))
}

// damages reports whether a read error means that stored data are lost. A shutdown and a lack of
// descriptors or memory are temporary.
func damages(err error) bool {
	passes := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
	return fault.Is(err, fault.Damaged) || fault.Is(err, fault.Internal) && !passes
}

// damaged returns the error for a reader of a message, given why it cannot be read.
func (e *engine) damaged(addr string, id int64, err error) error {
	if !damages(err) {
		return err
	}
	first := e.damage.note(messageName{addr, id})
	if id == wholeInbox {
		if first {
			e.folder.Log.Error("storage: inbox damaged", "inbox", addr, "err", err)
		}
		return fault.Wrap(fault.Damaged, "This inbox is damaged on the disk of this service and cannot be read", err)
	}
	if first {
		e.folder.Log.Error("storage: message damaged", "inbox", addr, "message_id", id, "err", err)
	}
	return inbox.DamagedMessage(id, addr, err)
}

// wholeInbox is used as an id if the inbox's own row is damaged.
const wholeInbox = 0

// spare reads the spare copy of an unreadable profile into r, as it was last set. It sets the
// counters above all values that may have been used since, and makes the profile due now. Without a
// spare copy it returns lost.
func (t *inboxTable) spare(addr string, r *profileRecord, lost error) (found bool, err error) {
	if found, err = t.get(appendText(nil, kindSpare, addr), r); !found || err != nil {
		return false, lost
	}
	above := disk.AboveAll(t.now())
	r.LastID, r.LastEvent, r.DueAt = above, uint64(above), stampOf(t.now())
	r.HasCalendar = true // so that the calendar is searched for
	return true, nil
}

// salvage reads an inbox row by row after a scan of its rows hit damage. Unreadable messages are
// marked as damaged.
func (t *inboxTable) salvage(addr string) (*inbox.State, error) {
	profile, err := t.profile(addr)
	if err != nil {
		return nil, err
	}
	st := &inbox.State{Profile: profile}
	err = t.during(func() error {
		found, err := t.salvageable(&profile)
		for _, s := range found {
			if err == nil {
				err = t.salvageMessage(st, s)
			}
		}
		return err
	})
	t.dateDamaged(st)
	return st, err
}

// salvaged is a message whose row may be readable. If its id only lies in a gap, it counts only
// with a trace in another row: most ids of a gap may belong to deleted messages.
type salvaged struct {
	id  int64
	gap bool
}

// salvageMessage adds a message to st, or its damaged mark.
func (t *inboxTable) salvageMessage(st *inbox.State, s salvaged) error {
	addr, id := st.Address, s.id
	_, err := t.readInside(appendMessage(nil, kindInbox, addr, id), func(value []byte) error { return addMessage(st, id, value) })
	if !damages(err) {
		return err
	}
	if s.gap && !t.trace(appendMessage(nil, kindContent, addr, id)) && !t.trace(blobKey(nil, addr, id, blobContent)) {
		return nil
	}
	_ = t.damaged(addr, id, err)
	st.Add(&inbox.Message{ID: id, Damaged: true})
	return nil
}

// trace reports whether a row exists under key, readable or not.
func (e *engine) trace(key []byte) bool {
	found, err := e.hasInside(key)
	return found || err != nil
}

// salvageable returns the ids of an inbox's messages, ascending, and possibly some others.
func (t *inboxTable) salvageable(p *inbox.Profile) (found []salvaged, err error) {
	ids, unknown := t.kept(p.Address)
	if unknown == nil {
		for _, id := range ids {
			found = append(found, salvaged{id: id})
		}
		return found, nil
	}
	if _, err := t.hasInside(appendText(nil, kindInbox, p.Address)); err != nil {
		return nil, unknown // then it is also unknown how many there were
	}
	return t.aroundGaps(p.Address, p.LastID)
}

// kept returns the ids that have bytes or content: each message has both.
func (t *inboxTable) kept(addr string) ([]int64, error) {
	ids, err := t.idsUnder(nil, kindRaw, addr)
	if damages(err) {
		ids, err = t.idsUnder(nil, kindContent, addr)
	}
	if err == nil {
		ids, err = t.idsUnder(ids, kindBlob, addr)
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// idsUnder appends the ids in the keys of a kind, even if their values are unreadable.
func (t *inboxTable) idsUnder(ids []int64, k kind, addr string) ([]int64, error) {
	prefix := appendText(nil, k, addr)
	it, err := t.keysOf(prefix)
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		ids = append(ids, readNumber(it.Key()[:len(prefix)+8]))
	}
	return ids, lost(it.Close())
}

// keysOf iterates over the keys with a prefix.
func (t *inboxTable) keysOf(prefix []byte) (*pebble.Iterator, error) {
	if err := t.own(prefix); err != nil {
		return nil, err
	}
	keys := under(prefix)
	it, err := t.db.NewIter(&pebble.IterOptions{LowerBound: keys.from, UpperBound: keys.to})
	if err != nil {
		return nil, named(err)
	}
	return it, nil
}

// mostGap is how many ids of a gap are examined: missing ids lie close together.
const mostGap = 1 << 16

// aroundGaps reads the ids of an inbox's messages around damaged blocks, and adds the ids that may
// have been in those blocks. All ids ascend.
func (t *inboxTable) aroundGaps(addr string, last int64) (found []salvaged, err error) {
	it, err := t.keysOf(appendText(nil, kindInbox, addr))
	if err != nil {
		return nil, err
	}
	defer func() { _ = it.Close() }() // its errors are expected here
	seek := func(id int64) (good bool) {
		it.SeekGE(appendMessage(nil, kindInbox, addr, id))
		return it.Error() == nil
	}
	for next := int64(1); next <= last; {
		for good := seek(next); good && it.Valid(); good = it.Next() {
			next = readNumber(it.Key()) + 1
			found = append(found, salvaged{id: next - 1})
		}
		if it.Error() == nil {
			break
		}
		gap := int64(sort.Search(int(last-next+1), func(n int) bool { return seek(next + int64(n)) }))
		if gap > mostGap {
			t.folder.Log.Error("storage: inbox may have more damaged messages than are listed", "inbox", addr, "from", next, "ids", gap-mostGap)
		}
		for id := max(next, next+gap-mostGap); id < next+gap; id++ {
			found = append(found, salvaged{id, true})
		}
		next += gap
	}
	return found, nil
}

// dateDamaged assigns times to damaged messages: each was received no later than the next one, or
// than now. So they expire, possibly a little late.
func (t *inboxTable) dateDamaged(st *inbox.State) {
	by := t.now().UTC().Truncate(time.Millisecond)
	for _, m := range slices.Backward(st.Messages) {
		if m.Damaged {
			m.ReceivedAt = by
			m.ExpiresAt = by.Add(time.Duration(st.RetentionHours) * time.Hour)
		}
		by = m.ReceivedAt
	}
}

// pastIterator iterates over rows of many entities and skips those in damaged blocks, so that
// damage does not block readable rows. Its scan's goroutine owns it.
type pastIterator struct {
	*pebble.Iterator
	log  *disk.Logger
	from []byte      // key of the last row, or the start of the scan
	head int         // how many octets its keys have in common
	lost func(error) // called with damage; nil: damage is logged
}

// First and Next shadow those of the engine.

func (p *pastIterator) First() bool { return p.past(p.Iterator.First()) }
func (p *pastIterator) Next() bool  { return p.past(p.Iterator.Next()) }

// past continues after damage.
func (p *pastIterator) past(valid bool) bool {
	if !valid && damages(p.Error()) {
		p.tell(p.Error())
		valid = p.skip()
	}
	if valid {
		p.from = append(p.from[:0:0], p.Key()...)
	}
	return valid
}

func (p *pastIterator) tell(err error) {
	if p.lost != nil {
		p.lost(err)
		return
	}
	p.log.Seldom(slog.LevelError, "storage: damaged rows of a work queue skipped", "err", named(err))
}

// skip seeks the first readable row after the damage. It searches by eight octets of the key. Rows
// on both sides of the damage's end may share these, so it then searches by the next eight. So it
// finds the end exactly.
func (p *pastIterator) skip() (valid bool) {
	head, rest := slices.Clone(p.from[:p.head]), slices.Clone(p.from[p.head:])
	var best []byte
	for len(head) < mostOfKey {
		at := binary.BigEndian.Uint64(append(rest[:len(rest):len(rest)], 0, 0, 0, 0, 0, 0, 0, 0))
		n, found := p.least(head, at)
		if !found {
			break // all keys that begin with head are damaged
		}
		best = appendNumber(slices.Clone(head), n)
		if head = appendNumber(head, n-1); n-1 == at {
			rest = rest[min(8, len(rest)):]
		} else {
			rest = nil
		}
	}
	return best != nil && p.SeekGE(best)
}

// mostOfKey is longer than any key, in octets.
const mostOfKey = 512

// least returns the smallest number above at from which, after head, no damage begins. It doubles
// its steps and then bisects.
func (p *pastIterator) least(head []byte, at uint64) (n uint64, found bool) {
	whole := func(n uint64) bool {
		p.SeekGE(appendNumber(slices.Clip(head), n))
		return p.Error() == nil
	}
	low, high := at, at+1
	for step := uint64(1); high <= low || !whole(high); step *= 2 {
		if high <= low || high == math.MaxUint64 {
			return 0, false
		}
		low = high
		if high += 2 * step; high < low {
			high = math.MaxUint64
		}
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; whole(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, true
}
