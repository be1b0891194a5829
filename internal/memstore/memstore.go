// Package memstore keeps rows in memory exactly as the disk store keeps them on disk:
// for tests of everything above the store. It knows rows and no disk; it copies what it
// is given and what it gives, so that state shared by mistake shows up as a difference.
package memstore

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/follow"
	"inboxd/internal/inbox"
	"inboxd/internal/once"
	"inboxd/internal/partition"
	"inboxd/internal/webhook"
)

// Store is the rows of one node. The zero value is empty and ready.
type Store struct {
	mu       sync.Mutex
	inboxes  map[string]*inboxRows
	accounts map[account.ID]*accountRows
	owners   map[string]account.ID // of e-mail addresses, and of subdomains
	outbox   []inbox.Public
	onceRows map[onceName]once.Record
	journals map[account.ID][]inbox.Public
	waiting  map[queueKey]inbox.Queued
	barred   map[account.ID]map[string]account.Suppression
	domains  map[string]*domainRows
	listed   map[account.ID][]string // domains, in order

	deliveries map[account.ID]map[int64]webhook.Delivery
	dues       map[dueName]webhook.Due
	lasts      map[account.ID]map[int64]webhook.Attempt

	// Before runs before each commit, outside the lock: it may block, panic or fail it.
	Before func(rows any) error
	// IsFull is what Full answers; a commit that adds mail is refused while it is set.
	IsFull bool
	// Commits counts what was committed.
	Commits int
	// AccountLookups counts the calls of AccountOf.
	AccountLookups int
	// Seen is what LastSeen answers.
	Seen time.Time
}

type inboxRows struct {
	profile  inbox.Profile
	messages map[int64]inbox.Message
	stored   map[int64]inbox.Stored
	signed   map[int64][]byte
}

type accountRows struct {
	profile  account.Profile
	keys     map[int64]account.Key
	sessions map[account.Hash]account.Session
	resets   map[account.Hash]time.Time
	reserved map[string]account.Reservation
	sends    account.Sends
	live     []account.InboxEntry
	webhooks map[int64]account.Webhook
}

func (s *Store) before(rows any) error {
	if s.Before != nil {
		return s.Before(rows)
	}
	return nil
}

// CommitInbox writes rows.
func (s *Store) CommitInbox(r *inbox.Rows) error {
	if err := s.before(r); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.IsFull && len(r.Store) > 0 {
		return fault.New(fault.StorageFull, "The disk is full, try again later")
	}
	s.Commits++
	rows := s.inboxes[r.Address]
	if rows == nil {
		rows = &inboxRows{messages: map[int64]inbox.Message{}, stored: map[int64]inbox.Stored{}, signed: map[int64][]byte{}}
		put(&s.inboxes, r.Address, rows)
	}
	if r.Profile != nil {
		rows.profile = *r.Profile
	}
	for _, m := range r.Put {
		rows.messages[m.ID] = *m
	}
	for _, st := range r.Store {
		st.Raw, st.Content = bytes.Clone(st.Raw), st.Kept()
		rows.stored[st.ID] = st
	}
	for _, m := range r.Drop {
		delete(rows.messages, m.ID)
		delete(rows.stored, m.ID)
		delete(rows.signed, m.ID)
	}
	s.queue(rows, r)
	s.outbox = append(s.outbox, r.Public...)
	s.putOnce(r.Address, &r.Once)
	return nil
}

// LoadInbox rebuilds the state of an address from its rows.
func (s *Store) LoadInbox(address string) (*inbox.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := &inbox.State{Profile: inbox.Profile{Address: address}}
	rows := s.inboxes[address]
	if rows == nil {
		return state, nil
	}
	state.Profile = rows.profile
	for _, id := range slices.Sorted(maps.Keys(rows.messages)) {
		m := rows.messages[id]
		state.Messages = append(state.Messages, &m)
		state.Bytes += m.Size
	}
	return state, nil
}

// Live reports whether an inbox lives at address.
func (s *Store) Live(address string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.inboxes[address]
	return rows != nil && rows.profile.Live(), nil
}

// AccountOf finds whose inbox lives at address, the zero ID when nobody's does.
func (s *Store) AccountOf(address string) (account.ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.AccountLookups++
	if rows := s.inboxes[address]; rows != nil && rows.profile.Live() {
		return rows.profile.Account, nil
	}
	return account.ID{}, nil
}

