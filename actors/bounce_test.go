package actors

import (
	"fmt"
	"strings"
	"testing"

	"inboxd/internal/account"
	"inboxd/internal/delivery"
	"inboxd/internal/inbox"
	"inboxd/persist/persisttest"
)

// TestAReportCountsForItsCopyOnly: a return path tells of the recipients who shared a copy of
// the mail. Another recipient's server, which knows its own return path alone, can't say that
// theirs came back, and a report that names nobody of several is not guessed at.
func TestAReportCountsForItsCopyOnly(t *testing.T) {
	for _, c := range []struct {
		to      string // of the copy whose return path the report comes to
		about   string
		status  string
		bounced string
		barred  bool
	}{
		{"far.test", "bob@far.test", "5.1.1", "bob@far.test", true},
		{"far.test", "CAROL@far.test", "5.0.0", "carol@far.test", true},
		{"far.test", "carol@far.test", "5.2.2", "carol@far.test", false},
		{"far.test", "forwarded@elsewhere.test", "5.1.1", "", false},
		{"far.test", "eve@xn--bcher-kva.test", "5.1.1", "", false},
		{"xn--bcher-kva.test", "bob@far.test", "5.1.1", "eve@xn--bcher-kva.test", true},
		{"xn--bcher-kva.test", "eve@bücher.test", "5.6.1", "eve@xn--bcher-kva.test", false},
		{"xn--bcher-kva.test", "forwarded@elsewhere.test", "5.1.1", "eve@xn--bcher-kva.test", true},
		{"xn--bcher-kva.test", "eve@xn--bcher-kva.test", "4.4.1", "eve@xn--bcher-kva.test", false},
	} {
		t.Run(c.status+" to "+c.to+" about "+c.about, func(t *testing.T) {
			store := persisttest.Open(t)
			courier := &fakeCourier{}
			s := startSystem(t, store, func(o *Options) { o.Courier = courier })
			id, address := openAccount(t, s)
			sent := must[int64](t)(s.Send(t.Context(), address, letter("bob@far.test", "eve@xn--bcher-kva.test", "carol@far.test")))
			sending(t, s, address, sent, final)
			back := ""
			for _, job := range courier.handed() {
				if job.Domain == c.to {
					back = job.MailFrom
				}
			}
			report := strings.NewReplacer("bob@far.test", c.about, "Status: 5.1.1", "Status: "+c.status, "550 5.1.1", "550 "+c.status).Replace(dsn)
			if err := s.Receive(t.Context(), envelopeTo(back), []byte(report)); err != nil {
				t.Fatal(err)
			}
			bounced, why := "", ""
			for _, r := range sending(t, s, address, sent, final).Recipients {
				if r.Status == delivery.Bounced {
					bounced, why = bounced+r.Email, r.Error
				}
			}
			if bounced != c.bounced || bounced != "" && why != fmt.Sprintf("550 %s no such user", c.status) {
				t.Errorf("bounced: %q, because %q", bounced, why)
			}
			barred := must[[]account.Suppression](t)(s.Suppressions(t.Context(), id, "", "", 10))
			if (len(barred) > 0) != c.barred || c.barred && barred[0].Email != bounced {
				t.Errorf("suppressed: %v", barred)
			}
		})
	}
}

// TestAnAnswerToTheReturnPathIsMail: holiday notices go there, and whoever answers what the
// envelope says.
func TestAnAnswerToTheReturnPathIsMail(t *testing.T) {
	store := persisttest.Open(t)
	courier := &fakeCourier{}
	s := startSystem(t, store, func(o *Options) { o.Courier = courier })
	_, address := openAccount(t, s)
	sent := must[int64](t)(s.Send(t.Context(), address, letter("bob@far.test")))
	sending(t, s, address, sent, final)
	back := courier.handed()[0].MailFrom
	away := "From: bob@far.test\r\nSubject: Out of office: Hello\r\nAuto-Submitted: auto-replied\r\n\r\n550 5.1.1 is not my number.\r\n"
	if err := s.Receive(t.Context(), envelopeTo(back), []byte(away)); err != nil {
		t.Fatal(err)
	}
	got := must[*inbox.View](t)(s.View(t.Context(), address)).Latest(s.now(), nil)
	if got == nil || got.Subject != "Out of office: Hello" {
		t.Errorf("received %+v", got)
	}
	if r := sending(t, s, address, sent, final).Recipients[0]; r.Status != delivery.Unsigned {
		t.Errorf("the recipient is %s", r.Status)
	}
}

// TestSuppressionsOfOneInbox: the list is narrowed before it is cut into pages, so that none is short and no
// cursor is another inbox's address.
func TestSuppressionsOfOneInbox(t *testing.T) {
	store := persisttest.Open(t)
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
