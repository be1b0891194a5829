package account

import (
	"testing"
	"time"

	"inboxd/internal/base/fault"
)

// reportTo decides and applies cmd, and returns the rows.
func reportTo(t *testing.T, s *State, now time.Time, cmd Command) *Rows {
	t.Helper()
	evs, err := Decide(s, cmd, Env{Now: now, Plans: DefaultPlans()})
	if err != nil {
		t.Fatal(err)
	}
	r := new(Rows)
	r.Apply(s, evs)
	return r
}

func TestWebhooksComeAndGo(t *testing.T) {
	now := time.Unix(1000, 0)
	s := NewState()
	reportTo(t, s, now, Open{Email: "a@b.test", Plan: PlanFree})
	for range 10 {
		reportTo(t, s, now, AddWebhook{Webhook: Webhook{URL: "https://x.test/", EventFilter: "*", Secret: "s1"}})
	}
	_, err := Decide(s, AddWebhook{}, Env{Now: now, Plans: DefaultPlans()})
	if !fault.Is(err, fault.Refused) || err.Error() != "refused: Free plan allows at most 10 webhooks. Delete a webhook first" {
		t.Errorf("the eleventh: %v", err)
	}
	event := "message.received"
	if rows := reportTo(t, s, now, ChangeWebhook{ID: 3, EventFilter: &event}); len(rows.PutWebhooks) != 1 || rows.PutWebhooks[0].EventFilter != event || rows.PutWebhooks[0].URL != "https://x.test/" {
		t.Errorf("changed: %+v", rows)
	}
	if rows := reportTo(t, s, now, ChangeWebhook{ID: 3, EventFilter: &event}); len(rows.PutWebhooks) != 0 {
		t.Errorf("the same again: %+v", rows)
	}
	reportTo(t, s, now, DropWebhook{10})
	if rows := reportTo(t, s, now, AddWebhook{Webhook: Webhook{InboxFilter: "i@b.test"}}); rows.PutWebhooks[0].ID != 11 || rows.Profile.LastWebhook != 11 {
		t.Errorf("an id came back: %+v", rows)
	}
	if rows := reportTo(t, s, now, ReleaseInbox{Address: "i@b.test", CreatedAt: now, WasListed: true}); len(rows.DropWebhooks) != 1 || rows.DropWebhooks[0] != 11 {
		t.Errorf("of a deleted inbox: %+v", rows)
	}
	for _, cmd := range []Command{DropWebhook{99}, ChangeWebhook{ID: 99}, RotateSecret{ID: 99}} {
		if _, err := Decide(s, cmd, Env{Now: now}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%T of none: %v", cmd, err)
		}
	}
	if list := s.WebhookList(); len(list) != 9 || list[0].ID != 1 || list[8].ID != 9 {
		t.Errorf("%+v", list)
	}
}

func TestARotatedSecretSignsForADay(t *testing.T) {
	now := time.Unix(1000, 0)
	s := NewState()
	reportTo(t, s, now, Open{Email: "a@b.test", Plan: PlanFree})
	reportTo(t, s, now, AddWebhook{Webhook: Webhook{Secret: "s1"}})
	reportTo(t, s, now, RotateSecret{1, "s2", 24 * time.Hour})
	w := s.Webhooks[1]
	if got := w.SigningSecrets(now.Add(24*time.Hour - 1)); len(got) != 2 || got[0] != "s2" || got[1] != "s1" {
		t.Errorf("during the day: %v", got)
	}
	if got := w.SigningSecrets(now.Add(24 * time.Hour)); len(got) != 1 || got[0] != "s2" {
		t.Errorf("after it: %v", got)
	}
}

func TestAClosedAccountHasNoWebhooks(t *testing.T) {
	now := time.Unix(1000, 0)
	s := NewState()
	reportTo(t, s, now, Open{Email: "a@b.test", Plan: PlanFree})
	reportTo(t, s, now, AddWebhook{Webhook: Webhook{EventFilter: "*"}})
	reportTo(t, s, now, AddWebhook{Webhook: Webhook{EventFilter: "*"}})
	if rows := reportTo(t, s, now, Close{}); len(rows.DropWebhooks) != 2 || len(s.Webhooks) != 0 {
		t.Errorf("%+v, %v left", rows, s.Webhooks)
	}
	if _, err := Decide(s, AddWebhook{}, Env{Now: now, Plans: DefaultPlans()}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a webhook while the account is being deleted: %v", err)
	}
}
