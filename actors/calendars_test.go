package actors

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/actors/mailqueue"
	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/icalendar"
	"inboxd/persist/persisttest"
)

// organizer is an account whose inbox organizes meetings, with the messages that left its node.
type organizer struct {
	*System
	t       testing.TB
	courier *fakeCourier
	account account.ID
	address string
	answers int // replies of the guest so far
}

func organize(t testing.TB, store *persisttest.TestStore, change func(*Options)) *organizer {
	courier := &fakeCourier{}
	s := startSystem(t, store, func(o *Options) {
		if o.Courier = courier; change != nil {
			change(o)
		}
	})
	o := &organizer{System: s, t: t, courier: courier}
	o.account, o.address = openAccount(t, s)
	return o
}

func (o *organizer) owner(enabled bool) calendar.OwnerSetting {
	o.t.Helper()
	return must[calendar.OwnerSetting](o.t)(o.OwnerSettings.SetOwner(o.t.Context(), o.address, enabled))
}

// arrange applies an order, and waits until the owner's copy was queued or is not due.
func (o *organizer) arrange(order calendar.MeetingOrder) int64 {
	o.t.Helper()
	done := must[calendar.ChangeResult](o.t)(o.ArrangeMeeting(o.t.Context(), o.address, order))
	o.settle()
	return done.Meeting.ID
}

func (o *organizer) settle() {
	until(func() bool {
		view := must[*inbox.View](o.t)(o.InboxView(o.t.Context(), o.address))
		return !view.Calendar.HasDue() && !slices.ContainsFunc(view.Messages, (*inbox.Message).IsWaiting)
	})
}

func (o *organizer) schedule() int64 {
	title, begin, guests := "Plan", time.Now().Add(48*time.Hour).UTC().Format("2006-01-02T15:04:05Z"), []calendar.Guest{{Email: "guest@far.test"}}
	return o.arrange(calendar.Schedule{MeetingFields: calendar.MeetingFields{Title: &title, Start: &begin, Attendees: &guests}})
}

func (o *organizer) rename(id int64, title string) {
	o.arrange(calendar.Reschedule{ID: id, MeetingFields: calendar.MeetingFields{Title: &title}})
}

var (
	sequenceLine = regexp.MustCompile(`(?m)^SEQUENCE:\d+`)
	methodLine   = regexp.MustCompile(`(?m)^METHOD:\w+`)
)

// copies returns the messages to the owner, each by METHOD and SEQUENCE.
func (f *fakeCourier) copies() (reported []string) {
	for _, c := range f.handed() {
		if slices.Contains(c.Rcpts, "me@example.test") {
			text := ics(c.Raw)
			reported = append(reported, fmt.Sprintf("%s %s", methodLine.Find(text), sequenceLine.Find(text)))
		}
	}
	return reported
}

// ics finds the calendar part of a composed message.
func ics(raw []byte) []byte {
	at := bytes.Index(raw, []byte("BEGIN:VCALENDAR"))
	return bytes.ReplaceAll(raw[max(at, 0):], []byte("\r"), nil)
}

