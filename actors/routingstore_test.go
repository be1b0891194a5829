package actors

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/sealed"
	"inboxd/persist/persisttest"
)

// notAsked are the methods of a Store that asking does not override.
var notAsked = []string{
	// Owners call these for their own entities; the journal, webhooks and the mail queue call them
	// for rows of this node. Commits are fenced by the store.
	"AccountOnce", "AppendJournal", "FindClaim", "CommitAccount", "CommitDeliveries", "CommitDomain", "CommitInbox", "CopiesDue", "DropOutbox", "ForgetEvents",
	"InboxOnce", "FindKey", "LastDelivery", "FindListing", "LoadAccount", "LoadInbox", "QueuedAt", "QueuedIn", "SetEmail", "SetSubdomain", "FrozenSignature",
	"TrimDeliveries", "TrimJournal",
	// These scan many partitions, and skip those of other nodes.
	"ListAccounts", "ListClosing", "DeliveryAccounts", "ListDomains", "DueDeliveries", "DueInboxes", "ForgetOnce", "JournalAccounts", "LeftQueued", "MailQueue",
	"Outbox", "OutboxBehind",
	// These read no rows.
	"ClockSeen", "ClockTrusted", "Decrypt", "DrainGroup", "EncryptSecret", "IsFull", "ComputeMAC", "WritePosition", "WaitForPosition", "SyncJournal", "UnacknowledgedPeriod",
}

// TestNothingIsReadBeforeTheOwnerIsAsked checks that every method refuses rows of another node
// before it calls the store, which is nil here. Only the methods in notAsked are exempt.
func TestNothingIsReadBeforeTheOwnerIsAsked(t *testing.T) {
	a := reflect.ValueOf(&routingStore{nil, partition.NewOwner(partition.OwnershipMap{}), noRemoteReader{}})
	for m := range reflect.TypeFor[Store]().Methods() {
		if slices.Contains(notAsked, m.Name) {
			continue
		}
		func() {
			defer func() {
				if why := recover(); why != nil {
					t.Errorf("%s reads: %v", m.Name, why)
				}
			}()
			call := a.MethodByName(m.Name)
			var in []reflect.Value
			for i := range call.Type().NumIn() {
				in = append(in, reflect.Zero(call.Type().In(i)))
			}
			out := call.Call(in)
			if err, _ := out[len(out)-1].Interface().(error); !fault.Is(err, fault.MovedAway) {
				t.Errorf("%s: %v", m.Name, err)
			}
		}()
	}
}

// Groups of the two nodes below. A single node owns both, also with the build tag ownercheck.
const here, there = partition.Group(2), partition.Group(30)

// person is an account with one of everything that an account may have.
type person struct {
	id             account.ID
	email          string
	session        string
	near, far, own string // addresses of inboxes: here, there, and under its own domain, which is there
	key            account.IssuedKey
	hook           int64
	domain         string
}

// twoNodes simulates a node that was alone and then lost a group to another node, while its old
// rows remain.
type twoNodes struct {
	service  string
	dns      *fakeDNS
	poster   *script
	ada, bob person // an account there, and one here
	store    *persisttest.TestStore
	rows     *partition.OwnershipState
	reset    string // ada's reset token
	label    string // ada's subdomain
}

// options sets the options of both nodes.
func (w *twoNodes) options(o *Options) {
	tightPlans(o)
	o.NewPlan, o.SweepEvery, o.Resolver, o.Poster = account.PlanPaid, time.Hour, w.dns, w.poster
	o.Namespaces = inbox.Namespaces{ServiceDomain: w.service, PlainAddresses: true}
	o.WebhookSchedule = webhook.Schedule{0, time.Hour}
}

