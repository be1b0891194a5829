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

// JournalEntry is one event in its account's journal. Seq is dense and starts at 1.
type JournalEntry struct {
	Seq uint64
	inbox.PublicEvent
}

// JournalPage is the result of one read of a journal.
type JournalPage struct {
	Entries []JournalEntry
	// LastPosition is the position from which the next read continues: every entry up to it was
	// examined.
	LastPosition uint64
	// HasMore means that the read ended at a limit and not at the end of the journal.
	HasMore bool
	// HasGap means that entries right after the requested position were already deleted.
	HasGap bool
	// RowBytes is the size of the rows of Entries, in octets.
	RowBytes int
	// NeededBytes is the size of a row that was too large, at which the read ended; 0: there was none.
	NeededBytes int
}

// ReadLimit bounds a read of a journal.
type ReadLimit struct{ MaxEntries, MaxBytes int }

// EntryLimit returns a limit of n entries of any size.
func EntryLimit(n int) ReadLimit { return ReadLimit{n, math.MaxInt} }

// AppendPage appends the result of a read that continues p.
func (p *JournalPage) AppendPage(rest JournalPage) {
	rest.Entries = append(p.Entries, rest.Entries...)
	rest.HasGap, rest.RowBytes = rest.HasGap || p.HasGap, rest.RowBytes+p.RowBytes
	*p = rest
}

// ReaderSet wakes the readers of all journals. The zero value is ready.
type ReaderSet struct {
	mu       sync.Mutex // guards everything below, the readers included
	accounts map[account.ID]*accountReaders
}

// accountReaders is the set of readers of one account's journal. The lock of ReaderSet guards it.
type accountReaders struct {
	lastAnnounced uint64 // newest entry announced since the audience exists; 0: none
	wholeAccount  map[*JournalReader]struct{}
	byInbox       map[string]map[*JournalReader]struct{}
}

// JournalReader follows one journal, or the events of one inbox in it. A client calls NextSignal
// before each read of the journal. It waits for the signal if the read found nothing. So no event
// can be lost between reading and waiting. Call Close when done. The lock of ReaderSet guards it.
type JournalReader struct {
	parentSet *ReaderSet
	account   account.ID
	inbox     string
	signal    *WakeSignal // nil when nobody waits
}

// WakeSignal is one wait.
type WakeSignal struct {
	C           chan struct{} // closed when there is an event for the reader
	firstNumber uint64        // number of that event; written before C is closed
}

// AddReader adds a reader of the account's journal, or of one inbox if address is not empty.
func (all *ReaderSet) AddReader(id account.ID, address string) *JournalReader {
	r := &JournalReader{parentSet: all, account: id, inbox: address}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.accounts == nil {
		all.accounts = map[account.ID]*accountReaders{}
	}
	a := all.accounts[id]
	if a == nil {
		a = &accountReaders{wholeAccount: map[*JournalReader]struct{}{}, byInbox: map[string]map[*JournalReader]struct{}{}}
		all.accounts[id] = a
	}
	if address == "" {
		a.wholeAccount[r] = struct{}{}
		return r
	}
	if a.byInbox[address] == nil {
		a.byInbox[address] = map[*JournalReader]struct{}{}
	}
	a.byInbox[address][r] = struct{}{}
	return r
}

// Close removes the reader.
func (r *JournalReader) Close() {
	all := r.parentSet
	all.mu.Lock()
	defer all.mu.Unlock()
	a := all.accounts[r.account]
	delete(a.wholeAccount, r)
	delete(a.byInbox[r.inbox], r)
	if len(a.byInbox[r.inbox]) == 0 {
		delete(a.byInbox, r.inbox)
	}
	if len(a.wholeAccount)+len(a.byInbox) == 0 {
		delete(all.accounts, r.account)
	}
}

// NextSignal returns the signal of the first event that is announced from now on.
func (r *JournalReader) NextSignal() *WakeSignal {
	r.parentSet.mu.Lock()
	defer r.parentSet.mu.Unlock()
	if r.signal == nil {
		r.signal = &WakeSignal{C: make(chan struct{})}
	}
	return r.signal
}

// PassedPosition returns the position up to which the reader has missed nothing. The reader must
// have read to the end of the journal after it took s. Continuing from this position skips the
// events of other inboxes. The position may be behind the reader's own.
func (r *JournalReader) PassedPosition(s *WakeSignal) uint64 {
	r.parentSet.mu.Lock()
	defer r.parentSet.mu.Unlock()
	if s.firstNumber > 0 {
		return s.firstNumber - 1
	}
	return r.parentSet.accounts[r.account].lastAnnounced
}

// HasReader reports whether the account's journal has a reader.
func (all *ReaderSet) HasReader(id account.ID) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.accounts[id] != nil
}

// AnnounceEvents wakes the readers that the events concern. The events are already in the journal,
// numbered from, from+1 and so on. One account's events are announced in order.
func (all *ReaderSet) AnnounceEvents(id account.ID, from uint64, events []inbox.PublicEvent) {
	all.mu.Lock()
	defer all.mu.Unlock()
	a := all.accounts[id]
	if a == nil {
		return
	}
	a.lastAnnounced = from + uint64(len(events)) - 1
	wakeReaders(a.wholeAccount, from)
	for i := range events {
		if readers := a.byInbox[events[i].Address]; readers != nil {
			wakeReaders(readers, from+uint64(i))
		}
	}
}

// WakeAccounts makes the readers of the selected accounts read again without an event.
func (all *ReaderSet) WakeAccounts(of func(account.ID) bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for id, a := range all.accounts {
		if !of(id) {
			continue
		}
		wakeReaders(a.wholeAccount, 0)
		for _, readers := range a.byInbox {
			wakeReaders(readers, 0)
		}
	}
}

func wakeReaders(readers map[*JournalReader]struct{}, first uint64) {
	for r := range readers {
		if r.signal != nil {
			r.signal.firstNumber = first
			close(r.signal.C)
			r.signal = nil
		}
	}
}
