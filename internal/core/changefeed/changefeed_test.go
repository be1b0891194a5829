package changefeed

import (
	"sync"
	"testing"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

var me, other = account.ID{1}, account.ID{2}

func of(addresses ...string) (events []inbox.PublicEvent) {
	for _, a := range addresses {
		events = append(events, inbox.PublicEvent{Address: a})
	}
	return events
}

func fired(s *WakeSignal) bool {
	select {
	case <-s.C:
		return true
	default:
		return false
	}
}

func TestAnnounceWakesWhomItConcerns(t *testing.T) {
	var all ReaderSet
	whole, a, b, foreign := all.AddReader(me, ""), all.AddReader(me, "a"), all.AddReader(me, "b"), all.AddReader(other, "a")
	signals := []*WakeSignal{whole.NextSignal(), a.NextSignal(), b.NextSignal(), foreign.NextSignal()}
	all.AnnounceEvents(me, 5, of("b", "x", "b"))
	for i, want := range []bool{true, false, true, false} {
		if fired(signals[i]) != want {
			t.Errorf("reader %d: woken %v", i, !want)
		}
	}
	for name, c := range map[string]struct {
		r    *JournalReader
		s    *WakeSignal
		want uint64
	}{
		"the whole account goes on before the first": {whole, signals[0], 4},
		"the woken inbox goes on before its first":   {b, signals[2], 4},
		"the other inbox passes all":                 {a, signals[1], 7},
		"another account knows nothing":              {foreign, signals[3], 0},
	} {
		if got := c.r.PassedPosition(c.s); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if b.NextSignal() == signals[2] || a.NextSignal() != signals[1] {
		t.Error("a signal serves one wait, and until it fires")
	}
	all.AnnounceEvents(me, 8, of("x", "x", "a"))
	if !fired(signals[1]) || a.PassedPosition(signals[1]) != 9 {
		t.Errorf("an inbox's event behind others': passed %d, want 9", a.PassedPosition(signals[1]))
	}
}

func TestNobodyIsLeftBehind(t *testing.T) {
	var all ReaderSet
	if all.HasReader(me) {
		t.Error("listened to by nobody")
	}
	readers := []*JournalReader{all.AddReader(me, ""), all.AddReader(me, "a"), all.AddReader(me, "a")}
	for _, r := range readers {
		if !all.HasReader(me) {
			t.Error("not listened to")
		}
		r.Close()
	}
	if all.HasReader(me) || len(all.accounts) != 0 {
		t.Errorf("left behind: %v", all.accounts)
	}
	all.AnnounceEvents(me, 1, of("a")) // an account without readers
}

// TestNoEventIsMissed appends to a journal while readers reach its end again and again. By the
// rules of JournalReader, each reader must see all its events, once and in order.
func TestNoEventIsMissed(t *testing.T) {
	const total = 3000
	var all ReaderSet
	var mu sync.Mutex
	var journal []inbox.PublicEvent // number n at index n-1
	var running sync.WaitGroup
	for address, last := range map[string]uint64{"": total, "a": total, "b": total - 1} {
		r := all.AddReader(me, address)
		running.Go(func() {
			defer r.Close()
			seen := 0
			for after, newest := uint64(0), uint64(0); newest < last; {
				s := r.NextSignal()
				mu.Lock()
				page := journal[after:]
				mu.Unlock()
				for _, e := range page {
					if after++; address == "" || e.Address == address {
						newest = e.SequenceNumber
						seen++
					}
				}
				if after = max(after, r.PassedPosition(s)); newest < last {
					<-s.C
				}
				after = max(after, r.PassedPosition(s))
			}
			if want := map[bool]int{true: total, false: total / 2}[address == ""]; seen != want {
				t.Errorf("%q saw %d events, want %d", address, seen, want)
			}
		})
	}
	for n := uint64(1); n <= total; n++ {
		e := inbox.PublicEvent{SequenceNumber: n, Address: []string{"a", "b"}[n%2]}
		mu.Lock()
		journal = append(journal, e)
		mu.Unlock()
		all.AnnounceEvents(me, n, []inbox.PublicEvent{e})
	}
	running.Wait()
}
