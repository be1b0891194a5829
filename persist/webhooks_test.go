package persist

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/internal/testutil/iterations"
	"inboxd/persist/disk"
)

func hook(n int64) *account.Webhook {
	return &account.Webhook{ID: n, URL: "https://example.com/hook", EventFilter: "*", InboxFilter: "i@example.org", Secret: fmt.Sprint("whsec_secret", n), CreatedAt: at(int(n))}
}

// TestWebhooksComeBack checks that webhooks are loaded with their account and by themselves, and
// that dropped ones are gone.
func TestWebhooksComeBack(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open(folder, options(fs))
	must(t, err)
	id := accountID(1)
	rotated := hook(2)
	rotated.PreviousSecret, rotated.PreviousUntil = "whsec_before", at(9)
	must(t, s.CommitAccount(&account.Rows{ID: id, Profile: &account.Profile{ID: id, CreatedAt: at(1), LastWebhook: 3},
		PutWebhooks: []*account.Webhook{hook(1), rotated, hook(3)}, NewWebhooks: []int64{1, 2, 3}}))
	must(t, s.CommitAccount(&account.Rows{ID: accountID(2), PutWebhooks: []*account.Webhook{hook(1)}, NewWebhooks: []int64{1}}))
	must(t, s.CommitAccount(&account.Rows{ID: id, DropWebhooks: []int64{3}}))
	must(t, s.CommitDeliveries(id, []webhook.DeliveryChange{(&webhook.Delivery{
		Account: id, ID: 1, Webhook: 2, State: webhook.StateFailed, LastAttempt: webhook.DeliveryAttempt{At: at(5), ReceiverResponse: webhook.ReceiverResponse{Status: 500, Error: "x"}},
	}).PutChange(time.Time{}, true)}))
	must(t, s.Close())
	s = open(t, fs)
	want := []account.Webhook{*hook(1), *rotated}
	got, err := s.Webhooks(id)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	st, err := s.LoadAccount(id)
	if err != nil || len(st.Webhooks) != 2 || !reflect.DeepEqual(*st.Webhooks[2], *rotated) || st.LastWebhook != 3 {
		t.Errorf("with the account: %+v, %v", st.Webhooks, err)
	}
	last, err := s.LastCalls(id)
	if want := map[int64]webhook.DeliveryAttempt{1: {}, 2: {At: at(5), ReceiverResponse: webhook.ReceiverResponse{Status: 500}}}; err != nil || !reflect.DeepEqual(last, want) {
		t.Errorf("last attempts %+v, %v; want %+v", last, err, want)
	}
	must(t, s.CommitAccount(&account.Rows{ID: id, EraseAll: true}))
	if got, err := s.Webhooks(id); err != nil || len(got) != 0 {
		t.Errorf("of the erased account: %+v, %v", got, err)
	}
	if d, err := s.FindDelivery(id, 1); d != nil || err != nil {
		t.Errorf("of the erased account: %+v, %v", d, err)
	}
	if got, err := s.Webhooks(accountID(2)); err != nil || len(got) != 1 {
		t.Errorf("of the other account: %+v, %v", got, err)
	}
}

