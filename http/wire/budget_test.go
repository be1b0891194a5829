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
	a, other, third := b.NewCharge(account.ID{1}), b.NewCharge(account.ID{2}), b.NewCharge(account.ID{3})
	if a.SetBytes(2*all) || a.SetBytes(all+1) || b.HeldBytes() != 0 {
		t.Fatalf("what is larger than all: %d held", b.HeldBytes())
	}
	if !a.SetBytes(all/2+1) || b.HeldBytes() != all/2+1 || b.NewCharge(account.ID{1}).SetBytes(smallCharge+1) || other.SetBytes(all/2) {
		t.Fatalf("what is larger than a share: %d held", b.HeldBytes())
	}
	if second := b.NewCharge(account.ID{2}); !second.SetBytes(1<<20) || other.SetBytes(all/2) || !second.SetBytes(0) {
		t.Fatal("two charges of an account are larger than its share")
	}
	if !a.SetBytes(all / 2) {
		t.Fatal("a charge can't shrink")
	}
	if b.NewCharge(account.ID{1}).SetBytes(smallCharge + 1) {
		t.Error("an account holds more than its share")
	}
	small := b.NewCharge(account.ID{1})
	if !small.SetBytes(smallCharge) {
		t.Error("a large charge keeps a small one away")
	}
	if !other.SetBytes(all/2 - smallCharge) {
		t.Error("an account is kept from its share")
	}
	if third.SetBytes(smallCharge + 1) {
		t.Error("more than all is held")
	}
	freed := make(chan bool)
	go func() { freed <- third.AwaitRoom(1<<20, time.Minute) }()
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		waits = b.freedCh != nil
		b.mu.Unlock()
	}
	if a.SetBytes(0); !<-freed {
		t.Error("who waits is not told of room")
	}
	if b.NewCharge(account.ID{2}).AwaitRoom(1<<20, time.Millisecond) {
		t.Error("waiting lets one beyond its share")
	}
	for _, c := range []*BudgetCharge{small, other, third} {
		c.SetBytes(0)
		c.SetBytes(0)
	}
	if b.HeldBytes() != 0 || len(b.of) != 0 {
		t.Errorf("%d held at the end, by %d accounts", b.HeldBytes(), len(b.of))
	}
}
