package bench

import (
	"testing"
	"time"
)

func TestPacerChargesAStallToEveryRequestItHeldUp(t *testing.T) {
	start := time.Now().Add(-time.Second) // the connection was stalled for a second
	p := newPacer(start, start.Add(time.Minute), 10, 0, 1)
	for i := range 10 {
		from, ok := p.next()
		if want := start.Add(time.Duration(i) * 100 * time.Millisecond); !ok || !from.Equal(want) {
			t.Fatalf("request %d counts from %v, want %v", i, from.Sub(start), want.Sub(start))
		}
	}
}

func TestPacerIdleConnectionCountsFromTheWakeUp(t *testing.T) {
	start := time.Now().Add(5 * time.Millisecond)
	from, ok := newPacer(start, start.Add(time.Minute), 10, 0, 1).next()
	if !ok || !from.After(start) { // a sleep ends after its time, never on it
		t.Errorf("counts from %v after it was due, want the wake-up", from.Sub(start))
	}
}

func TestPacerSpreadsConnections(t *testing.T) {
	start := time.Now()
	for k := range 4 {
		p := newPacer(start, start.Add(time.Minute), 8, k, 4)
		if p.interval != 500*time.Millisecond || p.due.Sub(start) != time.Duration(k)*125*time.Millisecond {
			t.Errorf("connection %d: every %v from %v", k, p.interval, p.due.Sub(start))
		}
	}
}

func TestPacerRecordsWhatWasNeverSent(t *testing.T) {
	start := time.Now().Add(-time.Second)
	p, l := newPacer(start, start.Add(time.Second), 10, 0, 1), newLatencies()
	if _, ok := p.next(); ok {
		t.Fatal("sent after the deadline")
	}
	if n := p.unsent(l); n != 10 {
		t.Fatalf("%d unsent, want 10", n)
	}
	if got := l.percentiles(); got.Max < 999 || got.P50 < 400 {
		t.Errorf("their waiting is missing: %+v", got)
	}
}

func TestPacerWithoutRate(t *testing.T) {
	p := newPacer(time.Now(), time.Now().Add(time.Minute), 0, 3, 4)
	before := time.Now()
	from, ok := p.next()
	if !ok || from.Before(before) || p.unsent(newLatencies()) != 0 {
		t.Error("a pacer without a rate must neither wait nor plan")
	}
	if _, ok := newPacer(before, before, 0, 0, 1).next(); ok {
		t.Error("went on after the deadline")
	}
}

func TestLatenciesKeepWhatIsOutOfRange(t *testing.T) {
	l := newLatencies()
	if l.percentiles() != nil {
		t.Error("nothing recorded must not look like zero")
	}
	l.record(0)
	l.record(time.Hour)
	p := l.percentiles()
	if p.P50 > 0.002 || p.Max < 59_900 || p.Max > 60_100 {
		t.Errorf("%+v", p)
	}
}
