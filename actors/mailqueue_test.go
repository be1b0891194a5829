package actors

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/actors/mailqueue"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/message/compose"
	"inboxd/persist/persisttest"
)

// fakeCourier returns what its script says and records what it was given.
type fakeCourier struct {
	answer func(c mailqueue.DeliveryRequest) mailqueue.Handover // nil: every message is accepted

	mu   sync.Mutex
	jobs []mailqueue.DeliveryRequest
}

func (f *fakeCourier) Deliver(_ context.Context, c mailqueue.DeliveryRequest) []mailqueue.Handover {
	f.mu.Lock()
	f.jobs = append(f.jobs, c)
	f.mu.Unlock()
	h := mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250, MX: "mx." + c.Domain}
	if f.answer != nil {
		h = f.answer(c)
	}
	out := make([]mailqueue.Handover, len(c.Rcpts))
	for i, rcpt := range c.Rcpts {
		out[i] = h
		if out[i].Rcpt = rcpt; h.Outcome == delivery.OutcomeDelivered && i+1 < len(c.Rcpts) {
			c.Taken(rcpt, h.MX)
		}
	}
	return out
}

func (f *fakeCourier) handed() []mailqueue.DeliveryRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]mailqueue.DeliveryRequest(nil), f.jobs...)
}

// openAccount creates a paid account with one inbox.
func openAccount(t testing.TB, s *System) (account.ID, string) {
	t.Helper()
	profile := must[account.Profile](t)(s.OpenAccount(t.Context(), "me@example.test", "correct horse", account.PlanPaid))
	prefix := "agent"
	view, _, err := s.CreateInbox(t.Context(), profile.ID, inbox.CreationRequest{Prefix: &prefix})
	if err != nil {
		t.Fatal(err)
	}
	return profile.ID, view.Address
}

func letter(to string, cc ...string) inbox.SendRequest {
	return inbox.SendRequest{To: to, Cc: cc, Subject: "Hello", Text: "Hello\n"}
}

// sending waits until the delivery of a message satisfies done.
func sending(t testing.TB, s *System, address string, id int64, done func(*inbox.OutgoingDelivery) bool) *inbox.OutgoingDelivery {
	t.Helper()
	for {
		view := must[*inbox.View](t)(s.InboxView(t.Context(), address))
		if m := view.Message(id, s.now()); m != nil && done(m.OutgoingDelivery) {
			return m.OutgoingDelivery
		}
		select {
		case <-view.SupersededSignal():
		case <-time.After(20 * time.Second):
			t.Fatalf("message %d: %+v", id, view.Message(id, s.now()).OutgoingDelivery)
		}
	}
}

func final(s *inbox.OutgoingDelivery) bool { return s.Status.IsFinal() }

func fast(o *Options) {
	o.RetrySchedule = delivery.RetrySchedule{RetryDelays: []time.Duration{2 * time.Millisecond}, MaxAge: time.Hour}
}

func TestRecipientsAreGroupedByDomainAndNeverTriedTwice(t *testing.T) {
	store := persisttest.OpenStore(t)
	tries := map[string]int{}
	var mu sync.Mutex
	courier := &fakeCourier{answer: func(c mailqueue.DeliveryRequest) mailqueue.Handover {
		mu.Lock()
		defer mu.Unlock()
		if tries[c.Domain]++; c.Domain == "slow.test" && tries[c.Domain] < 3 {
			return mailqueue.Handover{Outcome: delivery.OutcomeTemporary, Code: 451, Text: "451 later", MX: "mx.slow.test"}
		}
		return mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250, MX: "mx." + c.Domain}
	}}
	s := startSystem(t, store, func(o *Options) { fast(o); o.Courier = courier })
	_, address := openAccount(t, s)
	id := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@far.test", "b@far.test", "c@slow.test")))
	got := sending(t, s, address, id, final)
	if got.Status != delivery.StatusUnsigned || got.AttemptCount != 3 {
		t.Errorf("%+v", got)
	}
	if tries["far.test"] != 1 || tries["slow.test"] != 3 {
		t.Errorf("tries: %v", tries)
	}
	for _, c := range courier.handed() {
		if c.Domain == "far.test" && fmt.Sprint(c.Rcpts) != "[a@far.test b@far.test]" {
			t.Errorf("recipients at far.test: %v", c.Rcpts)
		}
	}
	if queue, _, _ := store.MailQueue(inbox.QueueEntry{}, 10); len(queue) != 0 {
		t.Errorf("left in the queue: %v", queue)
	}
}

