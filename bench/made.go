package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"inboxd/bench/drive"
	"inboxd/http/client"
)

// removeWithin bounds the removal of all inboxes that were made on an attached server. It begins
// when the load has ended, however it did: its context may be over by then.
const removeWithin = 5 * time.Minute

// runMark is in the address of every inbox that this process makes. Letters only: smtp-source puts
// numbers in front of it.
var runMark = strings.Map(func(r rune) rune {
	if r >= '2' && r <= '7' { // the digits of base32
		return r - '2' + 'a'
	}
	return r
}, strings.ToLower(rand.Text()[:8]))

var tokens atomic.Int64

// runToken marks the addresses of one part of a run, so that neither another part nor a second run
// against the same server asks for a prefix that is taken.
func runToken() string {
	n := tokens.Add(1)
	return runMark + string([]byte{'a' + byte(n/676%26), 'a' + byte(n/26%26), 'a' + byte(n%26)})
}

// toTheEnd is the context of a call that makes something. The end of the run does not cut it off,
// because what it makes must be known to be removed; drive.ResponseWithin bounds it. No call begins
// after that end.
func toTheEnd(ctx context.Context) (context.Context, error) {
	return context.WithoutCancel(ctx), context.Cause(ctx)
}

// removeAll deletes the inboxes that were made on an attached server. Those of a server of ours go
// with its folder.
func (b *Bed) removeAll() error {
	if !b.Server.Attached() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeWithin)
	defer cancel()
	var errs []error
	for _, key := range b.Keys {
		errs = append(errs, removeInboxes(ctx, NewAPI(b.Server.HTTP, key)))
	}
	return errors.Join(errs...)
}

// removeInboxes deletes the inboxes of this run, also those that were made by a call whose response
// was lost. It continues after a failure, and reports all.
func removeInboxes(ctx context.Context, api *client.Client) error {
	var all []string
	for in, err := range api.Inboxes(ctx) {
		if err != nil {
			return fmt.Errorf("list the inboxes that were made: %w", err)
		}
		if strings.Contains(in.Address, runMark) {
			all = append(all, in.Address)
		}
	}
	failed := make([]error, len(all))
	_ = drive.Each(ctx, SetUpConns, len(all), func(ctx context.Context, i int) error {
		failed[i] = api.DeleteInbox(ctx, all[i])
		return nil
	})
	return errors.Join(failed...)
}
