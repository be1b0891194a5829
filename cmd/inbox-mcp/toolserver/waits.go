package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"time"

	"inboxd/http/client"
)

const (
	// longestWait is when a wait returns, whatever its timeout: clients give up after 60 s.
	longestWait = 55 * time.Second
	// answering is the part of that reserved to build and send the result.
	answering = 50 * time.Millisecond
	// lookAgain is the pause before the next request to a server that failed during a wait.
	lookAgain = 250 * time.Millisecond
	// maxShownSubject limits, in characters, the subject returned for a message without a code.
	maxShownSubject = 500
	// patience is how long a request may take even if the timeout is shorter: a timeout of 0 still
	// checks once.
	patience = 5 * time.Second
)

// limit returns how long the call may wait.
func (c *call) limit() time.Duration {
	return time.Duration(min(c.args.number("timeout"), int64(longestWait/time.Second))) * time.Second
}

// waiting returns a context that ends with the call, with the tool server, and at the limit,
// counted from the start of the call.
func (c *call) waiting() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithDeadline(c.ctx, c.started.Add(min(c.limit(), longestWait-answering)))
	forget := context.AfterFunc(c.stop, cancel)
	return ctx, func() { forget(); cancel() }
}

// looking returns a context for requests. It lasts longer than waiting if the limit is short.
func (c *call) looking() (context.Context, context.CancelFunc) {
	return context.WithDeadline(c.ctx, c.started.Add(max(c.limit(), patience)))
}

// wait finds a matching message or waits for one (ADR 0070).
type wait struct {
	*call
	codes bool // only messages with a code, newest first; otherwise oldest first

	// rendered is built while the claim is in progress. It is discarded if another call won.
	rendered  answer
	renderErr error

	newest   int64 // newest id at the last check; a new message has a higher id
	lastCode *handedOut
}

func (c *call) waitForOTP() (answer, error) {
	w := &wait{call: c, codes: true}
	m, err := w.message()
	switch {
	case err != nil:
		return answer{}, err
	case m == nil:
		return w.codeTimedOut()
	}
	return w.rendered, w.renderErr
}

// came returns the result for a message, with its code if the wait was for a code.
func (w *wait) came(m *stored) (answer, error) {
	v := show(m)
	v.IsRead = true
	v.shorten(budget - 4000)
	f := newFence(drawn, v.outside())
	it := v.item(f)
	out := struct {
		OTPCode *string         `json:"otp_code,omitempty"`
		Message json.RawMessage `json:"message"`
	}{Message: it.structured}
	opening := "A message"
	if w.codes {
		out.OTPCode, opening = new(plain(m.OTPCode)), "The code is "+line(m.OTPCode)+". It"
	}
	structured, err := encode(out)
	text := fmt.Sprintf("%s arrived at %s with message_id %d, which is now marked as read. "+outside+"\n\n%s%s",
		opening, w.address(), m.ID, f.mark, it.text, w.leftOut([]*shown{v}, false, nil))
	return answer{structured, text}, err
}

func (c *call) waitForMessage() (answer, error) {
	w := &wait{call: c}
	m, err := w.message()
	switch {
	case err != nil:
		return answer{}, err
	case m == nil:
		return timedOutAnswer(struct {
			TimedOut bool   `json:"timed_out"`
			Next     string `json:"next"`
		}{true, c.vain("Nothing", "wait_for_message")}, c.vain("Nothing", "wait_for_message"))
	}
	return w.rendered, w.renderErr
}

// vain returns the sentence that nothing arrived.
func (c *call) vain(what, tool string) string {
	if c.limit() == 0 {
		return fmt.Sprintf("%s has arrived yet. Call %s again with a timeout to wait; nothing is lost.", what, tool)
	}
	return fmt.Sprintf("%s arrived within %d s. Call %s again; nothing is lost.", what, c.limit()/time.Second, tool)
}

func (w *wait) codeTimedOut() (answer, error) {
	other, what := w.withoutCode(), "Nothing"
	if other != nil {
		what = "No code"
	}
	next := w.vain(what, "wait_for_otp")
	if w.lastCode != nil {
		next += fmt.Sprintf(" The code of message %d, received %s, was returned or read before; read_messages shows it.", w.lastCode.MessageID, w.lastCode.ReceivedAt)
	}
	text := next
	if other != nil {
		next += fmt.Sprintf(" Message %d, received %s, has no code; read_messages shows it.", other.MessageID, other.ReceivedAt)
		f := newFence(drawn, other.Subject)
		text = next + " Its subject: " + fmt.Sprintf(outside, f.mark) + "\n\n" + f.around(other.Subject)
	}
	return timedOutAnswer(struct {
		TimedOut    bool       `json:"timed_out"`
		Next        string     `json:"next"`
		LastCode    *handedOut `json:"last_code"`
		WithoutCode *codeless  `json:"without_code"`
	}{true, next, w.lastCode, other}, text)
}