// TestAMailWaitsForItsCount checks that a message is neither on disk nor with a courier before the
// position of the day's count is reached.
func TestAMailWaitsForItsCount(t *testing.T) {
	store := persisttest.OpenStore(t)
	courier := &fakeCourier{answer: func(mailqueue.DeliveryRequest) mailqueue.Handover {
		return mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250, MX: "mx"}
	}}
	s := startSystem(t, store, func(o *Options) { o.Courier = courier })
	id, address := openAccount(t, s)
	release := store.HoldPositions(id.HomePartition())
	sent := make(chan int64, 1)
	go func() { sent <- must[int64](t)(s.SendMessage(t.Context(), address, letter("a@far.test"))) }()
	until(func() bool { return store.WaitingCount(id.HomePartition())+int64(len(sent)) > 0 })
	queue, _, _ := store.MailQueue(inbox.QueueEntry{}, 10)
	if state := must[*inbox.State](t)(store.LoadInbox(address)); len(queue)+len(state.Messages)+len(sent)+len(courier.handed()) != 0 {
		t.Errorf("queued before its count: %v, %v", queue, state.Messages)
	}
	release()
	sending(t, s, address, <-sent, final)
}

// TestDeadDestinationsDoNotHoldUpTheLiving makes every connection to a dead domain hang until the
// test ends. Messages to a responsive known domain are still sent, because the dead ones hold only
// half of the workers, one each.
func TestDeadDestinationsDoNotHoldUpTheLiving(t *testing.T) {
	store := persisttest.OpenStore(t)
	const mailCount, workers = 100, 8
	over, dead := make(chan struct{}), make(chan string, mailCount)
	courier := &fakeCourier{answer: func(c mailqueue.DeliveryRequest) mailqueue.Handover {
		if strings.HasPrefix(c.Domain, "dead") {
			dead <- c.Domain
			<-over
			return mailqueue.Handover{Outcome: delivery.OutcomeTemporary, Text: "no route"}
		}
		return mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250, MX: "mx"}
	}}
	s := startSystem(t, store, func(o *Options) { o.Courier, o.DeliveryWorkers, o.HangAfter = courier, workers, time.Hour })
	defer close(over)
	_, address := openAccount(t, s)
	id := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@live.test")))
	sending(t, s, address, id, final)
	for n := range mailCount {
		must[int64](t)(s.SendMessage(t.Context(), address, letter(fmt.Sprintf("a@dead%d.test", n%25))))
	}
	hanging := map[string]bool{}
	for range workers / 2 {
		hanging[<-dead] = true
	}
	id = must[int64](t)(s.SendMessage(t.Context(), address, letter("a@live.test")))
	sending(t, s, address, id, final)
	if len(hanging) != workers/2 || len(dead) > 0 {
		t.Errorf("%d attempts at %d dead domains, of %d workers", workers/2+len(dead), len(hanging), workers)
	}
}

// TestAStrangerDoesNotWaitForThoseThatHang checks that a message to an unknown responsive domain is
// sent even if every worker waits for a server that never replies.
func TestAStrangerDoesNotWaitForThoseThatHang(t *testing.T) {
	store := persisttest.OpenStore(t)
	over := make(chan struct{})
	var hanging sync.WaitGroup
	hanging.Add(6)
	courier := &fakeCourier{answer: func(c mailqueue.DeliveryRequest) mailqueue.Handover {
		if strings.HasPrefix(c.Domain, "dead") {
			hanging.Done()
			<-over
			return mailqueue.Handover{Outcome: delivery.OutcomeTemporary, Text: "no route"}
		}
		return mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250, MX: "mx"}
	}}
	s := startSystem(t, store, func(o *Options) {
		o.Courier, o.DeliveryWorkers, o.HangAfter = courier, 8, 10*time.Millisecond
	})
	defer close(over)
	_, address := openAccount(t, s)
	for n := range 6 {
		must[int64](t)(s.SendMessage(t.Context(), address, letter(fmt.Sprintf("a@dead%d.test", n))))
	}
	hanging.Wait()
	id := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@stranger.test")))
	sending(t, s, address, id, final)
	if stats := s.ReadStats().QueueStats; stats.Running < 6 {
		t.Errorf("%d attempts are under way", stats.Running)
	}
}

