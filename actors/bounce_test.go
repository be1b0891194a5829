package actors

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"inboxd/internal/core/account"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// TestAReportCountsForItsRecipientOnly checks that a report counts only for the recipient of its
// return path. That recipient, and the servers on the way, can report a bounce of that copy, but
// not of others, even in the same domain. An address that is not a recipient is taken for the
// target of a forward.
func TestAReportCountsForItsRecipientOnly(t *testing.T) {
	for _, c := range []struct {
		to      string // the recipient whose return path the report is sent to
		about   string
		status  string
		bounced bool
		barred  bool
	}{
		{"bob@far.test", "bob@far.test", "5.1.1", true, true},
		{"carol@far.test", "CAROL@far.test", "5.0.0", true, true},
		{"carol@far.test", "carol@far.test", "5.2.2", true, false},
		{"bob@far.test", "carol@far.test", "5.1.1", false, false}, // shares the domain
		{"bob@far.test", "eve@bücher.test", "5.1.1", false, false},
		{"carol@far.test", "forwarded@elsewhere.test", "5.1.1", true, true},
		{"eve@xn--bcher-kva.test", "bob@far.test", "5.1.1", false, false},
		{"eve@xn--bcher-kva.test", "eve@bücher.test", "5.6.1", true, false},
		{"eve@xn--bcher-kva.test", "forwarded@elsewhere.test", "5.1.1", true, true},
		{"eve@xn--bcher-kva.test", "eve@xn--bcher-kva.test", "4.4.1", true, false},
	} {
		t.Run(c.status+" to "+c.to+" about "+c.about, func(t *testing.T) {
			s, o := sentToThree(t)
			report := strings.NewReplacer("bob@far.test", c.about, "Status: 5.1.1", "Status: "+c.status, "550 5.1.1", "550 "+c.status).Replace(dsn)
			if err := s.ReceiveMessage(t.Context(), envelopeTo(o.paths[c.to]), []byte(report)); err != nil {
				t.Fatal(err)
			}
			bounced, barred := o.bounced(t, s)
			var want []string
			if c.bounced {
				want = []string{c.to + ": 550 " + c.status + " no such user"}
			}
			if !slices.Equal(bounced, want) {
				t.Errorf("bounced: %q, want %q", bounced, want)
			}
			if (len(barred) > 0) != c.barred || c.barred && barred[0].Email != c.to {
				t.Errorf("suppressed: %v", barred)
			}
		})
	}
}

// TestAReportAboutSeveral checks the order: a group about the recipient itself counts before one
// about a forward, and that before no group. A group about another recipient never counts.
func TestAReportAboutSeveral(t *testing.T) {
	group := func(rcpt, status string) string {
		return "Final-Recipient: rfc822; " + rcpt + "\r\nAction: failed\r\nStatus: " + status + "\r\nDiagnostic-Code: smtp; 550 " + status + " no such user\r\n\r\n"
	}
	head, _, _ := strings.Cut(dsn, "Final-Recipient")
	for _, c := range []struct{ name, groups, want string }{
		{"himself last", group("carol@far.test", "5.1.1") + group("x@fwd.test", "5.1.1") + group("bob@far.test", "5.1.3"), "[bob@far.test: 550 5.1.3 no such user]"},
		{"two forwards", group("x@fwd.test", "5.7.1") + group("y@fwd.test", "5.1.1"), "[bob@far.test: 550 5.1.1 no such user]"},
		{"others alone", group("carol@far.test", "5.1.1") + group("eve@xn--bcher-kva.test", "5.1.1"), "[]"},
		{"by the name that we asked for", "Original-Recipient: rfc822;bob@far.test\r\n" + group("carol@far.test", "5.1.1"), "[bob@far.test: 550 5.1.1 no such user]"},
	} {
		s, o := sentToThree(t)
		if err := s.ReceiveMessage(t.Context(), envelopeTo(o.paths["bob@far.test"]), []byte(head+c.groups+"--b--\r\n")); err != nil {
			t.Fatal(err)
		}
		if bounced, _ := o.bounced(t, s); fmt.Sprint(bounced) != c.want {
			t.Errorf("%s: %q", c.name, bounced)
		}
	}
}

// TestASharedReturnPathNamesNobody covers return paths from before each recipient had a separate
// one. All recipients of a copy knew such a path, so it counts only if the message had a single
// recipient.
func TestASharedReturnPathNamesNobody(t *testing.T) {
	s, o := sentToThree(t)
	single := must[int64](t)(s.SendMessage(t.Context(), o.address, letter("bob@far.test")))
	sending(t, s, o.address, single, final)
	for _, c := range []struct {
		id   int64
		want string
	}{{o.id, "[]"}, {single, "[bob@far.test: 550 5.1.1 no such user]"}} {
		o.id = c.id
		back := sharedReturnPath(s.BounceHandler.returnPathSecret, o.address, c.id, 0)
		if err := s.CheckRecipient(t.Context(), back); err != nil {
			t.Errorf("%s is refused: %v", back, err)
		}
		if err := s.ReceiveMessage(t.Context(), envelopeTo(back), []byte(dsn)); err != nil {
			t.Fatal(err)
		}
		bounced, barred := o.bounced(t, s)
		if fmt.Sprint(bounced) != c.want || len(barred) != len(bounced) {
			t.Errorf("%q, suppressed %v, want %s", bounced, barred, c.want)
		}
	}
}

