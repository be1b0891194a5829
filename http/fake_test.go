package http

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/internal/mail/sealed"
)

// fakeInboxes keeps inboxes in memory by the real rules of internal/core/inbox.
type fakeInboxes struct {
	now  func() time.Time
	plan account.Plan // of all accounts, for the limits of inboxes

	mu      sync.RWMutex
	states  map[string]*inbox.State
	views   map[string]*inbox.View
	stored  map[string]map[int64]inbox.StoredMessage
	broken  error         // returned by every call if set
	refuses error         // returned only by Do if set
	reads   int           // number of calls of Content
	held    chan struct{} // if set, every read of Content waits until it is closed
	rawRead atomic.Int64  // bytes

	rawReading, rawAtOnce atomic.Int64 // reads in progress, and approximately their maximum

	damaged map[int64]bool // messages whose content cannot be read
	lost    string         // the inbox that cannot be read

	unlisted error // returned by a list of inboxes if set
	pageMost int   // page size of a list of inboxes, if set

	journals fakeJournals
	letters  []inbox.SendRequest
	requests map[idempotency.RequestKey]idempotency.Record
}

func newFakeInboxes(now func() time.Time) *fakeInboxes {
	return &fakeInboxes{now: now, plan: account.DefaultPlans().Of(account.PlanFree), damaged: map[int64]bool{}, requests: map[idempotency.RequestKey]idempotency.Record{}, states: map[string]*inbox.State{}, views: map[string]*inbox.View{}, stored: map[string]map[int64]inbox.StoredMessage{}}
}

func (f *fakeInboxes) ResidentView(address []byte) *inbox.View {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.views[string(address)]
}

func (f *fakeInboxes) View(_ context.Context, address string) (*inbox.View, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if v := f.views[address]; v != nil || f.broken != nil {
		return v, f.broken
	}
	return nil, inbox.NoInbox(address)
}

func (f *fakeInboxes) ViewFor(ctx context.Context, id account.ID, address string) (*inbox.View, error) {
	v, err := f.View(ctx, address)
	if err == nil && v.Account != id {
		return nil, inbox.NoInbox(address)
	}
	return v, err
}

func (f *fakeInboxes) Do(_ context.Context, address string, cmd inbox.Command) (inbox.CommandOutcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return inbox.CommandOutcome{}, f.broken
	}
	if f.refuses != nil {
		return inbox.CommandOutcome{}, f.refuses
	}
	s := f.states[address]
	if s == nil {
		s = &inbox.State{Profile: inbox.Profile{Address: address}}
		f.states[address] = s
	}
	evs, answer, err := inbox.Decide(s, cmd, inbox.Env{Now: f.now(), Capacity: inbox.CapacityOf(f.plan)})
	if err != nil {
		return answer, err
	}
	rows := new(inbox.Rows)
	rows.Begin(s)
	rows.Apply(s, evs)
	switch c := cmd.(type) { // these messages were never parsed, so they cannot be parsed again
	case inbox.Receive:
		if len(rows.StoreMessages) == 1 {
			rows.StoreMessages[0].Content = c.Content
		}
	case inbox.Submit:
		rows.StoreMessages[0].Content = c.Content
	}
	f.keep(address, rows)
	old := f.views[address]
	if delete(f.views, address); s.IsLive() {
		f.views[address] = inbox.NewView(s)
	}
	if old != nil {
		old.SupersedeBy(f.views[address])
	}
	for _, e := range rows.PublicEvents {
		f.journals.append(e)
	}
	return answer, nil
}

func (f *fakeInboxes) keep(address string, rows *inbox.Rows) {
	if f.stored[address] == nil {
		f.stored[address] = map[int64]inbox.StoredMessage{}
	}
	for _, s := range rows.StoreMessages {
		f.stored[address][s.ID] = s
	}
	for _, m := range rows.DropMessages {
		delete(f.stored[address], m.ID)
	}
}