// TestSlowServersKeepTheirWorkers checks that for servers that reply but are slow, no more attempts
// run than there are workers.
func TestSlowServersKeepTheirWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		const workers, mailCount = 4, 12
		courier := &fakeCourier{}
		var now, most atomic.Int64
		courier.answer = func(c mailqueue.DeliveryRequest) mailqueue.Handover {
			c.Greeted()
			defer now.Add(-1)
			for n := now.Add(1); ; {
				if was := most.Load(); n <= was || most.CompareAndSwap(was, n) {
					break
				}
			}
			time.Sleep(200 * time.Millisecond) // the server's own time, twice HangAfter
			return mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250, MX: "mx"}
		}
		s := startSystem(t, store, func(o *Options) {
			o.Courier, o.DeliveryWorkers, o.HangAfter = courier, workers, 100*time.Millisecond
		})
		_, address := openAccount(t, s)
		var ids []int64
		for n := range mailCount {
			ids = append(ids, must[int64](t)(s.SendMessage(t.Context(), address, letter(fmt.Sprintf("a@slow%d.test", n)))))
		}
		for _, id := range ids {
			sending(t, s, address, id, final)
		}
		if n := most.Load(); n > workers {
			t.Errorf("%d mails were handed over at once by %d workers", n, workers)
		}
	})
}

// deafCourier hangs at every domain except live.test until its attempt is cancelled.
type deafCourier struct {
	fakeCourier
	spoke chan struct{} // slow.test has replied
}

func (f *deafCourier) Deliver(ctx context.Context, c mailqueue.DeliveryRequest) []mailqueue.Handover {
	if c.Domain == "live.test" {
		c.Greeted()
		return f.fakeCourier.Deliver(ctx, c)
	}
	if c.Domain == "slow.test" {
		c.Greeted()
		close(f.spoke)
	}
	<-ctx.Done()
	return []mailqueue.Handover{{Rcpt: c.Rcpts[0], Outcome: delivery.OutcomeTemporary, Text: "broken off"}}
}

// TestThoseThatHangGiveWay checks the limit of hanging attempts: the longest ones are cancelled for
// a new destination, but none whose server has replied.
func TestThoseThatHangGiveWay(t *testing.T) {
	store := persisttest.OpenStore(t)
	courier := &deafCourier{spoke: make(chan struct{})}
	s := startSystem(t, store, func(o *Options) {
		o.Courier, o.DeliveryWorkers, o.HangAfter, o.MostHanging = courier, 8, time.Millisecond, 20
	})
	_, address := openAccount(t, s)
	slow := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@slow.test")))
	<-courier.spoke
	first := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@first.test")))
	until(func() bool { return s.ReadStats().QueueStats.Running == 2 })
	for n := range 30 {
		must[int64](t)(s.SendMessage(t.Context(), address, letter(fmt.Sprintf("a@dead%d.test", n))))
	}
	id := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@live.test")))
	sending(t, s, address, id, final)
	got := sending(t, s, address, first, func(s *inbox.OutgoingDelivery) bool { return s.Status == delivery.StatusRetrying })
	if !strings.Contains(got.LastFailure(), "The mail server of first.test did not respond in time") {
		t.Errorf("%+v", got)
	}
	if got := must[*inbox.View](t)(s.InboxView(t.Context(), address)).Message(slow, s.now()).OutgoingDelivery; got.Status != delivery.StatusQueued || !got.AttemptLeased {
		t.Errorf("the one whose server spoke: %+v", got)
	}
}

