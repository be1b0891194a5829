package actors

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/domain"
	"inboxd/persist/persisttest"
)

// TestADomainThatMovedAway checks that DNS is queried again before a message is delivered to an
// inbox here, if the last look-up was an hour ago. Concurrent senders share one query. Missing and
// restored records then take effect immediately.
func TestADomainThatMovedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		w := startDomains(t, store)
		v := w.verified(w.ada, "example.org")
		here := func() bool { return w.ReceivesHere(t.Context(), "example.org") }
		asked := w.dns.questions()
		w.dns.publish(nil)
		if !here() || w.dns.questions() != asked {
			t.Errorf("a moment after the check: here %v, %d questions", here(), w.dns.questions()-asked)
		}
		time.Sleep(believedFor)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if here() {
					t.Error("mail is taken for a domain that moved away")
				}
			})
		}
		all.Wait()
		once := w.dns.questions() - asked
		if once == 0 || once > 10 {
			t.Errorf("%d questions for one look", once)
		}
		if state := must[*domain.State](t)(store.LoadDomain("example.org")); state.Status != domain.StatusVerified || state.MissingSince.IsZero() {
			t.Errorf("the domain is %v, missing since %v: its owner has time to mend it", state.Status, state.MissingSince)
		}
		var mx []domain.DNSRecord
		for _, r := range v.Records {
			if r.Type == "MX" {
				mx = append(mx, domain.DNSRecord{Type: r.Type, Name: r.Name, Value: r.Value})
			}
		}
		w.dns.publish(mx) // without the ownership record
		time.Sleep(believedFor)
		if !here() {
			t.Error("the MX record is back, and mail goes elsewhere")
		}
		w.dns.fail(true)
		time.Sleep(believedFor)
		if !here() {
			t.Error("while DNS does not answer the last result counts")
		}
		for _, host := range []string{"other.example", "inbox.localhost", ""} {
			if w.ReceivesHere(t.Context(), host) {
				t.Errorf("%q is received here", host)
			}
		}
	})
}

// TestVerificationAsksDNSRarely checks the limit of six times a minute and domain; beyond it the
// last result is returned. Accounts and domains have separate limits, and claims do not use them
// up.
func TestVerificationAsksDNSRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startDomains(t, persisttest.OpenStore(t))
		ctx := context.Background()
		w.verified(w.ada, "example.org")
		verify := func(name string) (asked int) {
			t.Helper()
			before := w.dns.questions()
			must[domain.OwnerView](t)(w.VerifyDomain(ctx, w.ada, name))
			return w.dns.questions() - before
		}
		for n := range 20 {
			if asked := verify("EXAMPLE.org") > 0; asked != (n < looksAMinute-1) { // verified has used one
				t.Errorf("verification %d: asked %v", n+2, asked)
			}
		}
		w.dns.publish(nil)
		if v := must[domain.OwnerView](t)(w.VerifyDomain(ctx, w.ada, "example.org")); v.Status != domain.StatusVerified {
			t.Errorf("beyond the limit the result is %v", v.Status)
		}
		must[domain.OwnerView](t)(w.ClaimDomain(ctx, w.ada, "other.example"))
		if verify("other.example") == 0 {
			t.Error("another domain is not looked at")
		}
		before := w.dns.questions()
		for range 20 {
			_, err := w.ClaimDomain(ctx, w.bob, "other.example")
			w.expect("a claim without proof", err, fault.Refused)
		}
		if n := w.dns.questions() - before; n > looksAMinute {
			t.Errorf("20 claims asked %d questions", n)
		}
		if verify("other.example") == 0 {
			t.Error("claims of others have used up what the owner has")
		}
		time.Sleep(time.Minute)
		if v := must[domain.OwnerView](t)(w.VerifyDomain(ctx, w.ada, "example.org")); v.Status != domain.StatusFailing {
			t.Errorf("a minute later the result is %v", v.Status)
		}
		for n := range 3 * keptLooks {
			w.OwnDomains.checkLimiter.acquireCheck(w.bob, string(rune('a'+n%26))+time.Duration(n).String(), time.Now())
			time.Sleep(time.Second)
		}
		if n := len(w.OwnDomains.checkLimiter.recentChecks); n > keptLooks+1 {
			t.Errorf("%d domains are kept", n)
		}
	})
}
