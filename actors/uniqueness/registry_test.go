package uniqueness_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"inboxd/actors/engine"
	"inboxd/actors/uniqueness"
	"inboxd/internal/core/account"
)

// disk is a store of names; mu guards all fields.
type disk struct {
	mu      sync.Mutex
	holders map[string]account.NameHolder
	broken  bool
	writes  int
}

func (d *disk) find(name string) (account.NameHolder, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.holders[name], nil
}

func (d *disk) set(name string, holder account.NameHolder) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		return errors.New("no disk")
	}
	d.writes++
	d.holders[name] = holder
	return nil
}

func start(t *testing.T) (uniqueness.NameRegistry, *disk) {
	e := engine.New(engine.Options{Now: time.Now, IsDiskFull: func() bool { return false }, MaxInFlight: 1 << 20, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { e.Stop(time.Second) })
	d := &disk{holders: map[string]account.NameHolder{}}
	return uniqueness.New(e, d.find, d.set), d
}

var nobody, ada, bob, eve = account.NameHolder{}, account.NameHolder{Account: account.ID{1}, ClaimNumber: 7}, account.NameHolder{Account: account.ID{2}, ClaimNumber: 1}, account.NameHolder{Account: account.ID{3}}

func TestTheLifeOfAName(t *testing.T) {
	n, d := start(t)
	later := account.NameHolder{Account: ada.Account, ClaimNumber: 8}
	for i, c := range []struct {
		cmd    account.NameCommand
		want   account.NameHolder
		writes int
	}{
		{account.FreeName{Of: ada.Account}, nobody, 0},
		{account.ClaimName{By: ada}, ada, 1},
		{account.ClaimName{By: ada}, ada, 1},                                                      // again
		{account.ClaimName{By: bob}, ada, 1},                                                      // taken
		{account.ClaimName{By: bob, ReplacedHolder: eve}, ada, 1},                                 // names a previous holder
		{account.FreeName{Of: bob.Account}, ada, 1},                                               // not the holder
		{account.ClaimName{By: account.NameHolder{Account: ada.Account, ClaimNumber: 6}}, ada, 1}, // late, of a claim that has ended
		{account.ClaimName{By: later}, later, 2},                                                  // a later claim of the same account
		{account.ClaimName{By: ada}, later, 2},                                                    // late
		{account.ClaimName{By: bob, ReplacedHolder: ada}, later, 2},                               // the holder released it and claimed it again
		{account.ClaimName{By: bob, ReplacedHolder: later}, bob, 3},                               // the holder releases it
		{account.FreeName{Of: ada.Account}, bob, 3},                                               // too late
		{account.ClaimName{By: later}, bob, 3},
		{account.FreeName{Of: bob.Account}, nobody, 4},
		{account.ClaimName{By: eve, ReplacedHolder: bob}, eve, 5}, // free meanwhile
	} {
		got, err := n.SendCommand(t.Context(), "name", c.cmd)
		if on, _ := d.find("name"); got != c.want || err != nil || on != c.want || d.writes != c.writes {
			t.Errorf("%d: %+v gave %v %v, on the disk %v after %d writes; want %v, %d", i, c.cmd, got, err, on, d.writes, c.want, c.writes)
		}
	}
}

// TestOneOfManyWins also checks that all callers get the winner.
func TestOneOfManyWins(t *testing.T) {
	n, _ := start(t)
	received := make([]account.NameHolder, 50)
	var all sync.WaitGroup
	for i := range received {
		all.Go(func() {
			received[i], _ = n.SendCommand(context.Background(), "name", account.ClaimName{By: account.NameHolder{Account: account.ID{byte(i + 1)}}})
		})
	}
	all.Wait()
	for _, h := range received {
		if h != received[0] || h == nobody {
			t.Fatalf("different winners: %v", received)
		}
	}
}

// TestAClaimThatWasNotStoredIsNone checks that a failed claim leaves the name free.
func TestAClaimThatWasNotStoredIsNone(t *testing.T) {
	n, d := start(t)
	d.broken = true
	if got, err := n.SendCommand(t.Context(), "name", account.ClaimName{By: ada}); err == nil {
		t.Fatalf("stored nowhere, answered %v", got)
	}
	d.mu.Lock()
	d.broken = false
	d.mu.Unlock()
	for { // the owner rests for some milliseconds
		if got, err := n.SendCommand(t.Context(), "name", account.ClaimName{By: bob}); err == nil {
			if got != bob {
				t.Errorf("held by %v", got)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
}