// newTwoNodes fills the single node.
func newTwoNodes(t *testing.T) *twoNodes {
	w := &twoNodes{rows: partition.NewOwner(partition.AllGroups()), dns: &fakeDNS{}, poster: &script{answers: map[string][]int{"hook": {500, 500, 500, 500, 200}}}}
	for n := 0; w.service == "" || partition.Of(noReply+w.service).Group() != there; n++ {
		w.service = drawn(there, fmt.Sprint("s", n, "-%d.localhost"))
	}
	w.store = persisttest.OpenCrashableOwned(t, w.rows)
	o := Options{Store: w.store, Owner: partition.NewOwner(partition.AllGroups()), RowOwner: w.rows, Logger: slog.New(slog.DiscardHandler)}
	w.options(&o)
	s := must[*System](t)(Start(o))
	defer s.Stop()
	w.ada, w.bob = w.fill(t, s, there, "ada"), w.fill(t, s, here, "bob")
	var records []domain.DNSRecord
	for _, p := range []person{w.ada, w.bob} {
		records = append(records, must[domain.OwnerView](t)(s.ShowDomain(t.Context(), p.id, p.domain)).Records...)
	}
	w.dns.publish(records)
	w.reset, _, _ = s.ResetToken(t.Context(), w.ada.email)
	w.label = drawn(there, "sub%d")
	_, _, err := s.CreateInbox(t.Context(), w.ada.id, inbox.CreationRequest{Subdomain: &w.label})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ServiceRecords(t.Context()); err != nil { // generates the keys
		t.Fatal(err)
	}
	if err := w.store.PutSuppression(w.ada.id, account.Suppression{Email: "gone@far.test", Inbox: w.ada.far, At: s.now()}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // the attempts
	if n := len(w.poster.all()); n != 4 {
		t.Fatalf("%d calls", n)
	}
	return w
}

// fill creates an account in a group, with inboxes in both groups.
func (w *twoNodes) fill(t *testing.T, s *System, g partition.Group, name string) (p person) {
	ctx := t.Context()
	p.email = drawn(g, name+"%d@example.test")
	in := must[account.SignedIn](t)(s.SignUp(ctx, p.email, "correct horse"))
	p.id, p.session = in.Profile.ID, in.Token
	if p.id.HomePartition().Group() != g {
		t.Fatalf("%s is in group %d", name, p.id.HomePartition().Group())
	}
	p.domain = drawn(there, name+"%d.example")
	world := &domainWorld{System: s, t: t, dns: w.dns}
	world.verified(p.id, p.domain)
	inboxIn := func(g partition.Group, host string) string {
		address := drawn(g, name+"-%d@"+host)
		prefix, _, _ := strings.Cut(address, "@")
		order := inbox.CreationRequest{Prefix: &prefix}
		if host != w.service {
			order.Domain = &host
		}
		view, _, err := s.CreateInbox(ctx, p.id, order)
		if err != nil || view.Address != address {
			t.Fatalf("%s: %v", address, err)
		}
		return address
	}
	p.near, p.far, p.own = inboxIn(here, w.service), inboxIn(there, w.service), inboxIn(here, p.domain)
	p.key = must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(p.id), "", account.ScopeFull, nil))
	for _, address := range []string{p.near, p.far} {
		hook := must[account.Webhook](t)(s.AddWebhook(ctx, operatorOf(p.id), "https://hook/", "message.received", address))
		p.hook = hook.ID
		mailTo(t, s, address, "secret")
	}
	return p
}

// node starts the first node without the group there. The old rows of that group remain. Unless the
// store checks the owner, only asking protects them.
func (w *twoNodes) node(t *testing.T, checked bool, change func(*Options)) *System {
	own := partition.AllGroups()
	own[there] = !checked && !partition.Checked
	w.store = w.store.CrashOwned(t, partition.NewOwner(own))
	own[there] = false
	owner := partition.NewOwner(own)
	return startSystem(t, w.store, func(o *Options) {
		w.options(o)
		o.Owner, o.RowOwner = owner, owner
		if change != nil {
			change(o)
		}
	})
}

