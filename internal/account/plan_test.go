package account_test

import (
	"testing"

	"inboxd/internal/account"
	"inboxd/internal/fault"
)

func TestDefaultPlans(t *testing.T) {
	plans := account.DefaultPlans()
	free := account.Plan{Name: account.Free, MaxInboxes: 3, DefaultRetentionHours: 24, MaxRetentionHours: 72,
		SendsPerDay: 100, MaxRecipients: 10, MaxAttachments: 1, MaxAttachmentBytes: 512 << 10}
	paid := account.Plan{Name: account.Paid, MaxInboxes: 1_000_000, DefaultRetentionHours: 168, MaxRetentionHours: 8760, Labels: true, Subdomains: true,
		SendsPerDay: 10_000, MaxRecipients: 100, MaxAttachments: 10, MaxAttachmentBytes: 10 << 20}
	if plans.Of(account.Free) != free || plans.Of(account.Paid) != paid || plans.Of("gold") != free {
		t.Errorf("%+v", plans)
	}
	if account.Free.Title() != "Free" || account.Paid.Title() != "Paid" {
		t.Errorf("%q, %q", account.Free.Title(), account.Paid.Title())
	}
}

func TestParsePlan(t *testing.T) {
	for s, ok := range map[string]bool{"free": true, "paid": true, "": false, "Free": false, "gold": false} {
		if name, err := account.ParsePlan(s); ok && (err != nil || string(name) != s) || !ok && !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %q, %v", s, name, err)
		}
	}
}

func TestRetention(t *testing.T) {
	plan := account.Plan{DefaultRetentionHours: 24, MaxRetentionHours: 72}
	for asked, want := range map[int]int{1: 1, 72: 72, 73: 72, 1 << 40: 72} {
		if got := plan.Retention(&asked); got != want {
			t.Errorf("%d hours asked: %d, want %d", asked, got, want)
		}
	}
	if got := plan.Retention(nil); got != 24 {
		t.Errorf("nothing asked: %d", got)
	}
}