func (f *fakeInboxes) MessageContent(_ context.Context, address string, id int64) (*inbox.Content, error) {
	if f.held != nil {
		<-f.held
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	return f.stored[address][id].Content, f.damage(address, id)
}

// damage returns the error of reading a damaged message.
func (f *fakeInboxes) damage(address string, id int64) error {
	if f.damaged[id] {
		return inbox.DamagedMessage(id, address, nil)
	}
	return f.broken
}

func (f *fakeInboxes) RawMessage(_ context.Context, address string, id int64) (*io.SectionReader, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	raw := f.stored[address][id].Raw
	if raw == nil || f.broken != nil {
		return nil, f.broken
	}
	return io.NewSectionReader(fakeRaw{f, address, id}, 0, int64(len(raw))), nil
}

func (f *fakeInboxes) AttachmentFile(_ context.Context, address string, id int64, file int) (*io.SectionReader, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, kept := range f.stored[address][id].EncryptedFiles {
		if kept.ID == file {
			return io.NewSectionReader(bytes.NewReader(kept.Envelope), 0, int64(len(kept.Envelope))), f.broken
		}
	}
	return nil, f.broken
}

// fakeRaw reads a stored message.
type fakeRaw struct {
	f       *fakeInboxes
	address string
	id      int64
}

func (r fakeRaw) ReadAt(p []byte, off int64) (int, error) {
	defer r.f.rawReading.Add(-1)
	if now := r.f.rawReading.Add(1); now > r.f.rawAtOnce.Load() {
		r.f.rawAtOnce.Store(now)
	}
	runtime.Gosched() // lets others run, if they may
	r.f.mu.RLock()
	defer r.f.mu.RUnlock()
	raw := r.f.stored[r.address][r.id].Raw
	switch {
	case r.f.broken != nil:
		return 0, r.f.broken
	case raw == nil:
		return 0, fs.ErrNotExist
	}
	n, err := bytes.NewReader(raw).ReadAt(p, off)
	r.f.rawRead.Add(int64(n))
	return n, err
}

// breakWith makes every call fail; nil ends that.
func (f *fakeInboxes) breakWith(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = err
}

// spoil damages a message: its row, or its content.
func (f *fakeInboxes) spoil(address string, id int64, row bool) {
	f.mu.Lock()
	s := f.states[address]
	if i := slices.IndexFunc(s.Messages, func(m *inbox.Message) bool { return m.ID == id }); row {
		s.Messages = slices.Clone(s.Messages)
		s.Messages[i] = &inbox.Message{ID: id, IsDamaged: true, ReceivedAt: s.Messages[i].ReceivedAt, ExpiresAt: s.Messages[i].ExpiresAt}
	} else {
		f.damaged[id] = true
	}
	f.mu.Unlock()
	f.unload(address)
}

// unload drops the cached response and the newest content, like evicting the inbox.
func (f *fakeInboxes) unload(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.views[address]
	f.states[address].NewestContent = nil
	f.views[address] = inbox.NewView(f.states[address])
	old.Supersede()
}

// fakeAccounts keeps accounts in memory by the real rules of internal/core/account. Passwords are
// not hashed.
type fakeAccounts struct {
	*fakeJournals
	now     func() time.Time
	inboxes *fakeInboxes

	mu         sync.RWMutex
	plans      account.Plans
	byID       map[account.ID]*account.State
	byEmail    map[string]account.ID
	keys       map[account.ID]map[int64]*account.APIKey
	requests   map[idempotency.RequestKey]idempotency.Record
	resets     []string                      // e-mail addresses that requested one
	principals map[string]*account.Principal // by token
	asked      atomic.Int64                  // number of calls of Authenticate
	minted     uint16
	suppressed map[account.ID][]account.Suppression
	placed     uint64
	creating   func(inbox.CreationRequest) // if set, called first by every creation
	domains    map[string]*domain.State
	published  domain.RecordSet // result of every check
	fakeWebhooks
}

func newFakeAccounts(now func() time.Time, inboxes *fakeInboxes) *fakeAccounts {
	return &fakeAccounts{
		fakeJournals: &inboxes.journals, now: now, inboxes: inboxes, plans: account.DefaultPlans(), byID: map[account.ID]*account.State{},
		byEmail: map[string]account.ID{}, principals: map[string]*account.Principal{},
		domains: map[string]*domain.State{},
		keys:    map[account.ID]map[int64]*account.APIKey{}, requests: map[idempotency.RequestKey]idempotency.Record{},
		suppressed: map[account.ID][]account.Suppression{},
	}
}

func (f *fakeAccounts) Authenticate(_ context.Context, token []byte) (*account.Principal, error) {
	f.asked.Add(1)
	f.mu.RLock()
	defer f.mu.RUnlock()
	p := f.principals[string(token)]
	if p == nil || !p.IsValid(f.now()) {
		return nil, fault.New(fault.Unauthenticated, "unknown token")
	}
	return p, nil
}

func (f *fakeAccounts) decide(id account.ID, cmd account.Command) error {
	s := f.byID[id]
	if s == nil {
		s = account.NewState()
		f.byID[id], f.keys[id] = s, map[int64]*account.APIKey{}
	}
	evs, err := account.Decide(s, cmd, account.Env{Now: f.now(), Plans: f.plans})
	if err != nil {
		return err
	}
	rows := new(account.Rows)
	rows.Apply(s, evs)
	for _, k := range rows.DropKeys {
		delete(f.keys[id], k.ID)
		for _, p := range f.principals {
			if p.Account == id && p.KeyID == k.ID {
				p.Revoke()
			}
		}
	}
	for _, k := range rows.PutKeys {
		f.keys[id][k.ID] = k
	}
	for _, ses := range rows.DropSessions {
		for _, p := range f.principals {
			if p.Hash == ses.Hash {
				p.Revoke()
			}
		}
	}
	return nil
}

// keyOf returns the key of an inbox, nil if there is none.
func (f *fakeAccounts) keyOf(id account.ID, address string) *account.APIKey {
	for _, k := range f.keys[id] {
		if k.Kind == account.KindInboxKey && k.Inbox == address {
			return k
		}
	}
	return nil
}

// mint makes a token and registers its principal.
func (f *fakeAccounts) mint(p *account.Principal) string {
	f.minted++
	token := account.MintToken(p.Kind, p.Account.HomePartition(), [32]byte{30: byte(f.minted >> 8), 31: byte(f.minted)})
	p.Hash = account.HashToken([]byte(token))
	f.principals[token] = p
	return token
}

func (f *fakeAccounts) SignUp(_ context.Context, email, password string) (account.SignedIn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, taken := f.byEmail[email]; taken {
		return account.SignedIn{}, fault.New(fault.Refused, "An account with this e-mail address already exists. Log in, or reset its password")
	}
	id := account.ID{}
	binary.BigEndian.PutUint32(id[:], uint32(len(f.byEmail)+1))
	f.byEmail[email] = id
	if err := f.decide(id, account.Open{ID: id, Email: email, PasswordHash: password, Plan: account.PlanFree}); err != nil {
		return account.SignedIn{}, err
	}
	return f.session(id)
}

func (f *fakeAccounts) session(id account.ID) (account.SignedIn, error) {
	expires := f.now().Add(account.SessionLife)
	token := f.mint(&account.Principal{Account: id, Kind: account.KindSession, Scopes: account.ScopeFull, ExpiresAt: expires})
	if err := f.decide(id, account.StartSession{Hash: account.HashToken([]byte(token)), PasswordHash: f.byID[id].PasswordHash}); err != nil {
		return account.SignedIn{}, err
	}
	return account.SignedIn{Token: token, ExpiresAt: expires, Profile: f.byID[id].Profile}, nil
}

func (f *fakeAccounts) LogIn(_ context.Context, email, password string) (account.SignedIn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, known := f.byEmail[email]
	if !known || f.byID[id].PasswordHash != password {
		return account.SignedIn{}, fault.New(fault.Unauthenticated, "The e-mail address or the password is wrong")
	}
	return f.session(id)
}

func (f *fakeAccounts) LogOut(_ context.Context, p *account.Principal) error {
	p.Revoke()
	return nil
}

func (f *fakeAccounts) AccountUsage(_ context.Context, id account.ID) (account.QuotaUsage, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	s := f.byID[id]
	return account.QuotaUsage{Profile: s.Profile, Plan: f.plans.Of(s.Plan), InboxCount: s.LiveInboxes + int64(len(s.ReservedInboxes)), KeyCount: s.AccountKeys + s.InboxKeys, SendsToday: s.DailySends.On(f.now()), ReservedInboxes: s.ReservedInboxes}, nil
}

func (f *fakeAccounts) SetRecipient(_ context.Context, id account.ID, recipient sealed.RecipientKey, password string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.decide(id, account.SetRecipient{Recipient: recipient.String(), PasswordHash: password}) // not hashed here
}

func (f *fakeAccounts) DropRecipient(_ context.Context, id account.ID, password string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.decide(id, account.DropRecipient{PasswordHash: password})
}

func (f *fakeAccounts) IssueKey(_ context.Context, by *account.Principal, label string, scopes account.ScopeSet, days *int) (account.IssuedKey, error) {
	return f.issue(by.Account, account.APIKey{Kind: account.KindAccountKey, Label: label, Scopes: scopes}, days)
}

func (f *fakeAccounts) IssueInboxKey(_ context.Context, by *account.Principal, address string, scopes account.ScopeSet, days *int) (account.IssuedKey, error) {
	return f.issue(by.Account, account.APIKey{Kind: account.KindInboxKey, Inbox: address, Scopes: scopes}, days)
}

func (f *fakeAccounts) RevokeInboxKey(_ context.Context, id account.ID, address string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.decide(id, account.RevokeInboxKey{Inbox: address, FoundKey: f.keyOf(id, address)})
}

// makeRoom forgets the key of an inbox without revoking it: tests hold several at once, which the
// rules do not permit.
func (f *fakeAccounts) makeRoom(id account.ID, address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.keys[id], func(_ int64, k *account.APIKey) bool { return k.Inbox == address })
}