// TestNamesOfAnotherNode checks that every call about an entity of another node fails as moved, and
// returns nothing from the old rows on this node.
func TestNamesOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTwoNodes(t)
		s, ctx, p := w.node(t, false, nil), t.Context(), w.ada
		req, describe := idempotency.Request{Key: idempotency.RequestKey{1}}, func(inbox.CommandOutcome) []byte { return nil }
		retention, url := 1, "https://hook/"
		prefix, _, _ := strings.Cut(p.far, "@")
		calls := map[string]func() error{
			"CheckRecipient":  func() error { return s.CheckRecipient(ctx, p.far) },
			"AccountOf":       func() error { _, err := s.AccountOf(p.far); return err },
			"AddWebhook":      func() error { _, err := s.AddWebhook(ctx, operatorOf(p.id), url, "message.received", ""); return err },
			"ArrangeMeeting":  func() error { _, err := s.ArrangeMeeting(ctx, p.far, nil); return err },
			"ArrangeOnce":     func() error { _, err := s.ArrangeOnce(ctx, p.far, nil, req, nil); return err },
			"RemoveMeeting":   func() error { return s.RemoveMeeting(ctx, p.far, 1) },
			"Authenticate":    func() error { _, err := s.Authenticate(ctx, []byte(p.key.Token)); return err },
			"InboxCapacity":   func() error { _, err := s.InboxCapacity(ctx, p.id); return err },
			"ChangeWebhook":   func() error { return s.ChangeWebhook(ctx, p.id, p.hook, &url, nil) },
			"CheckRequest":    func() error { return s.CheckRequest(ctx, p.id, req) },
			"ClaimDomain":     func() error { _, err := s.ClaimDomain(ctx, w.bob.id, p.domain); return err },
			"InboxEncryption": func() error { _, _, err := s.InboxService.InboxEncryption(p.far); return err },
			"AttachmentFile":  func() error { _, err := s.AttachmentFile(ctx, p.far, 1, 1); return err },
			"MessageContent":  func() error { _, err := s.MessageContent(ctx, p.far, 1); return err },
			"CreateInbox":     func() error { _, _, err := s.CreateInbox(ctx, p.id, inbox.CreationRequest{}); return err },
			"CreateInboxOnce": func() error { _, err := s.CreateInboxOnce(ctx, p.id, inbox.CreationRequest{}, req, nil); return err },
			"FindAccount":     func() error { _, err := s.FindAccount(ctx, p.email); return err },
			"DeleteAccount":   func() error { return s.DeleteAccount(ctx, p.email) },
			"DeleteInbox":     func() error { return s.DeleteInbox(ctx, p.id, p.far) },
			"DeliveryPage":    func() error { _, err := s.DeliveryPage(ctx, p.id, 0, 0, 9); return err },
			"Do":              func() error { _, err := s.Do(ctx, p.far, receive("x")); return err },
			"DoOnce":          func() error { _, err := s.DoOnce(ctx, p.far, receive("x"), req, describe); return err },
			"ShowDomain":      func() error { _, err := s.ShowDomain(ctx, p.id, p.domain); return err },
			"AccountDomains":  func() error { _, err := s.AccountDomains(ctx, p.id); return err },
			"DropSuppression": func() error { return s.DropSuppression(ctx, p.id, "", "gone@far.test") },
			"DropWebhook":     func() error { return s.DropWebhook(ctx, p.id, p.hook) },
			"ReadEvents":      func() error { _, err := s.ReadEvents(ctx, p.id, 0, "", changefeed.EntryLimit(9)); return err },
			"HaveKeys":        func() error { _, err := s.HaveKeys(ctx, p.id, []string{p.near}); return err },
			"IssueInboxKey": func() error {
				_, err := s.IssueInboxKey(ctx, operatorOf(p.id), p.near, account.ScopeRead, nil)
				return err
			},
			"IssueKey":     func() error { _, err := s.IssueKey(ctx, operatorOf(p.id), "", account.ScopeRead, nil); return err },
			"JournalEnd":   func() error { _, err := s.JournalEnd(ctx, p.id); return err },
			"IsKeyValid":   func() error { _, err := s.IsKeyValid(ctx, p.id, p.key.Key.Hash); return err },
			"AccountKeys":  func() error { _, _, err := s.AccountKeys(ctx, p.id, "", 9); return err },
			"ListInboxes":  func() error { _, err := s.ListInboxes(ctx, p.id, "", 9, nil); return err },
			"ListWebhooks": func() error { _, err := s.ListWebhooks(ctx, p.id); return err },
			"LogIn":        func() error { _, err := s.LogIn(ctx, p.email, "correct horse"); return err },
			"LogOut":       func() error { return s.LogOut(ctx, &account.Principal{Account: p.id}) },
			"OpenAccount": func() error {
				_, err := s.OpenAccount(ctx, drawn(there, "new%d@example.test"), "correct horse", account.PlanFree)
				return err
			},
			"CurrentEnd":     func() error { _, err := s.CurrentEnd(ctx, p.id); return err },
			"QueuedMessage":  func() error { _, err := s.QueuedMessage(ctx, p.far, 1); return err },
			"RawMessage":     func() error { _, err := s.RawMessage(ctx, p.far, 1); return err },
			"RecallResult":   func() error { _, _, err := s.RecallResult(ctx, p.far, req); return err },
			"ReceiveMessage": func() error { return s.ReceiveMessage(ctx, ingest.Envelope{RcptTo: []string{p.far}}, []byte("\r\n")) },
			"Redeliver":      func() error { return s.Redeliver(ctx, p.id, 1) },
			"ReleaseDomain":  func() error { return s.ReleaseDomain(ctx, p.id, p.domain) },
			"ResetPassword":  func() error { _, err := s.ResetPassword(ctx, w.reset, "correct horse"); return err },
			"ResetToken":     func() error { _, _, err := s.ResetToken(ctx, p.email); return err },
			"RevokeInboxKey": func() error { return s.RevokeInboxKey(ctx, p.id, p.far) },
			"RevokeKey":      func() error { return s.RevokeKey(ctx, p.id, p.key.Key.ID) },
			"RotateSecret":   func() error { _, err := s.RotateSecret(ctx, p.id, p.hook); return err },
			"SendMessage":    func() error { _, err := s.SendMessage(ctx, p.far, letter("bob@far.test")); return err },
			"SendNotice":     func() error { return s.SendNotice(ctx, ServiceNotice{To: "bob@far.test"}) },
			"SendOnce":       func() error { _, err := s.SendOnce(ctx, p.far, letter("bob@far.test"), req, describe); return err },
			"ServiceRecords": func() error { _, err := s.ServiceRecords(ctx); return err },
			"SetRecipient":   func() error { return s.SetRecipient(ctx, p.id, sealed.RecipientKey{}, "") },
			"SetPlan":        func() error { return s.SetPlan(ctx, p.email, account.PlanFree) },
			"DropRecipient":  func() error { return s.DropRecipient(ctx, p.id, "") },
			"SignUp":         func() error { _, err := s.SignUp(ctx, p.email, "correct horse"); return err },
			"SigningKeys":    func() error { _, _, err := s.SigningKeys(ctx, p.near); return err },
			"Suppressions":   func() error { _, err := s.Suppressions(ctx, p.id, "", "", 9); return err },
			"TestWebhook":    func() error { _, err := s.TestWebhook(ctx, p.id, p.hook); return err },
			"UpdateInbox": func() error {
				_, _, err := s.UpdateInbox(ctx, w.bob.id, w.bob.far, inbox.UpdateSettings{RetentionHours: &retention})
				return err
			},
			"AccountUsage":        func() error { _, err := s.AccountUsage(ctx, p.id); return err },
			"ListSessions":        func() error { _, _, err := s.ListSessions(ctx, p.id); return err },
			"EndSession":          func() error { return s.EndSession(ctx, p.id, "1") },
			"ChangePassword":      func() error { return s.ChangePassword(ctx, operatorOf(p.id), "", "") },
			"RequestVerification": func() error { return s.RequestVerification(ctx, p.id) },
			"VerifyEmail": func() error {
				return s.VerifyEmail(ctx, account.MintToken(account.KindVerify, p.id.HomePartition(), [32]byte{1}))
			},
			"VerifyDomain": func() error { _, err := s.VerifyDomain(ctx, p.id, p.domain); return err },
			"InboxView":    func() error { _, err := s.InboxView(ctx, p.far); return err },
			"ViewFor":      func() error { _, err := s.ViewFor(ctx, w.bob.id, w.bob.far); return err },
			"Webhook":      func() error { _, err := s.Webhook(ctx, p.id, p.hook); return err },

			"a session": func() error { _, err := s.Authenticate(ctx, []byte(p.session)); return err },
			"a taken address": func() error {
				_, _, err := s.CreateInbox(ctx, w.bob.id, inbox.CreationRequest{Prefix: &prefix})
				return err
			},
			"a taken subdomain": func() error {
				_, _, err := s.CreateInbox(ctx, w.bob.id, inbox.CreationRequest{Subdomain: &w.label})
				return err
			},
			"an own domain": func() error {
				_, _, err := s.CreateInbox(ctx, w.bob.id, inbox.CreationRequest{Domain: &w.bob.domain})
				return err
			},
			"a list with others'": func() error {
				_, err := s.ListInboxes(ctx, w.bob.id, "", 9, func(*inbox.View) bool { return true })
				return err
			},
			"a webhook of others'": func() error {
				_, err := s.AddWebhook(ctx, operatorOf(w.bob.id), url, "message.received", w.bob.far)
				return err
			},
			"under a domain":   func() error { return s.CheckRecipient(ctx, p.own) },
			"a plan":           func() error { return s.ReceiveMessage(ctx, ingest.Envelope{RcptTo: []string{p.near}}, []byte("\r\n")) },
			"keys of a domain": func() error { _, _, err := s.SigningKeys(ctx, p.own); return err },
		}
		for name, call := range calls {
			if err := call(); !fault.Is(err, fault.MovedAway) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := s.DeleteAccount(ctx, w.bob.email); !fault.Is(err, fault.MovedAway) {
			t.Errorf("an account with inboxes of another node: %v", err)
		}
		if _, err := s.routingStore.LeftQueued(w.bob.id); !fault.Is(err, fault.MovedAway) {
			t.Errorf("what is left in queues: %v", err)
		}
		if v := s.ResidentView([]byte(p.far)); v != nil {
			t.Error("a view is shown")
		}
		if _, known := s.PublicKey(p.domain, "r"); known {
			t.Error("a key is known")
		}
		if s.IsInUse(p.key.Key.Hash) {
			t.Error("a key is in use")
		}
		if s.ReceivesHere(ctx, p.domain) {
			t.Error("mail for a domain is received here")
		}
		s.RequestReset(p.email) // is only logged
		s.AddListener(p.id, "").Close()
		if profiles, err := s.ListProfiles(account.ID{}, 9); err != nil || partition.Checked && len(profiles) != 1 {
			t.Errorf("%d accounts, %v", len(profiles), err)
		}
		for m := range reflect.TypeFor[*System]().Methods() {
			if calls[m.Name] == nil && !slices.Contains([]string{"AcquireGroup", "Forget", "ForgetContent", "IsOutgoingHeld", "IsInUse", "AddListener", "ReleaseGroup", "ListProfiles", "PublicKey", "ReceivesHere", "ReleaseOutgoing", "RequestReset", "ResidentView", "ReadStats", "Stop"}, m.Name) {
				t.Errorf("%s was not tried", m.Name)
			}
		}
		synctest.Wait()
	})
}