// TestSecretsOfWebhooksAreEncrypted checks that only the key file makes the secrets readable, and
// that a row cannot be used in the place of another. A lost key file is reported.
func TestSecretsOfWebhooksAreEncrypted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	o := Options{MemTableBytes: 4 * mib, BallastBytes: 1, ReserveBytes: 1, Logger: quiet}
	s, err := Open(dir, o)
	must(t, err)
	id := accountID(1)
	must(t, s.CommitAccount(&account.Rows{ID: id, PutWebhooks: []*account.Webhook{hook(1), hook(2)}, NewWebhooks: []int64{1, 2}}))
	rows, err := s.readRows(id)
	must(t, err)
	if _, err := s.decrypt(id, webhookRow{1, rows[1].webhookRecord}); err == nil {
		t.Error("the secret of one webhook serves another")
	}
	if _, err := s.decrypt(accountID(2), rows[0]); err == nil {
		t.Error("the secret of one account serves another")
	}
	must(t, s.Close())
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if data, _ := os.ReadFile(path); err != nil || bytes.Contains(data, []byte("secret1")) {
			t.Errorf("%s holds the secret (%v)", path, err)
		}
		return err
	}))
	must(t, os.Remove(filepath.Join(dir, disk.SecretName)))
	s, err = Open(dir, o)
	must(t, err)
	defer closeStore(t, s)
	if _, err := s.Webhooks(id); err == nil || !strings.Contains(err.Error(), disk.SecretName) {
		t.Errorf("without the key file: %v", err)
	}
}

// deliveriesOf makes deliveries first to last of webhook 1 or 2; odd ones are due.
func deliveriesOf(id account.ID, first, last int) (out []webhook.Delivery) {
	for n := first; n <= last; n++ {
		d := webhook.Delivery{Account: id, ID: int64(n), Webhook: int64(1 + n%2), EventID: fmt.Sprint("evt_", n), Body: []byte(fmt.Sprint("body ", n)), At: at(n), State: webhook.StateDelivered}
		if n%2 == 1 {
			d.State, d.NextAt = webhook.StateRetrying, at(1000-n)
		}
		out = append(out, d)
	}
	return out
}

func ids(all []webhook.Delivery) (out []int64) {
	for _, d := range all {
		out = append(out, d.ID)
	}
	return out
}

// TestDeliveries checks the list: newest first, by webhook, below an id. Due entries are in time
// order over all accounts and are moved and removed with their deliveries. Old deliveries are
// removed, except waiting ones and the newest of all.
func TestDeliveries(t *testing.T) {
	s := open(t, vfs.NewMem())
	a, b := accountID(1), accountID(2)
	must(t, s.AppendJournal(a, 1, nil, deliveriesOf(a, 1, 9)))
	must(t, s.AppendJournal(b, 1, nil, deliveriesOf(b, 3, 4)))
	for name, c := range map[string]struct {
		hook, before int64
		limit        int
		want         []int64
	}{
		"all":     {0, 0, 100, []int64{9, 8, 7, 6, 5, 4, 3, 2, 1}},
		"some":    {0, 0, 2, []int64{9, 8}},
		"below":   {0, 3, 9, []int64{2, 1}},
		"of one":  {1, 7, 2, []int64{6, 4}},
		"of none": {5, 0, 9, nil},
	} {
		if got, err := s.ListDeliveries(a, c.hook, c.before, c.limit); err != nil || !reflect.DeepEqual(ids(got), c.want) {
			t.Errorf("%s: %v, %v; want %v", name, ids(got), err, c.want)
		}
	}
	if last, err := s.LastDelivery(a); last != 9 || err != nil {
		t.Errorf("last %d, %v", last, err)
	}
	due, more, err := s.DueDeliveries(webhook.DueEntry{At: at(993)}, 3)
	if err != nil || len(due) != 3 || due[0].ID != 7 || due[0].Account != a || due[0].Webhook != 2 || !due[0].At.Equal(at(993)) || due[1].ID != 5 || due[2].ID != 3 || !more {
		t.Errorf("due %v, more %v, %v", due, more, err)
	}
	if rest, more, err := s.DueDeliveries(due[0], 10); err != nil || more || len(rest) < 2 || rest[0].ID != 5 {
		t.Errorf("behind the first: %v, more %v, %v", rest, more, err)
	}
	d, err := s.FindDelivery(a, 9)
	must(t, err)
	moved := due[0].MoveTo(at(2000))
	d.Cancel(webhook.WebhookGone)
	must(t, s.CommitDeliveries(a, []webhook.DeliveryChange{d.PutChange(at(991), false), moved}))
	due, more, err = s.DueDeliveries(webhook.DueEntry{}, 10)
	if err != nil || len(due) != 5 || more || due[0].ID != 5 || due[4].ID != 7 || !due[4].At.Equal(at(2000)) {
		t.Errorf("after the changes: due %v, more %v, %v", due, more, err)
	}
	if d, err := s.FindDelivery(a, 9); err != nil || d.State != webhook.StateFailed || string(d.Body) != "body 9" {
		t.Errorf("cancelled: %+v, %v", d, err)
	}
	accounts, err := s.DeliveryAccounts(account.ID{}, 10)
	if err != nil || len(accounts) != 2 {
		t.Errorf("accounts %v, %v", accounts, err)
	}
	if rest, err := s.DeliveryAccounts(accounts[0], 10); err != nil || len(rest) != 1 || rest[0] != accounts[1] {
		t.Errorf("behind the first: %v, %v", rest, err)
	}
	for _, c := range []struct {
		before  time.Time
		keep    int
		removed int
		left    []int64
	}{
		{time.Time{}, 6, 1, []int64{9, 8, 7, 6, 5, 4, 3, 1}}, // 3 and 1 wait; 2 is beyond the newest six
		{at(7), 100, 2, []int64{9, 8, 7, 5, 3, 1}},
		{at(100), 100, 1, []int64{9, 7, 5, 3, 1}}, // the newest remains
		{at(100), 0, 0, []int64{9, 7, 5, 3, 1}},
	} {
		removed, err := s.TrimDeliveries(a, 0, c.before, c.keep, 100)
		got, _ := s.ListDeliveries(a, 0, 0, 100)
		if err != nil || removed != c.removed || !reflect.DeepEqual(ids(got), c.left) {
			t.Errorf("trimmed %d, %v, left %v; want %+v", removed, err, ids(got), c)
		}
	}
}

