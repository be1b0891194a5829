package progress

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"inboxd/bench/drive"
)

// show shows three seconds of a group, five times a second, and then another.
func show(bars bool) string {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	d := newDisplay(&out, bars, func() time.Time { return now })
	for second := range 3 {
		for range 5 {
			d.Show(drive.Moment{Name: "mixed: polls", Done: float64(second + 1), All: 3, Says: "100/s  p50 0.20  p99 3.00 ms"})
			d.Show(drive.Moment{Name: "mixed: messages", Done: float64(second + 1), All: 3, Says: "7/s"})
			now = now.Add(200 * time.Millisecond)
		}
	}
	d.Show(drive.Moment{Name: "messages read back", Done: 5, All: 10})
	d.Close()
	return out.String()
}

func TestPlainLinesAreOneASecond(t *testing.T) {
	text := show(false)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) < 4 || len(lines) > 6 {
		t.Errorf("%d lines of 3 s and an end:\n%s", len(lines), text)
	}
	if got, want := lines[len(lines)-2], "mixed: polls 100 %  100/s  p50 0.20  p99 3.00 ms | messages 100 %  7/s"; got != want {
		t.Errorf("before the end: %q, want %q", got, want)
	}
	if got, want := lines[len(lines)-1], "messages read back 50 %"; got != want {
		t.Errorf("at the end: %q, want %q", got, want)
	}
	if strings.Contains(text, "\033") {
		t.Error("plain lines have escape sequences")
	}
}

func TestBarsAreDrawnOver(t *testing.T) {
	text := show(true)
	for _, want := range []string{"mixed: \npolls ", "\033[2A", "===", "100%  100/s  p50 0.20  p99 3.00 ms\033[K", "messages read back"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	if strings.Contains(text, "\033[3A") {
		t.Error("a group was drawn over the one before")
	}
	line, _, _ := strings.Cut(strings.SplitAfter(text, "\n")[1], "  100/s")
	if len(line) != barWidth {
		t.Errorf("a bar has %d columns: %q", len(line), line)
	}
}

func TestATerminalWithoutASizeHasBars(t *testing.T) {
	for _, c := range []struct {
		width int
		err   error
		want  int
	}{{130, nil, 68}, {0, nil, 38}, {0, os.ErrInvalid, 38}, {20, nil, 1}} {
		if got := room(c.width, c.err); got != c.want {
			t.Errorf("%d, %v: %d", c.width, c.err, got)
		}
	}
}