// TestOwnersCopies checks that each change of an own meeting is sent to the sign-in address only.
// The message is counted like any other, but it is not visible to readers and causes no event.
func TestOwnersCopies(t *testing.T) {
	store := persisttest.OpenStore(t)
	o := organize(t, store, nil)
	if set := o.owner(true); set != (calendar.OwnerSetting{CopySetting: calendar.CopySetting{Enabled: true}, Email: "me@example.test", EmailAvailable: true}) {
		t.Errorf("the setting is %+v", set)
	}
	id := o.schedule()
	o.rename(id, "Other plan")
	o.arrange(calendar.Cancel{ID: id})
	o.owner(false)
	o.schedule()
	if got, want := fmt.Sprint(o.courier.copies()), "[METHOD:REQUEST SEQUENCE:1 METHOD:REQUEST SEQUENCE:2 METHOD:CANCEL SEQUENCE:3]"; got != want {
		t.Errorf("the owner got %s, want %s", got, want)
	}
	guests := 0
	for _, c := range o.courier.handed() {
		switch {
		case !slices.Contains(c.Rcpts, "me@example.test"):
			if guests++; bytes.Contains(c.Raw, []byte("me@example.test")) {
				t.Errorf("a guest learns of the owner:\n%s", c.Raw)
			}
		case len(c.Rcpts) != 1, !bytes.Contains(c.Raw, []byte("\r\nAuto-Submitted: auto-generated\r\n")):
			t.Errorf("a copy to %v:\n%s", c.Rcpts, c.Raw)
		default:
			if back, ok := o.readReturn(c.Senders[0]); !ok || back.Inbox != o.address || back.RecipientIndex != delivery.OwnersCopy {
				t.Errorf("a copy from %q", c.Senders)
			}
		}
	}
	view := must[*inbox.View](t)(o.InboxView(t.Context(), o.address))
	if n, _, _ := view.MessageCounts(o.now()); n != guests || len(view.Messages) != guests {
		t.Errorf("%d messages are seen, and %d are there, of %d mails to guests", n, len(view.Messages), guests)
	}
	if reported := must[[]inbox.PublicEvent](t)(events(store, o.System, o.account)); len(reported) != guests {
		t.Errorf("told was %+v", reported)
	}
	if usage := must[account.QuotaUsage](t)(o.AccountUsage(t.Context(), o.account)); usage.SendsToday != int64(guests+3) {
		t.Errorf("%d sends are counted, of %d to guests", usage.SendsToday, guests)
	}
}

