package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"inboxd/bench/drive"
)

// clock moves when it is told to.
type clock struct{ now time.Time }

func (c *clock) tick(d time.Duration) { c.now = c.now.Add(d) }

func moments(d *Display, c *clock) {
	for second := range 3 {
		for range 5 { // five times a second
			d.Show(drive.Moment{Name: "mixed: polls", Done: float64(second + 1), All: 3, Says: "100/s"})
			d.Show(drive.Moment{Name: "mixed: mails", Done: float64(second + 1), All: 3, Says: "7/s"})
			c.tick(200 * time.Millisecond)
		}
	}
	d.Show(drive.Moment{Name: "mails read back", Done: 5, All: 10})
	d.Close()
}

func TestPlainLinesAreOneASecond(t *testing.T) {
	var out bytes.Buffer
	c := &clock{time.Unix(1000, 0)}
	moments(&Display{out: &out, now: func() time.Time { return c.now }}, c)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) < 4 || len(lines) > 6 {
		t.Errorf("%d lines of 3 s and an end:\n%s", len(lines), out.String())
	}
	if got, want := lines[len(lines)-2], "mixed: polls 100 %  100/s | mails 100 %  7/s"; got != want {
		t.Errorf("before the end: %q, want %q", got, want)
	}
	if got, want := lines[len(lines)-1], "mails read back 50 %"; got != want {
		t.Errorf("at the end: %q, want %q", got, want)
	}
}
