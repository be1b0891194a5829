package actors

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/persist/persisttest"
)

// posted is one attempt that a script saw.
type posted struct {
	at               time.Time
	url, id, body    string
	stamp, signature string
}

// script is a Poster that responds by host: with a status, or with 0 for none after 10 s.
type script struct {
	mu      sync.Mutex
	answers map[string][]int // the last one repeats; without any: 200
	seen    []posted
	active  int
	most    int // concurrent attempts
	took    time.Duration
}

func (p *script) CheckURL(context.Context, string) error { return nil }

func (p *script) PostWebhook(ctx context.Context, url string, headers []webhook.HeaderField, body []byte) webhook.ReceiverResponse {
	now := time.Now()
	a := posted{at: now, url: url, body: string(body)}
	for _, h := range headers {
		switch h.Name {
		case "webhook-id":
			a.id = h.Value
		case "webhook-timestamp":
			a.stamp = h.Value
		case "webhook-signature":
			a.signature = h.Value
		}
	}
	host := strings.Split(url, "/")[2]
	p.mu.Lock()
	p.seen = append(p.seen, a)
	p.active++
	p.most = max(p.most, p.active)
	status, took := 200, p.took
	if left := p.answers[host]; len(left) > 0 {
		if status = left[0]; len(left) > 1 {
			p.answers[host] = left[1:]
		}
	}
	p.mu.Unlock()
	defer func() { p.mu.Lock(); p.active--; p.mu.Unlock() }()
	if status == 0 {
		took = 10 * time.Second
	}
	if took > 0 {
		select {
		case <-time.After(took):
		case <-ctx.Done():
			status = 0
		}
	}
	answer := webhook.ReceiverResponse{Status: status, Duration: time.Since(now)}
	if status == 0 {
		answer.Error = "no answer"
	} else if !webhook.IsSuccess(status) {
		answer.Error = fmt.Sprintf("The receiver responded with status %d", status)
	}
	return answer
}

func (p *script) all() []posted {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]posted(nil), p.seen...)
}

func (p *script) to(host string) (out []posted) {
	for _, a := range p.all() {
		if strings.Contains(a.url, "/"+host+"/") {
			out = append(out, a)
		}
	}
	return out
}

// openSomeone creates the account that owns the tests' inboxes.
func openSomeone(t testing.TB, s *System) {
	t.Helper()
	must[any](t)(s.accountOwners.sendCommand(t.Context(), someone, account.Open{ID: someone, Email: "a@b.test", Plan: account.PlanPaid}))
}

// hookWorld is a system with an account, one inbox and a script, in a synctest bubble.
func hookWorld(t *testing.T, store *persisttest.TestStore, p *script) *System {
	s := startSystem(t, store, func(o *Options) { o.Poster = p })
	openSomeone(t, s)
	makeInbox(t, s, "a@inbox.localhost")
	return s
}

func subscribe(t testing.TB, s *System, host, event string) account.Webhook {
	t.Helper()
	return must[account.Webhook](t)(s.AddWebhook(t.Context(), operatorOf(someone), "https://"+host+"/", event, ""))
}

func mailTo(t testing.TB, s *System, address, subject string) {
	t.Helper()
	must[inbox.CommandOutcome](t)(s.Do(t.Context(), address, receive(subject)))
}

func deliveriesOf(t testing.TB, s *System) []webhook.Delivery {
	t.Helper()
	return must[[]webhook.Delivery](t)(s.DeliveryPage(t.Context(), someone, 0, 0, 1000))
}

