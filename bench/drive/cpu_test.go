package drive

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const rest = " S 1 2 3 4 -1 4194304 98 0 0 0 1234 567 0 0 20 0 1 0 1191226 3133440 360\n"
	for name, stat := range map[string]string{
		"plain":                  "42 (inboxd)" + rest,
		"name with a space":      "42 (tmux: server)" + rest,
		"name with parentheses":  "42 (a) R 9 9) (b)" + rest,
		"nothing after the name": "42 ()" + rest,
	} {
		got, err := parseStat(stat)
		if want := (cpuTime{12340 * time.Millisecond, 5670 * time.Millisecond}); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, stat := range map[string]string{
		"empty":        "",
		"cut short":    "42 (inboxd) S 1 2 3 4 -1 4194304 98 0 0 0 1234",
		"no number":    "42 (inboxd) S 1 2 3 4 -1 4194304 98 0 0 0 x 567 0 0",
		"no number, 2": "42 (inboxd) S 1 2 3 4 -1 4194304 98 0 0 0 1234 x 0 0",
	} {
		if got, err := parseStat(stat); err == nil {
			t.Errorf("%s: read as %v", name, got)
		}
	}
}

// self is this process as one that is measured.
func self(t *testing.T) *Process {
	t.Helper()
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return &Process{name: "self", cmd: &exec.Cmd{Process: p}}
}

// compute lets p, which is this process, compute for so long.
func compute(p *Process, d time.Duration) error {
	before, err := p.cpu()
	for now := before; err == nil && now.minus(before).user+now.minus(before).system < d; now, err = p.cpu() {
	}
	return err
}

func TestAlternateCountsTheProcessorTimeOfTurns(t *testing.T) {
	p := self(t)
	busy := func(context.Context, int) (Round, error) {
		return Round{Count: 90, Errors: 10, Elapsed: time.Second}, compute(p, 30*time.Millisecond)
	}
	verified := 0
	verify := func(context.Context, int) error {
		verified++
		return compute(p, 200*time.Millisecond)
	}
	idle := func(context.Context, int) (Round, error) { return Round{Count: 1, Elapsed: time.Second}, nil }
	results, err := Alternate(t.Context(), "load", 2, Side{"a", busy, p, verify}, Side{"b", busy, p, nil}, Side{Target: "c", Run: idle})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results[:2] {
		if r.CPU == nil || len(r.CPU.Rounds) != 2 {
			t.Fatalf("%+v", r)
		}
		// 30 ms over 100 operations; what is verified would make it 2,300 µs.
		if got := r.CPU.Total(); got < 299.9 || got > 1000 {
			t.Errorf("%s: %v µs an operation", r.Target, got)
		}
	}
	if verified != 2 || results[2].CPU != nil {
		t.Errorf("verified %d times; without a process %+v", verified, results[2].CPU)
	}
	if q := RatioOf(results[0], results[1]); q.CPU <= 0 {
		t.Errorf("%+v", q)
	}
	if q := RatioOf(results[0], results[2]); q.CPU != 0 {
		t.Errorf("next to what is not known: %+v", q)
	}
}

func TestAtRest(t *testing.T) {
	for did, want := range map[cpuTime]bool{
		{}:                      true,
		{user: clockTick}:       true,
		{clockTick, clockTick}:  false, // both count
		{system: 3 * clockTick}: false,
		{user: 30 * clockTick}:  false,
	} {
		if atRest(did) != want {
			t.Errorf("%v: at rest %v", did, !want)
		}
	}
	if err := (*Process)(nil).Settle(t.Context()); err != nil {
		t.Errorf("a server that is not ours: %v", err)
	}
}
