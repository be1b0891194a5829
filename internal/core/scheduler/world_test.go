package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// world is the environment of a WorkQueue: an index, attempts in progress, and a clock.
type world struct {
	q         *WorkQueue[string]
	start     time.Time
	now       time.Time
	index     map[string]Entry[string]
	running   []*Attempt[string]
	deferrals []*Deferral[string]
	groups    int    // of the deferrals
	during    func() // runs while a page is being read
	broken    bool   // the next page cannot be read
	elsewhere map[string]Entry[string]
}

// moveAway takes the entries whose keys begin with part out of the index, unchanged.
func (w *world) moveAway(part string, fails bool) {
	of := func(key string) bool { return strings.HasPrefix(key, part) }
	for _, a := range slices.Clone(w.running) {
		if of(a.Key) {
			w.running = slices.DeleteFunc(w.running, func(b *Attempt[string]) bool { return a == b })
			r := AttemptResult{}
			if fails {
				r.NextTime = w.now.Add(time.Minute)
			}
			w.q.AttemptFinished(w.now, a, r)
		}
	}
	w.q.DropEntries(w.now, of)
	for key, e := range w.index {
		if of(key) {
			w.elsewhere[key] = e
			delete(w.index, key)
		}
	}
	for key := range w.q.entries {
		if of(key) {
			panic(key + " is remembered")
		}
	}
}

// comeBack restores the entries that were taken away. Leased ones are taken up.
func (w *world) comeBack() {
	w.q.RestartScan(w.now)
	for key, e := range w.elsewhere {
		if w.index[key] = e; e.WasLeased {
			w.q.AddInterrupted(w.now, e)
		}
	}
	clear(w.elsewhere)
}

func newWorld(o Options[string]) *world {
	start := time.UnixMilli(1_700_000_000_000).UTC()
	return &world{q: New(o), start: start, now: start, index: map[string]Entry[string]{}, elsewhere: map[string]Entry[string]{}}
}

func byPlace(a, b Entry[string]) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key, b.Key)) }

func (w *world) sorted() (all []Entry[string]) {
	for _, e := range w.index {
		all = append(all, e)
	}
	slices.SortFunc(all, byPlace)
	return all
}

// move changes the index and reports it.
func (w *world) move(e Entry[string], to time.Time) {
	e.At, e.WasLeased = to, false
	if to.IsZero() {
		delete(w.index, e.Key)
	} else {
		w.index[e.Key] = e
	}
	w.q.EntryMoved(w.now, e)
}

func (w *world) read(r *PageRequest[string]) {
	all := w.sorted()
	first, found := slices.BinarySearchFunc(all, Entry[string]{At: r.From, Key: r.Key}, byPlace)
	if found && r.AfterKey {
		first++
	}
	all = all[first:]
	page, more := all[:min(len(all), r.Limit)], len(all) > r.Limit
	if during := w.during; during != nil {
		w.during = nil
		during()
	}
	if w.broken {
		w.broken = false
		w.q.NoPage(w.now)
		return
	}
	w.q.AddPage(w.now, page, more)
}

// step does what the WorkQueue returns, and reads as often as it asks.
func (w *world) step() (all ReadyWork[string], pages int) {
	for {
		r := w.q.Step(w.now)
		w.running = append(w.running, r.StartAttempts...)
		all.StartAttempts, all.BreakOff = append(all.StartAttempts, r.StartAttempts...), append(all.BreakOff, r.BreakOff...)
		all.NextStep, all.HasDeferrals = r.NextStep, r.HasDeferrals
		if r.ReadPage == nil {
			return all, pages
		}
		pages++
		w.read(r.ReadPage)
	}
}

// takeDeferrals takes all deferrals.
func (w *world) takeDeferrals(most int) (back bool) {
	waiting := len(w.q.deferredEntries.groupOrder) > 0
	for {
		group, _ := w.q.Deferrals(w.now, most)
		if len(group) == 0 {
			return waiting
		}
		w.deferrals = append(w.deferrals, group...)
		w.groups++
	}
}

