package http

import (
	"context"
	"fmt"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
)

// fakeCalendars arranges meetings by the real rules, notifies nobody, and stores tokens unhashed.
// The lock of its inboxes guards its state.
type fakeCalendars struct {
	mail     *fakeInboxes
	accounts *fakeAccounts
	tokens   map[string]string                     // by address
	hidden   map[string]bool                       // calendars whose link was revoked
	known    map[string]*calendar.SubscriptionLink // usage of the links
	owners   map[string]calendar.OwnerSetting
	made     int // number of tokens and UIDs
	opened   int // number of calls of Open
	repeats  map[idempotency.RequestKey]string
	sharing  func() // called before a link is created, if set
}

func newFakeCalendars(mail *fakeInboxes, accounts *fakeAccounts) *fakeCalendars {
	return &fakeCalendars{mail: mail, accounts: accounts, tokens: map[string]string{}, hidden: map[string]bool{}, known: map[string]*calendar.SubscriptionLink{},
		owners: map[string]calendar.OwnerSetting{}, repeats: map[idempotency.RequestKey]string{}}
}

func (f *fakeCalendars) ArrangeMeeting(_ context.Context, address string, o calendar.MeetingOrder) (calendar.ChangeResult, error) {
	f.mail.mu.Lock()
	defer f.mail.mu.Unlock()
	return f.arrange(address, o)
}

func (f *fakeCalendars) arrange(address string, o calendar.MeetingOrder) (calendar.ChangeResult, error) {
	if f.mail.refuses != nil {
		return calendar.ChangeResult{}, f.mail.refuses
	}
	book := bookOf(f.mail.views[address])
	f.made++
	plan, err := calendar.PlanChange(book, o, calendar.Me{Address: address}, f.mail.now(), [16]byte{byte(f.made >> 8), byte(f.made)})
	if err != nil || !plan.HasChanged {
		return calendar.ChangeResult{Meeting: &plan.Meeting}, err
	}
	for _, email := range plan.RequiredRecipients {
		if email == "gone@far.test" {
			return calendar.ChangeResult{}, fault.New(fault.Refused, "Mail to gone@far.test came back")
		}
	}
	m := plan.Meeting
	if m.Version++; m.ID == 0 {
		m.ID = book.LastID + 1
	}
	f.show(address, book.WithMeeting(&m, 400))
	return calendar.ChangeResult{Meeting: &m, MessageID: int64(len(plan.OutgoingMessages)) * m.ID}, nil
}

// show publishes a calendar. The caller holds the lock.
func (f *fakeCalendars) show(address string, b *calendar.Book) {
	f.mail.states[address].Calendar = b
	old := f.mail.views[address]
	f.mail.views[address] = inbox.NewView(f.mail.states[address])
	old.SupersedeBy(f.mail.views[address])
}

func (f *fakeCalendars) ArrangeOnce(_ context.Context, address string, o calendar.MeetingOrder, req idempotency.Request, describe func(calendar.ChangeResult) []byte) (idempotency.FirstResult, error) {
	f.mail.mu.Lock()
	defer f.mail.mu.Unlock()
	if known, again := f.mail.requests[req.Key]; again {
		return known.FirstResult, known.CheckSame(req)
	}
	done, err := f.arrange(address, o)
	if err != nil {
		return idempotency.FirstResult{}, err
	}
	r := idempotency.Record{Request: req, FirstResult: idempotency.FirstResult{EncodedResponse: describe(done)}}
	f.mail.requests[req.Key] = r
	return r.FirstResult, nil
}

func (f *fakeCalendars) RemoveMeeting(_ context.Context, address string, id int64) error {
	f.mail.mu.Lock()
	defer f.mail.mu.Unlock()
	b := bookOf(f.mail.views[address])
	m, err := b.FindFor(id, address)
	if err == nil {
		f.show(address, b.WithRemoval(m, m.UpdatedAt))
	}
	return err
}

// keep adds meetings to a calendar, with increasing ids.
func (f *fakeCalendars) keep(address string, list ...calendar.Meeting) {
	f.mail.mu.Lock()
	defer f.mail.mu.Unlock()
	b := bookOf(f.mail.views[address])
	for i := range list {
		m := &list[i]
		m.ID = b.LastID + 1
		b = b.WithMeeting(m, int64(400+len(m.Description)))
	}
	f.show(address, b)
}

// spoil loses a meeting, like a damaged disk.
func (f *fakeCalendars) spoil(address string, id int64) {
	f.mail.mu.Lock()
	defer f.mail.mu.Unlock()
	b := bookOf(f.mail.views[address]).WithoutMeetings([]int64{id})
	b.DamagedIDs = append(b.DamagedIDs, id)
	f.show(address, b)
}

