// Package progress prints how far a load is while it runs: one line a second, with the figures of
// the last second. It knows moments, and nothing of what they are moments of.
package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"inboxd/bench/drive"
)

const lineEvery = time.Second

// Display prints moments. Moments whose names are equal up to the last colon share a line. Safe
// for concurrent use.
type Display struct {
	out     io.Writer
	now     func() time.Time
	mu      sync.Mutex
	group   string
	moments []drive.Moment // of the group, the newest of each name
	last    time.Time      // of the last line
	unsaid  bool           // the newest moment is not printed yet
}

// New returns a display that prints to out.
func New(out io.Writer) *Display { return &Display{out: out, now: time.Now} }

// Show takes in a moment, and prints a line if the last one is a second old.
func (d *Display) Show(m drive.Moment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if group := groupOf(m.Name); group != d.group {
		d.end()
		d.group = group
	}
	i := slices.IndexFunc(d.moments, func(o drive.Moment) bool { return o.Name == m.Name })
	if i < 0 {
		i = len(d.moments)
		d.moments = append(d.moments, m)
	}
	d.moments[i], d.unsaid = m, true
	if now := d.now(); now.Sub(d.last) >= lineEvery {
		d.print(now)
	}
}

// Close prints what is not printed yet.
func (d *Display) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}

// end finishes a group; mu is held.
func (d *Display) end() {
	if d.unsaid {
		d.print(d.now())
	}
	d.moments = nil
}

// print writes one line with all moments of the group; mu is held.
func (d *Display) print(now time.Time) {
	d.last, d.unsaid = now, false
	var parts []string
	for _, m := range d.moments {
		text := strings.TrimPrefix(m.Name, d.group+": ")
		if m.All > 0 {
			text += fmt.Sprintf(" %.0f %%", 100*m.Done/m.All)
		}
		parts = append(parts, strings.TrimSpace(text+"  "+m.Says))
	}
	head := ""
	if d.moments[0].Name != d.group {
		head = d.group + ": "
	}
	fmt.Fprintln(d.out, head+strings.Join(parts, " | "))
}

func groupOf(name string) string {
	if i := strings.LastIndex(name, ": "); i >= 0 {
		return name[:i]
	}
	return name
}
