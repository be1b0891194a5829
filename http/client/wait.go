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
	// longestWait is the longest time of one long poll.
	longestWait = 60 * time.Second
	// maxVainPolls is how many consecutive requests may fail before a wait fails: about a minute.
	maxVainPolls = 12
)

// NoCodeError is the error of a wait for a code whose time is over, if messages arrived all the
// same: without a code, or not from the required sender, for example.
type NoCodeError struct {
	MessageID int64     // newest message without a code; 0: all have one
	Subject   string    // of that message
	Arrived   []Message // newest first, at most 10
	Err       error     // the context's error
}

func (e *NoCodeError) Error() string {
	lines := make([]string, len(e.Arrived))
	for i := range e.Arrived {
		lines[i] = e.Arrived[i].DescribeCode()
	}
	return fmt.Sprintf("no matching code arrived. What did arrive:\n%s", strings.Join(lines, "\n"))
}

// DescribeCode returns one line about a message and its code, for somebody who waits for one.
func (m *Message) DescribeCode() string {
	line := fmt.Sprintf("message %d from %s, subject %q: ", m.ID, m.From.Email, m.Subject)
	switch {
	case m.OTP != nil:
		line += fmt.Sprintf("code %s, confidence %.2f", m.OTP.Code, m.OTP.Confidence)
	case len(m.OTPCandidates) > 0:
		line += "no code is certain enough, candidates " + strings.Join(m.OTPCandidates, ", ")
	default:
		line += "no code"
	}
	if m.IsRead {
		line += ", already read"
	}
	return line
}

// Unwrap returns context.DeadlineExceeded.
func (e *NoCodeError) Unwrap() error { return e.Err }

// ErrEncrypted is the error of a wait for a code in an encrypted inbox, whose codes cannot be read.
var ErrEncrypted = errors.New("the inbox is encrypted, so no code can be read from its messages")

// WaitForOTP waits for the next message with a code and an id above after, and returns it. If ctx's
// time is over first and other messages arrived, the error is a NoCodeError that lists them.
func (c *Client) WaitForOTP(ctx context.Context, address string, after int64) (*Message, error) {
	return c.WaitForMessage(ctx, address, Wait{After: after, OTP: true})
}

// Wait selects messages to wait for. The zero value selects the first message of the inbox.
type Wait struct {
	After    int64               // only ids above that of the message returned before
	Since    time.Time           // only messages received at or after this time
	From     string              // an address, @domain, or a part of an address; never a display name
	Verified bool                // only a message whose sender is verified
	Subject  string              // substring of the subject
	To       string              // only messages to this envelope recipient
	Match    func(*Message) bool // nil: any
	// OTP selects only messages with a code, newest first: an older code is no longer valid.
	OTP bool
	// Claim marks returned messages as read and skips read ones. If several programs wait at one
	// inbox, each message is returned to one of them.
	Claim bool
}

// WaitForMessage returns the oldest matching message. It waits until there is one or ctx ends. To
// get each message once, pass its id as After of the next wait.
func (c *Client) WaitForMessage(ctx context.Context, address string, w Wait) (*Message, error) {
	for seen := w.After; ; {
		q := LatestQuery{After: seen, Since: w.Since, From: w.From, Verified: w.Verified, Subject: w.Subject, To: w.To, OTP: w.OTP}
		newest, err := pollLatest(ctx, c, address, q)
		if w.OTP && errors.Is(err, context.DeadlineExceeded) {
			return nil, w.noCode(ctx, c, address, err)
		}
		if err != nil {
			return nil, err
		}
		ready := []*Message{newest}
		if !w.OTP && newest.ID > seen+1 {
			older, err := w.messagesBetween(ctx, c, address, seen, newest.ID)
			if err != nil {
				return nil, err
			}
			ready = append(older, newest)
		}
		for _, m := range ready {
			if taken, err := w.takesMessage(ctx, c, address, m); taken || err != nil {
				return m, err
			}
		}
		seen = newest.ID
	}
}

// noCode returns a NoCodeError if messages arrived, whoever sent them, else over.
func (w Wait) noCode(ctx context.Context, c *Client, address string, over error) error {
	const look, most = 2 * time.Second, 10
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), look)
	defer cancel()
	page, err := c.Messages(ctx, address, MessageQuery{Since: w.Since, To: w.To, Limit: most, Fields: ArrivedFields})
	arrived := slices.DeleteFunc(page.Emails, func(m Message) bool { return m.ID <= w.After })
	if err != nil || len(arrived) == 0 {
		return over
	}
	e := &NoCodeError{Arrived: arrived, Err: over}
	if i := slices.IndexFunc(arrived, func(m Message) bool { return m.OTP == nil }); i >= 0 {
		e.MessageID, e.Subject = arrived[i].ID, arrived[i].Subject
	}
	return e
}

// ArrivedFields are the fields of a message that DescribeCode needs.
var ArrivedFields = []string{"id", "subject", "from", "received_at", "otp_code", "otp", "otp_candidates", "is_read"}

// takesMessage reports whether m is to be returned. It claims m if required.
func (w Wait) takesMessage(ctx context.Context, c *Client, address string, m *Message) (bool, error) {
	switch {
	case w.Match != nil && !w.Match(m), w.Claim && m.IsRead:
		return false, nil
	case !w.Claim:
		return true, nil
	}
	claimed, err := c.Claim(ctx, address, m.ID)
	if StatusOf(err) == http.StatusNotFound { // another program has deleted it
		return false, nil
	}
	return claimed, err
}

// messagesBetween returns the complete messages with ids between after and before, oldest first.
func (w Wait) messagesBetween(ctx context.Context, c *Client, address string, after, before int64) ([]*Message, error) {
	var ids []int64
	for m, err := range c.EachMessage(ctx, address, MessageQuery{Before: before, Since: w.Since, To: w.To, From: w.From, Verified: w.Verified, Fields: []string{"id", "subject"}, Limit: 200}) {
		if err != nil {
			return nil, err
		}
		if m.ID <= after {
			break
		}
		if containsFold(m.Subject, w.Subject) {
			ids = append(ids, m.ID)
		}
	}
	var out []*Message
	for _, id := range slices.Backward(ids) {
		m, err := c.Message(ctx, address, id)
		switch {
		case StatusOf(err) == http.StatusNotFound: // deleted in the meantime
		case err != nil:
			return nil, err
		default:
			out = append(out, m)
		}
	}
	return out, nil
}

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// pollLatest requests the newest matching message until there is one.
func pollLatest(ctx context.Context, c *Client, address string, q LatestQuery) (*Message, error) {
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
		case !isTemporary(err) || vain >= maxVainPolls || maxRepeats(c) == 0:
			return nil, err
		}
		if over := sleepFor(ctx, max(backOff(vain), min(askedPause(err), longestPause))); over != nil {
			return nil, over
		}
		vain++
	}
}
