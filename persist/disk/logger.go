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

// StoreLogger writes the store's log and is also the engine's logger. Any goroutine may use it: mu
// guards last, dying lets only the first fatal failure log, and the rest is immutable.
type StoreLogger struct {
	slogOut     *slog.Logger
	now         func() time.Time
	exitProcess func(int) // never returns

	fatalOnce sync.Once

	mu        sync.Mutex
	lastLines map[string]*skippedLines
}

// skippedLines counts the records dropped since the last record of its kind. Logger.mu guards it.
type skippedLines struct {
	at           time.Time
	skippedCount int
}

// LogThrottled logs at most one record of a kind every logEvery, with the number of dropped ones.
// kind is a constant of the code, so the map stays small.
func (l *StoreLogger) LogThrottled(level slog.Level, kind string, args ...any) {
	l.mu.Lock()
	s := l.lastLines[kind]
	if s == nil {
		s = &skippedLines{}
		l.lastLines[kind] = s
	}
	now := l.now()
	if now.Sub(s.at) < logEvery && !now.Before(s.at) {
		s.skippedCount++
		l.mu.Unlock()
		return
	}
	if s.skippedCount > 0 {
		args = append(args, "repeated", s.skippedCount)
	}
	s.at, s.skippedCount = now, 0
	l.mu.Unlock()
	l.slogOut.Log(context.Background(), level, kind, args...)
}

// ExitFatal logs one record and ends the process. What the disk did is unknown, and only a start that
// reads it again can find out (crash-only). No unacknowledged change is claimed to be stored. It
// never returns, in any goroutine.
func (l *StoreLogger) ExitFatal(what string, err any) {
	l.fatalOnce.Do(func() {
		l.slogOut.Error("storage failed, exiting", "what", what, "err", fmt.Sprint(err))
		l.exitProcess(1)
	})
	select {}
}

// Error logs a record, for events that are rare by themselves.
func (l *StoreLogger) Error(text string, args ...any) { l.slogOut.Error(text, args...) }

// Info logs a record.
func (l *StoreLogger) Info(text string, args ...any) { l.slogOut.Info(text, args...) }

// Infof is a method of pebble.Logger, like Errorf and Fatalf. It logs at debug level.
func (l *StoreLogger) Infof(format string, args ...any) {
	if l.slogOut.Enabled(context.Background(), slog.LevelDebug) {
		l.slogOut.Debug("engine", "text", fmt.Sprintf(format, args...))
	}
}

// Errorf logs an error of the engine, throttled.
func (l *StoreLogger) Errorf(format string, args ...any) {
	l.LogThrottled(slog.LevelError, "engine error: "+format, "err", fmt.Sprintf(format, args...))
}

// Fatalf ends the process after an error of the engine.
func (l *StoreLogger) Fatalf(format string, args ...any) {
	l.ExitFatal("engine", fmt.Sprintf(format, args...))
}
