// Package bench puts the loads on a server that users care about, and reports what it saw:
// polls (Poll), mail in (Ingest), a mail's way from final dot to reader (Latency), long polls
// that wait (Waiters), a stream of events over a fleet (Events), webhooks (Webhooks), meetings
// (Calendar), and start-up with many inboxes (Start). Beside these it scores the codes that are found in a
// folder of mails (OTP). Each figure stands beside a limit measured in the same
// run: a constant HTTP answer, smtp-sink, or the disk's own fdatasync.
//
// It knows the public surfaces only: HTTP by docs/specification.md and SMTP by RFC 5321, of a
// process it starts itself or is pointed to. It refuses to know what is inside the server,
// and refuses to load anything that is not on loopback.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"inboxd/internal/version"
)

// Bed is what every load stands on: a running server, keys for it, and a report to fill.
type Bed struct {
	Server *Server
	Keys   []string // one account key each, scope full; inboxes are dealt out among them
	Report *Report

	sessions []string // of the accounts, in the order of Keys
	dir      string   // temporary; holds the data folder, logs and probe files
}

// Prepare starts the server or attaches to one, signs up the accounts, and opens the
// report. The caller closes the bed, whatever happens in between.
func Prepare(ctx context.Context, tool string, opts ServerOptions) (_ *Bed, err error) {
	dir, err := os.MkdirTemp(opts.Dir, "inbox-bench-")
	if err != nil {
		return nil, err
	}
	b := &Bed{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if b.Server, err = StartServer(ctx, opts, dir); err != nil {
		return nil, err
	}
	if b.sessions, b.Keys, err = signUp(ctx, b.Server.HTTP, max(opts.Accounts, 1)); err != nil {
		return nil, err
	}
	b.Report = &Report{
		Tool: tool, Version: version.String(), Date: time.Now().UTC(), Commit: b.Server.commit(opts.Commit),
		Machine: describeMachine(dir), Load: map[string]any{"server": b.Server.describe()},
	}
	return b, nil
}

// Program returns the path of another program of the project, said or found as inboxd is.
func (b *Bed) Program(ctx context.Context, name, said string) (string, error) {
	return findProgram(ctx, name, said, b.dir)
}

// Close stops what was started and removes the temporary folder.
func (b *Bed) Close() error {
	var err error
	if b.Server != nil {
		err = b.Server.close()
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// parallel runs fn for 0..n-1, each on its own goroutine, and returns the first error, which
// also cancels the context of the others. It returns only when all have ended.
func parallel(ctx context.Context, n int, fn func(ctx context.Context, k int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	for k := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			if err := fn(ctx, k); err != nil {
				cancel(err)
			}
		}()
	}
	for range n {
		<-done
	}
	return context.Cause(ctx)
}

// share returns the half-open range of n items that worker k of all takes.
func share(n, k, all int) (from, to int) { return n * k / all, n * (k + 1) / all }

// atLeastOne refuses counts that would make a load empty or endless.
func atLeastOne(counts map[string]int) error {
	for name, n := range counts {
		if n < 1 {
			return fmt.Errorf("%s must be at least 1, not %d", name, n)
		}
	}
	return nil
}
