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
	// answerReserve is the part of that reserved to build and send the result.
	answerReserve = 50 * time.Millisecond
	// lookAgain is the pause before the next request to a server that failed during a wait.
	lookAgain = 250 * time.Millisecond
	// maxShownSubject limits, in characters, the subject returned for a message without a code.
	maxShownSubject = 500
	// maxArrived limits the messages that a wait for a code lists after its time-out.
	maxArrived = 10
	// minLookTime is how long a request may take even if the timeout is shorter: a timeout of 0 still
	// checks once.
	minLookTime = 5 * time.Second
)

// waitLimit returns how long the call may wait.
func (c *toolCall) waitLimit() time.Duration {
	return time.Duration(min(c.args.getNumber("timeout"), int64(longestWait/time.Second))) * time.Second
}

// waitContext returns a context that ends with the call, with the tool server, and at the limit,
// counted from the start of the call.
func (c *toolCall) waitContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithDeadline(c.ctx, c.startedAt.Add(min(c.waitLimit(), longestWait-answerReserve)))
	forget := context.AfterFunc(c.stopContext, cancel)
	return ctx, func() { forget(); cancel() }
}

// lookContext returns a context for requests. It lasts longer than waiting if the limit is short.
func (c *toolCall) lookContext() (context.Context, context.CancelFunc) {
	return context.WithDeadline(c.ctx, c.startedAt.Add(max(c.waitLimit(), minLookTime)))
}

// messageWait finds a matching message or waits for one (ADR 0070).
type messageWait struct {
	*toolCall
	codesOnly bool // only messages with a code, newest first; otherwise oldest first

	// renderedResult is built while the claim is in progress. It is discarded if another call won.
	renderedResult toolResult
	renderErr      error

	newestID int64 // newest id at the last check; a new message has a higher id
	lastCode *handedOut
}

func (c *toolCall) waitForOTP() (toolResult, error) {
	w := &messageWait{toolCall: c, codesOnly: true}
	m, err := w.nextMessage()
	switch {
	case err != nil:
		return toolResult{}, err
	case m == nil:
		return w.codeTimedOut()
	}
	return w.renderedResult, w.renderErr
}

// handOut returns the result for a message, with its code if the wait was for a code.
func (w *messageWait) handOut(m *apiMessage) (toolResult, error) {
	v := newMessageView(m)
	v.IsRead = true
	v.shortenTo(resultBudget - 4000)
	f := newFence(drawMark, v.outsideText())
	it := v.toItem(f)
	out := struct {
		OTPCode *string         `json:"otp_code,omitempty"`
		Message json.RawMessage `json:"message"`
	}{Message: it.structuredJSON}
	opening := "A message"
	if w.codesOnly {
		out.OTPCode, opening = new(plainText(m.OTPCode)), "The code is "+singleLine(m.OTPCode)+". It"
	}
	structured, err := encodeJSON(out)
	text := fmt.Sprintf("%s arrived at %s with message_id %d, which is now marked as read. "+outsideNotice+"\n\n%s%s",
		opening, w.inboxAddress(), m.ID, f.mark, it.text, w.leftOut([]*messageView{v}, false, nil))
	return toolResult{structured, text}, err
}

func (c *toolCall) waitForMessage() (toolResult, error) {
	w := &messageWait{toolCall: c}
	m, err := w.nextMessage()
	switch {
	case err != nil:
		return toolResult{}, err
	case m == nil:
		return timedOutAnswer(struct {
			TimedOut bool   `json:"timed_out"`
			Next     string `json:"next"`
		}{true, c.nothingCame("Nothing", "wait_for_message")}, c.nothingCame("Nothing", "wait_for_message"))
	}
	return w.renderedResult, w.renderErr
}

// nothingCame returns the sentence that nothing arrived.
func (c *toolCall) nothingCame(what, tool string) string {
	if c.waitLimit() == 0 {
		return fmt.Sprintf("%s has arrived yet. Call %s again with a timeout to wait; nothing is lost.", what, tool)
	}
	return fmt.Sprintf("%s arrived within %d s. Call %s again; nothing is lost.", what, c.waitLimit()/time.Second, tool)
}

func (w *messageWait) codeTimedOut() (toolResult, error) {
	arrived, lines := w.arrivedMessages()
	what := "Nothing"
	var other *arrivedMessage
	if len(arrived) > 0 && arrived[0].Confidence == nil {
		other, what = &arrived[0], "No code"
	}
	next := w.nothingCame(what, "wait_for_otp")
	if w.lastCode != nil {
		next += fmt.Sprintf(" The code of message %d, received %s, was returned or read before; read_messages shows it.", w.lastCode.MessageID, w.lastCode.ReceivedAt)
	}
	if other != nil {
		next += fmt.Sprintf(" Message %d, received %s, has no code; read_messages shows it.", other.MessageID, other.ReceivedAt)
	}
	text := next
	if lines != "" {
		f := newFence(drawMark, lines)
		text += " What arrived: " + fmt.Sprintf(outsideNotice, f.mark) + "\n\n" + f.wrapText(lines)
	}
	return timedOutAnswer(struct {
		TimedOut    bool             `json:"timed_out"`
		Next        string           `json:"next"`
		LastCode    *handedOut       `json:"last_code"`
		WithoutCode *arrivedMessage  `json:"without_code"`
		Arrived     []arrivedMessage `json:"arrived"`
	}{true, next, w.lastCode, other, arrived}, text)
}

// arrivedMessage is a message that arrived, for a caller whose wait for a code timed out.
type arrivedMessage struct {
	handedOut
	From       string   `json:"from"`
	Subject    string   `json:"subject"`
	Confidence *float64 `json:"confidence"` // of its code, which was returned or read before; nil: no code
	Candidates []string `json:"candidates"` // other texts that could be a code, most likely first
}

