package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// tight returns limits that a few hundred entries reach, for both kinds of WorkQueue.
func tight(t *rapid.T) Options[string] {
	o := Options[string]{
		Workers: rapid.IntRange(1, 12).Draw(t, "workers"), LaneWorkers: 2, MostHanging: rapid.IntRange(1, 6).Draw(t, "hanging"), HangingBytes: 20,
		QuietPeriod: 30 * time.Second, Window: MemoryWindow{PageSize: 7, DueLow: 10, DueMost: 25, MaxUnanswering: 2, MaxAnswering: 8, MaxCrowded: 2, CrowdedAbove: 60, MaxEntries: 90},
		GroupOf: func(key string) string { return key[:1] },
	}
	if rapid.Bool().Draw(t, "receivers") {
		o.QuietPeriod, o.DeferFull, o.DoubtHanging, o.NeverGiveWay, o.UnansweringWorkers, o.Window.MaxUnanswering = 0, true, true, true, 2, 5
	}
	return o
}

// TestNothingIsLost checks that each entry of the index is in memory or will be found there,
// whatever happens. No entry has two concurrent attempts, the limits hold, and at last all entries
// are done in a bounded number of steps.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(tight(t))
		last := 0
		describe := func(at time.Time, lanes ...string) {
			last++
			w.move(Entry[string]{Key: fmt.Sprint(string(rune('a'+last%3)), last), AcceptedAt: w.now, DestinationNames: lanes}, at)
		}
		lane := func() string { return fmt.Sprint("d", rapid.IntRange(0, 4).Draw(t, "lane")) }
		some := func(do func(a *Attempt[string])) {
			if len(w.running) > 0 {
				do(rapid.SampledFrom(w.running).Draw(t, "attempt"))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"tell": func(t *rapid.T) {
				d := lane()
				for range rapid.IntRange(1, 40).Draw(t, "entries") {
					describe(w.now, d)
				}
			},
			"tell of two lanes": func(*rapid.T) { describe(w.now, "d0", "d1") },
			"interrupted": func(*rapid.T) {
				last++
				e := Entry[string]{Key: fmt.Sprint("l", last), At: w.now.Add(time.Hour), DestinationNames: []string{lane()}, WasLeased: true}
				w.index[e.Key] = e
				w.q.AddInterrupted(w.now, e)
			},
			"step": func(*rapid.T) { w.step() },
			"step while entries come": func(t *rapid.T) {
				d, n, later := lane(), rapid.IntRange(1, 60).Draw(t, "entries"), rapid.Bool().Draw(t, "later")
				w.during = func() {
					for range n {
						if describe(w.now, d); later {
							describe(w.now.Add(time.Duration(n)*time.Second), d)
						}
					}
				}
				w.step()
			},
			"step without the disk": func(*rapid.T) { w.broken = true; w.step() },
			"connects": func(t *rapid.T) {
				some(func(a *Attempt[string]) {
					if !a.isConnecting {
						w.q.AttemptConnecting(a, int64(rapid.IntRange(0, 10).Draw(t, "bytes")))
					}
				})
			},
			"greets": func(*rapid.T) { some(w.q.AttemptGreeted) },
			"answers": func(*rapid.T) {
				some(func(a *Attempt[string]) { w.end(a, AttemptResult{HealthState: HealthAnswering}, time.Time{}) })
			},
			"is silent": func(*rapid.T) {
				some(func(a *Attempt[string]) {
					w.end(a, AttemptResult{HealthState: HealthSilent, Report: "no"}, w.now.Add(time.Minute))
				})
			},
			"fails": func(*rapid.T) {
				some(func(a *Attempt[string]) { w.end(a, AttemptResult{NextTime: w.now.Add(15 * time.Second)}, time.Time{}) })
			},
			"defer": func(t *rapid.T) { w.deferred(rapid.IntRange(0, 2).Draw(t, "how")) },
			"wait": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 100_000).Draw(t, "ms")) * time.Millisecond)
			},
			"operator": func(t *rapid.T) {
				if len(w.index) == 0 {
					return
				}
				e := rapid.SampledFrom(w.sorted()).Draw(t, "entry")
				to := rapid.SampledFrom([]time.Time{{}, w.now, w.now.Add(time.Minute)}).Draw(t, "to")
				if to.Equal(w.now) && !e.WasLeased {
					if w.q.ProbeEntry(w.now, e); !w.q.entries[e.Key].probeNext {
						t.Fatalf("%s is not wanted", e.Key)
					}
				}
				w.move(e, to)
			},
			"part moves away": func(t *rapid.T) {
				w.moveAway(rapid.SampledFrom([]string{"a", "b", "c", "l"}).Draw(t, "part"), rapid.Bool().Draw(t, "and its attempts fail"))
			},
			"part comes back": func(*rapid.T) { w.comeBack() },
			"":                func(t *rapid.T) { w.check(t) },
		})
		w.comeBack()
		for steps := 0; len(w.index) > 0; steps++ {
			if steps > 5000 {
				t.Fatalf("%d entries are left: %+v", len(w.index), w.sorted()[0])
			}
			w.now = w.now.Add(time.Second)
			w.step()
			for len(w.running) > 0 {
				w.end(w.running[0], AttemptResult{HealthState: HealthAnswering}, time.Time{})
			}
			w.deferred(0)
			w.check(t)
		}
	})
}

