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
	mu           sync.Mutex
	knownDamaged map[messageName]struct{}
}

type messageName struct {
	inboxAddress string
	id           int64
}

// noteDamaged reports whether name is new.
func (d *damagedMessages) noteDamaged(name messageName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.knownDamaged == nil {
		d.knownDamaged = map[messageName]struct{}{}
	}
	before := len(d.knownDamaged)
	d.knownDamaged[name] = struct{}{}
	return len(d.knownDamaged) > before
}

func (d *damagedMessages) countDamaged() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.knownDamaged)
}

// namedError formats an error about a file of the engine as one line with the file's name. Pebble
// attaches that name without printing it.
func namedError(err error) error {
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

// lostError converts a read error. If the engine or the file system below it found a damaged file, a
// retry is pointless.
func lostError(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) && !errors.Is(err, disk.ErrDamaged) {
		return err
	}
	return fault.Wrap(fault.DataDamaged, "A part of this is damaged on the disk of this service and cannot be read", namedError(err))
}

// isDamage reports whether a read error means that stored data are lost. A shutdown and a lack of
// descriptors or memory are temporary.
func isDamage(err error) bool {
	passes := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
	return fault.Is(err, fault.DataDamaged) || fault.Is(err, fault.Internal) && !passes
}

// damagedError returns the error for a reader of a message, given why it cannot be read.
func (e *storageEngine) damagedError(addr string, id int64, err error) error {
	if !isDamage(err) {
		return err
	}
	first := e.damageLog.noteDamaged(messageName{addr, id})
	if id == wholeInbox {
		if first {
			e.folder.Log.Error("storage: inbox damaged", "inbox", addr, "err", err)
		}
		return fault.Wrap(fault.DataDamaged, "This inbox is damaged on the disk of this service and cannot be read", err)
	}
	if first {
		e.folder.Log.Error("storage: message damaged", "inbox", addr, "message_id", id, "err", err)
	}
	return inbox.DamagedMessage(id, addr, err)
}

// wholeInbox is used as an id if the inbox's own row is damaged.
const wholeInbox = 0

// readSpare reads the spare copy of an unreadable profile into r, as it was last set. It sets the
// counters above all values that may have been used since, and makes the profile due now. Without a
// spare copy it returns lost.
func (t *inboxTable) readSpare(addr string, r *profileRecord, lost error) (found bool, err error) {
	if found, err = t.getRecord(appendText(nil, kindSpare, addr), r); !found || err != nil {
		return false, lost
	}
	above := disk.AboveAll(t.now())
	r.LastID, r.LastEvent, r.DueAt = above, uint64(above), stampOf(t.now())
	r.HasCalendar = true // so that the calendar is searched for
	return true, nil
}