// TestTheSchedule checks three attempts at 0 s, 30 s and 5 min, with one id, the same bytes, and a
// new time and signature each.
func TestTheSchedule(t *testing.T) {
	for _, c := range []struct {
		answers []int
		after   []time.Duration
		state   string
	}{
		{[]int{200}, []time.Duration{0}, "succeeded"},
		{[]int{500, 204}, []time.Duration{0, 30 * time.Second}, "succeeded"},
		{[]int{302, 404, 299}, []time.Duration{0, 30 * time.Second, 300 * time.Second}, "succeeded"},
		{[]int{500}, []time.Duration{0, 30 * time.Second, 300 * time.Second}, "failed"},
		{[]int{0}, []time.Duration{0, 30 * time.Second, 300 * time.Second}, "failed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := persisttest.OpenStore(t)
			p := &script{answers: map[string][]int{"r": c.answers}}
			s := hookWorld(t, store, p)
			subscribe(t, s, "r", webhook.MessageReceived)
			mailTo(t, s, "a@inbox.localhost", "x")
			time.Sleep(journalDelay)
			began := time.Now()
			time.Sleep(time.Hour)
			seen := p.all()
			if len(seen) != len(c.after) {
				t.Fatalf("%v: %d attempts, want %d", c.answers, len(seen), len(c.after))
			}
			for i, a := range seen {
				if got := a.at.Sub(began); got < c.after[i] || got > c.after[i]+50*time.Millisecond {
					t.Errorf("%v: attempt %d after %v, want %v", c.answers, i+1, got, c.after[i])
				}
				if a.id != seen[0].id || a.body != seen[0].body || !strings.HasPrefix(a.id, "evt_") || i > 0 && (a.stamp == seen[i-1].stamp || a.signature == seen[i-1].signature) {
					t.Errorf("%v: attempt %d is %+v after %+v", c.answers, i+1, a, seen[0])
				}
			}
			d := deliveriesOf(t, s)
			if len(d) != 1 || d[0].State.WireName() != c.state || d[0].AttemptCount != len(c.after) || !d[0].NextAt.IsZero() {
				t.Errorf("%v: recorded as %+v", c.answers, d)
			}
			list := must[[]webhook.ListedWebhook](t)(s.ListWebhooks(t.Context(), someone))
			if last := seen[len(seen)-1].at; !list[0].LastAt.Equal(last) || list[0].LastStatus != c.answers[len(c.answers)-1] {
				t.Errorf("%v: listed as %+v", c.answers, list[0])
			}
			if due, _, _ := store.DueDeliveries(webhook.DueEntry{}, 10); len(due) != 0 {
				t.Errorf("left in the index: %v", due)
			}
		})
	}
}

// TestWhoIsTold checks delivery by event and by inbox. Every webhook gets its own delivery, and all
// have the event's id.
func TestWhoIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		p := &script{}
		s := hookWorld(t, store, p)
		makeInbox(t, s, "b@inbox.localhost")
		subscribe(t, s, "all", webhook.AllEvents)
		subscribe(t, s, "mail", webhook.MessageReceived)
		subscribe(t, s, "calendar", webhook.AllCalendar)
		must[account.Webhook](t)(s.AddWebhook(t.Context(), operatorOf(someone), "https://onlyb/", webhook.AllEvents, "b@inbox.localhost"))
		mailTo(t, s, "a@inbox.localhost", "for a")
		mailTo(t, s, "b@inbox.localhost", "for b")
		time.Sleep(time.Minute)
		for host, want := range map[string]int{"all": 2, "mail": 2, "calendar": 0, "onlyb": 1} {
			if got := len(p.to(host)); got != want {
				t.Errorf("%s was told %d times, want %d", host, got, want)
			}
		}
		if a, b := p.to("all"), p.to("mail"); a[0].id == a[1].id || a[0].id != b[0].id && a[0].id != b[1].id {
			t.Errorf("ids %v and %v", a, b)
		}
		if _, err := s.AddWebhook(t.Context(), operatorOf(someone), "https://x/", "*", "nobody@inbox.localhost"); !fault.Is(err, fault.NoInbox) {
			t.Errorf("a webhook of an inbox of nobody: %v", err)
		}
	})
}

