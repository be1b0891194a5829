package actors

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/internal/testutil/iterations"
	"inboxd/persist/persisttest"
)

// comingAndGoing is a node that acquires and releases groups under load, and what its clients were
// reported.
type comingAndGoing struct {
	*System
	t     *testing.T
	store *persisttest.TestStore
	rows  *partition.OwnershipState // the store's
	boxes []*box
	homes []account.ID // by group
	of    []partition.Group

	courier *fakeCourier
	hooks   *calls
	counter atomic.Int64
	moved   atomic.Int64 // refused commands
}

// box is the ledger of one inbox. mu guards all fields below it.
type box struct {
	address string
	account account.ID
	group   partition.Group
	hooked  bool // each received message causes a webhook delivery

	mu       sync.Mutex
	reported map[string]int64 // ids of acknowledged messages, by subject
	ids      map[int64]string
	refused  map[string]bool
	sent     map[string]bool // of told: messages that the inbox sent
	highest  int64
}

// describe records how a command about a subject ended.
func (c *comingAndGoing) describe(b *box, subject string, id int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch was, twice := b.ids[id]; {
	case fault.Is(err, fault.MovedAway):
		c.moved.Add(1)
		b.refused[subject] = true
	case err != nil:
		c.t.Errorf("%s: %v", b.address, err)
	case twice:
		c.t.Errorf("%s: id %d means %q and %q", b.address, id, was, subject)
	default:
		b.reported[subject], b.ids[id], b.highest = id, subject, max(b.highest, id)
	}
}

// calls is a Poster that counts attempts by event.
type calls struct {
	mu sync.Mutex
	of map[string]int
}

func (p *calls) CheckURL(context.Context, string) error { return nil }

func (p *calls) PostWebhook(_ context.Context, _ string, headers []webhook.HeaderField, _ []byte) webhook.ReceiverResponse {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range headers {
		if h.Name == "webhook-id" {
			p.of[h.Value]++
		}
	}
	return webhook.ReceiverResponse{Status: 200}
}

// drawn returns the first name of a form that lies in a group.
func drawn(g partition.Group, form string) string {
	for n := 0; ; n++ {
		if name := fmt.Sprintf(form, n); partition.Of(name).Group() == g {
			return name
		}
	}
}

// TestGroupsComeAndGo loses and acquires groups while messages are received and sent, events are
// read and webhooks called; another node changes the groups in between. Nothing acknowledged is
// lost, nothing refused is there, nothing is duplicated or stale, and no goroutine leaks. MOVES
// sets the number of moves.
func TestGroupsComeAndGo(t *testing.T) {
	before := runtime.NumGoroutine()
	c := newComingAndGoing(t)
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for range 3 {
		load.Go(func() { c.again(ctx, c.receive) })
		load.Go(func() { c.again(ctx, c.read) })
	}
	load.Go(func() { c.again(ctx, c.send) })
	load.Go(func() { c.again(ctx, c.wait) })
	for i := range c.homes {
		load.Go(func() { c.follow(ctx, i) })
	}
	for range iterations.Times(t, "MOVES", 25) {
		if c.move(c.of[rand.IntN(len(c.of))]); t.Failed() {
			break
		}
	}
	stop()
	load.Wait()
	c.check()
	c.Stop()
	end := time.Now().Add(10 * time.Second)
	until(func() bool { return runtime.NumGoroutine() <= before+storeGoroutines || time.Now().After(end) })
	if n := runtime.NumGoroutine(); n > before+storeGoroutines {
		all := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before\n%s", n, before, all[:runtime.Stack(all, true)])
	}
	reported := 0
	for _, b := range c.boxes {
		reported += len(b.reported)
	}
	t.Logf("%d commands acknowledged, %d refused", reported, c.moved.Load())
	if reported == 0 || c.moved.Load() == 0 {
		t.Error("there was no load")
	}
}

// storeGoroutines are those of the store, which is open until the test ends.
const storeGoroutines = 12

