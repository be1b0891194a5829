// Package changefeed is how readers follow the change journals: what a page of one holds, and how
// a reader at its end is woken by the event it waits for, and by no other. It refuses to
// know where journals are kept and how their events travel on.
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

// Page is what one read of a journal found.
type Page struct {
	Entries []Entry
	// Last is where the next read goes on: every entry up to it was looked at.
	Last uint64
	// More says that the read ended at a bound and not at the journal's end.
	More bool
	// Gap says that entries right after the asked position are no longer kept.
	Gap bool
	// Size is what the rows of Entries take, in octets.
	Size int
	// Need is the size of the row that the read ended at because it was too large; 0: it was not.
	Need int
}

// Limit bounds a read of a journal.
type Limit struct{ Entries, Bytes int }

// Entries is a limit of so many entries of any size.
func Entries(n int) Limit { return Limit{n, math.MaxInt} }

// Add appends what was read behind p.
func (p *Page) Add(rest Page) {
	rest.Entries = append(p.Entries, rest.Entries...)
	rest.Gap, rest.Size = rest.Gap || p.Gap, rest.Size+p.Size
	*p = rest
}

// Readers wakes the readers of all journals. The zero value is ready.
type Readers struct {
	mu       sync.Mutex // guards all that hangs below, the readers too
	accounts map[account.ID]*audience
}

// audience is who reads one account's journal. The lock of Readers guards all of it.
type audience struct {
	last    uint64 // newest entry announced since there is an audience; 0: none
	whole   map[*Reader]struct{}
	byInbox map[string]map[*Reader]struct{}
}

// Reader follows one journal, or the events of one inbox in it. Who listens calls Next before
// each read of the journal, and waits for the signal when the read found nothing; so no
// event can fall between reading and waiting. Close it. The lock of Readers guards it.
type Reader struct {
	all     *Readers
	account account.ID
	inbox   string
	signal  *Signal // nil when nobody waits
}

// Signal is one wait.
type Signal struct {
	C     chan struct{} // closed when there is an event for the reader
	first uint64        // its number; written before C is closed
}

// Listen adds a reader of the account's journal; of one inbox unless address is empty.
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

// Close ends the reader.
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

// Passed returns the position up to which the reader, which has read to the journal's end
// after it took s, has missed nothing: what others' events do not make it look at again.
// It may be behind where the reader is.
func (r *Reader) Passed(s *Signal) uint64 {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if s.first > 0 {
		return s.first - 1
	}
	return r.all.accounts[r.account].last
}

// Listened reports whether somebody reads the account's journal.
func (all *Readers) Listened(id account.ID) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.accounts[id] != nil
}

// Announce wakes whom the events concern. They are in the journal, numbered from, from+1 and
// so on; one account's events are announced in order.
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

// Wake has the readers of some accounts' journals look again although there is no event.
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
