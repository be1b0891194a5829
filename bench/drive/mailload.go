package drive

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// MailLoad delivers a number of sign-in messages over reused, pipelined sessions, mail i to
// to[i%len(to)] with a code of its own. As fast as replies come, each message takes one exchange:
// the next one's envelope goes with it.
type MailLoad struct {
	Addr     string
	Sessions int
	Messages int
	Size     int     // bytes of each message
	Rate     float64 // messages a second over all sessions; zero is as fast as replies come
	To       []string
	First    int       // number of the first code, so that rounds do not repeat codes
	Template *Template // nil: sign-in messages
	// Stepwise has each command wait for the reply to the one before, for servers that do not
	// pipeline.
	Stepwise bool
	// Sent, when not nil, is called for each message that was accepted, on its session's goroutine.
	Sent func(i int, dot time.Time)
}

// Code is what mail i carries.
func (l *MailLoad) Code(i int) string { return CodeOf(l.First + i) }

// Run delivers all messages. Latency is from the final dot to its 250, or with a rate from when
// the message was due. A refused mail is counted; a broken session ends the run.
func (l *MailLoad) Run(ctx context.Context) (Round, error) {
	template := l.Template
	if template == nil {
		template = SignInMail(time.Now(), l.Size)
	}
	dial := func() (*SMTPConn, error) { return dialSMTP(ctx, l.Addr, !l.Stepwise) }
	return overAll(ctx, l.Sessions, dial, func(ctx context.Context, k int, c *SMTPConn, start time.Time, out *Round) error {
		defer InterruptOn(ctx, c.NC)()
		return l.session(c, template, start, k, out)
	})
}

// Deliver is Run where every message must be accepted.
func (l *MailLoad) Deliver(ctx context.Context) error {
	sent, err := l.Run(ctx)
	if err == nil && sent.Count != int64(l.Messages) {
		err = fmt.Errorf("only %d of %d messages were accepted: %s", sent.Count, l.Messages, sent.FirstError)
	}
	return err
}

func (l *MailLoad) session(c *SMTPConn, template *Template, start time.Time, k int, out *Round) error {
	r := NewRound()
	defer func() { *out = r }()
	pace := NewPacer(start, start.Add(time.Hour), l.Rate, k, l.Sessions) // bounded by the number of messages
	mail := make([]byte, 0, 2*l.Size)
	from, to := Share(l.Messages, k, l.Sessions)
	ahead := false // the envelope was sent behind the message before
	for i := from; i < to; i++ {
		_, due, _ := pace.Next()
		id := strconv.FormatInt(start.UnixMicro(), 36) + strconv.Itoa(i)
		mail = template.Render(mail[:0], l.Code(i), id)
		open := c.Opened
		if !ahead {
			open = func() error { return c.Envelope(Bounces, l.rcpt(i)) }
		}
		err := open()
		if ahead = err == nil && l.Rate == 0 && i+1 < to && !l.Stepwise; ahead {
			mail = appendEnvelope(mail, Bounces, l.rcpt(i+1))
		}
		var dot time.Time
		if err == nil {
			dot, err = c.Data(mail)
		}
		switch {
		case IsReply(err):
			r.Fail(fmt.Sprintf("mail to %s: %v", l.rcpt(i), err))
			continue
		case err != nil:
			return err
		}
		if l.Sent != nil {
			l.Sent(i, dot)
		}
		if l.Rate > 0 {
			dot = due
		}
		r.Latency.Record(time.Since(dot))
		r.Count++
	}
	return nil
}

func (l *MailLoad) rcpt(i int) string { return l.To[i%len(l.To)] }

// Bounces is the sender of all our messages.
const Bounces = "bounce@accounts.example.test"

// Send delivers one message and returns when its final dot was sent.
func (c *SMTPConn) Send(to string, mail []byte) (dot time.Time, err error) {
	if err := c.Envelope(Bounces, to); err != nil {
		return time.Time{}, err
	}
	return c.Data(mail)
}

// AcceptedName says what the latency of a run is.
func AcceptedName(rate float64) string {
	if rate > 0 {
		return "message due to 250"
	}
	return "final dot to 250"
}