// salvageInbox reads an inbox row by row after a scan of its rows hit damage. Unreadable messages are
// marked as damaged.
func (t *inboxTable) salvageInbox(addr string) (*inbox.State, error) {
	profile, err := t.readProfile(addr)
	if err != nil {
		return nil, err
	}
	st := &inbox.State{Profile: profile}
	err = t.runCall(func() error {
		found, err := t.salvageableIDs(&profile)
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

// salvagedMessage is a message whose row may be readable. If its id only lies in a gap, it counts only
// with a trace in another row: most ids of a gap may belong to deleted messages.
type salvagedMessage struct {
	id    int64
	isGap bool
}

// salvageMessage adds a message to st, or its damaged mark.
func (t *inboxTable) salvageMessage(st *inbox.State, s salvagedMessage) error {
	addr, id := st.Address, s.id
	_, err := t.readInside(appendMessage(nil, kindInbox, addr, id), func(value []byte) error { return addMessage(st, id, value) })
	if !isDamage(err) {
		return err
	}
	if s.isGap && !t.hasTrace(appendMessage(nil, kindContent, addr, id)) && !t.hasTrace(blobKey(nil, addr, id, blobContent)) {
		return nil
	}
	_ = t.damagedError(addr, id, err)
	st.AddMessage(&inbox.Message{ID: id, IsDamaged: true})
	return nil
}

// hasTrace reports whether a row exists under key, readable or not.
func (e *storageEngine) hasTrace(key []byte) bool {
	found, err := e.hasInside(key)
	return found || err != nil
}

// salvageableIDs returns the ids of an inbox's messages, ascending, and possibly some others.
func (t *inboxTable) salvageableIDs(p *inbox.Profile) (found []salvagedMessage, err error) {
	ids, unknown := t.storedIDs(p.Address)
	if unknown == nil {
		for _, id := range ids {
			found = append(found, salvagedMessage{id: id})
		}
		return found, nil
	}
	if _, err := t.hasInside(appendText(nil, kindInbox, p.Address)); err != nil {
		return nil, unknown // then it is also unknown how many there were
	}
	return t.aroundGaps(p.Address, p.LastID)
}

// storedIDs returns the ids that have bytes or content: each message has both.
func (t *inboxTable) storedIDs(addr string) ([]int64, error) {
	ids, err := t.idsUnder(nil, kindRaw, addr)
	if isDamage(err) {
		ids, err = t.idsUnder(nil, kindContent, addr)
	}
	if err == nil {
		ids, err = t.idsUnder(ids, kindBlob, addr)
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// idsUnder appends the ids in the keys of a kind, even if their values are unreadable.
func (t *inboxTable) idsUnder(ids []int64, k rowKind, addr string) ([]int64, error) {
	prefix := appendText(nil, k, addr)
	it, err := t.keysOf(prefix)
	if err != nil {
		return nil, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		ids = append(ids, readNumber(it.Key()[:len(prefix)+8]))
	}
	return ids, lostError(it.Close())
}

// keysOf iterates over the keys with a prefix.
func (t *inboxTable) keysOf(prefix []byte) (*pebble.Iterator, error) {
	if err := t.checkOwned(prefix); err != nil {
		return nil, err
	}
	keys := prefixRange(prefix)
	it, err := t.db.NewIter(&pebble.IterOptions{LowerBound: keys.from, UpperBound: keys.to})
	if err != nil {
		return nil, namedError(err)
	}
	return it, nil
}

// mostGap is how many ids of a gap are examined: missing ids lie close together.
const mostGap = 1 << 16

// aroundGaps reads the ids of an inbox's messages around damaged blocks, and adds the ids that may
// have been in those blocks. All ids ascend.
func (t *inboxTable) aroundGaps(addr string, last int64) (found []salvagedMessage, err error) {
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
			found = append(found, salvagedMessage{id: next - 1})
		}
		if it.Error() == nil {
			break
		}
		gap := int64(sort.Search(int(last-next+1), func(n int) bool { return seek(next + int64(n)) }))
		if gap > mostGap {
			t.folder.Log.Error("storage: inbox may have more damaged messages than are listed", "inbox", addr, "from", next, "ids", gap-mostGap)
		}
		for id := max(next, next+gap-mostGap); id < next+gap; id++ {
			found = append(found, salvagedMessage{id, true})
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
		if m.IsDamaged {
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
	log          *disk.StoreLogger
	startKey     []byte      // key of the last row, or the start of the scan
	commonPrefix int         // how many octets its keys have in common
	onDamage     func(error) // called with damage; nil: damage is logged
}

// First and Next shadow those of the engine.

func (p *pastIterator) First() bool { return p.skipDamage(p.Iterator.First()) }
func (p *pastIterator) Next() bool  { return p.skipDamage(p.Iterator.Next()) }

// skipDamage continues after damage.
func (p *pastIterator) skipDamage(valid bool) bool {
	if !valid && isDamage(p.Error()) {
		p.reportDamage(p.Error())
		valid = p.skipToReadable()
	}
	if valid {
		p.startKey = append(p.startKey[:0:0], p.Key()...)
	}
	return valid
}

func (p *pastIterator) reportDamage(err error) {
	if p.onDamage != nil {
		p.onDamage(err)
		return
	}
	p.log.LogThrottled(slog.LevelError, "storage: damaged rows of a work queue skipped", "err", namedError(err))
}

// skipToReadable seeks the first readable row after the damage. It searches by eight octets of the
// key. Rows on both sides of the damage's end may share these, so it then searches by the next
// eight. So it finds the end exactly.
func (p *pastIterator) skipToReadable() (valid bool) {
	head, rest := slices.Clone(p.startKey[:p.commonPrefix]), slices.Clone(p.startKey[p.commonPrefix:])
	var best []byte
	for len(head) < mostOfKey {
		at := binary.BigEndian.Uint64(append(rest[:len(rest):len(rest)], 0, 0, 0, 0, 0, 0, 0, 0))
		n, found := p.leastReadable(head, at)
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

// leastReadable returns the smallest number above at from which, after head, no damage begins. It
// doubles its steps and then bisects.
func (p *pastIterator) leastReadable(head []byte, at uint64) (n uint64, found bool) {
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