// TestAnotherNodeIsAsked checks that an inbox, an account or a message of this node uses the other
// node's current data, not the old rows here.
func TestAnotherNodeIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTwoNodes(t)
		ctx := t.Context()
		others := w.store.CrashCopy(t)
		s := w.node(t, true, func(o *Options) { o.RemoteReader = others })
		other := startSystem(t, others, func(o *Options) {
			w.options(o)
			o.Poster = nil
			o.Owner, o.RemoteReader = partition.NewOwner(partition.OwnershipMap{there: true}), w.store
		})
		fill := func() (n int) {
			for ; ; n++ {
				switch _, err := s.Do(ctx, w.ada.near, receive("x")); {
				case fault.Is(err, fault.InboxFull):
					return n
				case err != nil:
					t.Fatal(err)
				}
			}
		}
		setPlan := func(s *System, plan account.PlanName) {
			if err := s.SetPlan(ctx, w.ada.email, plan); err != nil {
				t.Fatal(err)
			}
		}

		setPlan(other, account.PlanFree)
		if n := fill(); n != 1 {
			t.Errorf("the plan: %d beside one mail", n)
		}
		setPlan(other, account.PlanPaid)
		time.Sleep(planBelieved)
		if n := fill(); n != 2 {
			t.Errorf("the next plan: %d beside two mails", n)
		}
		if err := s.CheckRecipient(ctx, w.ada.own); err != nil {
			t.Errorf("RCPT under a domain: %v", err)
		}
		if !(queueAdapter{s}).ReceivesHere(ctx, w.ada.domain) {
			t.Error("a domain is not verified")
		}

		if _, err := s.SendMessage(ctx, w.ada.near, letter("gone@far.test")); !fault.Is(err, fault.Refused) {
			t.Errorf("a suppressed recipient: %v", err)
		}
		about := delivery.RecipientReport{Recipient: "bob@far.test", FinalRecipient: "bob@far.test", Action: delivery.ActionFailed, Status: "5.1.1"}
		_ = s.recordBounce(ctx, w.ada.id, delivery.ReturnTarget{Inbox: w.ada.near, MessageID: 9}, "bob@far.test", about)
		if _, found, err := others.FindSuppression(w.ada.id, "bob@far.test"); !found || err != nil {
			t.Errorf("a bounce suppresses: %v, %v", found, err)
		}

		for from, host := range map[string]string{w.ada.near: w.service, w.ada.own: w.ada.domain} {
			if signs, keys, err := s.SigningKeys(ctx, from); signs != host || len(keys) != 2 || err != nil {
				t.Errorf("%s signs for %q with %d keys, %v", from, signs, len(keys), err)
			}
		}
		if _, known := s.PublicKey(w.ada.domain, must[*domain.State](t)(others.LoadDomain(w.ada.domain)).Keys[0].Selector); !known {
			t.Error("a public key is not known")
		}

		events := func(gone bool) {
			t.Helper()
			page := must[changefeed.JournalPage](t)(s.ReadEvents(ctx, w.bob.id, 0, w.bob.far, changefeed.EntryLimit(9)))
			if len(page.Entries) != 1 || page.Entries[0].MessageDeleted != gone {
				t.Errorf("events: %+v", page.Entries)
			}
		}
		events(false)
		time.Sleep(time.Hour)
		synctest.Wait()
		calls := w.poster.all()[4:]
		if slices.ContainsFunc(calls, func(p posted) bool { return !strings.Contains(p.body, "secret") }) || len(calls) != 2 {
			t.Errorf("calls: %+v", calls)
		}
		must[inbox.CommandOutcome](t)(other.Do(ctx, w.bob.far, inbox.DeleteMessage{ID: 1}))
		events(true)
		must[inbox.CommandOutcome](t)(other.Do(ctx, w.bob.far, inbox.Submit{Raw: []byte("\r\n"), Recipients: []inbox.OutgoingRecipient{inbox.To("bob@far.test")}, Content: &inbox.Content{}}))
		must[inbox.CommandOutcome](t)(other.Do(ctx, w.bob.far, inbox.Delete{}))
		if left, err := s.routingStore.LeftQueued(w.bob.id); !slices.Equal(left, []string{w.bob.far}) || err != nil {
			t.Errorf("left in queues: %v, %v", left, err)
		}
		last := must[[]webhook.Delivery](t)(s.DeliveryPage(ctx, w.bob.id, w.bob.hook, 0, 1))
		if strings.Contains(string(last[0].Body), "secret") {
			t.Error("a delivery tells of mail that is gone")
		}
		synctest.Wait()
	})
}

