package account

import (
	"testing"
	"time"

	"inboxd/internal/base/fault"
)

// TestQuotasOfADay checks that sends and copies of answers have separate quotas for the UTC day. A
// place that is released later does not change another day.
func TestQuotasOfADay(t *testing.T) {
	plans := DefaultPlans()
	free := plans[PlanFree]
	free.SendsPerDay = 2
	plans[PlanFree] = free
	noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	s := NewState()
	s.Profile.Plan = PlanFree
	do := func(c Command, at time.Time) error {
		evs, err := c.decideEvents(s, Env{Now: at, Plans: plans})
		for _, ev := range evs {
			ev.applyTo(s)
		}
		return err
	}
	want := func(when string, sends SendCount) {
		t.Helper()
		if s.DailySends != sends {
			t.Errorf("%s: %+v, want %+v", when, s.DailySends, sends)
		}
	}
	today := utcDay(noon)
	for range AnswerCopiesPerDay {
		if err := do(CountAnswerCopy{}, noon); err != nil {
			t.Fatal(err)
		}
	}
	if err := do(CountAnswerCopy{}, noon); !fault.Is(err, fault.Refused) {
		t.Errorf("one copy more: %v", err)
	}
	for range 2 {
		if err := do(CountSend{RecipientCount: 1}, noon); err != nil {
			t.Errorf("copies of answers take the place of sends: %v", err)
		}
	}
	if err := do(CountSend{RecipientCount: 1}, noon); !fault.Is(err, fault.Refused) {
		t.Errorf("one send more: %v", err)
	}
	want("used up", SendCount{today, 2, AnswerCopiesPerDay})
	_ = do(ReturnSend{At: noon}, noon)
	_ = do(ReturnSend{At: noon, IsAnswerCopy: true}, noon)
	want("given back", SendCount{today, 1, AnswerCopiesPerDay - 1})
	_ = do(CountAnswerCopy{}, NextDay(noon))
	want("the next day", SendCount{today + 1, 0, 1})
	_ = do(ReturnSend{At: noon, IsAnswerCopy: true}, NextDay(noon))
	_ = do(ReturnSend{At: NextDay(noon)}, NextDay(noon))
	want("of another day", SendCount{today + 1, 0, 1})
	_ = do(CountSend{RecipientCount: 1}, NextDay(noon))
	want("both", SendCount{today + 1, 1, 1})
}