// invited is a meeting of boss to which the inbox was invited.
func invited(address, title string, start time.Time) calendar.Meeting {
	return calendar.Meeting{
		Event: icalendar.Event{
			UID: title + "@org.test", Title: title, Start: start, End: start.Add(time.Hour), Status: icalendar.StatusConfirmed,
			Organizer: &icalendar.Person{Email: "boss@org.test", Name: "Boss"},
			Attendees: []calendar.Attendee{{Person: icalendar.Person{Email: address}, Role: icalendar.RoleRequired, ParticipationStatus: icalendar.NeedsAction}},
		},
		Source: calendar.SourceInbound, MyStatus: icalendar.NeedsAction, CreatedAt: begin, UpdatedAt: begin,
	}
}

// organized is a meeting to which the inbox invited a guest.
func organized(address, title string, start time.Time) calendar.Meeting {
	m := invited("ann@far.test", title, start)
	m.Organizer, m.Source, m.MyStatus = &icalendar.Person{Email: address}, calendar.SourceOutbound, ""
	return m
}

const aMeeting = `{"title":"Review","start":"2026-12-01T15:00:00Z","attendees":["ann@far.test"]}`

func (f *fakeCalendars) ShareFeed(_ context.Context, address string, by calendar.LinkReader) (string, calendar.SubscriptionLink, error) {
	f.mail.mu.Lock()
	defer f.mail.mu.Unlock()
	if f.sharing != nil {
		f.sharing()
	}
	if f.tokens[address] == "" {
		if by.IsHead {
			return "", calendar.SubscriptionLink{}, fault.New(fault.NotFound, "This calendar has no link. Create one with GET .../calendar/feed")
		}
		if f.hidden[address] && !by.CanManage {
			return "", calendar.SubscriptionLink{}, fault.New(fault.NotFound, "The link to this calendar was turned off. A session or a key with inbox:manage can turn it on again")
		}
		f.renew(address)
	}
	return f.tokens[address], *f.known[address], nil
}

func (f *fakeCalendars) renew(address string) {
	f.made++
	f.tokens[address] = fmt.Sprintf("token%d", f.made)
	made := calendar.SubscriptionLink{TokenHash: account.HashToken([]byte(f.tokens[address]))}
	f.known[address] = &made
	f.link(address, &calendar.SubscriptionLink{TokenHash: made.TokenHash})
}

// link stores in a calendar which link opens it. The caller holds the lock.
func (f *fakeCalendars) link(address string, to *calendar.SubscriptionLink) {
	linked := *bookOf(f.mail.views[address])
	linked.Feed = to
	f.show(address, &linked)
}

func (f *fakeCalendars) RotateLink(_ context.Context, address string, _ calendar.LinkReader, req idempotency.Request) (string, calendar.SubscriptionLink, error) {
	f.mail.mu.Lock()
	defer f.mail.mu.Unlock()
	if first := f.repeats[req.Key]; req.IsRepeatable() && first != "" {
		return first, calendar.SubscriptionLink{}, nil
	}
	f.renew(address)
	f.repeats[req.Key] = f.tokens[address]
	return f.tokens[address], calendar.SubscriptionLink{}, nil
}

func (f *fakeCalendars) HideFeed(_ context.Context, address string) error {
	f.mail.mu.Lock()
	defer f.mail.mu.Unlock()
	if f.tokens[address] != "" {
		delete(f.tokens, address)
		f.link(address, nil)
	}
	f.hidden[address] = true
	return nil
}

func (f *fakeCalendars) OpenFeed(_ context.Context, token string) (*inbox.View, error) {
	f.mail.mu.Lock()
	defer f.mail.mu.Unlock()
	f.opened++
	for address, t := range f.tokens {
		if t == token && f.mail.views[address] != nil {
			return f.mail.views[address], nil
		}
	}
	return nil, fault.New(fault.NotFound, "There is no calendar at this link. It may have been replaced or turned off")
}

func (f *fakeCalendars) NoteFetch(view *inbox.View, client string, at time.Time) {
	f.mail.mu.Lock()
	defer f.mail.mu.Unlock()
	known := *f.known[view.Address]
	known.FetchedAt, known.LastClient, known.LastChangeFetched = at, client, bookOf(view).ChangedAt
	f.known[view.Address] = &known
}

func (f *fakeCalendars) ReadOwner(_ context.Context, address string) (calendar.OwnerSetting, error) {
	f.mail.mu.Lock()
	defer f.mail.mu.Unlock()
	s := f.owners[address]
	s.Email, s.EmailAvailable = f.emailOf(f.mail.views[address].Account), true
	return s, nil
}

func (f *fakeCalendars) emailOf(id account.ID) string {
	f.accounts.mu.RLock()
	defer f.accounts.mu.RUnlock()
	return f.accounts.byID[id].Email
}

func (f *fakeCalendars) SetOwner(ctx context.Context, address string, enabled bool) (calendar.OwnerSetting, error) {
	f.mail.mu.Lock()
	f.owners[address] = calendar.OwnerSetting{CopySetting: calendar.CopySetting{Enabled: enabled}}
	f.mail.mu.Unlock()
	return f.ReadOwner(ctx, address)
}