// Content returns the document of a message, nil when it is not there.
func (s *Store) Content(address string, id int64) (*inbox.Content, error) {
	return s.storedAt(address, id).Content, nil
}

// Raw returns a message as received, nil when it is not there.
func (s *Store) Raw(address string, id int64) ([]byte, error) {
	return s.storedAt(address, id).Raw, nil
}

func (s *Store) storedAt(address string, id int64) inbox.Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.inboxes[address]
	if rows == nil {
		return inbox.Stored{}
	}
	return rows.stored[id]
}

// CommitAccount writes rows, puts before drops but for keys.
func (s *Store) CommitAccount(r *account.Rows) error {
	if err := s.before(r); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Commits++
	if r.Erase {
		delete(s.accounts, r.ID)
		delete(s.deliveries, r.ID)
		delete(s.lasts, r.ID)
		return nil
	}
	rows := s.accounts[r.ID]
	if rows == nil {
		rows = &accountRows{
			keys: map[int64]account.Key{}, sessions: map[account.Hash]account.Session{},
			resets: map[account.Hash]time.Time{}, reserved: map[string]account.Reservation{},
			webhooks: map[int64]account.Webhook{},
		}
		put(&s.accounts, r.ID, rows)
	}
	if r.Profile != nil {
		rows.profile = *r.Profile
	}
	for _, k := range r.DropKeys {
		delete(rows.keys, k.ID)
	}
	for _, k := range r.PutKeys {
		rows.keys[k.ID] = *k
	}
	for _, ses := range r.PutSessions {
		rows.sessions[ses.Hash] = *ses
	}
	for _, ses := range r.DropSessions {
		delete(rows.sessions, ses.Hash)
	}
	for _, reset := range r.PutResets {
		rows.resets[reset.Hash] = reset.ExpiresAt
	}
	for _, reset := range r.DropResets {
		delete(rows.resets, reset.Hash)
	}
	if r.Sends != nil {
		rows.sends = *r.Sends
	}
	rows.list(r)
	s.putOnce(string(r.ID[:]), &r.Once)
	for _, w := range r.PutWebhooks {
		rows.webhooks[w.ID] = *w
	}
	for _, w := range r.DropWebhooks {
		delete(rows.webhooks, w)
		delete(s.lasts[r.ID], w)
	}
	return nil
}

func (rows *accountRows) list(r *account.Rows) {
	for _, e := range r.PutInboxes {
		if e.Live {
			delete(rows.reserved, e.Address)
			rows.live = append(rows.live, e)
		} else {
			rows.reserved[e.Address] = e.Reservation
		}
	}
	for _, e := range r.DropInboxes {
		if e.Live {
			rows.live = slices.DeleteFunc(rows.live, func(l account.InboxEntry) bool { return l == e })
		} else {
			delete(rows.reserved, e.Address)
		}
	}
	slices.SortFunc(rows.live, newestFirst)
}

func newestFirst(a, b account.InboxEntry) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.Address, a.Address))
}

// LoadAccount rebuilds the state of an account from its rows.
func (s *Store) LoadAccount(id account.ID) (*account.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := account.NewState()
	rows := s.accounts[id]
	if rows == nil {
		return state, nil
	}
	state.Profile = rows.profile
	for h, ses := range rows.sessions {
		state.Sessions[h] = &ses
	}
	maps.Copy(state.Reserved, rows.reserved)
	maps.Copy(state.Resets, rows.resets)
	state.Sends = rows.sends
	for n, w := range rows.webhooks {
		state.Webhooks[n] = &w
	}
	return state, nil
}

// Credential finds the account of a token's hash, and which of its keys it is.
func (s *Store) Credential(home partition.ID, h account.Hash) (account.ID, int64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, rows := range s.accounts {
		if id.Partition() != home {
			continue
		}
		_, session := rows.sessions[h]
		if _, reset := rows.resets[h]; session || reset {
			return id, 0, true, nil
		}
		for _, k := range rows.keys {
			if k.Hash == h {
				return id, k.ID, true, nil
			}
		}
	}
	return account.ID{}, 0, false, nil
}