// arrivedMessages returns the newest messages of the last minutes, also as lines for people, or none if
// the request fails.
func (w *messageWait) arrivedMessages() (arrived []arrivedMessage, lines string) {
	ctx, cancel := context.WithTimeout(w.ctx, unmark)
	defer cancel()
	page, _ := w.apiClient.Messages(ctx, w.inboxAddress(), client.MessageQuery{
		Since: w.now().Add(-freshnessWindow), Limit: maxArrived, Fields: client.ArrivedFields,
	})
	arrived = []arrivedMessage{}
	for _, m := range page.Emails {
		lines += singleLine(m.DescribeCode()) + "\n"
		subject, _ := truncateText(singleLine(m.Subject), maxShownSubject)
		a := arrivedMessage{handedOut{m.ID, formatTime(m.ReceivedAt)}, plainBox(m.From).Email, subject, nil, []string{}}
		found := m.OTPCandidates
		if m.OTP != nil {
			a.Confidence, found = &m.OTP.Confidence, m.OTP.Candidates
		}
		for _, one := range found {
			a.Candidates = append(a.Candidates, singleLine(one))
		}
		arrived = append(arrived, a)
	}
	return arrived, lines
}

func timedOutAnswer(v any, next string) (toolResult, error) {
	b, err := encodeJSON(v)
	return toolResult{b, next}, err
}

// nextMessage returns the message for the result, or nil if none came in time.
func (w *messageWait) nextMessage() (*apiMessage, error) {
	ctx, cancel := w.waitContext()
	defer cancel()
	looks, enough := w.lookContext()
	defer enough()
	defer w.reportProgress(ctx, w.waitLimit(), "Waiting for mail to "+w.inboxAddress())()
	if err := w.beginWait(looks); err != nil {
		return nil, err
	}
	for {
		m, err := w.lookOrWait(ctx, looks)
		switch {
		case m != nil:
			return m, nil
		case w.ctx.Err() != nil:
			return nil, w.ctx.Err()
		case w.stopContext.Err() != nil:
			return nil, refusalError(stoppingMessage)
		case ctx.Err() != nil && (err == nil || errors.Is(err, context.DeadlineExceeded)):
			return nil, nil
		case ctx.Err() != nil:
			return nil, err // the server failed until the end
		case err == nil:
		case !isTransient(err):
			return nil, err
		default:
			sleepContext(ctx, lookAgain)
		}
	}
}

// beginWait checks whether the wait is possible, and records the newest message. An unreachable server
// is reported immediately.
func (w *messageWait) beginWait(ctx context.Context) error {
	top, err := w.latestMessage(ctx, url.Values{"fields": {"id,encrypted"}})
	if err != nil {
		return err
	}
	encrypted := false
	if top != nil {
		w.newestID, encrypted = top.ID, top.Encrypted
	} else if in, err := w.apiClient.Inbox(ctx, w.inboxAddress()); err != nil {
		return err
	} else {
		encrypted = in.Encrypted
	}
	if encrypted && w.codesOnly {
		return newRefusal("%s is an encrypted inbox: only its owner can read the codes in its messages. Use wait_for_message to wait for new messages", w.inboxAddress())
	}
	return nil
}

// lookOrWait checks the messages that are there, and then waits for a new one. It returns neither a
// message nor an error if another call took the message or the time is over.
func (w *messageWait) lookOrWait(ctx, looks context.Context) (*apiMessage, error) {
	looked := w.newestID
	m, err := w.findUnread(looks)
	if err != nil {
		return nil, err
	}
	if m != nil {
		return w.takeMessage(looks, m.ID, nil)
	}
	if ctx.Err() != nil || w.waitLimit() == 0 {
		return nil, ctx.Err()
	}
	q := url.Values{"after": {fmt.Sprint(looked)}, "wait": {secondsLeft(ctx)}, "fields": {shownFields}}
	if w.codesOnly {
		q.Set("otp", "true")
	}
	came, err := w.latestMessage(ctx, q)
	if err != nil || came == nil {
		return nil, err
	}
	w.newestID = came.ID
	if !w.codesOnly || came.IsRead {
		return nil, nil // check again: an older one may have come with it
	}
	return w.takeMessage(ctx, came.ID, came)
}

// secondsLeft returns the remaining time, rounded up to whole seconds: ctx ends the request in time.
func secondsLeft(ctx context.Context) string {
	end, _ := ctx.Deadline()
	return fmt.Sprint(min(60, max(1, int(math.Ceil(time.Until(end).Seconds())))))
}

// readMessage returns a message.
func (c *toolCall) readMessage(ctx context.Context, id int64) (*apiMessage, error) {
	path := client.InboxPath(c.inboxAddress(), "messages", fmt.Sprint(id))
	m, err := c.fetchOne(ctx, client.Request{Method: "GET", Path: path, Query: url.Values{"fields": {shownFields}}})
	if err == nil && m == nil {
		err = malformedResponse([]byte("no message"))
	}
	return m, err
}

func (c *toolCall) latestMessage(ctx context.Context, q url.Values) (*apiMessage, error) {
	return c.fetchOne(ctx, client.Request{Method: "GET", Path: client.InboxPath(c.inboxAddress(), "latest"), Query: q})
}

// fetchOne makes a request whose response is one message or none.
func (c *toolCall) fetchOne(ctx context.Context, r client.Request) (*apiMessage, error) {
	b, err := c.apiClient.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	var out struct {
		Email json.RawMessage `json:"email"`
	}
	var m *apiMessage
	if json.Unmarshal(b, &out) != nil || out.Email == nil || json.Unmarshal(out.Email, &m) != nil {
		return nil, malformedResponse(b)
	}
	return m, nil
}

func sleepContext(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
