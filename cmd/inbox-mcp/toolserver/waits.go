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
	// longestWait is when a wait answers, whatever it was asked for: clients give up at 60 s.
	longestWait = 55 * time.Second
	// answering is what is kept of that for the answer to be made and sent in.
	answering = 50 * time.Millisecond
	// lookAgain is the pause before a server is asked again that does not answer in the middle of a wait.
	lookAgain = 250 * time.Millisecond
	// maxShownSubject is how many octets of the subject of a message without a code are returned.
	maxShownSubject = 500
	// patience is how long a look may take where the limit leaves less: a look for no time is a look.
	patience = 5 * time.Second
)

// limit is how long the call may wait.
func (c *call) limit() time.Duration {
	return time.Duration(min(c.args.number("timeout"), int64(longestWait/time.Second))) * time.Second
}

// waiting ends with the call, with the tool server and at the limit, counted from the start of the call.
func (c *call) waiting() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithDeadline(c.ctx, c.started.Add(min(c.limit(), longestWait-answering)))
	forget := context.AfterFunc(c.stop, cancel)
	return ctx, func() { forget(); cancel() }
}

// looking ends later than waiting where there is little time to wait.
func (c *call) looking() (context.Context, context.CancelFunc) {
	return context.WithDeadline(c.ctx, c.started.Add(max(c.limit(), patience)))
}

// wait looks for mail that fits and waits for it (ADR 0070).
type wait struct {
	*call
	codes bool // only mail with a code, the newest first; else the oldest first

	// rendered is made while the claim is on its way: it is thrown away when somebody else won.
	rendered  answer
	renderErr error

	newest   int64 // the newest message at the last look: what comes has a higher id
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

// came hands out a message, and its code where one was waited for.
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

// vain says what did not come.
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

// codeless is a message that came while a code was waited for, and has none.
type codeless struct {
	handedOut
	Subject string `json:"subject"`
}

// withoutCode is the newest message of the last minutes, if no code was found in it. Where it can't be asked for, nothing is
// said of it.
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

// message is what the call hands out; nil when nothing came in time.
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
			return nil, err // it did not answer up to the end
		case err == nil:
		case !passes(err):
			return nil, err
		default:
			resting(ctx, lookAgain)
		}
	}
}

// begin finds out what can be waited for, and what was newest: a server that can't be reached is told at once.
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

// next looks at what is there, and then waits for what comes after it. Neither a message nor an error:
// somebody else took it, or the time is over.
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
		return nil, nil // look again: an older one may have come with it
	}
	return w.take(ctx, came.ID, came)
}

// seconds is what is left, in whole seconds: the end of ctx cuts it short.
func seconds(ctx context.Context) string {
	end, _ := ctx.Deadline()
	return fmt.Sprint(min(60, max(1, int(math.Ceil(time.Until(end).Seconds())))))
}

// read reads a message.
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

// one makes a call that answers one message, or none.
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
