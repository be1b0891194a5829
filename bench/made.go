package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/bench/drive"
	"inboxd/http/client"
)

// removeWithin bounds the removal of all that was made on a server that is not ours. It begins when the load has
// ended, however it did: its context may be over by then.
const removeWithin = 5 * time.Minute

// made is what a load has made so far. Safe for concurrent use.
type made struct {
	mu       sync.Mutex
	inboxes  []Inbox
	doubtful []Inbox // whose Address is the prefix that was asked for, and nothing came back
	hooks    []hook
	sessions []string
	emails   []string // of the accounts
	left     bool     // some of it could not be removed
}

// hook is a webhook and the session that may remove it.
type hook struct {
	session string
	id      int64
}

func (m *made) account(email, session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.emails = append(m.emails, email)
	m.sessions = append(m.sessions, session)
}

// Stay says of each account that is left on a server that is not ours: nothing on the API ends one. It is asked once
// the bed is closed.
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

// toTheEnd is the context of a call that makes something. The end of the run does not cut it off, because what it makes
// must be known to be removed; drive.AnswerWithin bounds it. None begins after that end.
func toTheEnd(ctx context.Context) (context.Context, error) {
	return context.WithoutCancel(ctx), context.Cause(ctx)
}

// createInbox makes an inbox, which is removed at the end where the server is not ours and would keep it; also one that
// was perhaps made by a call without an answer.
func (b *Bed) createInbox(ctx context.Context, key, prefix string, create func(context.Context, client.InboxOrder) (client.Inbox, error)) (Inbox, error) {
	ctx, err := toTheEnd(ctx)
	if err != nil {
		return Inbox{}, err
	}
	created, err := create(ctx, client.InboxOrder{Prefix: prefix})
	in := Inbox{created.Address, key}
	if b.Server.Ours() {
		return in, err // it goes with the folder
	}
	b.made.mu.Lock()
	defer b.made.mu.Unlock()
	switch {
	case err == nil:
		b.made.inboxes = append(b.made.inboxes, in)
	case !refused(err):
		b.made.doubtful = append(b.made.doubtful, Inbox{prefix, key})
	}
	return in, err
}

// refused reports whether the server said that nothing was made.
func refused(err error) bool {
	status := client.StatusOf(err)
	return status >= http.StatusBadRequest && status < http.StatusInternalServerError
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
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeWithin)
	defer cancel()
	var errs []error
	for _, h := range b.made.hooks {
		errs = append(errs, NewAPI(b.Server.HTTP, h.session).DeleteWebhook(ctx, h.id))
	}
	errs = append(errs, b.findDoubtful(ctx), b.removeInboxes(ctx))
	for _, session := range b.made.sessions {
		errs = append(errs, forget(ctx, NewAPI(b.Server.HTTP, session)))
	}
	return errors.Join(errs...)
}

// findDoubtful looks for the inboxes of which nobody knows whether they were made. A prefix is of this run alone, so what
// begins with it was made by this run, too.
func (b *Bed) findDoubtful(ctx context.Context) error {
	for _, doubt := range b.made.doubtful {
		for in, err := range NewAPI(b.Server.HTTP, doubt.Key).Inboxes(ctx) {
			if err != nil {
				return fmt.Errorf("whether there is an inbox %s...: %w", doubt.Address, err)
			}
			if found := (Inbox{in.Address, doubt.Key}); strings.HasPrefix(in.Address, doubt.Address) && !slices.Contains(b.made.inboxes, found) {
				b.made.inboxes = append(b.made.inboxes, found)
			}
		}
	}
	return nil
}

// removeInboxes goes on after a failure, and tells of the first.
func (b *Bed) removeInboxes(ctx context.Context) error {
	all := b.made.inboxes
	conns := min(SetUpConns, len(all))
	var failed atomic.Int64
	var first atomic.Pointer[error]
	_ = drive.Parallel(ctx, conns, func(ctx context.Context, k int) error {
		from, to := drive.Share(len(all), k, conns)
		for _, in := range all[from:to] {
			if err := NewAPI(b.Server.HTTP, in.Key).DeleteInbox(ctx, in.Address); err != nil {
				failed.Add(1)
				first.CompareAndSwap(nil, &err)
			}
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
