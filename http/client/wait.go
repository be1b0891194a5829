package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// longestWait is what one long poll may take.
	longestWait = 60 * time.Second
	// patience is after how many vain looks in a row a wait gives up: about a minute.
	patience = 12
)

// NoCodeError ends a wait for a code whose time is over, where a message came without one.
type NoCodeError struct {
	MessageID int64
	Subject   string
	Err       error // of the context
}

func (e *NoCodeError) Error() string {
	return fmt.Sprintf("no code came: message %d came without one, %q: %v", e.MessageID, e.Subject, e.Err)
}

// Unwrap gives context.DeadlineExceeded.
func (e *NoCodeError) Unwrap() error { return e.Err }

// ErrEncrypted ends a wait for a code at an encrypted inbox: there are none.
var ErrEncrypted = errors.New("the inbox is encrypted, so that no code can be read in its messages")

// WaitForOTP returns the next message with a code whose id is above after; it waits until
// there is one or the time of ctx is over: a NoCodeError then tells of a message that came without a code.
func (c *Client) WaitForOTP(ctx context.Context, address string, after int64) (*Message, error) {
	return c.WaitForMessage(ctx, address, Wait{After: after, OTP: true})
}

// Wait says which message is waited for; its zero value takes the first one of the inbox.
type Wait struct {
	After    int64               // only a higher id: of the message that was handed out before
	Since    time.Time           // only what was received then or after
	From     string              // an address, @domain, or a part of an address; never a display name
	Verified bool                // only a message whose sender is verified
	Subject  string              // substring of the subject
	To       string              // only what came to this envelope recipient
	Match    func(*Message) bool // nil: any
	// OTP takes messages with a code alone, and the newest of them: an older code is wrong by now.
	OTP bool
	// Claim marks what is handed out as read, and hands out nothing that is: of several programs that
	// wait at one inbox, each message reaches one.
	Claim bool
}

// WaitForMessage returns the oldest message that fits; it waits until there is one or ctx is over. To get
// each once, give its id as After of the next wait.
func (c *Client) WaitForMessage(ctx context.Context, address string, w Wait) (*Message, error) {
	for seen := w.After; ; {
		q := LatestQuery{After: seen, Since: w.Since, From: w.From, Verified: w.Verified, Subject: w.Subject, To: w.To, OTP: w.OTP}
		newest, err := poll(ctx, c, address, q)
		if w.OTP && errors.Is(err, context.DeadlineExceeded) {
			q.After = w.After
			return nil, withoutCode(ctx, c, address, q, err)
		}
		if err != nil {
			return nil, err
		}
		ready := []*Message{newest}
		if !w.OTP && newest.ID > seen+1 {
			older, err := w.between(ctx, c, address, seen, newest.ID)
			if err != nil {
				return nil, err
			}
			ready = append(older, newest)
		}
		for _, m := range ready {
			if taken, err := w.takes(ctx, c, address, m); taken || err != nil {
				return m, err
			}
		}
		seen = newest.ID
	}
}

// withoutCode is over, or a NoCodeError where the newest message that came has no code.
func withoutCode(ctx context.Context, c *Client, address string, q LatestQuery, over error) error {
	const look = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), look)
	defer cancel()
	q.OTP, q.Fields = false, []string{"id", "subject", "otp_code"}
	newest, err := c.Latest(ctx, address, q)
	if err != nil || newest == nil || newest.OTPCode != "" {
		return over
	}
	return &NoCodeError{MessageID: newest.ID, Subject: newest.Subject, Err: over}
}

// takes reports whether m is to be handed out.
func (w Wait) takes(ctx context.Context, c *Client, address string, m *Message) (bool, error) {
	switch {
	case w.Match != nil && !w.Match(m), w.Claim && m.IsRead:
		return false, nil
	case !w.Claim:
		return true, nil
	}
	claimed, err := c.Claim(ctx, address, m.ID)
	if StatusOf(err) == http.StatusNotFound { // deleted, by who was quicker
		return false, nil
	}
	return claimed, err
}

// between is what came after one id and before another, oldest first and whole.
func (w Wait) between(ctx context.Context, c *Client, address string, after, before int64) ([]*Message, error) {
	var ids []int64
	for m, err := range c.EachMessage(ctx, address, MessageQuery{Before: before, Since: w.Since, To: w.To, From: w.From, Verified: w.Verified, Fields: []string{"id", "subject"}, Limit: 200}) {
		if err != nil {
			return nil, err
		}
		if m.ID <= after {
			break
		}
		if holds(m.Subject, w.Subject) {
			ids = append(ids, m.ID)
		}
	}
	var out []*Message
	for _, id := range slices.Backward(ids) {
		m, err := c.Message(ctx, address, id)
		switch {
		case StatusOf(err) == http.StatusNotFound: // deleted meanwhile
		case err != nil:
			return nil, err
		default:
			out = append(out, m)
		}
	}
	return out, nil
}

func holds(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// poll asks for the newest message that fits until there is one.
func poll(ctx context.Context, c *Client, address string, q LatestQuery) (*Message, error) {
	q.Wait = longestWait
	for vain := 0; ; {
		m, err := c.Latest(ctx, address, q)
		switch {
		case m != nil:
			return m, nil
		case ctx.Err() != nil:
			return nil, orOver(ctx, err)
		case err == nil:
			vain = 0
			continue
		case !passes(err) || vain >= patience || repeats(c) == 0:
			return nil, err
		}
		if over := rest(ctx, max(backOff(vain), min(askedPause(err), longestPause))); over != nil {
			return nil, over
		}
		vain++
	}
}
