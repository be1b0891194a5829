package mixed

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"inboxd/bench"
	"inboxd/bench/fakes"
	"inboxd/http/client"
)

// listener hears of messages, by a webhook of each account or by a stream of its events.
type listener struct {
	r       *run
	calls   *fakes.Calls // nil: by streams
	secrets [][]byte
	cancel  context.CancelFunc
	streams sync.WaitGroup

	mu       sync.Mutex
	forged   int64 // webhook calls without a valid signature
	strange  int64 // events of messages that were not sent
	example  string
	brokenBy error // what ended a stream
}

func listen(ctx context.Context, r *run) (*listener, error) {
	l := &listener{r: r}
	ctx, l.cancel = context.WithCancel(ctx)
	if r.hears() == "stream" {
		return l, l.follow(ctx)
	}
	var err error
	if l.calls, err = fakes.TakeCalls(l.take); err != nil {
		return l, err
	}
	for i := range r.bed.Keys {
		api := bench.NewAPI(r.bed.Server.HTTP, r.bed.Sessions[i])
		_, secret, err := api.CreateWebhook(ctx, client.WebhookOrder{URL: l.calls.URL, Event: "message.received"})
		if err != nil {
			return l, err
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return l, fmt.Errorf("secret of a webhook: %w", err)
		}
		l.secrets = append(l.secrets, key)
	}
	return l, nil
}

// follow opens a stream for each account, from now on.
func (l *listener) follow(ctx context.Context) error {
	for _, key := range l.r.bed.Keys {
		api := bench.NewAPI(l.r.bed.Server.HTTP, key)
		api.HTTP = nil // a stream outlives the bound of a call
		page, err := api.Events(ctx, client.EventQuery{After: client.Now})
		if err != nil {
			return err
		}
		l.streams.Go(func() {
			for e, err := range api.StreamEvents(ctx, client.EventQuery{After: page.Next}) {
				if err != nil {
					l.lost(ctx, err)
					return
				}
				if e.Name == "message.received" {
					l.hear(e.Inbox, e.OTP, time.Now())
				}
			}
		})
	}
	return nil
}

func (l *listener) lost(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.brokenBy = err
}

func (l *listener) close() {
	if l == nil {
		return
	}
	l.cancel()
	_ = l.calls.Close()
	l.streams.Wait()
}

// take judges one call of a webhook.
func (l *listener) take(call fakes.Call) {
	if !l.signed(call) {
		l.mu.Lock()
		l.forged++
		l.mu.Unlock()
		return
	}
	var e struct{ Inbox, OTP string }
	if err := json.Unmarshal(call.Body, &e); err != nil {
		e.OTP = err.Error()
	}
	l.hear(e.Inbox, e.OTP, call.At)
}

// signatureAge is how old a signature may be (Standard Webhooks).
const signatureAge = 5 * time.Minute

// signed reports whether one of our secrets signed the call: HMAC-SHA256 over id, time and body.
func (l *listener) signed(call fakes.Call) bool {
	var at int64
	if _, err := fmt.Sscan(call.Timestamp, &at); err != nil || call.At.Sub(time.Unix(at, 0)).Abs() > signatureAge {
		return false
	}
	for _, secret := range l.secrets {
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "%s.%s.", call.ID, call.Timestamp)
		mac.Write(call.Body)
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for given := range strings.FieldsSeq(call.Signature) {
			if hmac.Equal([]byte(given), []byte(want)) {
				return true
			}
		}
	}
	return false
}

// hear notes an event.
func (l *listener) hear(inbox, code string, at time.Time) {
	agent := l.r.ledger.agentOf(code)
	if agent < 0 || l.r.agents[agent].Address != inbox {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.strange++
		l.example = fmt.Sprintf("%s %.80q", inbox, code)
		return
	}
	if after, first := l.r.ledger.tell(code, at); first {
		l.r.events.Record(after)
	}
}

// trouble is what was heard and should not have been.
func (l *listener) trouble() (forged, strange int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.brokenBy != nil {
		err = errors.Join(errors.New("the stream of events ended"), l.brokenBy)
	}
	return l.forged, l.strange, err
}
