package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/bench/drive"
	"inboxd/http/client"
)

// removeWithin bounds the removal of all that was made on a server that is not ours. It begins when
// the load has ended, however it did: its context may be over by then.
const removeWithin = 5 * time.Minute

// made is what a load has made so far, except inboxes, which are known by runMark. Safe for
// concurrent use.
type made struct {
	mu     sync.Mutex
	hooks  []hook
	emails []string // of the accounts, with their sessions and keys
	tokens []string
	keys   []string
	left   bool // some of it could not be removed
}

// hook is a webhook and the session that may remove it.
type hook struct {
	session string
	id      int64
}

// runMark is in the address of every inbox that this process makes. Letters only: smtp-source puts
// numbers in front of it.
var runMark = strings.Map(func(r rune) rune {
	if r >= '2' && r <= '7' { // the digits of base32
		return r - '2' + 'a'
	}
	return r
}, strings.ToLower(rand.Text()[:8]))

var tokens atomic.Int64

// runToken marks the addresses of one part of a run: neither another part nor a second run against
// the same server meets prefixes that are taken.
func runToken() string {
	n := tokens.Add(1)
	return runMark + string([]byte{'a' + byte(n/676%26), 'a' + byte(n/26%26), 'a' + byte(n%26)})
}

// Stay names each account that is left on a server that is not ours: nothing on the API ends one.
// It is asked once the bed is closed.
func (b *Bed) Stay() (says []string) {
	if b.Server == nil || b.Server.Ours() {
		return nil
	}
	how := "empty"
	if b.made.left {
		how = "with what could not be removed"
	}
	for _, email := range b.made.emails {
		says = append(says, fmt.Sprintf("the account %s stays, %s; on the server `inboxd admin account delete %[1]s` ends it.", email, how))
	}
	return says
}

// toTheEnd is the context of a call that makes something. The end of the run does not cut it off,
// because what it makes must be known to be removed; drive.AnswerWithin bounds it. None begins after
// that end.
func toTheEnd(ctx context.Context) (context.Context, error) {
	return context.WithoutCancel(ctx), context.Cause(ctx)
}

// CreateWebhook makes a webhook, which is removed at the end.
func (b *Bed) CreateWebhook(ctx context.Context, session string, order client.WebhookOrder) (secret string, err error) {
	if ctx, err = toTheEnd(ctx); err != nil {
		return "", err
	}
	w, secret, err := NewAPI(b.Server.HTTP, session).CreateWebhook(ctx, order)
	if err == nil {
		b.made.mu.Lock()
		b.made.hooks = append(b.made.hooks, hook{session, w.ID})
		b.made.mu.Unlock()
	}
	return secret, err
}

// removeAll deletes webhooks, inboxes with their mail, and keys, in this order, and logs out.
func (b *Bed) removeAll() error {
	if b.Server.Ours() {
		return nil // all of it goes with the folder
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeWithin)
	defer cancel()
	var errs []error
	for _, h := range b.made.hooks {
		errs = append(errs, NewAPI(b.Server.HTTP, h.session).DeleteWebhook(ctx, h.id))
	}
	keys := slices.Concat(b.Keys, b.made.keys)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		errs = append(errs, removeInboxes(ctx, NewAPI(b.Server.HTTP, key)))
	}
	for _, session := range b.made.tokens {
		errs = append(errs, forget(ctx, NewAPI(b.Server.HTTP, session)))
	}
	return errors.Join(errs...)
}

// removeInboxes deletes the inboxes of this run, also those that were made by a call whose answer
// was lost. It goes on after a failure, and reports the first.
func removeInboxes(ctx context.Context, api *client.Client) error {
	var all []string
	for in, err := range api.Inboxes(ctx) {
		if err != nil {
			return fmt.Errorf("look for the inboxes that were made: %w", err)
		}
		if strings.Contains(in.Address, runMark) {
			all = append(all, in.Address)
		}
	}
	var failed atomic.Int64
	var first atomic.Pointer[error]
	_ = drive.Each(ctx, SetUpConns, len(all), func(ctx context.Context, i int) error {
		if err := api.DeleteInbox(ctx, all[i]); err != nil {
			failed.Add(1)
			first.CompareAndSwap(nil, &err)
		}
		return nil
	})
	if n := failed.Load(); n > 0 {
		return fmt.Errorf("%d of the %d inboxes that were made could not be removed, the first: %w", n, len(all), *first.Load())
	}
	return nil
}

// forget revokes the keys of an account of ours and ends its session.
func forget(ctx context.Context, api *client.Client) error {
	var errs []error
	for key, err := range api.Keys(ctx) {
		if err != nil {
			return err
		}
		errs = append(errs, api.RevokeKey(ctx, key.ID))
	}
	return errors.Join(append(errs, api.LogOut(ctx))...)
}
