package progress

import (
	"bytes"
	"os"
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
	moments(newDisplay(&out, false, func() time.Time { return c.now }), c)
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
	if strings.Contains(out.String(), "\033") {
		t.Error("plain lines hold escapes")
	}
}

func TestBarsAreDrawnOver(t *testing.T) {
	var out bytes.Buffer
	c := &clock{time.Unix(1000, 0)}
	moments(newDisplay(&out, true, func() time.Time { return c.now }), c)
	text := out.String()
	if !strings.Contains(text, "\033[2A") || !strings.Contains(text, "===") || !strings.Contains(text, "100%  100/s") {
		t.Errorf("no bars that are drawn over: %q", text)
	}
	if strings.Contains(text, "\033[3A") {
		t.Error("what came after was drawn with what was before")
	}
}

func TestATerminalWithoutASizeHasBars(t *testing.T) {
	for _, c := range []struct {
		width int
		err   error
		want  int
	}{{130, nil, 130}, {0, nil, columns}, {0, os.ErrInvalid, columns}} {
		if got := wide(c.width, c.err); got != c.want {
			t.Errorf("%d, %v: %d", c.width, c.err, got)
		}
	}
}
