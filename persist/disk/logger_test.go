package disk

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestSeldom checks that a frequent failure is logged once every ten seconds, with the number of
// repetitions.
func TestSeldom(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1_800_000_000, 0)
	l := &StoreLogger{slogOut: slog.New(slog.NewTextHandler(&out, nil)), now: func() time.Time { return now }, lastLines: map[string]*skippedLines{}}
	for range 1000 {
		l.LogThrottled(slog.LevelError, "a write failed")
		l.LogThrottled(slog.LevelWarn, "a file stays")
		now = now.Add(time.Millisecond)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines of two kinds", n)
	}
	now = now.Add(logEvery)
	l.LogThrottled(slog.LevelError, "a write failed")
	if text := out.String(); strings.Count(text, "\n") != 3 || !strings.HasSuffix(text, "repeated=999\n") {
		t.Errorf("later:\n%s", text)
	}
}
