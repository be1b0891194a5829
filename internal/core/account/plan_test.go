package account_test

import (
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

func TestDefaultPlans(t *testing.T) {
	plans := account.DefaultPlans()
	free := account.Plan{
		Name: account.PlanFree, MaxInboxes: 3, DefaultRetentionHours: 24, MaxRetentionHours: 72, MaxSubdomains: 100,
		MaxKeys: 1000, SendsPerDay: 100, MaxRecipients: 10, MaxAttachments: 1, MaxAttachmentBytes: 524_288, MaxWebhooks: 10, MaxMessages: 10_000, MaxBytes: 524_288_000,
	}
	paid := account.Plan{
		Name: account.PlanPaid, MaxInboxes: 1_000_000, DefaultRetentionHours: 168, MaxRetentionHours: 8760, LabelsAllowed: true, Subdomains: true, MaxSubdomains: 100,
		MaxKeys: 1000, SendsPerDay: 10_000, MaxRecipients: 100, MaxAttachments: 10, MaxAttachmentBytes: 10_485_760, MaxWebhooks: 10, MaxMessages: 10_000, MaxBytes: 524_288_000,
	}
	if plans.Of(account.PlanFree) != free || plans.Of(account.PlanPaid) != paid || plans.Of("gold") != free {
		t.Errorf("%+v", plans)
	}
	if account.PlanFree.Title() != "Free" || account.PlanPaid.Title() != "Paid" {
		t.Errorf("%q, %q", account.PlanFree.Title(), account.PlanPaid.Title())
	}
}

func TestParsePlan(t *testing.T) {
	for s, ok := range map[string]bool{"free": true, "paid": true, "": false, "Free": false, "gold": false} {
		if name, err := account.ParsePlan(s); ok && (err != nil || string(name) != s) || !ok && !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q: %q, %v", s, name, err)
		}
	}
}

func TestRetention(t *testing.T) {
	plan := account.Plan{DefaultRetentionHours: 24, MaxRetentionHours: 72}
	for asked, want := range map[int]int{1: 1, 72: 72, 73: 72, 1 << 40: 72} {
		if got := plan.EffectiveRetention(&asked); got != want {
			t.Errorf("%d hours asked: %d, want %d", asked, got, want)
		}
	}
	if got := plan.EffectiveRetention(nil); got != 24 {
		t.Errorf("nothing asked: %d", got)
	}
}

func TestFiguresOfTheOperator(t *testing.T) {
	plans, err := account.DefaultPlans().WithOverrides(map[string]map[string]any{
		"free": {"max_inboxes": int64(5), "labels": true, "max_retention_hours": int64(48), "sends_per_day": int64(0)},
		"paid": {"max_webhooks": int64(20), "max_attachment_bytes": int64(1 << 20), "max_messages": int64(50_000), "max_bytes": int64(1 << 30)},
	})
	if err != nil {
		t.Fatal(err)
	}
	free, paid := plans.Of(account.PlanFree), plans.Of(account.PlanPaid)
	if free.MaxInboxes != 5 || !free.LabelsAllowed || free.MaxRetentionHours != 48 || free.SendsPerDay != 0 || free.MaxRecipients != 10 ||
		free.MaxMessages != 10_000 || free.MaxBytes != 500<<20 || paid.MaxMessages != 50_000 || paid.MaxBytes != 1<<30 ||
		paid.MaxWebhooks != 20 || paid.MaxAttachmentBytes != 1<<20 || paid.MaxInboxes != 1_000_000 {
		t.Errorf("%+v", plans)
	}
	if account.DefaultPlans().Of(account.PlanFree).MaxInboxes != 3 {
		t.Error("the defaults changed")
	}
	for sentence, changes := range map[string]map[string]map[string]any{
		"[plans.gold]: unknown plan. Valid plans: free, paid":                             {"gold": {}},
		"[plans.free]: max_inboxes = -1 must be a whole number from 0 to 10000000":        {"free": {"max_inboxes": int64(-1)}},
		"[plans.free]: max_inboxes = 3 must be a whole number from 0 to 10000000":         {"free": {"max_inboxes": "3"}},
		"[plans.free]: max_inboxes = 2.5 must be a whole number from 0 to 10000000":       {"free": {"max_inboxes": 2.5}},
		"[plans.paid]: labels = 1 must be true or false":                                  {"paid": {"labels": int64(1)}},
		"[plans.free]: default_retention_hours = 100 is above max_retention_hours = 72":   {"free": {"default_retention_hours": int64(100)}},
		"[plans.free]: max_messages = 0 must be a whole number from 1 to 100000":          {"free": {"max_messages": int64(0)}},
		"[plans.free]: max_bytes = 500 must be a whole number from 1024 to 1099511627776": {"free": {"max_bytes": int64(500)}},
		"[plans.free]: unknown figure inboxes. Valid figures: max_inboxes, default_retention_hours, max_retention_hours, labels, subdomains, max_subdomains, max_keys, sends_per_day, max_recipients, max_attachments, max_attachment_bytes, max_webhooks, max_messages, max_bytes": {"free": {"inboxes": int64(3)}},
	} {
		if _, err := account.DefaultPlans().WithOverrides(changes); err == nil || err.Error() != sentence {
			t.Errorf("%v\nwant %s", err, sentence)
		}
	}
}