// TestDeliveryRoundTrip checks that any delivery is read as it was written.
func TestDeliveryRoundTrip(t *testing.T) {
	s := open(t, vfs.NewMem())
	rapid.Check(t, func(t *rapid.T) {
		want := webhook.Delivery{
			Account: accountID(1), ID: rapid.Int64Range(1, 99).Draw(t, "id"), Webhook: rapid.Int64Min(0).Draw(t, "webhook"), EventID: genText.Draw(t, "event id"),
			Event: genText.Draw(t, "event"), Inbox: genText.Draw(t, "inbox"), Body: []byte(genText.Draw(t, "body") + "x"), At: genTime.Draw(t, "at"), URL: genText.Draw(t, "url"),
			State: webhook.DeliveryState(rapid.IntRange(1, 3).Draw(t, "state")), AttemptCount: rapid.Int().Draw(t, "calls"), AttemptsBefore: rapid.Int().Draw(t, "base"), NextAt: genTime.Draw(t, "next"),
			LastAttempt: webhook.DeliveryAttempt{At: genTime.Draw(t, "last"), ReceiverResponse: webhook.ReceiverResponse{Status: rapid.Int().Draw(t, "status"),
				Duration: time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "took")) * time.Millisecond, Error: genText.Draw(t, "error"), BodyExcerpt: genText.Draw(t, "excerpt")}},
			RestartedAt: genTime.Draw(t, "began"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "past") {
			want.PastAttempts = append(want.PastAttempts, webhook.StoredAttempt{DeliveryAttempt: want.LastAttempt, URL: genText.Draw(t, "past url"), State: webhook.DeliveryState(rapid.IntRange(1, 3).Draw(t, "past state")), NextAt: genTime.Draw(t, "past next")})
		}
		must(t, s.CommitDeliveries(want.Account, []webhook.DeliveryChange{want.PutChange(time.Time{}, true)}))
		if got, err := s.FindDelivery(want.Account, want.ID); err != nil || !reflect.DeepEqual(*got, want) {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
	})
}