func newComingAndGoing(t *testing.T) *comingAndGoing {
	owner, rows := partition.NewOwner(partition.AllGroups()), partition.NewOwner(partition.AllGroups())
	c := &comingAndGoing{
		t: t, store: persisttest.OpenOwned(t, rows), rows: rows, of: []partition.Group{0, 2, 30, 62}, // not the group of the service domain, whose keys all messages wait for
		courier: &fakeCourier{}, hooks: &calls{of: map[string]int{}},
	}
	for i, g := range c.of {
		if g == partition.Of("inbox.localhost").Group() {
			c.of[i] = 40
		}
	}
	s, err := Start(Options{
		Store: c.store, Owner: owner, RowOwner: rows, Courier: c.courier, Poster: c.hooks, SweepEvery: 5 * time.Millisecond,
		Namespaces: inbox.Namespaces{ServiceDomain: "inbox.localhost", PlainAddresses: true}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.System = s
	for _, g := range c.of {
		profile := must[account.Profile](t)(s.OpenAccount(t.Context(), drawn(g, "me%d@example.test"), "correct horse", account.PlanPaid))
		c.homes = append(c.homes, profile.ID)
	}
	for i, g := range c.of {
		for n, id := range []account.ID{c.homes[i], c.homes[i], c.homes[(i+1)%len(c.of)]} {
			b := &box{address: drawn(g, fmt.Sprint("b", n, "-%d@inbox.localhost")), account: id, group: g,
				reported: map[string]int64{}, ids: map[int64]string{}, refused: map[string]bool{}, sent: map[string]bool{}}
			must[inbox.CommandOutcome](t)(s.Do(t.Context(), b.address, inbox.Create{Address: b.address, Account: id, RetentionHours: 24, At: s.now()}))
			c.boxes = append(c.boxes, b)
			// An attempt about an inbox on another node is made when its lease ends. Only many
			// moves justify that wait.
			if b.hooked = n < 2 || os.Getenv("MOVES") != ""; b.hooked {
				must[account.Webhook](t)(s.AddWebhook(t.Context(), operatorOf(id), "https://hook/", "message.received", b.address))
			}
		}
	}
	return c
}

// again does something with random inboxes until ctx ends.
func (c *comingAndGoing) again(ctx context.Context, do func(*box)) {
	for ctx.Err() == nil {
		do(c.boxes[rand.IntN(len(c.boxes))])
		time.Sleep(time.Millisecond) // limits the load
	}
}

func (c *comingAndGoing) subject() string { return fmt.Sprint("subject ", c.counter.Add(1)) }

func (c *comingAndGoing) receive(b *box) {
	subject := c.subject()
	got, err := c.Do(context.Background(), b.address, receive(subject))
	c.describe(b, subject, got.ID, err)
}

func (c *comingAndGoing) send(b *box) {
	subject := c.subject()
	id, err := c.SendMessage(context.Background(), b.address, inbox.SendRequest{To: "bob@far.test", Subject: subject, Text: "x"})
	b.mu.Lock()
	b.sent[subject] = true
	b.mu.Unlock()
	c.describe(b, subject, id, err)
}

// read compares what is visible with what was acknowledged before.
func (c *comingAndGoing) read(b *box) {
	b.mu.Lock()
	highest := b.highest
	b.mu.Unlock()
	view, err := c.ViewFor(context.Background(), b.account, b.address)
	switch {
	case fault.Is(err, fault.MovedAway):
	case err != nil:
		c.t.Errorf("%s: %v", b.address, err)
	case view.LastID < highest:
		c.t.Errorf("%s: shown up to %d, acknowledged up to %d", b.address, view.LastID, highest)
	}
}

// wait waits for a change, or for the loss.
func (c *comingAndGoing) wait(b *box) {
	view, err := c.InboxView(context.Background(), b.address)
	if err != nil {
		return
	}
	select {
	case <-view.SupersededSignal():
	case <-time.After(100 * time.Millisecond):
	}
}

// follow reads an account's events in order: a number never means a different event.
func (c *comingAndGoing) follow(ctx context.Context, of int) {
	id, last := c.homes[of], uint64(0)
	numbers := map[string]uint64{}
	for ctx.Err() == nil {
		page, err := c.ReadEvents(ctx, id, last, "", changefeed.EntryLimit(100))
		if err != nil && !fault.Is(err, fault.MovedAway) && ctx.Err() == nil {
			c.t.Error(err)
		}
		for _, e := range page.Entries {
			if e.Seq != last+1 || e.SequenceNumber != numbers[e.Address]+1 {
				c.t.Errorf("account %d: event %d of %s at %d behind event %d at %d", of, e.SequenceNumber, e.Address, e.Seq, numbers[e.Address], last)
			}
			last, numbers[e.Address] = e.Seq, e.SequenceNumber
		}
		if len(page.Entries) == 0 {
			time.Sleep(time.Millisecond) // does not wait for events
		}
	}
}

// move loses a group, lets another node change it, and acquires it again.
func (c *comingAndGoing) move(g partition.Group) {
	if err := c.ReleaseGroup(g); err != nil {
		c.t.Error(err)
	}
	for _, b := range c.boxes {
		if b.group != g {
			continue
		}
		if v := c.ResidentView([]byte(b.address)); v != nil {
			c.t.Errorf("%s is shown", b.address)
		}
		if _, err := c.InboxView(context.Background(), b.address); !fault.Is(err, fault.MovedAway) {
			c.t.Errorf("%s: %v", b.address, err)
		}
	}
	c.elsewhere(g)
	if err := c.AcquireGroup(g); err != nil {
		c.t.Error(err)
	}
}

// elsewhere is another node that receives a message.
func (c *comingAndGoing) elsewhere(g partition.Group) {
	c.rows.SetOwned(g, true)
	defer c.rows.SetOwned(g, false)
	for _, b := range c.boxes {
		if b.group != g {
			continue
		}
		state := must[*inbox.State](c.t)(c.store.LoadInbox(b.address))
		subject, rows := c.subject(), &inbox.Rows{}
		evs, answer, err := inbox.Decide(state, receive(subject), inbox.Env{Now: c.now(), Capacity: inbox.CapacityOf(account.DefaultPlans().Of(account.PlanPaid))})
		if err == nil {
			rows.Begin(state)
			rows.Apply(state, evs)
			err = c.store.CommitInbox(rows)
		}
		c.describe(b, subject, answer.ID, err)
	}
}

// check compares everything with the ledgers once all work has ended.
func (c *comingAndGoing) check() {
	end := time.Now().Add(30 * time.Second)
	var rest string
	until(func() bool {
		rest = c.unfinished()
		return rest == "" || time.Now().After(end)
	})
	if rest != "" {
		c.t.Errorf("left: %s", rest)
	}
	handed := map[string]int{}
	for _, job := range c.courier.handed() {
		head, _, _ := strings.Cut(string(job.Raw), "\r\n\r\n")
		_, subject, _ := strings.Cut(head, "Subject: ")
		subject, _, _ = strings.Cut(subject, "\r\n")
		handed[subject]++
	}
	taken := map[string]uint64{} // moved to the journals, by inbox
	for _, id := range c.homes {
		for _, e := range c.events(id) {
			if taken[e.Address]++; e.SequenceNumber != taken[e.Address] {
				c.t.Errorf("%s: event %d at place %d", e.Address, e.SequenceNumber, taken[e.Address])
			}
		}
	}
	for _, b := range c.boxes {
		c.checkBox(b, handed, taken[b.address])
	}
	c.hooks.mu.Lock()
	defer c.hooks.mu.Unlock()
	for event, n := range c.hooks.of {
		if n != 1 {
			c.t.Errorf("%d calls for %s", n, event)
		}
	}
	received := 0
	for _, b := range c.boxes {
		if b.hooked {
			received += len(b.reported) - len(b.handed())
		}
	}
	if len(c.hooks.of) != received {
		c.t.Errorf("calls for %d events, of %d mails received", len(c.hooks.of), received)
	}
}

// events reads an account's whole journal from the disk.
func (c *comingAndGoing) events(id account.ID) (all []changefeed.JournalEntry) {
	for more := true; more; {
		page := must[changefeed.JournalPage](c.t)(c.store.JournalPage(id, uint64(len(all)), "", time.Time{}, changefeed.EntryLimit(1000)))
		all, more = append(all, page.Entries...), page.HasMore
	}
	return all
}

// handed returns the subjects of acknowledged messages that the inbox sent.
func (b *box) handed() (own []string) {
	for subject := range b.reported {
		if b.sent[subject] {
			own = append(own, subject)
		}
	}
	return own
}

// unfinished names what is still in progress.
func (c *comingAndGoing) unfinished() string {
	queue, _, err := c.store.MailQueue(inbox.QueueEntry{}, 1) // what ends here has an event, which may cause a webhook attempt
	outbox := must[[]inbox.PublicEvent](c.t)(c.store.Outbox(1))
	due, _, err2 := c.store.DueDeliveries(webhook.DueEntry{}, 1)
	if len(outbox)+len(queue)+len(due) > 0 || err != nil || err2 != nil || c.MailQueue.ReadStats().QueueDepth != 0 {
		return fmt.Sprint(outbox, queue, due, err, err2, c.MailQueue.ReadStats().QueueDepth)
	}
	return ""
}

func (c *comingAndGoing) checkBox(b *box, handed map[string]int, events uint64) {
	state := must[*inbox.State](c.t)(c.store.LoadInbox(b.address))
	found := map[string]int64{}
	for _, m := range state.Messages {
		if _, twice := found[m.Subject]; twice {
			c.t.Errorf("%s: %s is there twice", b.address, m.Subject)
		}
		found[m.Subject] = m.ID
	}
	for subject, id := range b.reported {
		if found[subject] != id {
			c.t.Errorf("%s: %s was acknowledged as %d and is %d", b.address, subject, id, found[subject])
		}
		if b.sent[subject] && handed[subject] != 1 {
			c.t.Errorf("%s: %s was handed over %d times", b.address, subject, handed[subject])
		}
	}
	for subject := range b.refused {
		if found[subject] != 0 || handed[subject] != 0 {
			c.t.Errorf("%s: %s was refused and is there", b.address, subject)
		}
	}
	if events != state.LastEvent {
		c.t.Errorf("%s: %d events in the journal, of %d", b.address, events, state.LastEvent)
	}
}

// TestWhatALossEnds checks the loss of a group. Cached credentials of its accounts are dropped, and
// requests that wait with one are notified. Readers of their events read again, and queued messages
// of its inboxes are no longer counted. All is back with the group.
func TestWhatALossEnds(t *testing.T) {
	c := &comingAndGoing{t: t, rows: partition.NewOwner(partition.AllGroups())}
	c.store = persisttest.OpenOwned(t, c.rows)
	c.System = startSystem(t, c.store, func(o *Options) { o.Owner, o.RowOwner = partition.NewOwner(partition.AllGroups()), c.rows })
	const g = 30
	in := must[account.SignedIn](t)(c.SignUp(t.Context(), drawn(g, "me%d@example.test"), "correct horse"))
	if err := c.SetPlan(t.Context(), in.Profile.Email, account.PlanPaid); err != nil {
		t.Fatal(err)
	}
	address := drawn(g, "b%d@inbox.localhost")
	must[inbox.CommandOutcome](t)(c.Do(t.Context(), address, inbox.Create{Address: address, Account: in.Profile.ID, RetentionHours: 24, At: c.now()}))
	must[int64](t)(c.SendMessage(t.Context(), address, letter("bob@far.test")))
	p := must[*account.Principal](t)(c.Authenticate(t.Context(), []byte(in.Token)))
	reader := c.AddListener(in.Profile.ID, "")
	defer reader.Close()
	must[changefeed.JournalPage](t)(c.ReadEvents(t.Context(), in.Profile.ID, 0, "", changefeed.EntryLimit(10)))
	signal := reader.NextSignal()
	if n := c.MailQueue.ReadStats().QueueDepth; n != 1 {
		t.Errorf("%d mails are counted", n)
	}
	if err := c.ReleaseGroup(g); err != nil {
		t.Fatal(err)
	}
	<-p.EndedSignal()
	<-signal.C
	if !p.IsMoved() || p.IsCurrent(c.now()) || !p.IsValid(c.now()) {
		t.Error("the credential is known still, or revoked")
	}
	moved := map[string]error{"lost": c.AcquireGroup(g)}
	if err := c.ReleaseGroup(g); err != nil {
		t.Fatal(err)
	}
	_, moved["credential"] = c.Authenticate(t.Context(), []byte(in.Token))
	_, moved["login"] = c.LogIn(t.Context(), in.Profile.Email, "correct horse")
	_, moved["events"] = c.ReadEvents(t.Context(), in.Profile.ID, 0, "", changefeed.EntryLimit(10))
	_, moved["mail"] = c.Do(t.Context(), address, receive("x"))
	moved["recipient"] = c.CheckRecipient(t.Context(), address)
	for what, err := range moved {
		if (what == "lost") != (err == nil) || err != nil && !fault.Is(err, fault.MovedAway) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s := c.ReadStats(); s.QueueStats.QueueDepth != 0 || s.Principals != 0 || s.Inboxes != 0 || s.Accounts != 0 {
		t.Errorf("%+v is left", s)
	}
	if err := c.AcquireGroup(g); err != nil {
		t.Fatal(err)
	}
	must[*account.Principal](t)(c.Authenticate(t.Context(), []byte(in.Token)))
	if n := c.MailQueue.ReadStats().QueueDepth; n != 1 {
		t.Errorf("%d mails are counted again", n)
	}
}

// TestALossClosesKeys checks that only the keys of the group's domains are dropped.
func TestALossClosesKeys(t *testing.T) {
	r := newKeyring(domainOwners{}, nil, Options{}, time.Now)
	lost, kept := drawn(2, "d%d.test"), drawn(4, "d%d.test")
	r.byName.Store(lost, &domainSigner{})
	r.byName.Store(kept, &domainSigner{})
	if err := r.ReleaseGroup(2); err != nil {
		t.Fatal(err)
	}
	_, here := r.byName.Load(kept)
	if _, held := r.byName.Load(lost); held || !here {
		t.Errorf("held of the lost group: %v, of another: %v", held, here)
	}
}
