package actors

import (
	"cmp"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/actors/mailqueue"
	"inboxd/internal/core/account"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/persist/persisttest"
)

// Stray entries of the due indexes, which no owner wrote, are corrected by the owners of their
// entities.

// run starts a system that the test stops itself.
func run(t testing.TB, o Options) *System {
	t.Helper()
	o.Namespaces, o.Logger = inbox.Namespaces{ServiceDomain: "inbox.localhost", PlainAddresses: true}, slog.New(slog.DiscardHandler)
	return must[*System](t)(Start(o))
}

// plant writes rows without their owner.
func plant(t testing.TB, store *persisttest.TestStore, rows *inbox.Rows) {
	t.Helper()
	if err := store.CommitInbox(rows); err != nil {
		t.Fatal(err)
	}
}

// TestAstrayEntriesOfRetentionGo plants entries of an inbox that never existed, of a deleted one,
// next to the correct entry, and in place of it. An entry that is due later is removed at its time,
// not before.
func TestAstrayEntriesOfRetentionGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		s := startSystem(t, store, func(o *Options) { o.SweepEvery = time.Hour })
		now := s.now()
		for _, address := range []string{"deleted@inbox.localhost", "twice@inbox.localhost", "lost@inbox.localhost"} {
			must[inbox.CommandOutcome](t)(s.Do(t.Context(), address, inbox.Create{Address: address, Account: someone, RetentionHours: 1, At: now}))
			mailTo(t, s, address, "x")
		}
		must[inbox.CommandOutcome](t)(s.Do(t.Context(), "deleted@inbox.localhost", inbox.Delete{}))
		own := now.Add(time.Hour)
		plant(t, store, &inbox.Rows{Address: "never@inbox.localhost", DueTo: now.Add(-time.Hour)})
		plant(t, store, &inbox.Rows{Address: "deleted@inbox.localhost", DueTo: now.Add(-time.Hour)})
		plant(t, store, &inbox.Rows{Address: "twice@inbox.localhost", DueTo: now})
		plant(t, store, &inbox.Rows{Address: "twice@inbox.localhost", DueTo: own.Add(time.Minute)})
		plant(t, store, &inbox.Rows{Address: "lost@inbox.localhost", DueFrom: own, DueTo: now})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		want := []inbox.RetentionEntry{{At: own, Address: "lost@inbox.localhost"}, {At: own, Address: "twice@inbox.localhost"}, {At: own.Add(time.Minute), Address: "twice@inbox.localhost"}}
		due, _, err := store.DueInboxes(own.Add(1000*time.Hour), 10)
		slices.SortFunc(due, func(a, b inbox.RetentionEntry) int {
			return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Address, b.Address))
		})
		if err != nil || !slices.Equal(due, want) {
			t.Errorf("due are %v, %v; want %v", due, err, want)
		}
		if v := must[*inbox.View](t)(s.InboxView(t.Context(), "lost@inbox.localhost")); len(v.Messages) != 1 {
			t.Error("a mail is gone before its time")
		}
		commits := store.CommitCount()
		time.Sleep(time.Hour)
		synctest.Wait()
		if due, _, err := store.DueInboxes(own.Add(1000*time.Hour), 10); err != nil || len(due) > 0 {
			t.Errorf("after all times: %v, %v", due, err)
		}
		if n := store.CommitCount() - commits; n != 3 {
			t.Errorf("%d commits for two mails that are over and one entry", n)
		}
	})
}