func (f *fakeAccounts) issue(id account.ID, k account.APIKey, days *int) (account.IssuedKey, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	expires, err := account.ExpiryAfter(days, f.now())
	if err != nil {
		return account.IssuedKey{}, err
	}
	token := f.mint(&account.Principal{Account: id, Kind: k.Kind, KeyID: f.byID[id].LastKey + 1, Scopes: k.Scopes, Inbox: k.Inbox, ExpiresAt: expires})
	k.Hash, k.Prefix, k.ExpiresAt = account.HashToken([]byte(token)), account.KeyPrefix(token), expires
	if err := f.decide(id, account.IssueKey{Key: k, InboxHasKey: f.keyOf(id, k.Inbox) != nil}); err != nil {
		return account.IssuedKey{}, err
	}
	return account.IssuedKey{Token: token, Key: *f.keys[id][f.byID[id].LastKey]}, nil
}

func (f *fakeAccounts) AccountKeys(_ context.Context, id account.ID, cursor string, limit int) (page []account.APIKey, next string, _ error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	after, err := strconv.ParseInt("0"+cursor, 10, 64)
	if err != nil {
		return nil, "", fault.New(fault.InvalidRequest, "Invalid request: 'cursor' is not one of ours")
	}
	for _, key := range slices.Sorted(maps.Keys(f.keys[id])) {
		switch {
		case key <= after:
		case len(page) == limit:
			return page, strconv.FormatInt(page[limit-1].ID, 10), nil
		default:
			page = append(page, *f.keys[id][key])
		}
	}
	return page, "", nil
}

