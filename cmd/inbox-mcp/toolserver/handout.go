package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"inboxd/http/client"
)

const (
	// fresh is the maximum age of messages that arrived before the wait began.
	fresh = 15 * time.Minute
	// unmark limits how long giveBack and other requests after a wait may take.
	unmark = 2 * time.Second
)

// handedOut identifies a message that was returned before.
type handedOut struct {
	MessageID  int64  `json:"message_id"`
	ReceivedAt string `json:"received_at"`
}

// headline is the part of a message that look reads.
type headline struct {
	ID         int64     `json:"id"`
	OTPCode    *string   `json:"otp_code"`
	ReceivedAt time.Time `json:"received_at"`
	IsRead     bool      `json:"is_read"`
	Encrypted  bool      `json:"encrypted"`
}

// look returns the unread message to return among those that are there, or nil.
func (w *wait) look(ctx context.Context) (found *headline, err error) {
	q := url.Values{"direction": {"in"}, "limit": {"200"}, "fields": {"id,otp_code,received_at,is_read"}, "since": {w.now().Add(-fresh).UTC().Format(time.RFC3339Nano)}}
	for {
		b, err := w.api.Do(ctx, client.Request{Method: "GET", Path: client.InboxPath(w.address(), "messages"), Query: q})
		if err != nil {
			return nil, err
		}
		var p struct {
			Emails  []headline `json:"emails"`
			HasMore bool       `json:"has_more"`
		}
		if json.Unmarshal(b, &p) != nil || p.Emails == nil {
			return nil, strange(b)
		}
		for i := range p.Emails {
			m := &p.Emails[i]
			switch {
			case w.codes && m.OTPCode == nil:
			case m.IsRead:
				w.before(m)
			case w.codes:
				return m, nil
			default:
				found = m // the list is newest first, so the oldest one remains
			}
		}
		if !p.HasMore || len(p.Emails) == 0 {
			return found, nil
		}
		q.Set("before", fmt.Sprint(p.Emails[len(p.Emails)-1].ID))
	}
}

// before records the newest code that was already read.
func (w *wait) before(m *headline) {
	if w.codes && (w.lastCode == nil || w.lastCode.MessageID < m.ID) {
		w.lastCode = &handedOut{m.ID, stamp(m.ReceivedAt)}
	}
}

// take marks a message as read for this call alone and returns it, or nil if another call has taken
// it. m is the message if it was read before.
func (w *wait) take(ctx context.Context, id int64, m *stored) (*stored, error) {
	if m == nil {
		var err error
		if m, err = w.read(ctx, id); err != nil {
			if client.StatusOf(err) == 404 {
				return nil, nil // deleted meanwhile
			}
			return nil, err
		}
	}
	claimed, err := w.claim(m)
	if passes(err) && w.ctx.Err() == nil {
		// It is unknown whether the message was marked. Returning it twice is better than never.
		if _, err = once(w.ctx, func() (bool, error) { return w.api.Claim(w.ctx, w.address(), id) }); err == nil {
			claimed = true
		}
	}
	switch {
	case client.StatusOf(err) == 404:
		return nil, nil
	case w.ctx.Err() != nil:
		w.giveBack(id)
		return nil, w.ctx.Err()
	case err != nil || !claimed:
		return nil, err
	}
	return m, nil
}

// claim marks a message as read, and builds the result at the same time.
func (w *wait) claim(m *stored) (claimed bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		claimed, err = w.api.Claim(w.ctx, w.address(), m.ID)
	}()
	defer func() { <-done }() // also after a panic in came
	w.rendered, w.renderErr = w.came(m)
	<-done
	return claimed, err
}

// giveBack marks a message as unread again, because its call was cancelled.
func (w *wait) giveBack(id int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), unmark)
	defer cancel()
	if err := w.api.MarkRead(ctx, w.address(), id, false); err != nil {
		w.log.Warn("message of a cancelled wait remains marked as read", "err", cause(err))
	}
}