// TestPlansAreAskedForAgain checks that plans are read again after their group moved: a plan that
// was read here does not stay valid forever.
func TestPlansAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTwoNodes(t)
		others := w.store.CrashCopy(t)
		s := startSystem(t, w.store, func(o *Options) {
			w.options(o)
			o.Owner, o.RowOwner, o.RemoteReader = partition.NewOwner(partition.AllGroups()), w.rows, others
		})
		mailTo(t, s, w.ada.near, "x") // two, of four
		other := startSystem(t, others, func(o *Options) { w.options(o); o.Poster = nil })
		if err := other.SetPlan(context.Background(), w.ada.email, account.PlanFree); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckRecipient(t.Context(), w.ada.near); err != nil {
			t.Errorf("before the loss: %v", err)
		}
		if err := s.ReleaseGroup(there); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckRecipient(t.Context(), w.ada.near); !fault.Is(err, fault.InboxFull) {
			t.Errorf("after the loss: %v", err)
		}
	})
}

// looksAtCalls is a store that counts the calls of LastCalls.
type looksAtCalls struct {
	Store
	looks int
}

func (l *looksAtCalls) LastCalls(id account.ID) (map[int64]webhook.DeliveryAttempt, error) {
	l.looks++
	return l.Store.LastCalls(id)
}