func (f *fakeAccounts) HaveKeys(_ context.Context, id account.ID, addresses []string) ([]bool, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	held := make([]bool, len(addresses))
	for i, address := range addresses {
		held[i] = f.keyOf(id, address) != nil
	}
	return held, nil
}

func (f *fakeAccounts) InboxCapacity(context.Context, account.ID) (inbox.Capacity, error) {
	return inbox.CapacityOf(f.inboxes.plan), nil
}

func (f *fakeAccounts) RequestReset(email string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resets = append(f.resets, email)
}

func (f *fakeAccounts) ListSessions(_ context.Context, id account.ID) ([]account.Session, []time.Time, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	list := f.byID[id].SessionList(account.Env{Now: f.now()})
	used := make([]time.Time, len(list))
	for i := range list {
		used[i] = list[i].LastUsed()
	}
	return list, used, nil
}

func (f *fakeAccounts) EndSession(ctx context.Context, id account.ID, session string) error {
	list, _, _ := f.ListSessions(ctx, id)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range list {
		if s.ID() == session {
			return f.decide(id, account.EndSession{Hash: s.Hash})
		}
	}
	return fault.New(fault.NotFound, "Session not found. GET /api/account/sessions lists your sessions")
}

func (f *fakeAccounts) ChangePassword(_ context.Context, p *account.Principal, old, password string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.decide(p.Account, account.ChangePassword{OldHash: old, PasswordHash: password, KeepSession: p.Hash})
}

// RequestVerification records the link that it would send: its token is the account's e-mail
// address.
func (f *fakeAccounts) RequestVerification(_ context.Context, id account.ID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.decide(id, account.StartReset{Hash: account.HashToken([]byte(f.byID[id].Email)), VerifiesEmail: true})
}

func (f *fakeAccounts) VerifyEmail(_ context.Context, token string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, s := range f.byID {
		if _, waits := s.ResetTokens[account.HashToken([]byte(token))]; waits {
			return f.decide(id, account.VerifyEmail{Hash: account.HashToken([]byte(token))})
		}
	}
	return account.BadVerification()
}

