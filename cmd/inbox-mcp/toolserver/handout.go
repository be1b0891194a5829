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
	// fresh is how old mail may be that came before the wait for it began.
	fresh = 15 * time.Minute
	// unmark bounds giving back what could not be handed out.
	unmark = 2 * time.Second
)

// handedOut names a message that was given before.
type handedOut struct {
	MessageID  int64  `json:"message_id"`
	ReceivedAt string `json:"received_at"`
}

// headline is what a look sees of a message.
type headline struct {
	ID         int64     `json:"id"`
	OTPCode    *string   `json:"otp_code"`
	ReceivedAt time.Time `json:"received_at"`
	IsRead     bool      `json:"is_read"`
	Encrypted  bool      `json:"encrypted"`
}

// look returns the unread message to hand out of those that are there; nil: none.
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
				found = m // newest first, so the last one stays
			}
		}
		if !p.HasMore || len(p.Emails) == 0 {
			return found, nil
		}
		q.Set("before", fmt.Sprint(p.Emails[len(p.Emails)-1].ID))
	}
}

// before notes the newest code that was read.
func (w *wait) before(m *headline) {
	if w.codes && (w.lastCode == nil || w.lastCode.MessageID < m.ID) {
		w.lastCode = &handedOut{m.ID, stamp(m.ReceivedAt)}
	}
}

// take marks a message as read for this call alone, and returns it; nil when somebody else has taken
// it. m is the message, when it is known already.
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
		// Whether it was marked is not known. To hand it out twice is better than never.
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

// claim claims a message and makes its answer meanwhile.
func (w *wait) claim(m *stored) (claimed bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		claimed, err = w.api.Claim(w.ctx, w.address(), m.ID)
	}()
	defer func() { <-done }() // also under a panic of came
	w.rendered, w.renderErr = w.came(m)
	<-done
	return claimed, err
}

// giveBack makes a message unread again that nobody is there to take any more.
func (w *wait) giveBack(id int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), unmark)
	defer cancel()
	if err := w.api.MarkRead(ctx, w.address(), id, false); err != nil {
		w.log.Warn("message of a cancelled wait remains marked as read", "err", cause(err))
	}
}