// TestWebhooksAskTheOwner checks that the list of an account whose rows moved to another node is
// refused before any row is read.
func TestWebhooksAskTheOwner(t *testing.T) {
	w := &twoNodes{rows: partition.NewOwner(partition.AllGroups()), dns: &fakeDNS{}, poster: &script{}, service: "inbox.localhost"}
	store := &looksAtCalls{Store: persisttest.OpenCrashableOwned(t, w.rows)}
	o := Options{Store: store, Owner: partition.NewOwner(partition.AllGroups()), RowOwner: w.rows, Logger: slog.New(slog.DiscardHandler)}
	w.options(&o)
	s := must[*System](t)(Start(o))
	defer s.Stop()
	id := must[account.SignedIn](t)(s.SignUp(t.Context(), "ada@far.test", "correct horse")).Profile.ID
	if _, err := s.Webhooks.ListWebhooks(t.Context(), id); err != nil || store.looks != 1 {
		t.Fatalf("%v, %d looks", err, store.looks)
	}
	w.rows.SetOwned(id.HomePartition().Group(), false)
	if _, err := s.Webhooks.ListWebhooks(t.Context(), id); !fault.Is(err, fault.MovedAway) || store.looks != 1 {
		t.Errorf("%v, %d looks", err, store.looks)
	}
	w.rows.SetOwned(id.HomePartition().Group(), true)
}