// ResetPassword compares the hash of the token with that in the account.
func (f *fakeAccounts) ResetPassword(_ context.Context, token, password string) (account.ResetSummary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, s := range f.byID {
		if _, waits := s.ResetTokens[account.HashToken([]byte(token))]; waits {
			ended := s.CountEnding(account.Env{Now: f.now()})
			return ended, f.decide(id, account.ResetPassword{Hash: account.HashToken([]byte(token)), PasswordHash: password})
		}
	}
	return account.ResetSummary{}, account.BadReset()
}

func (f *fakeAccounts) RevokeKey(_ context.Context, id account.ID, key int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.decide(id, account.RevokeKey{ID: key, FoundKey: f.keys[id][key]})
}

func (f *fakeAccounts) CheckRequest(_ context.Context, _ account.ID, req idempotency.Request) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if known, again := f.requests[req.Key]; again {
		return known.CheckSame(req)
	}
	return nil
}

// CreateInboxOnce stores its response under the idempotency key.
func (f *fakeAccounts) CreateInboxOnce(ctx context.Context, id account.ID, order inbox.CreationRequest, req idempotency.Request, describe func(inbox.Placement, time.Time) []byte) (idempotency.FirstResult, error) {
	f.mu.RLock()
	known, again := f.requests[req.Key]
	f.mu.RUnlock()
	if again {
		return known.FirstResult, known.CheckSame(req)
	}
	view, place, err := f.CreateInbox(ctx, id, order)
	if err != nil {
		return idempotency.FirstResult{}, err
	}
	a := idempotency.FirstResult{Address: place.Address, EncodedResponse: describe(place, view.CreatedAt)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests[req.Key] = idempotency.Record{Request: req, FirstResult: a}
	return a, nil
}

func (f *fakeAccounts) CreateInbox(ctx context.Context, id account.ID, order inbox.CreationRequest) (*inbox.View, inbox.Placement, error) {
	if f.creating != nil {
		f.creating(order)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.placed++
	spread := f.placed * 0x9e3779b97f4a7c15
	place, err := order.PlaceAddress(f.plans.Of(f.byID[id].Plan), f.namespaces(id, order.Domain), [3]uint64{spread, spread, spread})
	if err != nil {
		return nil, place, err
	}
	at := f.now()
	if err := f.decide(id, account.ReserveInbox{Address: place.Address, At: at, Encrypted: place.Encrypted}); err != nil {
		return nil, place, err
	}
	create := inbox.Create{Address: place.Address, Account: id, Label: place.Label, RetentionHours: place.RetentionHours, KeepNewest: place.KeepNewest, Encrypted: place.Encrypted, At: at}
	if _, err := f.inboxes.Do(ctx, place.Address, create); err != nil {
		f.decide(id, account.ReleaseInbox{Address: place.Address})
		return nil, place, err
	}
	f.decide(id, account.ConfirmInbox{Address: place.Address, At: at})
	view, err := f.inboxes.View(ctx, place.Address)
	return view, place, err
}

func (f *fakeAccounts) ListInboxes(_ context.Context, id account.ID, cursor string, limit int, take func(*inbox.View) bool) (inbox.ListPage, error) {
	f.inboxes.mu.RLock()
	defer f.inboxes.mu.RUnlock()
	if f.inboxes.pageMost > 0 {
		limit = min(limit, f.inboxes.pageMost)
	}
	var all []*inbox.View
	for _, v := range f.inboxes.views {
		if v.IsLive() && v.Account == id && v.Address != f.inboxes.lost && take(v) {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b *inbox.View) int { return strings.Compare(a.Address, b.Address) })
	from, err := strconv.Atoi("0" + cursor)
	if err != nil {
		return inbox.ListPage{}, fault.New(fault.InvalidRequest, "Invalid request: 'cursor' is not one of ours")
	}
	page := inbox.ListPage{Views: all[min(from, len(all)):min(from+limit, len(all))]}
	if from+limit < len(all) {
		page.NextCursor = strconv.Itoa(from + limit)
	}
	if f.inboxes.lost != "" {
		page.DamagedAddresses = []string{f.inboxes.lost}
	}
	return page, f.inboxes.unlisted
}

func (f *fakeAccounts) UpdateInbox(ctx context.Context, id account.ID, address string, cmd inbox.UpdateSettings) (ignored []string, note string, err error) {
	f.mu.RLock()
	plan := f.plans.Of(f.byID[id].Plan)
	f.mu.RUnlock()
	if cmd.Label != nil && !plan.LabelsAllowed {
		ignored, cmd.Label = []string{"label"}, nil
	}
	if cmd.RetentionHours != nil {
		hours := plan.EffectiveRetention(cmd.RetentionHours)
		cmd.RetentionHours = &hours
	}
	_, err = f.inboxes.Do(ctx, address, cmd)
	return ignored, inbox.IgnoredNote(plan, ignored), err
}

func (f *fakeAccounts) DeleteInbox(ctx context.Context, id account.ID, address string) error {
	_, err := f.inboxes.Do(ctx, address, inbox.Delete{})
	return err
}

// fakeJournals keeps the accounts' change journals.
type fakeJournals struct {
	readers changefeed.ReaderSet
	lock    sync.Mutex
	all     map[account.ID][]changefeed.JournalEntry
	broken  error                                   // returned by Events if set
	panics  bool                                    // panic instead
	shown   int                                     // sum of events read
	pages   []weak.Pointer[changefeed.JournalEntry] // given to readers, while they hold it
}

func (f *fakeJournals) append(e inbox.PublicEvent) {
	f.lock.Lock()
	if f.all == nil {
		f.all = map[account.ID][]changefeed.JournalEntry{}
	}
	seq := uint64(1)
	if n := len(f.all[e.Account]); n > 0 {
		seq = f.all[e.Account][n-1].Seq + 1
	}
	f.all[e.Account] = append(f.all[e.Account], changefeed.JournalEntry{Seq: seq, PublicEvent: e})
	f.lock.Unlock()
	f.readers.AnnounceEvents(e.Account, seq, []inbox.PublicEvent{e})
}

// forget drops the oldest n entries, as expiry does.
func (f *fakeJournals) forget(id account.ID, n int) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.all[id] = f.all[id][n:]
}

func (f *fakeJournals) ReadEvents(_ context.Context, id account.ID, after uint64, address string, limit changefeed.ReadLimit) (changefeed.JournalPage, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.panics {
		panic("a bug")
	}
	page := changefeed.JournalPage{LastPosition: after}
	for _, e := range f.all[id] {
		if e.Seq <= after {
			continue
		}
		wanted, size := address == "" || e.Address == address, len(webhook.AppendPayload(nil, &e.PublicEvent))
		if page.HasMore = len(page.Entries) == limit.MaxEntries; page.HasMore {
			break
		}
		if wanted && size > limit.MaxBytes-page.RowBytes {
			page.HasMore, page.NeededBytes = true, size
			break
		}
		page.HasGap = page.HasGap || e.Seq != page.LastPosition+1
		if page.LastPosition = e.Seq; wanted {
			page.Entries, page.RowBytes = append(page.Entries, e), page.RowBytes+size
			f.shown++
		}
	}
	if len(page.Entries) > 0 {
		f.pages = append(f.pages, weak.Make(&page.Entries[0]))
	}
	return page, f.broken
}

// inHand returns how many pages of events their readers still hold.
func (f *fakeJournals) inHand() (n int) {
	runtime.GC()
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, p := range f.pages {
		if p.Value() != nil {
			n++
		}
	}
	return n
}

func (f *fakeJournals) CurrentEnd(ctx context.Context, id account.ID) (uint64, error) {
	return f.JournalEnd(ctx, id)
}

func (f *fakeJournals) JournalEnd(_ context.Context, id account.ID) (uint64, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if n := len(f.all[id]); n > 0 {
		return f.all[id][n-1].Seq, nil
	}
	return 0, nil
}

func (f *fakeJournals) AddListener(id account.ID, address string) *changefeed.JournalReader {
	return f.readers.AddReader(id, address)
}

// ReceiveSimulated implements MessageSimulator with a simplified ingest.
func (f *fakeInboxes) ReceiveSimulated(ctx context.Context, rcpt, mailFrom string, raw []byte) (int64, error) {
	mail := mailOf("Return-Path: <"+mailFrom+">\r\n"+string(raw), inbox.OTP{})
	mail.EnvelopeTo, mail.Content.Simulated = rcpt, true
	a, err := f.Do(ctx, address.WithoutTag(rcpt), mail)
	return a.ID, err
}