// TestCrashesKeepDeliveries checks that after any power loss an event is in the outbox, or in the
// journal with its delivery. A delivery whose attempt had started is there with its bytes, and a
// finished one does not come back.
func TestCrashesKeepDeliveries(t *testing.T) {
	for clone := range iterations.Times(t, moreClones, clones) {
		rng := rand.New(rand.NewPCG(7, clone))
		fs := vfs.NewCrashableMem()
		s, err := Open(folder, options(fs))
		must(t, err)
		id := accountID(1)
		leased, ended := 0, 0
		steps := 1 + rng.IntN(24)
		for step := range steps {
			n := step/4 + 1
			d := deliveriesOf(id, n, n)[0]
			d.Webhook, d.State, d.NextAt = 1, webhook.StateRetrying, at(n)
			switch step % 4 {
			case 0:
				r := mail(victim, int64(n), "x")
				r.PublicEvents[0].SequenceNumber, r.PublicEvents[0].Account = uint64(n), id
				must(t, s.CommitInbox(r))
			case 1:
				e := inbox.PublicEvent{SequenceNumber: uint64(n), Account: id, Address: victim, At: at(n)}
				must(t, s.AppendJournal(id, uint64(n), []inbox.PublicEvent{e}, []webhook.Delivery{d}))
				must(t, s.DropOutbox([]inbox.PublicEvent{e}))
			case 2:
				must(t, s.CommitDeliveries(id, []webhook.DeliveryChange{d.DueEntry().MoveTo(at(n + 20_000))}))
				leased = n
			case 3:
				due := d.DueEntry()
				due.At = at(n + 20_000)
				d.RecordAttempt(d.URL, webhook.DeliveryAttempt{At: at(n), ReceiverResponse: webhook.ReceiverResponse{Status: 200}}, webhook.DefaultSchedule())
				must(t, s.CommitDeliveries(id, []webhook.DeliveryChange{d.PutChange(due.At, true)}))
				ended = n
			}
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[clone%3], RNG: rng})
		closeStore(t, s)
		after, err := Open(folder, options(crashed))
		must(t, err)
		if err := checkDeliveries(after, id, (steps+3)/4, leased, ended); err != nil {
			t.Errorf("clone %d after %d steps: %v", clone, steps, err)
		}
		closeStore(t, after)
	}
}

func checkDeliveries(s *Store, id account.ID, events, leased, ended int) error {
	out, err := s.Outbox(100)
	if err != nil {
		return err
	}
	waiting := map[uint64]bool{}
	for _, e := range out {
		waiting[e.SequenceNumber] = true
	}
	end, err := s.JournalEnd(id)
	if err != nil {
		return err
	}
	due, _, err := s.DueDeliveries(webhook.DueEntry{}, 100)
	if err != nil {
		return err
	}
	pending := map[int64]bool{}
	for _, d := range due {
		pending[d.ID] = true
	}
	for n := 1; n <= events; n++ {
		d, err := s.FindDelivery(id, int64(n))
		switch inJournal := uint64(n) <= end; {
		case err != nil:
			return err
		case !inJournal && !waiting[uint64(n)]:
			return fmt.Errorf("event %d is lost", n)
		case inJournal != (d != nil):
			return fmt.Errorf("event %d: in the journal %v, its delivery %v", n, inJournal, d)
		case n <= leased && (d == nil || string(d.Body) != fmt.Sprint("body ", n)):
			return fmt.Errorf("delivery %d was tried and is %v", n, d)
		case n <= ended && (d.State != webhook.StateDelivered || pending[int64(n)]):
			return fmt.Errorf("delivery %d ended and is %v, pending %v", n, d, pending[int64(n)])
		case d != nil && d.State == webhook.StateRetrying && !pending[int64(n)]:
			return fmt.Errorf("delivery %d waits for nothing: %v", n, d)
		}
	}
	return nil
}