// TestNobodyWaitsForTheDeleted checks that deleting a webhook or an inbox ends waiting deliveries,
// and that an attempt in progress is not retried.
func TestNobodyWaitsForTheDeleted(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *System, account.Webhook) string{
		"webhook": func(t *testing.T, s *System, w account.Webhook) string {
			if err := s.DropWebhook(t.Context(), someone, w.ID); err != nil {
				t.Error(err)
			}
			return webhook.WebhookGone
		},
		"inbox": func(t *testing.T, s *System, _ account.Webhook) string {
			if err := s.DeleteInbox(t.Context(), someone, "a@inbox.localhost"); err != nil {
				t.Error(err)
			}
			return webhook.InboxGone
		},
	} {
		for _, at := range []time.Duration{time.Second, 15 * time.Second} { // during the first attempt, and after it
			t.Run(fmt.Sprint(name, at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := persisttest.OpenStore(t)
					p := &script{answers: map[string][]int{"r": {0}}}
					s := hookWorld(t, store, p)
					w := subscribe(t, s, "r", webhook.MessageReceived)
					mailTo(t, s, "a@inbox.localhost", "x")
					time.Sleep(at)
					why := end(t, s, w)
					if d := deliveriesOf(t, s); d[0].LastAttempt.Error != why || d[0].State != webhook.StateFailed || !d[0].NextAt.IsZero() {
						t.Errorf("shown at once as %+v", d)
					}
					time.Sleep(time.Hour)
					if n := len(p.all()); n != 1 {
						t.Errorf("%d attempts", n)
					}
					if d := deliveriesOf(t, s); d[0].State != webhook.StateFailed || d[0].LastAttempt.Error != why {
						t.Errorf("recorded as %+v", d[0])
					}
					if err := s.Redeliver(t.Context(), someone, 1); !fault.Is(err, map[string]fault.ErrorKind{"webhook": fault.Refused, "inbox": fault.NotFound}[name]) || !strings.Contains(err.Error(), "The "+name+" of this delivery was deleted") {
						t.Errorf("redelivered: %v", err)
					}
					if due, _, _ := store.DueDeliveries(webhook.DueEntry{}, 10); len(due) != 0 {
						t.Errorf("left in the index: %v", due)
					}
				})
			})
		}
	}
}

// TestWebhooksOfADeletedInboxGo checks that they are deleted with their inbox.
func TestWebhooksOfADeletedInboxGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		s := startSystem(t, store, nil)
		openSomeone(t, s)
		prefix := "mine"
		view, _, err := s.CreateInbox(t.Context(), someone, inbox.CreationRequest{Prefix: &prefix})
		if err != nil {
			t.Fatal(err)
		}
		must[account.Webhook](t)(s.AddWebhook(t.Context(), operatorOf(someone), "https://x/", "*", view.Address))
		kept := subscribe(t, s, "y", "*")
		if err := s.DeleteInbox(t.Context(), someone, view.Address); err != nil {
			t.Fatal(err)
		}
		if list := must[[]webhook.ListedWebhook](t)(s.ListWebhooks(t.Context(), someone)); len(list) != 1 || list[0].ID != kept.ID {
			t.Errorf("left: %+v", list)
		}
	})
}

// TestRestartsGoOn checks that the next run delivers what was stored: events in the outbox,
// interrupted attempts, and overdue retries (once), with the same id and bytes.
func TestRestartsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		p := &script{answers: map[string][]int{"r": {500, 0, 200}}}
		first, err := Start(Options{Store: store, Namespaces: inbox.Namespaces{ServiceDomain: "inbox.localhost", PlainAddresses: true}, Poster: p})
		if err != nil {
			t.Fatal(err)
		}
		openSomeone(t, first)
		makeInbox(t, first, "a@inbox.localhost")
		subscribe(t, first, "r", "*")
		mailTo(t, first, "a@inbox.localhost", "x")
		time.Sleep(35 * time.Second) // the second attempt hangs
		first.Stop()
		if n := len(p.all()); n != 2 {
			t.Fatalf("%d attempts before the stop", n)
		}
		time.Sleep(time.Minute)
		began := time.Now()
		second := startSystem(t, store, func(o *Options) { o.Poster = p })
		time.Sleep(time.Hour)
		seen := p.all()
		if len(seen) != 3 || seen[2].at.Sub(began) > 30*time.Second || seen[2].id != seen[0].id || seen[2].body != seen[0].body {
			t.Errorf("attempts %+v", seen)
		}
		if d := deliveriesOf(t, second); len(d) != 1 || d[0].State != webhook.StateDelivered {
			t.Errorf("recorded as %+v", d)
		}
	})
}

