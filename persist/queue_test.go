package persist

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/internal/mail/message"
)

// sent makes the batch of a submission.
func sent(addr string, id int64, due time.Time) *inbox.Rows {
	r := mail(addr, id, body(addr, id))
	m := r.PutMessages[0]
	m.Direction = inbox.Out
	m.OutgoingDelivery = &inbox.OutgoingDelivery{Status: delivery.StatusQueued, NextDue: due, Recipients: []inbox.OutgoingRecipient{inbox.To("bob@far.test")}}
	r.QueueMoves = []inbox.QueueMove{{ID: id, To: due, WaitingDomains: []string{"far.test"}}}
	return r
}

func queueOf(t *testing.T, s *Store, after inbox.QueueEntry, limit int) (out []string) {
	t.Helper()
	queue, more, err := s.MailQueue(after, limit)
	must(t, err)
	for _, q := range queue {
		out = append(out, fmt.Sprintf("%s/%d@%d %v %v", q.Address, q.ID, q.At.UnixMilli(), q.WaitingDomains, q.AttemptLeased))
	}
	if more {
		out = append(out, "more")
	}
	return out
}

// addressesOf returns the addresses that are due for retention.
func addressesOf(due []inbox.RetentionEntry) (addresses []string) {
	for _, d := range due {
		addresses = append(addresses, d.Address)
	}
	return addresses
}

func TestMailQueueIsInTimeOrderOverAllInboxes(t *testing.T) {
	s := open(t, vfs.NewMem())
	must(t, s.CommitInbox(sent("b@example.org", 1, at(20))))
	must(t, s.CommitInbox(sent("a@example.org", 1, at(30))))
	must(t, s.CommitInbox(sent("c@example.org", 1, at(10))))
	b, a, c := "b@example.org/1@%d [far.test] false", "a@example.org/1@%d [far.test] false", "c@example.org/1@%d [far.test] false"
	for i, p := range []*string{&c, &b, &a} {
		*p = fmt.Sprintf(*p, at((i+1)*10).UnixMilli())
	}
	if got := queueOf(t, s, inbox.QueueEntry{}, 2); !slices.Equal(got, []string{c, b, "more"}) {
		t.Error(got)
	}
	if got := queueOf(t, s, inbox.QueueEntry{At: at(20), Address: "b@example.org", ID: 1}, 9); !slices.Equal(got, []string{a}) {
		t.Error(got)
	}
	if got := queueOf(t, s, inbox.QueueEntry{At: at(20)}, 9); !slices.Equal(got, []string{b, a}) {
		t.Error(got)
	}
	// Of several moves of one message in one batch, the last remains.
	must(t, s.CommitInbox(&inbox.Rows{Address: "b@example.org", QueueMoves: []inbox.QueueMove{
		{ID: 1, From: at(20), To: at(40), WaitingDomains: []string{"x.test"}, AttemptLeased: true}, {ID: 1, From: at(40), To: at(15), WaitingDomains: []string{"y.test"}},
	}}))
	must(t, s.CommitInbox(&inbox.Rows{Address: "c@example.org", QueueMoves: []inbox.QueueMove{{ID: 1, From: at(10)}}}))
	b = fmt.Sprintf("b@example.org/1@%d [y.test] false", at(15).UnixMilli())
	if got := queueOf(t, s, inbox.QueueEntry{}, 9); !slices.Equal(got, []string{b, a}) {
		t.Error(got)
	}
}

func TestSignatureGoesWithItsMessage(t *testing.T) {
	s := open(t, vfs.NewMem())
	const addr = "a@example.org"
	for id := int64(1); id <= 20; id++ {
		r := sent(addr, id, at(1))
		r.SignatureFields = []inbox.SignatureFields{{ID: id, Bytes: fmt.Appendf(nil, "DKIM-Signature: %d\r\n", id)}}
		must(t, s.CommitInbox(r))
	}
	if got, err := s.FrozenSignature(addr, 7); err != nil || string(got) != "DKIM-Signature: 7\r\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.ReadRaw(addr, 7); err != nil || string(got) != body(addr, 7) {
		t.Errorf("raw of 7: %d bytes, %v", len(got), err)
	}
	st, err := s.LoadInbox(addr)
	must(t, err)
	must(t, s.CommitInbox(&inbox.Rows{Address: addr, DropMessages: st.Messages[:1]}))
	must(t, s.CommitInbox(&inbox.Rows{Address: addr, DropMessages: st.Messages[1:18]}))
	for id := int64(1); id <= 20; id++ {
		if got, err := s.FrozenSignature(addr, id); err != nil || (got != nil) != (id > 18) {
			t.Errorf("signature %d: %q, %v", id, got, err)
		}
	}
}

func TestSuppressionsOfOneAccount(t *testing.T) {
	s := open(t, vfs.NewMem())
	one, two := accountID(1), accountID(2)
	for i, email := range []string{"b@x.test", "a@x.test", "c@x.test"} {
		must(t, s.PutSuppression(one, account.Suppression{Email: email, Inbox: "i@y.test", Message: int64(i), Reason: "5.1.1", At: at(i)}))
	}
	list, err := s.Suppressions(one, "a@x.test", 1)
	if err != nil || !reflect.DeepEqual(list, []account.Suppression{{Email: "b@x.test", Inbox: "i@y.test", Reason: "5.1.1", At: at(0)}}) {
		t.Errorf("%+v, %v", list, err)
	}
	if _, found, err := s.FindSuppression(two, "b@x.test"); found || err != nil {
		t.Errorf("of another account: %v, %v", found, err)
	}
	for _, want := range []bool{true, false} {
		if dropped, err := s.DropSuppression(one, "b@x.test"); dropped != want || err != nil {
			t.Errorf("dropped %v, %v", dropped, err)
		}
	}
	if _, found, err := s.FindSuppression(one, "b@x.test"); found || err != nil {
		t.Errorf("dropped and there: %v, %v", found, err)
	}
}

