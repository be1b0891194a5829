package actors

import (
	"container/heap"
	"slices"
	"time"

	"inboxd/internal/webhook"
)

// The window of the due index: its earliest entries in memory, and how far it goes.

// waiting is an entry of the window and when it is looked at.
type waiting struct {
	when time.Time
	due  webhook.Due
}

// dueHeap has the earliest first.
type dueHeap []waiting

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].when.Before(h[j].when) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(waiting)) }
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	*h = (*h)[:last]
	return w
}

// oldest is when the earliest entry in memory that is not being tried was due; 0: none.
func (d *deliveries) oldest() (ms int64) {
	at := d.receivers.oldest()
	if len(d.waiting) > 0 && (at.IsZero() || d.waiting[0].due.At.Before(at)) {
		at = d.waiting[0].due.At
	}
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

// refill reads a page of the index when there may be entries in it that are wanted now, and
// reports whether there may be more of them. It stops where it has to forget what it read:
// to go on would read the same again for ever.
func (d *deliveries) refill(now time.Time) bool {
	switch {
	case d.whole, len(d.known)+deliveryPage > d.window:
		return false
	case len(d.waiting) >= deliveryLow && (d.cursor.After(now) || !d.waiting[0].when.After(now)):
		return false
	}
	sheds := d.sheds
	for limit := deliveryPage; ; limit *= 2 {
		due, next, err := d.store.DueDeliveries(d.cursor, limit)
		if err != nil {
			d.log.Error("the due index of webhooks could not be read", "err", err)
			return false
		}
		if next.IsZero() {
			d.whole = true
			d.note(due)
			return false
		}
		if next.After(d.cursor) && !next.Equal(due[0].At) {
			d.cursor = next
			for _, one := range due {
				d.add(one, one.At)
			}
			return d.sheds == sheds
		}
		// All of the page is of one moment: a larger one goes beyond it.
	}
}

// note takes entries into the window; those behind the cursor are found there later.
func (d *deliveries) note(due []webhook.Due) {
	for _, one := range due {
		if d.whole || one.At.Before(d.cursor) {
			d.add(one, one.At)
		}
	}
}

// add puts an entry into the window, unless it is there.
func (d *deliveries) add(due webhook.Due, when time.Time) {
	if _, there := d.known[nameOf(due)]; there {
		return
	}
	d.known[nameOf(due)] = struct{}{}
	heap.Push(&d.waiting, waiting{when, due})
	if len(d.known) > d.window {
		d.shed()
	}
}

// shed forgets the later half of what waits: the index has it. The cursor never goes forward
// here, for what lies before the new place may not have been read.
func (d *deliveries) shed() {
	slices.SortFunc(d.waiting, func(a, b waiting) int { return a.when.Compare(b.when) }) // sorted is a heap too
	keep := len(d.waiting) / 2
	if keep == 0 {
		return // all is queued or being tried
	}
	d.sheds++
	if d.whole {
		d.cursor, d.whole = d.waiting[keep].due.At, false
	}
	for _, w := range d.waiting[keep:] {
		if w.due.At.Before(d.cursor) {
			d.cursor = w.due.At
		}
		delete(d.known, nameOf(w.due))
	}
	d.waiting = slices.Clone(d.waiting[:keep])
}