// TestOutboxOfACrashIsDelivered covers a run that dies after the commit of an event and before the
// journal.
func TestOutboxOfACrashIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		p := &script{}
		first, err := Start(Options{Store: store, Namespaces: inbox.Namespaces{ServiceDomain: "inbox.localhost", PlainAddresses: true}, Poster: p})
		if err != nil {
			t.Fatal(err)
		}
		openSomeone(t, first)
		makeInbox(t, first, "a@inbox.localhost")
		subscribe(t, first, "r", "*")
		first.Stop()
		state := must[*inbox.State](t)(store.LoadInbox("a@inbox.localhost"))
		evs, _, err := inbox.Decide(state, receive("x"), inbox.Env{Now: time.Now(), Capacity: roomy})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.CommitInbox(change(state, evs)); err != nil {
			t.Fatal(err)
		}
		startSystem(t, store, func(o *Options) { o.Poster = p })
		time.Sleep(time.Second)
		if seen := p.all(); len(seen) != 1 || !strings.Contains(seen[0].body, `"subject":"x"`) {
			t.Errorf("attempts %+v", seen)
		}
	})
}

// TestRedelivery restarts a settled delivery, and no other.
func TestRedelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		p := &script{answers: map[string][]int{"r": {500, 500, 500, 500, 200}}}
		s := hookWorld(t, store, p)
		w := subscribe(t, s, "r", "*")
		mailTo(t, s, "a@inbox.localhost", "x")
		time.Sleep(time.Second)
		d := deliveriesOf(t, s)[0]
		if err := s.Redeliver(t.Context(), someone, d.ID); !fault.Is(err, fault.Refused) {
			t.Errorf("while it is tried: %v", err)
		}
		time.Sleep(time.Hour)
		store.BeforeCommit = func(any) error { time.Sleep(time.Second); return nil } // long enough for all requests to arrive
		var taken, refused atomic.Int64
		for range 3 {
			go func() {
				switch err := s.Redeliver(t.Context(), someone, d.ID); {
				case err == nil:
					taken.Add(1)
				case fault.Is(err, fault.Refused):
					refused.Add(1)
				}
			}()
		}
		time.Sleep(time.Hour)
		if taken.Load() != 1 || refused.Load() != 2 {
			t.Errorf("asked for thrice at once: %d taken, %d refused", taken.Load(), refused.Load())
		}
		store.BeforeCommit = nil
		seen := p.all()
		if d := deliveriesOf(t, s)[0]; len(seen) != 5 || seen[4].id != seen[0].id || d.State != webhook.StateDelivered || d.AttemptCount != 5 {
			t.Errorf("%d attempts, recorded as %+v", len(seen), d)
		}
		if err := s.Redeliver(t.Context(), someone, 99); !fault.Is(err, fault.NotFound) {
			t.Errorf("of none: %v", err)
		}
		if err := s.DropWebhook(t.Context(), someone, w.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.Redeliver(t.Context(), someone, d.ID); !fault.Is(err, fault.Refused) {
			t.Errorf("to a webhook that is gone: %v", err)
		}
	})
}