// TestCountOfSendsIsOnDiskWithTheMail checks that the count, which is not synced itself, is never
// behind a message that was committed after it.
func TestCountOfSendsIsOnDiskWithTheMail(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s, err := Open(folder, options(fs))
	must(t, err)
	defer closeStore(t, s)
	id := accountID(1)
	for n := int64(1); n <= 20; n++ {
		must(t, s.CommitAccount(&account.Rows{ID: id, Sends: &account.SendCount{UTCDay: 7, Count: n}}))
		if _, err := s.LoadAccount(id); err != nil {
			t.Fatal(err)
		}
		must(t, s.CommitInbox(sent("a@example.org", n, at(1))))
		crashed, err := Open(folder, options(fs.CrashClone(vfs.CrashCloneCfg{})))
		must(t, err)
		st, err := crashed.LoadAccount(id)
		must(t, err)
		raw, err := crashed.ReadRaw("a@example.org", n)
		must(t, err)
		if st.DailySends.Count != n || !bytes.Equal(raw, []byte(body("a@example.org", n))) {
			t.Fatalf("after a crash %d are counted of %d", st.DailySends.Count, n)
		}
		must(t, crashed.Close())
	}
}

// TestSentMailComesBackWhole checks a sent message after the store was reopened.
func TestSentMailComesBackWhole(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	r := sent("a@example.org", 1, at(5))
	want := goldenSentMessage()
	want.ID, want.Size = 1, r.PutMessages[0].Size
	r.PutMessages[0] = want
	must(t, s.CommitInbox(r))
	st, err := s.LoadInbox("a@example.org")
	must(t, err)
	if !reflect.DeepEqual(st.Messages[0], want) {
		t.Errorf("%+v\n%+v", st.Messages[0], want)
	}
	if st.Messages[0].From != (message.Mailbox{Email: goldenAddress, Name: "Ada"}) {
		t.Error(st.Messages[0].From)
	}
}

// TestMisplacedEntriesArePassedOver covers entries in another group or partition than their
// entity's, and entries without an entity. The others are found in order.
func TestMisplacedEntriesArePassedOver(t *testing.T) {
	s := open(t, vfs.NewMem())
	id := accountID(1)
	must(t, s.CommitInbox(&inbox.Rows{Address: victim, DueTo: at(5), QueueMoves: []inbox.QueueMove{{ID: 1, To: at(5)}}}))
	must(t, s.CommitDeliveries(id, []webhook.DeliveryChange{{ID: 1, Webhook: 1, To: at(5)}}))
	for _, right := range [][]byte{inboxDueKey(at(4), victim), mailDueKey(at(4), victim, 1), deliveryDueKey(nil, at(4), id, 1)} {
		group, partition := bytes.Clone(right), bytes.Clone(right)
		group[1] ^= 1
		partition[groupLen+8+1] ^= 1
		for _, key := range [][]byte{group, partition, right[:dueHead], append(right[:dueHead:dueHead], 'x')} {
			must(t, s.db.Set(key, keyedValue(nil, 1), nil))
		}
	}
	due, next, err := s.DueInboxes(at(9), 9)
	if err != nil || len(due) != 1 || due[0] != (inbox.RetentionEntry{At: at(5), Address: victim}) || !next.IsZero() {
		t.Errorf("due are %v, then %v, %v", due, next, err)
	}
	if got := queueOf(t, s, inbox.QueueEntry{}, 9); len(got) != 1 {
		t.Errorf("the queue has %v", got)
	}
	must(t, s.EachQueued(func(q inbox.QueueEntry) {
		if !q.At.Equal(at(5)) {
			t.Errorf("without order %v", q)
		}
	}))
	if calls, more, err := s.DueDeliveries(webhook.DueEntry{}, 9); err != nil || more || len(calls) != 1 || !calls[0].At.Equal(at(5)) {
		t.Errorf("calls %v, %v, %v", calls, more, err)
	}
}

// TestGroupsAreMerged checks that pages of any size are complete and in the order of time,
// partition and entity over all groups. A scan without order is also complete.
func TestGroupsAreMerged(t *testing.T) {
	s := open(t, vfs.NewMem())
	var want []inbox.QueueEntry
	for n := range 400 {
		addr, due := fmt.Sprintf("i%d@example.org", n), at(n*7919%61)
		must(t, s.CommitInbox(&inbox.Rows{Address: addr, QueueMoves: []inbox.QueueMove{{ID: 1, To: due}}}))
		want = append(want, inbox.QueueEntry{At: due, Address: addr, ID: 1})
	}
	slices.SortFunc(want, func(a, b inbox.QueueEntry) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(partition.Of(a.Address), partition.Of(b.Address)), cmp.Compare(a.Address, b.Address))
	})
	for _, limit := range []int{1, 7, 399, 400, 1000} {
		var got []inbox.QueueEntry
		var after inbox.QueueEntry
		for more := true; more; {
			var page []inbox.QueueEntry
			var err error
			page, more, err = s.MailQueue(after, limit)
			must(t, err)
			if len(page) > limit || more && len(page) < limit {
				t.Fatalf("a page of %d has %d", limit, len(page))
			}
			got = append(got, page...)
			after = page[len(page)-1]
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("in pages of %d: %d entries in another order", limit, len(got))
		}
	}
	seen := map[string]bool{}
	must(t, s.EachQueued(func(q inbox.QueueEntry) { seen[q.Address] = true }))
	if len(seen) != len(want) {
		t.Errorf("%d of %d entries without order", len(seen), len(want))
	}
}
