// Package changefeed lets readers follow the change journals. It defines what a page of a journal
// holds. It wakes a reader at the end of its journal when an event for that reader arrives, and
// only then. It does not know where journals are stored or how their events are sent on.
package changefeed

import (
	"math"
	"sync"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// Entry is one event in its account's journal. Seq is dense and starts at 1.
type Entry struct {
	Seq uint64
	inbox.Public
}

// Page is the result of one read of a journal.
type Page struct {
	Entries []Entry
	// Last is the position from which the next read continues: every entry up to it was examined.
	Last uint64
	// More means that the read ended at a limit and not at the end of the journal.
	More bool
	// Gap means that entries right after the requested position were already deleted.
	Gap bool
	// Size is the size of the rows of Entries, in octets.
	Size int
	// Need is the size of a row that was too large, at which the read ended; 0: there was none.
	Need int
}

// Limit bounds a read of a journal.
type Limit struct{ Entries, Bytes int }

// Entries returns a limit of n entries of any size.
func Entries(n int) Limit { return Limit{n, math.MaxInt} }

// Add appends the result of a read that continues p.
func (p *Page) Add(rest Page) {
	rest.Entries = append(p.Entries, rest.Entries...)
	rest.Gap, rest.Size = rest.Gap || p.Gap, rest.Size+p.Size
	*p = rest
}

// Readers wakes the readers of all journals. The zero value is ready.
type Readers struct {
	mu       sync.Mutex // guards everything below, the readers included
	accounts map[account.ID]*audience
}

// audience is the set of readers of one account's journal. The lock of Readers guards it.
type audience struct {
	last    uint64 // newest entry announced since the audience exists; 0: none
	whole   map[*Reader]struct{}
	byInbox map[string]map[*Reader]struct{}
}

// Reader follows one journal, or the events of one inbox in it. A client calls Next before each
// read of the journal. It waits for the signal if the read found nothing. So no event can be lost
// between reading and waiting. Call Close when done. The lock of Readers guards it.
type Reader struct {
	all     *Readers
	account account.ID
	inbox   string
	signal  *Signal // nil when nobody waits
}

// Signal is one wait.
type Signal struct {
	C     chan struct{} // closed when there is an event for the reader
	first uint64        // number of that event; written before C is closed
}

// Listen adds a reader of the account's journal, or of one inbox if address is not empty.
func (all *Readers) Listen(id account.ID, address string) *Reader {
	r := &Reader{all: all, account: id, inbox: address}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.accounts == nil {
		all.accounts = map[account.ID]*audience{}
	}
	a := all.accounts[id]
	if a == nil {
		a = &audience{whole: map[*Reader]struct{}{}, byInbox: map[string]map[*Reader]struct{}{}}
		all.accounts[id] = a
	}
	if address == "" {
		a.whole[r] = struct{}{}
		return r
	}
	if a.byInbox[address] == nil {
		a.byInbox[address] = map[*Reader]struct{}{}
	}
	a.byInbox[address][r] = struct{}{}
	return r
}

// Close removes the reader.
func (r *Reader) Close() {
	all := r.all
	all.mu.Lock()
	defer all.mu.Unlock()
	a := all.accounts[r.account]
	delete(a.whole, r)
	delete(a.byInbox[r.inbox], r)
	if len(a.byInbox[r.inbox]) == 0 {
		delete(a.byInbox, r.inbox)
	}
	if len(a.whole)+len(a.byInbox) == 0 {
		delete(all.accounts, r.account)
	}
}

// Next returns the signal of the first event that is announced from now on.
func (r *Reader) Next() *Signal {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if r.signal == nil {
		r.signal = &Signal{C: make(chan struct{})}
	}
	return r.signal
}

// Passed returns the position up to which the reader has missed nothing. The reader must have read
// to the end of the journal after it took s. Continuing from this position skips the events of
// other inboxes. The position may be behind the reader's own.
func (r *Reader) Passed(s *Signal) uint64 {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if s.first > 0 {
		return s.first - 1
	}
	return r.all.accounts[r.account].last
}

// Listened reports whether the account's journal has a reader.
func (all *Readers) Listened(id account.ID) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.accounts[id] != nil
}

// Announce wakes the readers that the events concern. The events are already in the journal,
// numbered from, from+1 and so on. One account's events are announced in order.
func (all *Readers) Announce(id account.ID, from uint64, events []inbox.Public) {
	all.mu.Lock()
	defer all.mu.Unlock()
	a := all.accounts[id]
	if a == nil {
		return
	}
	a.last = from + uint64(len(events)) - 1
	wake(a.whole, from)
	for i := range events {
		if readers := a.byInbox[events[i].Address]; readers != nil {
			wake(readers, from+uint64(i))
		}
	}
}

// Wake makes the readers of the selected accounts read again without an event.
func (all *Readers) Wake(of func(account.ID) bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for id, a := range all.accounts {
		if !of(id) {
			continue
		}
		wake(a.whole, 0)
		for _, readers := range a.byInbox {
			wake(readers, 0)
		}
	}
}

func wake(readers map[*Reader]struct{}, first uint64) {
	for r := range readers {
		if r.signal != nil {
			r.signal.first = first
			close(r.signal.C)
			r.signal = nil
		}
	}
}
