// Package bench puts the loads on a server that users care about, and reports what it saw:
// polls (Poll), mail in (Ingest), a message's way from final dot to reader (Latency), long polls
// that wait (Waiters), a stream of events over a fleet (Events), webhooks (Webhooks), meetings
// (Calendar), and start-up with many inboxes (Start). Beside these it scores the codes that are found in a
// folder of messages (OTP). Each figure stands next to a limit measured in the same
// run: a constant HTTP answer, smtp-sink, or the disk's own fdatasync.
//
// It knows the public surfaces only: HTTP by docs/specification.md and SMTP by RFC 5321, of a
// process it starts itself or is pointed to. It refuses to know what is inside the server,
// and refuses to load anything that is not on loopback, unless it was told twice.
package bench

import (
	"context"
	"errors"
	"os"
	"time"

	"inboxd/bench/report"
	"inboxd/internal/base/version"
)

// Bed is what every load stands on: a running server, keys for it, and a report to fill.
type Bed struct {
	Server *Server
	Keys   []string // one account key each, scope full; inboxes are dealt out among them
	Report *report.Report

	sessions []string // of the accounts, in the order of Keys; empty where a key was given
	dir      string   // temporary; holds the data folder, logs and probe files
	made     made     // on a server that is not ours, to be removed at the end
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
			for _, says := range b.Stay() {
				err = errors.Join(err, errors.New(says))
			}
		}
	}()
	if b.Server, err = StartServer(ctx, opts, dir); err != nil {
		return nil, err
	}
	if b.Keys = opts.APIKey; !opts.attached() || len(b.Keys) == 0 {
		if b.sessions, b.Keys, err = b.signUp(ctx, max(opts.Accounts, 1)); err != nil {
			return nil, err
		}
	}
	b.Report = &report.Report{
		Tool: tool, Version: version.String(), Date: time.Now().UTC(), Commit: b.Server.commit(opts.Commit),
		Machine: report.Describe(dir), Load: map[string]any{"server": b.Server.describe()},
	}
	return b, nil
}

// Folder makes a folder that goes with the bed.
func (b *Bed) Folder(name string) (string, error) { return os.MkdirTemp(b.dir, name) }

// Close removes what was made on a server that is not ours, stops what was started and removes the temporary folder.
func (b *Bed) Close() error {
	var err error
	if b.Server != nil {
		err = b.removeAll()
		b.made.left = err != nil
		err = errors.Join(err, b.Server.close())
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}
