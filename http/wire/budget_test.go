package wire

import (
	"testing"
	"time"

	"inboxd/internal/core/account"
)

// TestABudgetIsShared: an account may hold half of it, small charges slightly more. A charge above
// a share needs room for all of it, and an account that holds nothing else.
func TestABudgetIsShared(t *testing.T) {
	const all = 8 << 20
	b := NewBudget(all)
	a, other, third := b.Charge(account.ID{1}), b.Charge(account.ID{2}), b.Charge(account.ID{3})
	if a.Set(2*all) || a.Set(all+1) || b.Held() != 0 {
		t.Fatalf("what is larger than all: %d held", b.Held())
	}
	if !a.Set(all/2+1) || b.Held() != all/2+1 || b.Charge(account.ID{1}).Set(smallCharge+1) || other.Set(all/2) {
		t.Fatalf("what is larger than a share: %d held", b.Held())
	}
	if second := b.Charge(account.ID{2}); !second.Set(1<<20) || other.Set(all/2) || !second.Set(0) {
		t.Fatal("two charges of an account are larger than its share")
	}
	if !a.Set(all / 2) {
		t.Fatal("a charge can't shrink")
	}
	if b.Charge(account.ID{1}).Set(smallCharge + 1) {
		t.Error("an account holds more than its share")
	}
	small := b.Charge(account.ID{1})
	if !small.Set(smallCharge) {
		t.Error("a large charge keeps a small one away")
	}
	if !other.Set(all/2 - smallCharge) {
		t.Error("an account is kept from its share")
	}
	if third.Set(smallCharge + 1) {
		t.Error("more than all is held")
	}
	freed := make(chan bool)
	go func() { freed <- third.Await(1<<20, time.Minute) }()
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		waits = b.freed != nil
		b.mu.Unlock()
	}
	if a.Set(0); !<-freed {
		t.Error("who waits is not told of room")
	}
	if b.Charge(account.ID{2}).Await(1<<20, time.Millisecond) {
		t.Error("waiting lets one beyond its share")
	}
	for _, c := range []*Charge{small, other, third} {
		c.Set(0)
		c.Set(0)
	}
	if b.Held() != 0 || len(b.of) != 0 {
		t.Errorf("%d held at the end, by %d accounts", b.Held(), len(b.of))
	}
}
