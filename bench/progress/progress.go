// Package progress shows how far a load is while it runs: bars with the figures of the last second on a terminal, and a
// plain line now and then for everything else. It knows moments, and nothing of what they are moments of.
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
	fullBar   = 10_000                 // steps of a bar
	columns   = 100                    // where nobody says how wide the terminal is
	nameWidth = 28
	barWidth  = 28 // and the percents behind it
)

// bar is a line on a terminal.
const bar pb.ProgressBarTemplate = `{{ string . "name" }} {{ bar . "[" "=" ">" " " "]" }} {{ percent . "%3.0f%%" }}  {{ string . "says" }}`

// Display shows moments. What has one name up to its last colon belongs together: it is shown at once, and left behind
// when something else begins. Safe for concurrent use.
type Display struct {
	out    io.Writer
	bars   bool
	now    func() time.Time
	mu     sync.Mutex
	group  string
	lines  []*line
	drawn  int // lines of the terminal that will be drawn over
	last   time.Time
	unsaid bool // something new is not shown yet
}

type line struct {
	moment drive.Moment
	bar    *pb.ProgressBar
}

// New shows on f: bars where it is a terminal.
func New(f *os.File) *Display {
	st, err := f.Stat()
	return newDisplay(f, err == nil && st.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb", time.Now)
}

func newDisplay(out io.Writer, bars bool, now func() time.Time) *Display {
	return &Display{out: out, bars: bars, now: now}
}

// Show takes a moment in.
func (d *Display) Show(m drive.Moment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if group := groupOf(m.Name); group != d.group {
		d.end()
		d.group = group
	}
	i := slices.IndexFunc(d.lines, func(l *line) bool { return l.moment.Name == m.Name })
	if i < 0 {
		i = len(d.lines)
		d.lines = append(d.lines, &line{bar: bar.New(fullBar).Set(pb.Static, true).Start()})
	}
	d.lines[i].moment, d.unsaid = m, true
	every := lineEvery
	if d.bars {
		every = drawEvery
	}
	if now := d.now(); now.Sub(d.last) >= every {
		d.draw(now)
	}
}

// Close shows what is not shown yet.
func (d *Display) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}

// end leaves the lines behind; mu is held.
func (d *Display) end() {
	if d.unsaid {
		d.draw(d.now())
	}
	d.lines, d.drawn = nil, 0
}

// draw writes all lines of the group; mu is held.
func (d *Display) draw(now time.Time) {
	d.last, d.unsaid = now, false
	if !d.bars {
		var parts []string
		for _, l := range d.lines {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s%s  %s", strings.TrimPrefix(l.moment.Name, d.group+": "), share(l.moment), l.moment.Says)))
		}
		head := ""
		if d.lines[0].moment.Name != d.group {
			head = d.group + ": "
		}
		fmt.Fprintln(d.out, head+strings.Join(parts, " | "))
		return
	}
	if d.drawn > 0 {
		fmt.Fprintf(d.out, "\033[%dA", d.drawn)
	}
	width := wide(termutil.TerminalWidth())
	for _, l := range d.lines {
		fmt.Fprintf(d.out, "\r%s\033[K\n", l.draw(width))
	}
	d.drawn = len(d.lines)
}

// wide is the width of a terminal. One that was never given a size says 0.
func wide(width int, err error) int {
	if err != nil || width <= 0 {
		return columns
	}
	return width
}

// share is how far a moment is, in percent.
func share(m drive.Moment) string {
	if m.All <= 0 {
		return ""
	}
	return fmt.Sprintf(" %.0f %%", 100*m.Done/m.All)
}

func (l *line) draw(width int) string {
	done := 0.0
	if l.moment.All > 0 {
		done = l.moment.Done / l.moment.All
	}
	says := max(width-nameWidth-barWidth, 1)
	name := strings.TrimSpace(l.moment.Name[strings.LastIndex(l.moment.Name, ": ")+1:])
	l.bar.Set("name", fmt.Sprintf("%-*.*s", nameWidth, nameWidth, name)).Set("says", fmt.Sprintf("%-*.*s", says, says, l.moment.Says))
	return l.bar.SetWidth(width).SetCurrent(int64(done * fullBar)).String()
}

func groupOf(name string) string {
	if i := strings.LastIndex(name, ": "); i >= 0 {
		return name[:i]
	}
	return name
}