// TestADestinationThatIsSilentIsLeftAlone checks that later messages are deferred with its report
// and without a connection.
func TestADestinationThatIsSilentIsLeftAlone(t *testing.T) {
	store := persisttest.OpenStore(t)
	courier := &fakeCourier{answer: func(mailqueue.DeliveryRequest) mailqueue.Handover {
		return mailqueue.Handover{Outcome: delivery.OutcomeTemporary, Text: "No route to dead.test"}
	}}
	s := startSystem(t, store, func(o *Options) { o.Courier = courier })
	_, address := openAccount(t, s)
	retrying := func(s *inbox.OutgoingDelivery) bool { return s.Status == delivery.StatusRetrying }
	for range 20 {
		id := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@dead.test")))
		if got := sending(t, s, address, id, retrying); !strings.Contains(got.LastFailure(), "No route to dead.test") || got.NextDue.Sub(s.now()) < 50*time.Second {
			t.Errorf("%+v", got)
		}
	}
	if n := len(courier.handed()); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestARestartTakesInterruptedAttemptsUp(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	hold := make(chan struct{})
	taken := make(chan struct{}, 10)
	first := startSystem(t, store, func(o *Options) {
		o.Courier = &fakeCourier{answer: func(mailqueue.DeliveryRequest) mailqueue.Handover {
			taken <- struct{}{}
			<-hold
			return mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250}
		}}
	})
	_, address := openAccount(t, first)
	id := must[int64](t)(first.SendMessage(t.Context(), address, letter("a@far.test")))
	<-taken
	// The rows as a crash leaves them: a lease far in the future.
	queue, _, _ := store.MailQueue(inbox.QueueEntry{}, 10)
	if len(queue) != 1 || !queue[0].AttemptLeased || queue[0].At.Sub(first.now()) < leaseAtLeast {
		t.Fatalf("queue: %+v", queue)
	}
	crashed := store.CrashCopy(t)
	courier := &fakeCourier{}
	second := startSystem(t, crashed, func(o *Options) { o.Courier = courier })
	got := sending(t, second, address, id, final)
	if got.AttemptCount != 2 || len(courier.handed()) != 1 {
		t.Errorf("%+v, %d handed over", got, len(courier.handed()))
	}
	close(hold)
	sending(t, first, address, id, final)
}

const leaseAtLeast = 20 * time.Minute

func TestQuotaIsGivenBackWhenTheMailIsNot(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	id, address := openAccount(t, s)
	store.SetFull(true)
	if _, err := s.SendMessage(t.Context(), address, letter("a@far.test")); !fault.Is(err, fault.StorageFull) {
		t.Errorf("on a full disk: %v", err)
	}
	store.SetFull(false)
	must[int64](t)(s.SendMessage(t.Context(), address, letter("a@far.test")))
	state := must[*account.State](t)(store.LoadAccount(id))
	if n := state.DailySends.On(s.now()); n != 1 {
		t.Errorf("%d sends are counted", n)
	}
}