// end finishes an attempt. next is the new time of the entry if it was the last part; zero removes
// it.
func (w *world) end(a *Attempt[string], r AttemptResult, next time.Time) {
	w.running = slices.DeleteFunc(w.running, func(b *Attempt[string]) bool { return a == b })
	e, waits := w.index[a.Key]
	if last := a.entry.partsLeft == 1; waits && last && r.NextTime.IsZero() {
		w.move(e, next)
	}
	w.q.AttemptFinished(w.now, a, r)
}

// lost names an entry of the index that the WorkQueue will never find; empty: none.
func (w *world) lost() string {
	q := w.q
	for _, e := range w.sorted() {
		var l *destinationQueue[string]
		if len(e.DestinationNames) == 1 {
			l = q.destinationSet.byName[e.DestinationNames[0]]
		}
		behind := q.window.resumeAt.AfterKey && e.At.Equal(q.window.resumeAt.From) && e.Key > q.window.resumeAt.Key
		switch {
		case q.entries[e.Key] != nil:
		case !q.window.isWhole && (e.At.After(q.window.horizon) || behind):
		case l != nil && !l.firstLeftAt.IsZero() && !e.At.Before(l.firstLeftAt) && (l.heldCount() > 0 || q.window.wantsRescan):
		default:
			return fmt.Sprintf("%+v: horizon %v, whole %v, lane %+v", e, q.window.horizon, q.window.isWhole, l)
		}
	}
	return ""
}

// unsound names a limit or a count that does not hold; empty: none.
func (w *world) unsound() string {
	q, waiting := w.q, 0
	for _, m := range q.dueEntries.items {
		if !m.isAstray {
			waiting++
		}
	}
	at, hanging, bytes, busy := [3]int{}, 0, int64(0), 0
	parts := map[string]bool{}
	for _, a := range w.running {
		if name := a.Key + "@" + a.DestinationName; parts[name] {
			return name + " is tried twice at the same time"
		} else {
			parts[name] = true
		}
		if a.isHanging {
			hanging++
			bytes += a.heldBytes
		} else {
			at[a.HealthAtStart]++
		}
	}
	deferred := map[*destinationQueue[string]]int{}
	for _, d := range w.deferrals {
		deferred[d.destinationQueue]++
	}
	for _, group := range q.deferredEntries.groups {
		for _, d := range group {
			deferred[d.destinationQueue]++
		}
	}
	for _, l := range q.destinationSet.byName {
		if l.deferredCount != deferred[l] {
			return fmt.Sprintf("%d entries of %s are to be deferred, counted %d", deferred[l], l.name, l.deferredCount)
		}
		if l.isBusy {
			busy++
		}
	}
	switch {
	case len(q.entries) > q.Window.MaxEntries+64, waiting > q.Window.DueMost:
		return fmt.Sprintf("%d entries in memory, %d of them wait for their time", len(q.entries), waiting)
	case at != q.destinationSet.at, hanging != q.hangingAttempts.n, bytes != q.hangingAttempts.heldBytes, busy != q.destinationSet.unansweringCount:
		return fmt.Sprintf("%v run and %d hang with %d bytes, counted are %v and %d with %d; %d busy, counted %d", at, hanging, bytes, q.destinationSet.at, q.hangingAttempts.n, q.hangingAttempts.heldBytes, busy, q.destinationSet.unansweringCount)
	case at[0]+at[1]+at[2] > q.Workers, at[HealthUnproven] > max(1, q.Workers/2), at[HealthSilent] > max(1, q.Workers/8):
		return fmt.Sprintf("%v run of %d", at, q.Workers)
	case hanging > q.MostHanging, bytes > q.HangingBytes:
		return fmt.Sprintf("%d hang with %d bytes", hanging, bytes)
	}
	return ""
}
