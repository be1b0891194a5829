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
	// freshnessWindow is the maximum age of messages that arrived before the wait began.
	freshnessWindow = 15 * time.Minute
	// unmark limits how long giveBack and other requests after a wait may take.
	unmark = 2 * time.Second
)

// handedOut identifies a message that was returned before.
type handedOut struct {
	MessageID  int64  `json:"message_id"`
	ReceivedAt string `json:"received_at"`
}

// messageHeadline is the part of a message that look reads.
type messageHeadline struct {
	ID          int64     `json:"id"`
	OTPCode     *string   `json:"otp_code"`
	ReceivedAt  time.Time `json:"received_at"`
	IsRead      bool      `json:"is_read"`
	IsEncrypted bool      `json:"encrypted"`
}

// findUnread returns the unread message to return among those that are there, or nil.
func (w *messageWait) findUnread(ctx context.Context) (found *messageHeadline, err error) {
	q := url.Values{"direction": {"in"}, "limit": {"200"}, "fields": {"id,otp_code,received_at,is_read"}, "since": {w.now().Add(-freshnessWindow).UTC().Format(time.RFC3339Nano)}}
	for {
		b, err := w.apiClient.Do(ctx, client.Request{Method: "GET", Path: client.InboxPath(w.inboxAddress(), "messages"), Query: q})
		if err != nil {
			return nil, err
		}
		var p struct {
			Emails  []messageHeadline `json:"emails"`
			HasMore bool              `json:"has_more"`
		}
		if json.Unmarshal(b, &p) != nil || p.Emails == nil {
			return nil, malformedResponse(b)
		}
		for i := range p.Emails {
			m := &p.Emails[i]
			switch {
			case w.codesOnly && m.OTPCode == nil:
			case m.IsRead:
				w.recordReadCode(m)
			case w.codesOnly:
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

// recordReadCode records the newest code that was already read.
func (w *messageWait) recordReadCode(m *messageHeadline) {
	if w.codesOnly && (w.lastCode == nil || w.lastCode.MessageID < m.ID) {
		w.lastCode = &handedOut{m.ID, formatTime(m.ReceivedAt)}
	}
}

// takeMessage marks a message as read for this call alone and returns it, or nil if another call
// has taken it. m is the message if it was read before.
func (w *messageWait) takeMessage(ctx context.Context, id int64, m *apiMessage) (*apiMessage, error) {
	if m == nil {
		var err error
		if m, err = w.readMessage(ctx, id); err != nil {
			if client.StatusOf(err) == 404 {
				return nil, nil // deleted meanwhile
			}
			return nil, err
		}
	}
	claimed, err := w.claimMessage(m)
	if isTransient(err) && w.ctx.Err() == nil {
		// It is unknown whether the message was marked. Returning it twice is better than never.
		if _, err = callIdempotently(w.ctx, func() (bool, error) { return w.apiClient.Claim(w.ctx, w.inboxAddress(), id) }); err == nil {
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

// claimMessage marks a message as read, and builds the result at the same time.
func (w *messageWait) claimMessage(m *apiMessage) (claimed bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		claimed, err = w.apiClient.Claim(w.ctx, w.inboxAddress(), m.ID)
	}()
	defer func() { <-done }() // also after a panic in came
	w.renderedResult, w.renderErr = w.handOut(m)
	<-done
	return claimed, err
}

// giveBack marks a message as unread again, because its call was cancelled.
func (w *messageWait) giveBack(id int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), unmark)
	defer cancel()
	if err := w.apiClient.MarkRead(ctx, w.inboxAddress(), id, false); err != nil {
		w.log.Warn("message of a cancelled wait remains marked as read", "err", rootCause(err))
	}
}
