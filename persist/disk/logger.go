package disk

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// logEvery is the interval at which one kind of repeated failure may be logged: a failing disk
// repeats the same error thousands of times a second.
const logEvery = 10 * time.Second

// Logger writes the store's log and is also the engine's logger. Any goroutine may use it: mu
// guards last, dying lets only the first fatal failure log, and the rest is immutable.
type Logger struct {
	out  *slog.Logger
	now  func() time.Time
	exit func(int) // never returns

	dying sync.Once

	mu   sync.Mutex
	last map[string]*silence
}

// silence counts the records dropped since the last record of its kind. Logger.mu guards it.
type silence struct {
	at      time.Time
	skipped int
}

// Seldom logs at most one record of a kind every logEvery, with the number of dropped ones. kind is
// a constant of the code, so the map stays small.
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

// Fatal logs one record and ends the process. What the disk did is unknown, and only a start that
// reads it again can find out (crash-only). No unacknowledged change is claimed to be stored. It
// never returns, in any goroutine.
func (l *Logger) Fatal(what string, err any) {
	l.dying.Do(func() {
		l.out.Error("storage failed, exiting", "what", what, "err", fmt.Sprint(err))
		l.exit(1)
	})
	select {}
}

// Error logs a record, for events that are rare by themselves.
func (l *Logger) Error(text string, args ...any) { l.out.Error(text, args...) }

// Info logs a record.
func (l *Logger) Info(text string, args ...any) { l.out.Info(text, args...) }

// Infof is a method of pebble.Logger, like Errorf and Fatalf. It logs at debug level.
func (l *Logger) Infof(format string, args ...any) {
	if l.out.Enabled(context.Background(), slog.LevelDebug) {
		l.out.Debug("engine", "text", fmt.Sprintf(format, args...))
	}
}

// Errorf logs an error of the engine, throttled.
func (l *Logger) Errorf(format string, args ...any) {
	l.Seldom(slog.LevelError, "engine error: "+format, "err", fmt.Sprintf(format, args...))
}

// Fatalf ends the process after an error of the engine.
func (l *Logger) Fatalf(format string, args ...any) {
	l.Fatal("engine", fmt.Sprintf(format, args...))
}