// TestOwnersCopiesAreBlocked covers a permanent refusal and a permanent bounce. Copies stop until
// they are switched on again.
func TestOwnersCopiesAreBlocked(t *testing.T) {
	report := func(action, code string) func(*organizer, string) {
		return func(o *organizer, back string) {
			text := strings.NewReplacer("bob@far.test", "me@example.test", "Action: failed", "Action: "+action, "5.1.1", code).Replace(dsn)
			if err := o.ReceiveMessage(o.t.Context(), envelopeTo(back), []byte(text)); err != nil {
				o.t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name    string
		code    int
		after   func(o *organizer, back string)
		blocked bool
	}{
		{"taken", 250, nil, false},
		{"refused", 550, nil, true},
		{"came back", 250, report("failed", "5.1.1"), true},
		{"came back from a full mailbox", 250, report("failed", "5.2.2"), false},
		{"came back from a block list", 250, report("failed", "5.7.1"), false},
		{"late", 250, report("delayed", "5.1.1"), false},
		{"arrived", 250, report("delivered", "5.1.1"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := organize(t, persisttest.OpenStore(t), nil)
			refuse := c.code == 550
			o.courier.answer = func(con mailqueue.DeliveryRequest) mailqueue.Handover {
				if refuse && con.Rcpts[0] == "me@example.test" {
					return mailqueue.Handover{Outcome: delivery.OutcomePermanent, Code: 550, Text: "550 no such user", MX: "mx"}
				}
				return mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250, MX: "mx"}
			}
			o.owner(true)
			id := o.schedule()
			if c.after != nil {
				for _, job := range o.courier.handed() {
					if job.Rcpts[0] == "me@example.test" {
						c.after(o, job.Senders[0])
					}
				}
			}
			set := must[calendar.OwnerSetting](t)(o.OwnerSettings.ReadOwner(t.Context(), o.address))
			if set.Blocked != c.blocked || !set.Enabled {
				t.Fatalf("the setting is %+v", set)
			}
			o.rename(id, "While blocked")
			if n := len(o.courier.copies()); (n == 1) != c.blocked {
				t.Errorf("%d copies", n)
			}
			if barred := must[[]account.Suppression](t)(o.Suppressions(t.Context(), o.account, "", "", 10)); len(barred) > 0 {
				t.Errorf("suppressed: %v", barred)
			}
			refuse = false
			if set := o.owner(true); set.Blocked {
				t.Errorf("switched on again: %+v", set)
			}
			before := len(o.courier.copies())
			o.rename(id, "Afterwards")
			if n := len(o.courier.copies()); n != before+1 {
				t.Errorf("%d copies, and %d afterwards", before, n)
			}
		})
	}
}

// TestOwnersCopiesAreLeftOut covers a sign-in address that is an inbox here, and a used-up daily
// quota. The change itself is not delayed, and nothing stays due forever.
func TestOwnersCopiesAreLeftOut(t *testing.T) {
	t.Run("an inbox here", func(t *testing.T) {
		o := organize(t, persisttest.OpenStore(t), nil)
		makeInbox(t, o.System, "me@inbox.localhost")
		profile := must[account.Profile](t)(o.OpenAccount(t.Context(), "me+owner@inbox.localhost", "correct horse", account.PlanPaid))
		prefix := "other"
		view, _, err := o.CreateInbox(t.Context(), profile.ID, inbox.CreationRequest{Prefix: &prefix})
		if err != nil {
			t.Fatal(err)
		}
		o.account, o.address = profile.ID, view.Address
		if set := o.owner(true); set.EmailAvailable || !set.Enabled {
			t.Errorf("the setting is %+v", set)
		}
		o.schedule()
		if got := len(o.courier.handed()); got != 1 {
			t.Errorf("%d mails", got)
		}
		if here := must[*inbox.View](t)(o.InboxView(t.Context(), "me@inbox.localhost")); len(here.Messages) > 0 {
			t.Errorf("the owner's own inbox here got %+v", here.Messages[0])
		}
		must[inbox.CommandOutcome](t)(o.Do(t.Context(), "me@inbox.localhost", inbox.Delete{}))
		if set := must[calendar.OwnerSetting](t)(o.OwnerSettings.ReadOwner(t.Context(), o.address)); !set.EmailAvailable {
			t.Errorf("the setting is %+v", set)
		}
	})
	t.Run("the day is used up", func(t *testing.T) {
		o := organize(t, persisttest.OpenStore(t), func(o *Options) {
			o.Plans = account.DefaultPlans()
			paid := o.Plans[account.PlanPaid]
			paid.SendsPerDay = 3
			o.Plans[account.PlanPaid] = paid
		})
		o.owner(true)
		id := o.schedule()
		o.rename(id, "The third mail")
		if got := fmt.Sprint(o.courier.copies()); got != "[METHOD:REQUEST SEQUENCE:1]" || len(o.courier.handed()) != 3 {
			t.Errorf("the owner got %s, of %d mails", got, len(o.courier.handed()))
		}
	})
}

// TestOwnersCopiesOverCrashes checks that a crash before the copy is queued loses no copy, and that
// a crash after it causes no second copy. Each copy has the same SEQUENCE.
func TestOwnersCopiesOverCrashes(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	o := organize(t, store, nil)
	o.owner(true)
	id := o.schedule()
	tried := make(chan struct{}, 100)
	store.BeforeCommit = func(rows any) error {
		if r, ok := rows.(*inbox.Rows); ok && r.CopyDue != nil && !*r.CopyDue {
			tried <- struct{}{}
			return fault.New(fault.TemporarilyUnavailable, "not now")
		}
		return nil
	}
	title := "Changed before the crash"
	must[calendar.ChangeResult](t)(o.ArrangeMeeting(t.Context(), o.address, calendar.Reschedule{ID: id, MeetingFields: calendar.MeetingFields{Title: &title}}))
	<-tried
	crashed := store.CrashCopy(t)
	again := &organizer{t: t, courier: &fakeCourier{}, address: o.address}
	again.System = startSystem(t, crashed, func(o *Options) { o.Courier = again.courier })
	until(func() bool { return len(again.courier.copies()) > 0 })
	again.settle()
	if got := fmt.Sprint(again.courier.copies()); got != "[METHOD:REQUEST SEQUENCE:2]" {
		t.Errorf("after the crash the owner got %s", got)
	}
	last := &organizer{t: t, courier: &fakeCourier{}, address: o.address}
	last.System = startSystem(t, crashed.CrashCopy(t), func(o *Options) { o.Courier = last.courier })
	last.settle()
	last.rename(id, "Once more")
	if got := fmt.Sprint(last.courier.copies()); got != "[METHOD:REQUEST SEQUENCE:3]" {
		t.Errorf("after another crash the owner got %s", got)
	}
}

// TestOwnersCopiesGoWithTheirGroup checks that the next owner of a group sends a copy that was due
// when the group was lost.
func TestOwnersCopiesGoWithTheirGroup(t *testing.T) {
	rows := partition.NewOwner(partition.AllGroups())
	store := persisttest.OpenOwned(t, rows)
	o := organize(t, store, func(o *Options) { o.Owner, o.RowOwner = partition.NewOwner(partition.AllGroups()), rows })
	o.owner(true)
	var failing atomic.Bool
	tried := make(chan struct{}, 100)
	store.BeforeCommit = func(rows any) error {
		if r, ok := rows.(*inbox.Rows); ok && r.CopyDue != nil && !*r.CopyDue && failing.Load() {
			tried <- struct{}{}
			return fault.New(fault.TemporarilyUnavailable, "not now")
		}
		return nil
	}
	failing.Store(true)
	title, begin, guests := "Plan", "2030-01-01T10:00:00Z", []calendar.Guest{{Email: "guest@far.test"}}
	must[calendar.ChangeResult](t)(o.ArrangeMeeting(t.Context(), o.address, calendar.Schedule{MeetingFields: calendar.MeetingFields{Title: &title, Start: &begin, Attendees: &guests}}))
	<-tried
	g := partition.Of(o.address).Group()
	if err := o.ReleaseGroup(g); err != nil {
		t.Fatal(err)
	}
	failing.Store(false)
	if err := o.AcquireGroup(g); err != nil {
		t.Fatal(err)
	}
	o.settle()
	if got := fmt.Sprint(o.courier.copies()); got != "[METHOD:REQUEST SEQUENCE:1]" {
		t.Errorf("the owner got %s", got)
	}
}

// opens returns the inbox whose calendar a token opens.
func opens(t testing.TB, s *System, token string) string {
	t.Helper()
	view, err := s.Feeds.OpenFeed(t.Context(), token)
	switch {
	case fault.Is(err, fault.NotFound):
		return "nothing"
	case err != nil:
		t.Fatal(err)
	}
	return view.Address
}

// manager is a session that asks for a link.
var manager = calendar.LinkReader{CanManage: true}

// TestLinksToCalendars checks that a link is created once, and that an ended link never works
// again, also across crashes.
func TestLinksToCalendars(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	s := startSystem(t, store, nil)
	id, address := openAccount(t, s)
	ctx := t.Context()
	share := func() string {
		t.Helper()
		token, _, err := s.Feeds.ShareFeed(ctx, address, manager)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	rotate := func(req idempotency.Request) string {
		t.Helper()
		token, _, err := s.Feeds.RotateLink(ctx, address, manager, req)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	var ended []string
	check := func(when, live string) {
		t.Helper()
		for _, on := range []*System{s, startSystem(t, store.CrashCopy(t), nil)} {
			if live != "" && opens(t, on, live) != address {
				t.Errorf("%s: the link opens nothing", when)
			}
			for n, token := range ended {
				if got := opens(t, on, token); got != "nothing" {
					t.Errorf("%s: token %d opens %s", when, n, got)
				}
			}
		}
	}
	first := share()
	if share() != first {
		t.Error("the second call makes another link")
	}
	check("shared", first)
	named := must[idempotency.Request](t)(idempotency.NewRequest("n", "rotate", nil))
	second := rotate(named)
	ended = append(ended, first)
	check("rotated", second)
	if got := rotate(named); got != second {
		t.Error("the repeat of a rotation makes another link")
	}
	third := rotate(idempotency.Request{})
	ended = append(ended, second)
	check("rotated again", third)
	if got := rotate(named); got != second {
		t.Error("the repeat has another answer")
	}
	check("repeated", third)
	for range 2 {
		if err := s.Feeds.HideFeed(ctx, address); err != nil {
			t.Fatal(err)
		}
	}
	ended = append(ended, third)
	check("hidden", "")
	for _, on := range []*System{s, startSystem(t, store.CrashCopy(t), nil)} {
		if _, _, err := on.Feeds.ShareFeed(ctx, address, calendar.LinkReader{}); !fault.Is(err, fault.NotFound) {
			t.Errorf("a reader makes another link: %v", err)
		}
	}
	ended = append(ended, share())
	if err := s.Feeds.HideFeed(ctx, address); err != nil {
		t.Fatal(err)
	}
	check("hidden again", "")
	fourth := rotate(idempotency.Request{})
	check("made by rotating", fourth)
	if err := s.DeleteInbox(ctx, id, address); err != nil {
		t.Fatal(err)
	}
	ended = append(ended, fourth)
	check("deleted", "")
	prefix := "agent"
	if _, _, err := s.CreateInbox(ctx, id, inbox.CreationRequest{Prefix: &prefix}); err != nil {
		t.Fatal(err)
	}
	check("made again", "")
	fifth := share()
	check("shared again", fifth)
	if err := s.DeleteAccount(ctx, "me@example.test"); err != nil {
		t.Fatal(err)
	}
	ended = append(ended, fifth, "", "x", first[1:], inbox.LinkToken(partition.Of(address), [32]byte{}))
	check("the account is gone", "")
}

// TestALinkEndsWithItsKey checks that a link ends when the key that created it is revoked or
// expires, unless a manager of the inbox has read the link since. It covers crashes, and keys that
// are cached or not.
func TestALinkEndsWithItsKey(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	var ahead atomic.Int64
	clock := func(o *Options) { o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) } }
	s := startSystem(t, store, clock)
	id, address := openAccount(t, s)
	ctx, days := t.Context(), 30
	share := func(by calendar.LinkReader) string {
		t.Helper()
		token, _, err := s.Feeds.ShareFeed(ctx, address, by)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	check := func(when, token, want string) {
		t.Helper()
		for name, on := range map[string]*System{"here": s, "after a crash": startSystem(t, store.CrashCopy(t), clock)} {
			if got := opens(t, on, token); got != want {
				t.Errorf("%s, %s: the link opens %s, want %s", when, name, got, want)
			}
		}
	}
	reader := func(days *int) (account.IssuedKey, calendar.LinkReader) {
		k := must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(id), "", account.ScopeRead, days))
		return k, calendar.LinkReader{KeyHash: account.HashToken([]byte(k.Token))}
	}
	revoke := func(k account.IssuedKey) {
		t.Helper()
		if err := s.RevokeKey(ctx, id, k.Key.ID); err != nil {
			t.Fatal(err)
		}
	}

	key, by := reader(nil)
	if _, _, err := s.Feeds.ShareFeed(ctx, address, calendar.LinkReader{CanManage: true, IsHead: true}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a look makes a link: %v", err)
	}
	first := share(by)
	check("made", first, address)
	must[*account.Principal](t)(s.Authenticate(ctx, []byte(key.Token))) // cached now
	if _, _, err := s.Feeds.ShareFeed(ctx, address, calendar.LinkReader{CanManage: true, IsHead: true}); err != nil {
		t.Errorf("a look at the link: %v", err)
	}
	_, byOther := reader(&days)
	if share(byOther) != first {
		t.Error("another key gets another link")
	}
	revoke(key)
	check("its key was revoked", first, "nothing")
	if _, _, err := s.Feeds.ShareFeed(ctx, address, calendar.LinkReader{CanManage: true, IsHead: true}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a look brings it back: %v", err)
	}
	second := share(byOther)
	check("made again", second, address)
	check("made again by another", first, "nothing")
	ahead.Store(int64(31 * 24 * time.Hour))
	check("its key expired", second, "nothing")

	key, by = reader(nil)
	third := share(by)
	share(manager)
	revoke(key)
	check("read by a session", third, address)

	full := must[account.IssuedKey](t)(s.IssueKey(ctx, operatorOf(id), "", account.ScopeFull, nil))
	rotated, _, err := s.Feeds.RotateLink(ctx, address, calendar.LinkReader{KeyHash: account.HashToken([]byte(full.Token)), CanManage: true}, idempotency.Request{})
	if err != nil {
		t.Fatal(err)
	}
	check("rotated", rotated, address)
	revoke(full)
	check("who rotated it was revoked", rotated, "nothing")
}