func TestPlanLimitsAreNamed(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	_, address := openAccount(t, s)
	if err := s.SetPlan(t.Context(), "me@example.test", account.PlanFree); err != nil {
		t.Fatal(err)
	}
	file := func(n int) compose.DraftAttachment {
		return compose.DraftAttachment{Filename: "f", Bytes: make([]byte, n)}
	}
	many := letter("a@far.test", strings.Fields("b@far.test c@far.test d@far.test e@far.test f@far.test g@far.test h@far.test i@far.test j@far.test k@far.test")...)
	two, big := letter("a@far.test"), letter("a@far.test")
	two.AttachedFiles = []compose.DraftAttachment{file(1), file(1)}
	big.AttachedFiles = []compose.DraftAttachment{file(512<<10 + 1)}
	for want, l := range map[string]inbox.SendRequest{
		"Free plan allows at most 10 recipients per message; this one has 11":                   many,
		"Free plan allows at most 1 attachment per message; this one has 2":                     two,
		"Free plan allows at most 512 KB of attachments per message; this one has 524289 bytes": big,
	} {
		if _, err := s.SendMessage(t.Context(), address, l); !fault.Is(err, fault.Refused) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

const dsn = "From: mailer-daemon@far.test\r\nTo: x\r\nSubject: failed\r\nMIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n" +
	"--b\r\nContent-Type: text/plain\r\n\r\nIt failed.\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.far.test\r\n\r\n" +
	"Final-Recipient: rfc822; bob@far.test\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; 550 5.1.1 no such user\r\n\r\n--b--\r\n"

func TestBounceReachesItsRecipient(t *testing.T) {
	store := persisttest.OpenStore(t)
	courier := &fakeCourier{}
	s := startSystem(t, store, func(o *Options) { o.Courier = courier })
	id, address := openAccount(t, s)
	sent := must[int64](t)(s.SendMessage(t.Context(), address, letter("bob@far.test", "eve@other.test")))
	sending(t, s, address, sent, final)
	back := ""
	for _, c := range courier.handed() {
		if c.Domain == "far.test" {
			back = c.Senders[0]
		}
	}
	forged := strings.Replace(back, "=", "=x", 1)
	if err := s.CheckRecipient(t.Context(), back); err != nil {
		t.Fatalf("%s is refused: %v", back, err)
	}
	for _, rcpt := range []string{forged, back[:len(back)-len("@inbox.localhost")-1] + "2@inbox.localhost"} {
		if err := s.CheckRecipient(t.Context(), rcpt); rcpt != back && !fault.Is(err, fault.NoInbox) {
			t.Errorf("%s is accepted: %v", rcpt, err)
		}
	}
	for range 2 { // a repeat changes nothing
		if err := s.ReceiveMessage(t.Context(), envelopeTo(back), []byte(dsn)); err != nil {
			t.Fatal(err)
		}
	}
	got := sending(t, s, address, sent, final)
	if got.Recipients[0].Status != delivery.StatusBounced || got.Recipients[1].Status != delivery.StatusUnsigned || got.Status != delivery.StatusUnsigned {
		t.Errorf("%+v", got)
	}
	view := must[*inbox.View](t)(s.InboxView(t.Context(), address))
	if n := len(view.Messages); n != 1 {
		t.Errorf("the inbox holds %d messages", n)
	}
	var bounced int
	for _, ev := range must[[]inbox.PublicEvent](t)(events(store, s, id)) {
		if ev.EventName == "message.bounced" && fmt.Sprint(ev.To) == "[bob@far.test]" && ev.SendStatus == "unsigned" {
			bounced++
		}
	}
	if bounced != 1 {
		t.Errorf("%d events", bounced)
	}
	if _, err := s.SendMessage(t.Context(), address, letter("Bob@far.test")); !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), "Bob@far.test") {
		t.Errorf("to a suppressed address: %v", err)
	}
	if err := s.DropSuppression(t.Context(), id, "", "BOB@far.test"); err != nil {
		t.Fatal(err)
	}
	must[int64](t)(s.SendMessage(t.Context(), address, letter("Bob@far.test")))
}

func TestNoticesHaveNoSenderAndLeaveNothing(t *testing.T) {
	store := persisttest.OpenStore(t)
	courier := &fakeCourier{}
	s := startSystem(t, store, func(o *Options) { o.Courier = courier })
	done := make(chan struct{})
	courier.answer = func(mailqueue.DeliveryRequest) mailqueue.Handover {
		close(done)
		return mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250}
	}
	if err := s.SendNotice(t.Context(), ServiceNotice{To: "me@far.test", Subject: "Reset", Text: "https://x/secret"}); err != nil {
		t.Fatal(err)
	}
	<-done
	c := courier.handed()[0]
	if c.Senders != nil || !strings.Contains(string(c.Raw), "Auto-Submitted: auto-generated") || !strings.Contains(string(c.Raw), "From: noreply@inbox.localhost") {
		t.Errorf("from %q:\n%s", c.Senders, c.Raw)
	}
	until(func() bool {
		view, err := s.InboxView(t.Context(), "noreply@inbox.localhost")
		return err == nil && len(view.Messages) == 0
	})
	if err := s.CheckRecipient(t.Context(), "noreply@inbox.localhost"); !fault.Is(err, fault.NoInbox) {
		t.Errorf("mail to noreply is accepted: %v", err)
	}
}

func envelopeTo(rcpt string) ingest.Envelope { return ingest.Envelope{RcptTo: []string{rcpt}} }

// events waits for the journal and returns the account's entries.
func events(store *persisttest.TestStore, _ *System, id account.ID) ([]inbox.PublicEvent, error) {
	until(func() bool {
		left, err := store.Outbox(1)
		return err != nil || len(left) == 0
	})
	page, err := store.JournalPage(id, 0, "", time.Time{}, changefeed.EntryLimit(1000))
	out := make([]inbox.PublicEvent, len(page.Entries))
	for i, e := range page.Entries {
		out[i] = e.PublicEvent
	}
	return out, err
}

