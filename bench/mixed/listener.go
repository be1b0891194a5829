package mixed

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"inboxd/bench"
	"inboxd/bench/fakes"
	"inboxd/http/client"
)

// listener receives the events of all messages, by a webhook of each account.
type listener struct {
	r       *run
	calls   *fakes.Calls
	secrets [][]byte

	mu      sync.Mutex
	forged  int64 // calls without a valid signature
	strange int64 // events of messages that were not sent
}

func listen(ctx context.Context, r *run) (l *listener, err error) {
	l = &listener{r: r}
	if l.calls, err = fakes.TakeCalls(l.take); err != nil {
		return l, err
	}
	for _, session := range r.bed.Sessions {
		api := bench.NewAPI(r.bed.Server.HTTP, session)
		_, secret, err := api.Webhooks().Create(ctx, client.WebhookOrder{URL: l.calls.URL, Event: "message.received"})
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

func (l *listener) close() {
	if l != nil {
		_ = l.calls.Close()
	}
}

// take records one call of a webhook.
func (l *listener) take(call fakes.Call) {
	var e struct{ Inbox, OTP string }
	err := json.Unmarshal(call.Body, &e)
	agent := l.r.ledger.agentOf(e.OTP)
	switch {
	case !l.signed(call):
		l.count(&l.forged)
	case err != nil || agent < 0 || l.r.agents[agent].Address != e.Inbox:
		l.count(&l.strange)
	default:
		if after, first := l.r.ledger.addEvent(e.OTP, call.At); first {
			l.r.events.Record(after)
		}
	}
}

func (l *listener) count(n *int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*n++
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
