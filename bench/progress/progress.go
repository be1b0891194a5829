// Package progress shows how far a load is while it runs, with the figures of the last second: bars
// on a terminal, and else one plain line a second. It knows moments, and not what they measure.
package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cheggaaa/pb/v3"
	"github.com/cheggaaa/pb/v3/termutil"

	"inboxd/bench/drive"
)

const (
	lineEvery = time.Second            // plain
	drawEvery = 100 * time.Millisecond // on a terminal
	steps     = 10_000                 // of a bar
	columns   = 100                    // of a terminal that does not report its width
	barWidth  = 60                     // columns of a name, its bar and its percentage
)

const bar pb.ProgressBarTemplate = `{{ string . "name" | printf "%-28.28s" }} {{ bar . "[" "=" ">" " " "]" }} {{ percent . "%3.0f%%" }}`

// Display shows moments. Moments whose names are equal up to the last colon are shown together.
// Safe for concurrent use.
type Display struct {
	out     io.Writer
	now     func() time.Time
	bar     *pb.ProgressBar // nil: plain lines
	mu      sync.Mutex
	group   string
	moments []drive.Moment // of the group, the newest of each name
	drawn   int            // lines of the terminal that are overwritten next
	last    time.Time      // of the last output
	unshown bool           // the newest moment is not shown yet
}

// New returns a display on f, with bars if f is a terminal.
func New(f *os.File) *Display {
	st, err := f.Stat()
	return newDisplay(f, err == nil && st.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb", time.Now)
}

func newDisplay(out io.Writer, bars bool, now func() time.Time) *Display {
	d := &Display{out: out, now: now}
	if bars {
		d.bar = bar.New(steps).Set(pb.Static, true).SetWidth(barWidth).Start()
	}
	return d
}

// Show takes a moment, and shows its group if the last output is old enough.
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
	d.moments[i], d.unshown = m, true
	every := lineEvery
	if d.bar != nil {
		every = drawEvery
	}
	if d.now().Sub(d.last) >= every {
		d.draw()
	}
}

// Close shows what is not shown yet. Moments that follow are shown on new lines.
func (d *Display) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}

// end leaves the lines of a group as they are; mu is held.
func (d *Display) end() {
	if d.unshown {
		d.draw()
	}
	d.moments, d.drawn = nil, 0
}

// draw writes all moments of the group; mu is held.
func (d *Display) draw() {
	d.last, d.unshown = d.now(), false
	head := d.group + ": "
	if d.moments[0].Name == d.group {
		head = ""
	}
	var lines []string
	for _, m := range d.moments {
		name, share := strings.TrimPrefix(m.Name, head), m.Done/max(m.All, 1e-9)
		if d.bar == nil {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %.0f %%  %s", name, 100*share, m.Says)))
			continue
		}
		says := room(termutil.TerminalWidth())
		lines = append(lines, fmt.Sprintf("%s  %.*s\033[K\n", d.bar.Set("name", name).SetCurrent(int64(share*steps)), says, m.Says))
	}
	switch {
	case d.bar == nil:
		fmt.Fprintln(d.out, head+strings.Join(lines, " | "))
		return
	case d.drawn > 0:
		fmt.Fprintf(d.out, "\r\033[%dA", d.drawn)
	case head != "":
		fmt.Fprintln(d.out, head)
	}
	fmt.Fprint(d.out, strings.Join(lines, ""))
	d.drawn = len(lines)
}

// groupOf is the name up to its last colon, or all of it.
func groupOf(name string) string {
	if i := strings.LastIndex(name, ": "); i >= 0 {
		return name[:i]
	}
	return name
}

// room is how many columns are left for the figures of a bar. A terminal that has no size yet
// reports zero.
func room(width int, err error) int {
	if err != nil || width <= 0 {
		width = columns
	}
	return max(width-barWidth-2, 1)
}