// TestUseOfLinks checks that the use of a link is exact immediately, and on disk after a minute and
// after a stop. It counts only the current link.
func TestUseOfLinks(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	s := must[*System](t)(Start(Options{Store: store, Namespaces: inbox.Namespaces{ServiceDomain: "inbox.localhost", PlainAddresses: true}, Logger: slog.New(slog.DiscardHandler)}))
	_, address := openAccount(t, s)
	ctx := t.Context()
	at := s.now()
	used := func(s *System) calendar.SubscriptionLink {
		t.Helper()
		_, f, err := s.Feeds.ShareFeed(ctx, address, manager)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	is := func(when string, f calendar.SubscriptionLink, client string, minute int) {
		t.Helper()
		if want := at.Add(time.Duration(minute) * time.Minute); f.LastClient != client || client != "" && !f.FetchedAt.Equal(want) {
			t.Errorf("%s: fetched by %q at %v", when, f.LastClient, f.FetchedAt)
		}
	}
	fetch := func(client string, minute int) *inbox.View {
		t.Helper()
		token, _, _ := s.Feeds.ShareFeed(ctx, address, manager)
		view := must[*inbox.View](t)(s.Feeds.OpenFeed(ctx, token))
		s.Feeds.NoteFetch(view, client, at.Add(time.Duration(minute)*time.Minute))
		return view
	}
	is("new", used(s), "", 0)
	made := used(s).CreatedAt
	old := fetch("Thunderbird", 1)
	is("fetched", used(s), "Thunderbird", 1)
	commits := store.CommitCount()
	fetch("Outlook", 2)
	fetch("Outlook", 3)
	is("fetched again", used(s), "Outlook", 3)
	if store.CommitCount() != commits {
		t.Error("each use is written")
	}
	is("after a crash before it was noted", used(startSystem(t, store.CrashCopy(t), nil)), "", 0)
	s.Feeds.NoteFetches(ctx)
	s.Feeds.NoteFetches(ctx)
	if n := store.CommitCount(); n != commits+1 {
		t.Errorf("%d commits for a note", n-commits)
	}
	is("after a crash", used(startSystem(t, store.CrashCopy(t), nil)), "Outlook", 3)
	if f := used(startSystem(t, store.CrashCopy(t), nil)); f.FetchCount != 3 || !f.CreatedAt.Equal(made) {
		t.Errorf("fetched %d times since %v", f.FetchCount, f.CreatedAt)
	}
	fetch("Outlook", 5)
	fetch("Late", 4)
	if f := used(s); f.FetchCount != 5 || f.LastClient != "Outlook" {
		t.Errorf("fetched %d times, by %s last", f.FetchCount, f.LastClient)
	}
	if _, f, err := s.Feeds.RotateLink(ctx, address, manager, idempotency.Request{}); err != nil || !f.FetchedAt.IsZero() || f.FetchCount != 0 || f.CreatedAt.IsZero() {
		t.Errorf("a new link was fetched %d times, at %v, since %v, %v", f.FetchCount, f.FetchedAt, f.CreatedAt, err)
	}
	s.Feeds.NoteFetch(old, "Outlook", at.Add(time.Hour))
	is("rotated", used(s), "", 0)
	fetch("Outlook", 6)
	s.Stop()
	is("after a stop", used(startSystem(t, store.CrashCopy(t), nil)), "Outlook", 6)
}

// TestUseOfLinksGoesWithItsGroup checks that the use is on disk before another node owns the group,
// and is not cached afterwards.
func TestUseOfLinksGoesWithItsGroup(t *testing.T) {
	rows := partition.NewOwner(partition.AllGroups())
	store := persisttest.OpenOwned(t, rows)
	s := startSystem(t, store, func(o *Options) { o.Owner, o.RowOwner = partition.NewOwner(partition.AllGroups()), rows })
	_, address := openAccount(t, s)
	token, _, _ := s.Feeds.ShareFeed(t.Context(), address, manager)
	at := s.now()
	s.Feeds.NoteFetch(must[*inbox.View](t)(s.Feeds.OpenFeed(t.Context(), token)), "Outlook", at)
	g := partition.Of(address).Group()
	if err := s.ReleaseGroup(g); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Feeds.OpenFeed(t.Context(), token); !fault.Is(err, fault.MovedAway) {
		t.Errorf("a link of another node's: %v", err)
	}
	if err := s.AcquireGroup(g); err != nil {
		t.Fatal(err)
	}
	if f := must[*inbox.State](t)(store.LoadInbox(address)).Calendar.CurrentLink(); f == nil || !f.FetchedAt.Equal(at) || f.LastClient != "Outlook" {
		t.Errorf("on disk: %+v", f)
	}
	if got := opens(t, s, token); got != address {
		t.Errorf("the link opens %s", got)
	}
}

// TestAFeedIsStale checks that a feed is stale until its current state was fetched. That includes a
// change with an earlier time that was being committed during the fetch.
func TestAFeedIsStale(t *testing.T) {
	o := organize(t, persisttest.OpenStore(t), nil)
	token, f, _ := o.Feeds.ShareFeed(t.Context(), o.address, manager)
	is := func(when string, want bool) {
		t.Helper()
		_, f, _ = o.Feeds.ShareFeed(t.Context(), o.address, manager)
		if view := must[*inbox.View](t)(o.InboxView(context.Background(), o.address)); view.Calendar.ChangedSinceFetch(f) != want {
			t.Errorf("%s: stale is %t", when, !want)
		}
	}
	id := o.schedule()
	is("never fetched", false)
	seen := must[*inbox.View](t)(o.Feeds.OpenFeed(t.Context(), token))
	o.Feeds.NoteFetch(seen, "x", o.now())
	is("fetched", false)
	time.Sleep(2 * time.Millisecond) // times are whole milliseconds
	o.rename(id, "Changed")
	o.Feeds.NoteFetch(seen, "x", o.now().Add(time.Second))
	is("fetched as it was before", true)
	o.Feeds.NoteFetch(must[*inbox.View](t)(o.Feeds.OpenFeed(t.Context(), token)), "x", o.now().Add(2*time.Second))
	is("fetched as it is", false)
}

// begin schedules a meeting with the guest, and does not wait for the owner's copy.
func (o *organizer) begin(title string) int64 {
	o.t.Helper()
	begin, guests := "2030-01-01T10:00:00Z", []calendar.Guest{{Email: "guest@far.test"}}
	done := must[calendar.ChangeResult](o.t)(o.ArrangeMeeting(o.t.Context(), o.address, calendar.Schedule{MeetingFields: calendar.MeetingFields{Title: &title, Start: &begin, Attendees: &guests}}))
	return done.Meeting.ID
}

// answer delivers the guest's reply to a meeting as an authenticated message.
func (o *organizer) answer(id int64, status string) {
	o.t.Helper()
	m := must[*inbox.View](o.t)(o.InboxView(o.t.Context(), o.address)).Calendar.Meeting(id)
	said := calendar.Invitation{From: "guest@far.test", FromSigned: true}
	said.Method = "REPLY"
	said.Event = icalendar.Event{UID: m.UID, Sequence: m.Sequence, StampedAt: o.now(), Start: m.Start, End: m.End, Organizer: m.Organizer}
	said.Event.Attendees = []calendar.Attendee{{Person: icalendar.Person{Email: "guest@far.test"}, ParticipationStatus: status}}
	o.answers++
	cmd := receive(fmt.Sprint("answer ", o.answers))
	cmd.Invitations = []*calendar.Invitation{&said}
	if got := must[inbox.CommandOutcome](o.t)(o.Do(o.t.Context(), o.address, cmd)); got.MessageEvents[0].Action != calendar.ActionReplied {
		o.t.Fatalf("answer %d: %+v", o.answers, got.MessageEvents)
	}
}

// changesHisMind delivers n replies of the guest, 0.7 s apart, so that none arrives exactly when a
// copy is due.
func (o *organizer) changesHisMind(id int64, n int) {
	for range n {
		time.Sleep(700 * time.Millisecond)
		o.answer(id, []string{icalendar.StatusAccepted, icalendar.StatusDeclined}[o.answers%2])
	}
	synctest.Wait()
}

// got checks what the owner got so far, and how many sends were counted, including messages to
// guests.
func (o *organizer) got(when string, sends int64, want ...string) {
	o.t.Helper()
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	if got := o.courier.copies(); fmt.Sprint(got) != fmt.Sprint(want) {
		o.t.Errorf("%s: the owner got %v, want %v", when, got, want)
	}
	if usage := must[account.QuotaUsage](o.t)(o.AccountUsage(o.t.Context(), o.account)); usage.SendsToday != sends {
		o.t.Errorf("%s: %d sends are counted, want %d", when, usage.SendsToday, sends)
	}
}

// TestCopiesOfAnswersAreMerged checks that there is at most one copy per minute and meeting, with
// the newest reply, also after a crash within the minute. These copies do not count as sends. The
// copy of a call is sent immediately and includes the replies so far.
func TestCopiesOfAnswersAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenCrashable(t)
		o := organize(t, store, nil)
		o.owner(true)
		id := o.begin("Plan")
		reported := []string{"METHOD:REQUEST SEQUENCE:1"}
		o.got("scheduled", 2, reported...)
		o.changesHisMind(id, 200)
		reported = append(reported, "METHOD:REQUEST SEQUENCE:2", "METHOD:REQUEST SEQUENCE:87", "METHOD:REQUEST SEQUENCE:173")
		o.got("200 answers", 2, reported...)

		again := &organizer{t: t, courier: &fakeCourier{}, account: o.account, address: o.address, answers: o.answers}
		again.System = startSystem(t, store.CrashCopy(t), func(o *Options) { o.Courier = again.courier })
		again.got("after the crash", 2)
		time.Sleep(35 * time.Second)
		again.got("within the minute", 2)
		time.Sleep(10 * time.Second)
		again.got("a minute later", 2, "METHOD:REQUEST SEQUENCE:201")
		if text := string(ics(again.courier.handed()[0].Raw)); !strings.Contains(text, "guest@far.test: declined") {
			t.Errorf("the copy has not the last answer:\n%s", text)
		}
		time.Sleep(time.Hour)
		again.got("an hour later", 2, "METHOD:REQUEST SEQUENCE:201")

		again.changesHisMind(id, 2)
		again.got("two answers", 2, "METHOD:REQUEST SEQUENCE:201", "METHOD:REQUEST SEQUENCE:202")
		title := "Moved"
		must[calendar.ChangeResult](t)(again.ArrangeMeeting(t.Context(), again.address, calendar.Reschedule{ID: id, MeetingFields: calendar.MeetingFields{Title: &title}}))
		reported = []string{"METHOD:REQUEST SEQUENCE:201", "METHOD:REQUEST SEQUENCE:202", "METHOD:REQUEST SEQUENCE:204"}
		again.got("a call within the minute", 4, reported...)
		time.Sleep(time.Hour)
		again.got("nothing is left of the answers", 4, reported...)
	})
}