// codeless is a message without a code that came while the call waited for a code.
type codeless struct {
	handedOut
	Subject string `json:"subject"`
}

// withoutCode returns the newest message of the last minutes, if no code was found in it. If the
// request fails, it returns nil.
func (w *wait) withoutCode() *codeless {
	ctx, cancel := context.WithTimeout(w.ctx, unmark)
	defer cancel()
	m, err := w.latest(ctx, url.Values{"fields": {"id,subject,otp_code,received_at"}, "since": {w.now().Add(-fresh).UTC().Format(time.RFC3339Nano)}})
	if err != nil || m == nil || m.OTPCode != "" {
		return nil
	}
	subject, _ := cut(line(m.Subject), maxShownSubject)
	return &codeless{handedOut{m.ID, stamp(m.ReceivedAt)}, subject}
}

func timedOutAnswer(v any, next string) (answer, error) {
	b, err := encode(v)
	return answer{b, next}, err
}

// message returns the message for the result, or nil if none came in time.
func (w *wait) message() (*stored, error) {
	ctx, cancel := w.waiting()
	defer cancel()
	looks, enough := w.looking()
	defer enough()
	defer w.progressing(ctx, w.limit(), "Waiting for mail to "+w.address())()
	if err := w.begin(looks); err != nil {
		return nil, err
	}
	for {
		m, err := w.next(ctx, looks)
		switch {
		case m != nil:
			return m, nil
		case w.ctx.Err() != nil:
			return nil, w.ctx.Err()
		case w.stop.Err() != nil:
			return nil, refusal(stopping)
		case ctx.Err() != nil && (err == nil || errors.Is(err, context.DeadlineExceeded)):
			return nil, nil
		case ctx.Err() != nil:
			return nil, err // the server failed until the end
		case err == nil:
		case !passes(err):
			return nil, err
		default:
			resting(ctx, lookAgain)
		}
	}
}

// begin checks whether the wait is possible, and records the newest message. An unreachable server
// is reported immediately.
func (w *wait) begin(ctx context.Context) error {
	top, err := w.latest(ctx, url.Values{"fields": {"id,encrypted"}})
	if err != nil {
		return err
	}
	encrypted := false
	if top != nil {
		w.newest, encrypted = top.ID, top.Encrypted
	} else if in, err := w.api.Inbox(ctx, w.address()); err != nil {
		return err
	} else {
		encrypted = in.Encrypted
	}
	if encrypted && w.codes {
		return refuse("%s is an encrypted inbox: only its owner can read the codes in its messages. Use wait_for_message to wait for new messages", w.address())
	}
	return nil
}

// next checks the messages that are there, and then waits for a new one. It returns neither a
// message nor an error if another call took the message or the time is over.
func (w *wait) next(ctx, looks context.Context) (*stored, error) {
	looked := w.newest
	m, err := w.look(looks)
	if err != nil {
		return nil, err
	}
	if m != nil {
		return w.take(looks, m.ID, nil)
	}
	if ctx.Err() != nil || w.limit() == 0 {
		return nil, ctx.Err()
	}
	q := url.Values{"after": {fmt.Sprint(looked)}, "wait": {seconds(ctx)}, "fields": {shownFields}}
	if w.codes {
		q.Set("otp", "true")
	}
	came, err := w.latest(ctx, q)
	if err != nil || came == nil {
		return nil, err
	}
	w.newest = came.ID
	if !w.codes || came.IsRead {
		return nil, nil // check again: an older one may have come with it
	}
	return w.take(ctx, came.ID, came)
}

// seconds returns the remaining time, rounded up to whole seconds: ctx ends the request in time.
func seconds(ctx context.Context) string {
	end, _ := ctx.Deadline()
	return fmt.Sprint(min(60, max(1, int(math.Ceil(time.Until(end).Seconds())))))
}

// read returns a message.
func (c *call) read(ctx context.Context, id int64) (*stored, error) {
	path := client.InboxPath(c.address(), "messages", fmt.Sprint(id))
	m, err := c.one(ctx, client.Request{Method: "GET", Path: path, Query: url.Values{"fields": {shownFields}}})
	if err == nil && m == nil {
		err = strange([]byte("no message"))
	}
	return m, err
}

func (c *call) latest(ctx context.Context, q url.Values) (*stored, error) {
	return c.one(ctx, client.Request{Method: "GET", Path: client.InboxPath(c.address(), "latest"), Query: q})
}

// one makes a request whose response is one message or none.
func (c *call) one(ctx context.Context, r client.Request) (*stored, error) {
	b, err := c.api.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	var out struct {
		Email json.RawMessage `json:"email"`
	}
	var m *stored
	if json.Unmarshal(b, &out) != nil || out.Email == nil || json.Unmarshal(out.Email, &m) != nil {
		return nil, strange(b)
	}
	return m, nil
}

func resting(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