// Inboxes returns live entries, newest first, after the given one.
func (s *Store) Inboxes(id account.ID, after account.InboxEntry, limit int) ([]account.InboxEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []account.InboxEntry
	if rows := s.accounts[id]; rows != nil {
		for _, e := range rows.live {
			if len(out) < limit && (after.Address == "" || newestFirst(after, e) < 0) {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// Listed reports whether the account's list shows the entry.
func (s *Store) Listed(id account.ID, e account.InboxEntry) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.accounts[id]
	return rows != nil && slices.Contains(rows.live, e), nil
}

// AccountByEmail finds the account of a sign-in address.
func (s *Store) AccountByEmail(email string) (account.ID, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.owners[email]
	return id, ok, nil
}

// PutEmail points a sign-in address at an account.
func (s *Store) PutEmail(email string, id account.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	put(&s.owners, email, id)
	return nil
}

// SubdomainOwner finds the account of a subdomain.
func (s *Store) SubdomainOwner(label string) (account.ID, bool, error) {
	return s.AccountByEmail(label) // a label has no @: the names never meet
}

// PutSubdomain points a subdomain at an account.
func (s *Store) PutSubdomain(label string, id account.ID) error { return s.PutEmail(label, id) }

// Accounts returns profiles after an id.
func (s *Store) Accounts(after account.ID, limit int) ([]account.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []account.Profile
	for id, rows := range s.accounts {
		if slices.Compare(id[:], after[:]) > 0 {
			out = append(out, rows.profile)
		}
	}
	slices.SortFunc(out, func(a, b account.Profile) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return out[:min(limit, len(out))], nil
}

// DueInboxes returns the addresses whose retention is due, in time order.
func (s *Store) DueInboxes(until time.Time, limit int) (due []string, next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []inbox.Profile
	for _, rows := range s.inboxes {
		if !rows.profile.DueAt.IsZero() {
			all = append(all, rows.profile)
		}
	}
	slices.SortFunc(all, func(a, b inbox.Profile) int { return a.DueAt.Compare(b.DueAt) })
	for _, p := range all {
		if p.DueAt.After(until) || len(due) == limit {
			return due, p.DueAt, nil
		}
		due = append(due, p.Address)
	}
	return due, time.Time{}, nil
}

// LastSeen answers Seen.
func (s *Store) LastSeen() time.Time { return s.Seen }

// Outbox returns what was not taken over.
func (s *Store) Outbox(limit int) ([]inbox.Public, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.outbox[:min(limit, len(s.outbox))]), nil
}

// DropOutbox removes rows of the outbox.
func (s *Store) DropOutbox(events []inbox.Public) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	type name struct {
		address string
		number  uint64
	}
	gone := map[name]bool{}
	for _, e := range events {
		gone[name{e.Address, e.Number}] = true
	}
	s.outbox = slices.DeleteFunc(s.outbox, func(e inbox.Public) bool { return gone[name{e.Address, e.Number}] })
	return nil
}

// JournalEnd returns the account's last entry number.
func (s *Store) JournalEnd(id account.ID) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint64(len(s.journals[id])), nil
}

// AppendJournal writes events from number from on, and deliveries of them.
func (s *Store) AppendJournal(id account.ID, from uint64, events []inbox.Public, deliveries []webhook.Delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range deliveries {
		s.putDelivery(d)
	}
	put(&s.journals, id, append(s.journals[id][:from-1:from-1], events...))
	return nil
}

// RecentJournal returns the newest limit events.
func (s *Store) RecentJournal(id account.ID, limit int) ([]inbox.Public, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.journals[id]
	return slices.Clone(j[max(0, len(j)-limit):]), nil
}

// JournalPage reads entries above after.
func (s *Store) JournalPage(id account.ID, after uint64, address string, since time.Time, limit int) (follow.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page := follow.Page{Last: after}
	for i := after; i < uint64(len(s.journals[id])); i++ {
		if page.More = len(page.Entries) == limit; page.More {
			break
		}
		e := s.journals[id][i]
		page.Last = i + 1
		if old := e.At.Before(since); old || address != "" && e.Address != address {
			page.Gap = page.Gap || old
			continue
		}
		page.Entries = append(page.Entries, follow.Entry{Seq: page.Last, Public: e})
	}
	return page, nil
}

// SyncJournal has nothing to wait for.
func (s *Store) SyncJournal() error { return nil }

// TrimJournal keeps everything: memory is short-lived here.
func (s *Store) TrimJournal(account.ID, time.Time) error { return nil }

// Full answers IsFull.
func (s *Store) Full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.IsFull
}

// SetFull sets IsFull while commits run.
func (s *Store) SetFull(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.IsFull = full
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