func (w *world) check(t *rapid.T) {
	if lost, unsound := w.lost(), w.unsound(); lost != "" || unsound != "" {
		t.Fatalf("nobody will find %s; %s", lost, unsound)
	}
}

// deferred ends all deferrals: committed (0), known to be in the index (1), or failed (2).
func (w *world) deferred(how int) {
	w.takeDeferrals(64)
	for _, d := range w.deferrals {
		e, waits := w.index[d.Key]
		switch {
		case how == 2:
			w.q.NotDeferred(w.now, d, 15*time.Second)
			continue
		case waits && how == 0:
			w.move(e, w.now.Add(time.Minute))
		}
		w.q.EntryDeferred(w.now, d, e.At)
	}
	w.deferrals = nil
}

// TestTheLivingAlwaysGetTheirTurn lets many destinations hang, some of which answered before. A
// destination that answers and an unknown one must still be started within a bounded number of
// steps.
func TestTheLivingAlwaysGetTheirTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options[string]{Workers: rapid.IntRange(4, 64).Draw(t, "workers"), MostHanging: rapid.IntRange(8, 128).Draw(t, "hanging"), QuietPeriod: 30 * time.Second}
		w := newWorld(o)
		describe := func(key, lane string) {
			w.move(Entry[string]{Key: key, AcceptedAt: w.now, DestinationNames: []string{lane}}, w.now)
		}
		lapsed := rapid.IntRange(0, 20).Draw(t, "lapsed")
		describe("live0", "live")
		for n := range lapsed {
			describe(fmt.Sprint("before", n), fmt.Sprint("lapsed", n))
		}
		for w.step(); len(w.running) > 0; w.step() {
			w.end(w.running[0], AttemptResult{HealthState: HealthAnswering}, time.Time{})
		}
		for n := range rapid.IntRange(0, 300).Draw(t, "dead") {
			describe(fmt.Sprint("dead", n), fmt.Sprint("dead", n))
		}
		for n := range 10 * lapsed {
			describe(fmt.Sprint("again", n), fmt.Sprint("lapsed", n%lapsed))
		}
		hang := func(seconds int, lane string) bool {
			for range seconds {
				r, _ := w.step()
				for _, a := range r.BreakOff {
					w.end(a, AttemptResult{HealthState: HealthSilent, Report: "gave way"}, w.now.Add(time.Minute))
				}
				for _, a := range w.running {
					if !a.isConnecting {
						w.q.AttemptConnecting(a, 100)
					}
				}
				if slices.ContainsFunc(w.running, func(a *Attempt[string]) bool { return a.DestinationName == lane }) {
					return true
				}
				w.deferred(0)
				w.check(t)
				w.now = w.now.Add(time.Second)
			}
			return false
		}
		hang(rapid.IntRange(0, 60).Draw(t, "seconds"), "nobody")
		for _, lane := range []string{"live", "stranger"} {
			describe(lane+"1", lane)
			if !hang(30, lane) {
				var at []string
				for _, a := range w.running {
					at = append(at, a.DestinationName)
				}
				t.Fatalf("%s waits for %s", lane, strings.Join(at, " "))
			}
		}
	})
}