// TestAstrayEntriesOfTheQueueGo plants entries of an inbox that never existed, of a settled
// message, next to the correct entry, and in place of it. Each message is sent once, at its time,
// and the depth is correct.
func TestAstrayEntriesOfTheQueueGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		busy := &fakeCourier{answer: func(mailqueue.DeliveryRequest) mailqueue.Handover {
			return mailqueue.Handover{Outcome: delivery.OutcomeTemporary, Code: 451, MX: "mx"}
		}}
		first := run(t, Options{Store: store, Courier: busy, SweepEvery: time.Hour, RetrySchedule: delivery.RetrySchedule{RetryDelays: []time.Duration{time.Hour}}})
		_, address := openAccount(t, first)
		ids := make([]int64, 3) // one that is dropped, one with two entries, one with a wrong entry
		for n := range ids {
			ids[n] = must[int64](t)(first.SendMessage(t.Context(), address, letter("a@far.test")))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := first.MailQueue.DropMessage(t.Context(), address, ids[0]); err != nil {
			t.Fatal(err)
		}
		waits := func(s *inbox.OutgoingDelivery) bool { return s.Status == delivery.StatusRetrying && !s.AttemptLeased }
		due := map[int64]time.Time{}
		for _, id := range ids[1:] {
			due[id] = sending(t, first, address, id, waits).NextDue
		}
		first.Stop()
		now := time.Now().Truncate(time.Millisecond)
		entry := func(id int64, from, to time.Time) inbox.QueueMove {
			return inbox.QueueMove{ID: id, From: from, To: to, AcceptedAt: now.Add(-time.Minute), WaitingDomains: []string{"far.test"}}
		}
		plant(t, store, &inbox.Rows{Address: "never@inbox.localhost", QueueMoves: []inbox.QueueMove{entry(1, time.Time{}, now)}})
		plant(t, store, &inbox.Rows{Address: address, QueueMoves: []inbox.QueueMove{entry(ids[0], time.Time{}, now), entry(ids[1], time.Time{}, now), entry(ids[2], due[ids[2]], now)}})
		courier := &fakeCourier{}
		second := startSystem(t, store, func(o *Options) { o.Courier, o.SweepEvery = courier, time.Hour })
		time.Sleep(time.Minute)
		synctest.Wait()
		queue, _, err := store.MailQueue(inbox.QueueEntry{}, 10)
		if err != nil || len(queue) != 2 || !queue[0].At.Equal(due[queue[0].ID]) || !queue[1].At.Equal(due[queue[1].ID]) || queue[0].ID == queue[1].ID {
			t.Errorf("the queue has %v, %v; want %v", queue, err, due)
		}
		if n := len(courier.handed()); n != 0 {
			t.Errorf("%d mails were sent before their time", n)
		}
		if depth := second.ReadStats().QueueStats.QueueDepth; depth != 2 {
			t.Errorf("the queue is said to hold %d mails", depth)
		}
		commits := store.CommitCount()
		time.Sleep(10 * time.Minute)
		if n := store.CommitCount() - commits; n != 0 {
			t.Errorf("%d commits while nothing was due", n)
		}
		time.Sleep(2 * time.Hour)
		for _, id := range ids[1:] {
			if s := sending(t, second, address, id, final); s.AttemptCount != 2 {
				t.Errorf("message %d: %+v", id, s)
			}
		}
		if n, depth := len(courier.handed()), second.ReadStats().QueueStats.QueueDepth; n != 2 || depth != 0 {
			t.Errorf("%d mails were sent, and the empty queue is said to hold %d", n, depth)
		}
	})
}

// TestAstrayEntriesOfDeliveriesGo plants entries of an account that never existed, of a finished
// delivery, next to the correct entry, and in place of it. No receiver is called before its time.
func TestAstrayEntriesOfDeliveriesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		p := &script{answers: map[string][]int{"down": {500, 500, 200}, "lost": {500, 500, 200}}}
		first := run(t, Options{Store: store, Poster: p, SweepEvery: time.Hour})
		openSomeone(t, first)
		makeInbox(t, first, "a@inbox.localhost")
		hooks := map[string]int64{}
		for _, host := range []string{"up", "down", "lost"} {
			hooks[host] = subscribe(t, first, host, webhook.MessageReceived).ID
		}
		mailTo(t, first, "a@inbox.localhost", "x")
		time.Sleep(35 * time.Second) // two attempts each; the third is due in 5 minutes
		first.Stop()
		entry := func(id account.ID, n, hook int64, from, to time.Time) {
			t.Helper()
			if err := store.CommitDeliveries(id, []webhook.DeliveryChange{{ID: n, Webhook: hook, DueBefore: from, To: to}}); err != nil {
				t.Fatal(err)
			}
		}
		now := time.Now()
		entry(account.ID{7}, 1, 1, time.Time{}, now)
		for _, d := range must[[]webhook.Delivery](t)(store.ListDeliveries(someone, 0, 0, 10)) {
			if d.Webhook == hooks["lost"] {
				entry(someone, d.ID, d.Webhook, d.NextAt, now)
				continue
			}
			entry(someone, d.ID, d.Webhook, time.Time{}, now)
		}
		calls := len(p.all())
		startSystem(t, store, func(o *Options) { o.Poster, o.SweepEvery = p, time.Hour })
		time.Sleep(time.Minute)
		synctest.Wait()
		due, _, err := store.DueDeliveries(webhook.DueEntry{}, 10)
		if err != nil || len(due) != 2 || due[0].Webhook == due[1].Webhook {
			t.Errorf("due are %v, %v", due, err)
		}
		if n := len(p.all()); n != calls {
			t.Errorf("%d calls before their time", n-calls)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if up, down, lost := len(p.to("up")), len(p.to("down")), len(p.to("lost")); up != 1 || down != 3 || lost != 3 {
			t.Errorf("%d, %d and %d calls", up, down, lost)
		}
		if due, _, err := store.DueDeliveries(webhook.DueEntry{}, 10); err != nil || len(due) != 0 {
			t.Errorf("at the end %v, %v", due, err)
		}
	})
}
