package drive

import (
	"testing"
	"time"
)

func TestPacerIdleConnectionCountsFromTheWakeUp(t *testing.T) {
	start := time.Now().Add(5 * time.Millisecond)
	_, from, ok := NewPacer(start, start.Add(time.Minute), 10, 0, 1).Next()
	if !ok || !from.After(start) { // a sleep ends after its time, never on it
		t.Errorf("counts from %v after it was due, want the wake-up", from.Sub(start))
	}
}

func TestPacerSpreadsConnections(t *testing.T) {
	start := time.Now()
	for k := range 4 {
		p := NewPacer(start, start.Add(time.Minute), 8, k, 4)
		if p.every != 500*time.Millisecond || p.due().Sub(start) != time.Duration(k)*125*time.Millisecond {
			t.Errorf("connection %d: every %v from %v", k, p.every, p.due().Sub(start))
		}
	}
}

func TestPacerRecordsWhatWasNeverSent(t *testing.T) {
	start := time.Now().Add(-time.Second)
	p, l := NewPacer(start, start.Add(time.Second), 10, 0, 1), NewLatencies()
	if _, _, ok := p.Next(); ok {
		t.Fatal("sent after the deadline")
	}
	if n := p.Unsent(l.Record); n != 10 {
		t.Fatalf("%d unsent, want 10", n)
	}
	if got := l.Percentiles(); got.Max < 999 || got.P50 < 400 {
		t.Errorf("their waiting is missing: %+v", got)
	}
}

func TestPacerWithoutRate(t *testing.T) {
	p := NewPacer(time.Now(), time.Now().Add(time.Minute), 0, 3, 4)
	before := time.Now()
	_, from, ok := p.Next()
	if !ok || from.Before(before) || p.Unsent(NewLatencies().Record) != 0 {
		t.Error("a pacer without a rate must neither wait nor plan")
	}
	if _, _, ok := NewPacer(before, before, 0, 0, 1).Next(); ok {
		t.Error("went on after the deadline")
	}
}

func TestLatenciesKeepWhatIsOutOfRange(t *testing.T) {
	l := NewLatencies()
	if l.Percentiles() != nil {
		t.Error("nothing recorded must not look like zero")
	}
	l.Record(0)
	l.Record(time.Hour)
	p := l.Percentiles()
	if p.P50 > 0.002 || p.Max < 59_900 || p.Max > 60_100 {
		t.Errorf("%+v", p)
	}
}