// TestHangingReceiversDelayNobody covers a thousand hanging receivers: events of another one, and
// the first event of an unknown receiver, are still delivered at once.
func TestHangingReceiversDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hanging = 1000
		store := persisttest.OpenStore(t)
		p := &script{answers: map[string][]int{}}
		s := startSystem(t, store, func(o *Options) {
			o.Poster = p
			o.Plans = account.DefaultPlans()
			plan := o.Plans[account.PlanPaid]
			plan.MaxWebhooks = hanging + 10
			o.Plans[account.PlanPaid] = plan
		})
		openSomeone(t, s)
		makeInbox(t, s, "a@inbox.localhost")
		makeInbox(t, s, "b@inbox.localhost")
		for i := range hanging {
			host := fmt.Sprintf("h%d", i)
			p.answers[host] = []int{0}
			must[account.Webhook](t)(s.AddWebhook(t.Context(), operatorOf(someone), "https://"+host+"/", "*", "a@inbox.localhost"))
		}
		must[account.Webhook](t)(s.AddWebhook(t.Context(), operatorOf(someone), "https://good/", "*", "b@inbox.localhost"))
		for range 5 {
			mailTo(t, s, "a@inbox.localhost", "hang")
		}
		time.Sleep(time.Second)
		for range 50 {
			began := time.Now()
			before := len(p.to("good"))
			mailTo(t, s, "b@inbox.localhost", "good")
			time.Sleep(500 * time.Millisecond)
			got := p.to("good")
			if len(got) != before+1 {
				t.Fatalf("after %v it was told %d times, want %d", time.Since(began), len(got), before+1)
			}
			if late := got[before].at.Sub(began); late > 2*journalDelay {
				t.Errorf("told after %v", late)
			}
		}
		must[account.Webhook](t)(s.AddWebhook(t.Context(), operatorOf(someone), "https://new/", "*", "b@inbox.localhost"))
		mailTo(t, s, "b@inbox.localhost", "new")
		time.Sleep(100 * time.Millisecond)
		if len(p.to("new")) != 1 {
			t.Error("a receiver that nobody knows waits for those that hang")
		}
		p.mu.Lock()
		if p.most > 1536 {
			t.Errorf("%d attempts at once", p.most)
		}
		p.mu.Unlock()
		time.Sleep(2 * time.Hour)
		if n := len(p.to("h7")); n != 15 {
			t.Errorf("a receiver that hangs was tried %d times, want 15", n)
		}
	})
}

// TestNothingIsWrittenForAnErasedAccount covers an attempt that was in progress.
func TestNothingIsWrittenForAnErasedAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		p := &script{took: time.Second}
		s := hookWorld(t, store, p)
		subscribe(t, s, "r", "*")
		mailTo(t, s, "a@inbox.localhost", "x")
		time.Sleep(500 * time.Millisecond)
		if err := store.CommitAccount(&account.Rows{ID: someone, EraseAll: true}); err != nil {
			t.Fatal(err)
		}
		s.webhookSupervisor.SubscriptionCache.ForgetAccount(someone) // as its owner does after this commit
		time.Sleep(time.Minute)
		if d, _ := store.ListDeliveries(someone, 0, 0, 10); len(p.all()) != 1 || len(d) != 0 {
			t.Errorf("%d attempts, and written was %+v", len(p.all()), d)
		}
		if due, _, _ := store.DueDeliveries(webhook.DueEntry{}, 10); len(due) != 0 {
			t.Errorf("left in the index: %v", due)
		}
	})
}

// TestNothingCountsBeforeItsCommit checks that no attempt is made without its lease, and that an
// attempt whose result was not stored is repeated.
func TestNothingCountsBeforeItsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var leases, results atomic.Bool // if true, such commits fail
		store := persisttest.OpenStore(t)
		store.BeforeCommit = func(rows any) error {
			changes, _ := rows.([]webhook.DeliveryChange)
			for _, c := range changes {
				if c.Delivery == nil && leases.Load() || c.Delivery != nil && results.Load() {
					return errors.New("no disk")
				}
			}
			return nil
		}
		p := &script{}
		s := hookWorld(t, store, p)
		subscribe(t, s, "r", "*")
		leases.Store(true)
		mailTo(t, s, "a@inbox.localhost", "x")
		time.Sleep(time.Minute)
		if n := len(p.all()); n != 0 {
			t.Fatalf("%d attempts without a lease", n)
		}
		results.Store(true)
		leases.Store(false)
		time.Sleep(13 * time.Second) // the lease
		results.Store(false)
		time.Sleep(time.Minute)
		seen := p.all()
		if n := s.ReadStats().WebhookStats.Delivered; len(seen) != 2 || seen[0].id != seen[1].id || n != 1 {
			t.Errorf("%d attempts, %d delivered: %+v", len(seen), n, seen)
		}
	})
}