// lossyStore has lost the bytes of every message.
type lossyStore struct{ *persisttest.TestStore }

func (s lossyStore) ReadRaw(address string, id int64) ([]byte, error) {
	return nil, inbox.DamagedMessage(id, address, nil)
}

// TestDamagedMailIsGivenUp checks that a message whose bytes are lost is given up, and that its
// sender is notified.
func TestDamagedMailIsGivenUp(t *testing.T) {
	store := persisttest.OpenStore(t)
	courier := &fakeCourier{}
	s := startSystem(t, store, func(o *Options) { o.Store, o.Courier = lossyStore{store}, courier })
	_, address := openAccount(t, s)
	m := must[int64](t)(s.SendMessage(t.Context(), address, letter("b@slow.test", "c@other.test")))
	got := sending(t, s, address, m, final)
	if got.Status != delivery.StatusFailed || !strings.Contains(got.LastFailure(), "The message is damaged on the disk of this service") || len(courier.handed()) != 0 {
		t.Errorf("ended as %+v, %q", got, got.LastFailure())
	}
}

// TestAcceptedMailOutlivesItsInbox checks that a queued message is still sent after it was burnt,
// or deleted with its inbox, and then leaves no rows. If its account is deleted, the delivery ends.
func TestAcceptedMailOutlivesItsInbox(t *testing.T) {
	end := map[string]func(*System, account.ID, string) error{
		"burn": func(s *System, _ account.ID, address string) error {
			_, err := s.Do(context.Background(), address, inbox.Burn{})
			return err
		},
		"delete": func(s *System, id account.ID, address string) error {
			return s.DeleteInbox(context.Background(), id, address)
		},
		"delete the inbox, and then the account": func(s *System, id account.ID, address string) error {
			return cmp.Or(s.DeleteInbox(context.Background(), id, address), s.DeleteAccount(context.Background(), "me@example.test"))
		},
		"delete the account": func(s *System, _ account.ID, _ string) error {
			return s.DeleteAccount(context.Background(), "me@example.test")
		},
	}
	for name, end := range end {
		t.Run(name, func(t *testing.T) {
			store := persisttest.OpenStore(t)
			var open atomic.Bool
			courier := &fakeCourier{answer: func(mailqueue.DeliveryRequest) mailqueue.Handover {
				if !open.Load() {
					return mailqueue.Handover{Outcome: delivery.OutcomeTemporary, Code: 451, Text: "451 later"}
				}
				return mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250}
			}}
			s := startSystem(t, store, func(o *Options) { fast(o); o.Courier = courier })
			id, address := openAccount(t, s)
			m := must[int64](t)(s.SendMessage(t.Context(), address, letter("b@far.test")))
			until(func() bool { return len(courier.handed()) > 0 })
			if err := end(s, id, address); err != nil {
				t.Fatal(err)
			}
			if view, err := s.InboxView(t.Context(), address); err == nil && view.Message(m, s.now()) != nil {
				t.Error("it can still be read")
			}
			lives := !strings.Contains(name, "account")
			if items, _, err := s.MailQueue.ListItems(t.Context(), 10); (len(items) == 1) != lives || err != nil {
				t.Errorf("in the queue: %v, %v", items, err)
			}
			open.Store(true)
			until(func() bool {
				left := must[*inbox.State](t)(store.LoadInbox(address))
				return len(left.Messages) == 0
			})
			if raw, err := store.ReadRaw(address, m); raw != nil || err != nil {
				t.Errorf("its bytes are left: %q, %v", raw, err)
			}
			if queue, _, err := store.MailQueue(inbox.QueueEntry{}, 10); len(queue) > 0 || err != nil {
				t.Errorf("left in the queue: %v, %v", queue, err)
			}
			all := must[[]inbox.PublicEvent](t)(events(store, s, id))
			if reported := len(all) == 1 && all[0].MessageDeleted && all[0].EventName == "message.delivered"; reported != lives {
				t.Errorf("events: %+v", all)
			}
		})
	}
}