// TestEventsAndDeliveriesAppearTogether checks that a reader of an event in the journal also sees
// its deliveries, since they are in one batch.
func TestEventsAndDeliveriesAppearTogether(t *testing.T) {
	s := open(t, vfs.NewMem())
	id := accountID(1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; n <= 3000; n++ {
			if err := s.AppendJournal(id, uint64(n), []inbox.PublicEvent{{SequenceNumber: uint64(n), Account: id}}, deliveriesOf(id, n, n)); err != nil {
				t.Error(err)
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		end, err := s.JournalEnd(id)
		must(t, err)
		if d, err := s.FindDelivery(id, int64(end)); end > 0 && d == nil || err != nil {
			t.Fatalf("event %d is there without its delivery, %v", end, err)
		}
	}
}

// TestCheckKnowsLeases checks that an entry that an attempt moved is found at any time. A delivery
// without an entry is reported, and so is one whose entry is where no server looks for it.
func TestCheckKnowsLeases(t *testing.T) {
	const addr = harmed
	id := accountID(1)
	misplaced := func(key []byte) []byte {
		key[groupLen+timeLen+1] ^= 1
		return key
	}
	lost := []string{"message 1 of a@example.org is waiting to be sent but is not in the queue", fmt.Sprintf("delivery 1 of account %s is waiting but is missing from the due index", id)}
	for name, c := range map[string]struct {
		harm func(h harm) error
		want []string
	}{
		"as written": {func(harm) error { return nil }, nil},
		"leased": {func(h harm) error {
			queued := &inbox.Rows{Address: addr, QueueMoves: []inbox.QueueMove{{ID: 1, From: at(5), To: at(700), AttemptLeased: true}}}
			moved := deliveriesOf(id, 1, 1)[0].DueEntry().MoveTo(at(2000))
			return errors.Join(h.s.CommitInbox(queued), h.s.CommitDeliveries(id, []webhook.DeliveryChange{moved}))
		}, nil},
		"due before their time": {func(h harm) error {
			early := &inbox.Rows{Address: addr, QueueMoves: []inbox.QueueMove{{ID: 1, From: at(5), To: at(1)}}}
			return errors.Join(h.s.CommitInbox(early), h.s.CommitDeliveries(id, []webhook.DeliveryChange{deliveriesOf(id, 1, 1)[0].DueEntry().MoveTo(at(1))}))
		}, nil},
		"lost": {func(h harm) error {
			return errors.Join(h.delete(mailDueKey(at(5), addr, 1)), h.delete(deliveryDueKey(nil, at(999), id, 1)))
		}, lost},
		"lost, and there are others": {func(h harm) error {
			return errors.Join(h.delete(mailDueKey(at(5), addr, 1)), h.delete(deliveryDueKey(nil, at(999), id, 1)),
				h.set(mailDueKey(at(5), addr, 2), []byte{recordVersion, 0xa0}), h.set(deliveryDueKey(nil, at(999), id, 2), keyedValue(nil, 1)))
		}, lost},
		"in a wrong place": {func(h harm) error {
			return errors.Join(h.delete(mailDueKey(at(5), addr, 1)), h.delete(deliveryDueKey(nil, at(999), id, 1)),
				h.set(misplaced(mailDueKey(at(5), addr, 1)), []byte{recordVersion, 0xa0}), h.set(misplaced(deliveryDueKey(nil, at(999), id, 1)), keyedValue(nil, 1)))
		}, lost},
	} {
		fs := vfs.NewMem()
		s := must1(Open(folder, options(fs)))(t)
		r := sent(addr, 1, at(5))
		r.Profile.DueAt, r.DueTo = at(1), at(1)
		must(t, s.CommitInbox(r))
		must(t, s.AppendJournal(id, 1, nil, deliveriesOf(id, 1, 3)))
		must(t, c.harm(harm{fs, s}))
		closeStore(t, s)
		if got := problemsOf(t, fs, folder); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
