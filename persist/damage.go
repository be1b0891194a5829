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

// damagedMessages keeps which messages were found damaged, so that each is told once and
// counted, however often somebody asks for it. mu guards all.
type damagedMessages struct {
	mu    sync.Mutex
	known map[messageName]struct{}
}

type messageName struct {
	address string
	id      int64
}

// note reports whether nobody noted it before.
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

// named tells an error about a file of the engine in one line with that file's name, which Pebble
// carries beside it in an error without words.
func named(err error) error {
	if d := (disk.DamagedFile{}); errors.As(err, &d) {
		return d // without the engine's words
	}
	info := pebble.ExtractDataCorruptionInfo(err)
	if info == nil {
		return err
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("the file %s is damaged: %s", info.Path, text)
}

// lost is an error of reading for whoever asked: where the engine, or what lies beneath it, found a
// file damaged, trying again is of no use.
func lost(err error) error {
	if err == nil || !pebble.IsCorruptionError(err) && !errors.Is(err, disk.ErrDamaged) {
		return err
	}
	return fault.Wrap(fault.Damaged, "A part of this is damaged on the disk of this service and cannot be read", named(err))
}

// damages reports whether an error of reading says that what was stored is not there any more. A
// shutdown and a want of descriptors or memory pass.
func damages(err error) bool {
	passes := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
	return fault.Is(err, fault.Damaged) || fault.Is(err, fault.Internal) && !passes
}

// damaged is the error for whoever wanted to read of a message what err says can't be read.
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

// wholeInbox stands for an id where the inbox's own row is damaged.
const wholeInbox = 0

// spare reads into r what stands in for a profile that can't be read: as it was last set, with counters
// above all that may have been given since, and due at once. Without it there is no inbox, and lost says so.
func (t *inboxTable) spare(addr string, r *profileRecord, lost error) (found bool, err error) {
	if found, err = t.get(appendText(nil, kindSpare, addr), r); !found || err != nil {
		return false, lost
	}
	above := disk.AboveAll(t.now())
	r.LastID, r.LastEvent, r.DueAt = above, uint64(above), stampOf(t.now())
	r.HasCalendar = true // it is looked for
	return true, nil
}

// salvage reads an inbox row by row, where a scan of its rows hit damage: what can't be read is
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

// salvaged is a message whose row may be read. One of which only a gap tells must have left a
// trace elsewhere: most ids of a gap may have been given to mail that is gone.
type salvaged struct {
	id  int64
	gap bool
}

// salvageMessage adds a message to st, or its mark.
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

// trace reports whether there is a row under key, readable or not.
func (e *engine) trace(key []byte) bool {
	found, err := e.hasInside(key)
	return found || err != nil
}

// salvageable are the ids of an inbox's messages, ascending, and maybe some of others.
func (t *inboxTable) salvageable(p *inbox.Profile) (found []salvaged, err error) {
	ids, unknown := t.kept(p.Address)
	if unknown == nil {
		for _, id := range ids {
			found = append(found, salvaged{id: id})
		}
		return found, nil
	}
	if _, err := t.hasInside(appendText(nil, kindInbox, p.Address)); err != nil {
		return nil, unknown // nor is it known how many there were
	}
	return t.aroundGaps(p.Address, p.LastID)
}

// kept are the ids of which there are bytes or content: each message has both.
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

// idsUnder appends the ids in the keys of a kind, whether what they lead to can be read or not.
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

// keysOf goes over the keys with a prefix.
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

// mostGap is how many ids of a gap are looked at: those that may be missing lie close together.
const mostGap = 1 << 16

// aroundGaps reads the ids of an inbox's messages around damaged blocks, and adds the ids that may
// have been in those, all ascending.
func (t *inboxTable) aroundGaps(addr string, last int64) (found []salvaged, err error) {
	it, err := t.keysOf(appendText(nil, kindInbox, addr))
	if err != nil {
		return nil, err
	}
	defer func() { _ = it.Close() }() // errors are what it is here for
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

// dateDamaged gives damaged messages times: they came no later than the next one, or than now.
// So they expire, a little late.
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

// pastIterator goes over rows of many entities and past those in damaged blocks: what can be read
// does not wait for what can't. Its scan's goroutine owns it.
type pastIterator struct {
	*pebble.Iterator
	log  *disk.Logger
	from []byte      // where the last row stood, or the scan begins
	head int         // how many octets its keys have in common
	lost func(error) // hears of damage instead of the log; nil: the log does
}

// First and Next shadow those of the engine.

func (p *pastIterator) First() bool { return p.past(p.Iterator.First()) }
func (p *pastIterator) Next() bool  { return p.past(p.Iterator.Next()) }

// past goes on behind damage.
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

// skip goes to the first row that can be read behind the damage: by eight octets of the key, and then by the eight
// behind those, which rows on both sides of the damage's end may share, to the octet where it ends.
func (p *pastIterator) skip() (valid bool) {
	head, rest := slices.Clone(p.from[:p.head]), slices.Clone(p.from[p.head:])
	var best []byte
	for len(head) < mostOfKey {
		at := binary.BigEndian.Uint64(append(rest[:len(rest):len(rest)], 0, 0, 0, 0, 0, 0, 0, 0))
		n, found := p.least(head, at)
		if !found {
			break // all that begins with head is damaged
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

// mostOfKey is more than any key has octets.
const mostOfKey = 512

// least is the least number above at that, behind head, begins no damage: by steps that double, then by halves.
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