// TestCopiesOfAnswersHaveAQuota checks their separate quota: further copies wait for the next day
// and have the state of that time. They do not delay a copy of a call.
func TestCopiesOfAnswersHaveAQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(23*time.Hour + 50*time.Minute) // days are in UTC
		store := persisttest.OpenCrashable(t)
		o := organize(t, store, nil)
		o.owner(true)
		id := o.begin("Plan")
		for range account.AnswerCopiesPerDay - 1 {
			if _, _, err := o.countCopy(t.Context(), o.account, true); err != nil {
				t.Fatal(err)
			}
		}
		o.changesHisMind(id, 1)
		reported := []string{"METHOD:REQUEST SEQUENCE:1", "METHOD:REQUEST SEQUENCE:2"}
		o.got("the last of the day", 2, reported...)
		o.changesHisMind(id, 100)
		o.got("beyond", 2, reported...)
		o.begin("Another")
		reported = append(reported, "METHOD:REQUEST SEQUENCE:1")
		o.got("a call", 4, reported...)
		if counts := o.ReadStats().OwnerCopies; fmt.Sprint(counts) != "map[answers:1 call:2 held:1]" {
			t.Errorf("counted: %v", counts)
		}

		again := &organizer{t: t, courier: &fakeCourier{}, account: o.account, address: o.address}
		again.System = startSystem(t, store.CrashCopy(t), func(o *Options) { o.Courier = again.courier })
		again.got("after a crash", 4)
		time.Sleep(time.Until(account.NextDay(time.Now())))
		o.got("the next day", 0, append(reported, "METHOD:REQUEST SEQUENCE:102")...)
		again.got("the next day, after a crash", 0, "METHOD:REQUEST SEQUENCE:102")
	})
}
