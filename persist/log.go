package persist

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// logEvery is how often one kind of repeated failure may be logged: a failing disk repeats
// the same error thousands of times a second.
const logEvery = 10 * time.Second

// reporter writes the store's log. It is the engine's logger too.
type reporter struct {
	log  *slog.Logger
	now  func() time.Time
	exit func(int) // never returns

	dying sync.Once

	mu   sync.Mutex
	last map[string]*silence
}

// silence counts what was not logged since the last line of its kind.
type silence struct {
	at      time.Time
	skipped int
}

func newReporter(o *Options) *reporter {
	return &reporter{log: o.Logger, now: o.Now, exit: o.Exit, last: map[string]*silence{}}
}

// seldom logs at most one line of a kind every logEvery, with the count of those skipped.
// kind is a constant of the code, so the map stays small.
func (r *reporter) seldom(level slog.Level, kind string, args ...any) {
	r.mu.Lock()
	s := r.last[kind]
	if s == nil {
		s = &silence{}
		r.last[kind] = s
	}
	now := r.now()
	if now.Sub(s.at) < logEvery && !now.Before(s.at) {
		s.skipped++
		r.mu.Unlock()
		return
	}
	if s.skipped > 0 {
		args = append(args, "repeated", s.skipped)
	}
	s.at, s.skipped = now, 0
	r.mu.Unlock()
	r.log.Log(context.Background(), level, kind, args...)
}

// fatal ends the process with one line: what the disk did is unknown, and only a start
// that reads it again can tell (crash-only). Nothing that was not acknowledged is claimed.
// It does not return, in whichever goroutine.
func (r *reporter) fatal(what string, err any) {
	r.dying.Do(func() {
		r.log.Error("storage failed, exiting", "what", what, "err", fmt.Sprint(err))
		r.exit(1)
	})
	select {}
}

// Infof, Errorf and Fatalf make the reporter a pebble.Logger.
func (r *reporter) Infof(format string, args ...any) {
	if r.log.Enabled(context.Background(), slog.LevelDebug) {
		r.log.Debug("engine", "text", fmt.Sprintf(format, args...))
	}
}

func (r *reporter) Errorf(format string, args ...any) {
	r.seldom(slog.LevelError, "engine error: "+format, "err", fmt.Sprintf(format, args...))
}

func (r *reporter) Fatalf(format string, args ...any) {
	r.fatal("engine", fmt.Sprintf(format, args...))
}

// events reports what the engine does in the background.
func (r *reporter) events() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			r.seldom(slog.LevelError, "storage: background work failed, it will be tried again", "err", err)
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			r.seldom(slog.LevelError, "storage: corrupt data", "file", info.Path, "err", info.Details)
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			r.seldom(slog.LevelWarn, "storage: writes wait for background work", "reason", info.Reason)
		},
	}
}