// TestGoneIsGone checks that after a burn, a deletion or an expiry nothing returns the message's
// content: no event, no record and no attempt, and after the next round no row.
func TestGoneIsGone(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *System){
		"burnt": func(t *testing.T, s *System) {
			must[inbox.CommandOutcome](t)(s.Do(t.Context(), "a@inbox.localhost", inbox.Burn{}))
		},
		"deleted": func(t *testing.T, s *System) {
			must[inbox.CommandOutcome](t)(s.Do(t.Context(), "a@inbox.localhost", inbox.DeleteMessage{ID: 1}))
		},
		"expired": func(*testing.T, *System) { time.Sleep(time.Hour) },
		"burnt during a call": func(t *testing.T, s *System) {
			time.Sleep(29 * time.Second) // the second attempt is in progress
			must[inbox.CommandOutcome](t)(s.Do(t.Context(), "a@inbox.localhost", inbox.Burn{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const secret = "482913"
				store := persisttest.OpenStore(t)
				p := &script{answers: map[string][]int{"r": {500, 500, 200}}, took: 5 * time.Second}
				s := hookWorld(t, store, p)
				hours := 1
				must[inbox.CommandOutcome](t)(s.Do(t.Context(), "a@inbox.localhost", inbox.UpdateSettings{RetentionHours: &hours}))
				subscribe(t, s, "r", "*")
				mailTo(t, s, "a@inbox.localhost", secret)
				time.Sleep(7 * time.Second) // the first attempt is over
				holds := func() bool {
					page := must[changefeed.JournalPage](t)(s.ReadEvents(t.Context(), someone, 0, "", changefeed.EntryLimit(10)))
					d := deliveriesOf(t, s)[0]
					return strings.Contains(string(webhook.Payload(page.Entries[0].PublicEvent)), secret) || page.Entries[0].Subject == secret ||
						strings.Contains(string(d.Body), secret)
				}
				if !holds() {
					t.Fatal("nothing is told of a mail that is there")
				}
				end(t, s)
				calls := len(p.all())
				if holds() {
					t.Error("told on")
				}
				time.Sleep(10 * time.Minute)
				for _, a := range p.all()[calls:] {
					if strings.Contains(a.body, secret) || !strings.Contains(a.body, `"from":null`) || !strings.Contains(a.body, `"gone":true`) {
						t.Errorf("called with %s", a.body)
					}
				}
				page := must[changefeed.JournalPage](t)(store.JournalPage(someone, 0, "", time.Time{}, changefeed.EntryLimit(10)))
				if e := page.Entries[0]; e.Subject != "" || e.From != "" || e.OTP != "" || !e.MessageDeleted {
					t.Errorf("row of the event: %+v", e)
				}
				d := must[[]webhook.Delivery](t)(store.ListDeliveries(someone, 0, 0, 10))[0]
				if _, gone := d.AboutMessage(); strings.Contains(string(d.Body), secret) || d.LastAttempt.BodyExcerpt != "" || !gone {
					t.Errorf("row of the delivery: %+v, %s", d, d.Body)
				}
				calls = len(p.all())
				if err := s.Redeliver(t.Context(), someone, d.ID); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if again := p.all()[calls:]; len(again) == 0 || strings.Contains(again[0].body, secret) {
					t.Errorf("redelivered: %+v", again)
				}
			})
		})
	}
}

// TestGoneCountsFromTheMoment checks that expiry counts by the clock, not by the sweep, whether the
// inbox is resident or not.
func TestGoneCountsFromTheMoment(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	makeInbox(t, s, "a@inbox.localhost")
	mailTo(t, s, "a@inbox.localhost", "x")
	over := must[*inbox.View](t)(s.InboxView(t.Context(), "a@inbox.localhost")).Messages[0].ExpiresAt
	check := func(where string) {
		t.Helper()
		gone := func(id int64, at time.Time) bool {
			return must[bool](t)(s.InboxService.isMessageGone("a@inbox.localhost", id, at))
		}
		if gone(1, over.Add(-time.Millisecond)) || !gone(1, over) || !gone(2, over.Add(-time.Hour)) {
			t.Errorf("%s it does not count from the moment", where)
		}
	}
	check("in memory")
	s.inboxDirectory.Passivate("a@inbox.localhost")
	until(func() bool { return s.ResidentView([]byte("a@inbox.localhost")) == nil })
	check("on the disk")
}
