package disk

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// logEvery is how often one kind of repeated failure may be logged: a failing disk repeats
// the same error thousands of times a second.
const logEvery = 10 * time.Second

// Logger writes the store's log, and is the engine's logger too. Any goroutine may use it: mu
// guards last, dying lets the first fatal failure speak alone, all else never changes.
type Logger struct {
	out  *slog.Logger
	now  func() time.Time
	exit func(int) // never returns

	dying sync.Once

	mu   sync.Mutex
	last map[string]*silence
}

// silence counts what was not logged since the last line of its kind. Logger.mu guards it.
type silence struct {
	at      time.Time
	skipped int
}

// Seldom logs at most one line of a kind every logEvery, with the count of those skipped.
// kind is a constant of the code, so the map stays small.
func (l *Logger) Seldom(level slog.Level, kind string, args ...any) {
	l.mu.Lock()
	s := l.last[kind]
	if s == nil {
		s = &silence{}
		l.last[kind] = s
	}
	now := l.now()
	if now.Sub(s.at) < logEvery && !now.Before(s.at) {
		s.skipped++
		l.mu.Unlock()
		return
	}
	if s.skipped > 0 {
		args = append(args, "repeated", s.skipped)
	}
	s.at, s.skipped = now, 0
	l.mu.Unlock()
	l.out.Log(context.Background(), level, kind, args...)
}

// Fatal ends the process with one line: what the disk did is unknown, and only a start
// that reads it again can tell (crash-only). Nothing that was not acknowledged is claimed.
// It does not return, in whichever goroutine.
func (l *Logger) Fatal(what string, err any) {
	l.dying.Do(func() {
		l.out.Error("storage failed, exiting", "what", what, "err", fmt.Sprint(err))
		l.exit(1)
	})
	select {}
}

// Error logs a line, for what comes seldom by itself.
func (l *Logger) Error(text string, args ...any) { l.out.Error(text, args...) }

// Info logs a line.
func (l *Logger) Info(text string, args ...any) { l.out.Info(text, args...) }

// Infof makes Logger a pebble.Logger, with Errorf and Fatalf.
func (l *Logger) Infof(format string, args ...any) {
	if l.out.Enabled(context.Background(), slog.LevelDebug) {
		l.out.Debug("engine", "text", fmt.Sprintf(format, args...))
	}
}

// Errorf logs an error of Pebble, at a limited rate.
func (l *Logger) Errorf(format string, args ...any) {
	l.Seldom(slog.LevelError, "engine error: "+format, "err", fmt.Sprintf(format, args...))
}

// Fatalf logs the error and ends the process, because Pebble must not go on.
func (l *Logger) Fatalf(format string, args ...any) {
	l.Fatal("engine", fmt.Sprintf(format, args...))
}
