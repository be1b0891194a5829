// Package bench puts the loads on a server that users care about, and reports what it saw: polls
// (Poll), messages in (Ingest), the way of a message from its final dot to a reader (Latency),
// sends (Send), webhooks (Webhooks), meetings (Calendar), and start-up with many inboxes (Start).
// It also scores the codes that are found in a folder of messages (OTP). Each figure stands next to
// a limit measured in the same run: a constant HTTP response, smtp-sink, or the disk's own
// fdatasync.
//
// It knows only the public surfaces of a process that it starts itself or attaches to: HTTP by
// docs/specification.md and SMTP by RFC 5321. It does not know what is inside the server, and it
// does not load another machine unless --yes-remote allows it.
package bench

import (
	"context"
	"errors"
	"fmt"
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

	Sessions []string // of the accounts, in the order of Keys; none on an attached server
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
	if b.Keys = opts.APIKey; !opts.attached() {
		b.Keys = nil
		for range max(opts.Accounts, 1) {
			session, key, err := b.signUp(ctx)
			if err != nil {
				return nil, fmt.Errorf("sign up an account: %w", err)
			}
			b.Sessions, b.Keys = append(b.Sessions, session), append(b.Keys, key)
		}
	}
	b.Report = &report.Report{
		Tool: tool, Version: version.BuildString(), Date: time.Now().UTC(), Commit: b.Server.commit(),
		Machine: report.Describe(dir), Load: map[string]any{"server": b.Server.describe()},
	}
	return b, nil
}

// Folder makes a folder that goes with the bed.
func (b *Bed) Folder(name string) (string, error) { return os.MkdirTemp(b.dir, name) }

// Close removes the inboxes that were made on an attached server, stops what was started and
// removes the temporary folder.
func (b *Bed) Close() error {
	var err error
	if b.Server != nil {
		err = errors.Join(b.removeAll(), b.Server.close())
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}