// sharedReturnPath makes a return path as it was before ADR 0104.
func sharedReturnPath(secret []byte, address string, id int64, index int) string {
	local, host, _ := strings.Cut(address, "@")
	name := strconv.FormatInt(id, 36) + "-" + strconv.FormatInt(int64(index), 36)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("return path\x00" + address + "\x00" + name))
	return local + "+b" + name + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil))[:12]) + "@" + host
}

// sent is a message to three recipients, with the return path of each.
type sent struct {
	account account.ID
	address string
	id      int64
	paths   map[string]string
}

func sentToThree(t *testing.T) (*System, sent) {
	t.Helper()
	courier := &fakeCourier{}
	s := startSystem(t, persisttest.OpenStore(t), func(o *Options) { o.Courier = courier })
	id, address := openAccount(t, s)
	o := sent{id, address, must[int64](t)(s.SendMessage(t.Context(), address, letter("bob@far.test", "eve@xn--bcher-kva.test", "carol@far.test"))), map[string]string{}}
	sending(t, s, address, o.id, final)
	for _, job := range courier.handed() {
		for i, rcpt := range job.Rcpts {
			o.paths[rcpt] = job.Senders[i]
		}
	}
	return s, o
}

// bounced returns the recipients whose copies bounced, with the reasons, and the suppressed
// addresses.
func (o sent) bounced(t *testing.T, s *System) (list []string, barred []account.Suppression) {
	t.Helper()
	for _, r := range sending(t, s, o.address, o.id, final).Recipients {
		if r.Status == delivery.StatusBounced {
			list = append(list, r.Email+": "+r.Error)
		}
	}
	return list, must[[]account.Suppression](t)(s.Suppressions(t.Context(), o.account, "", "", 10))
}

// TestAnAnswerToTheReturnPathIsMail covers vacation notices, and replies to the envelope sender.
func TestAnAnswerToTheReturnPathIsMail(t *testing.T) {
	store := persisttest.OpenStore(t)
	courier := &fakeCourier{}
	s := startSystem(t, store, func(o *Options) { o.Courier = courier })
	_, address := openAccount(t, s)
	sent := must[int64](t)(s.SendMessage(t.Context(), address, letter("bob@far.test")))
	sending(t, s, address, sent, final)
	back := courier.handed()[0].Senders[0]
	away := "From: bob@far.test\r\nSubject: Out of office: Hello\r\nAuto-Submitted: auto-replied\r\n\r\n550 5.1.1 is not my number.\r\n"
	if err := s.ReceiveMessage(t.Context(), envelopeTo(back), []byte(away)); err != nil {
		t.Fatal(err)
	}
	got := must[*inbox.View](t)(s.InboxView(t.Context(), address)).LatestMatching(s.now(), nil)
	if got == nil || got.Subject != "Out of office: Hello" {
		t.Errorf("received %+v", got)
	}
	if r := sending(t, s, address, sent, final).Recipients[0]; r.Status != delivery.StatusUnsigned {
		t.Errorf("the recipient is %s", r.Status)
	}
}

// TestSuppressionsOfOneInbox checks that the list is filtered before it is paged, so that no page
// is short and no cursor is an address of another inbox.
func TestSuppressionsOfOneInbox(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	id := account.ID{7}
	for n := range 3 * suppressionsRead {
		one := account.Suppression{Email: fmt.Sprintf("%05d@x.test", n), Inbox: "other@i.test"}
		if n%1500 == 0 {
			one.Inbox = "own@i.test"
		}
		if err := store.PutSuppression(id, one); err != nil {
			t.Fatal(err)
		}
	}
	for after, want := range map[string]string{"": "[00000@x.test]", "00000@x.test": "[01500@x.test]", "01500@x.test": "[]"} {
		var got []string
		for _, one := range must[[]account.Suppression](t)(s.Suppressions(t.Context(), id, "own@i.test", after, 1)) {
			got = append(got, one.Email)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("behind %q: %v", after, got)
		}
	}
	if all := must[[]account.Suppression](t)(s.Suppressions(t.Context(), id, "", "", 5000)); len(all) != 3*suppressionsRead {
		t.Errorf("%d of all inboxes", len(all))
	}
}
