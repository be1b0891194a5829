package bench

import (
	"context"
	"errors"
	"fmt"
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
	hooks    []hook
	sessions []string
	emails   []string // of the accounts
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

// Stay is the accounts that are left, empty, on a server that is not ours: nothing on the API ends one.
func (b *Bed) Stay() (emails []string) {
	if b.Server.Ours() {
		return nil
	}
	return b.made.emails
}

// Remember has inboxes removed at the end, where the server is not ours and would keep them.
func (b *Bed) Remember(inboxes ...Inbox) {
	if b.Server.Ours() {
		return // they go with the folder
	}
	b.made.mu.Lock()
	defer b.made.mu.Unlock()
	b.made.inboxes = append(b.made.inboxes, inboxes...)
}

// CreateWebhook makes a webhook, which is removed at the end.
func (b *Bed) CreateWebhook(ctx context.Context, session string, order client.WebhookOrder) (secret string, err error) {
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
	errs = append(errs, b.removeInboxes(ctx))
	for _, session := range b.made.sessions {
		errs = append(errs, forget(ctx, NewAPI(b.Server.HTTP, session)))
	}
	return errors.Join(errs...)
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
