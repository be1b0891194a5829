package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// mailLoad delivers a number of sign-in mails over reused, pipelined sessions, mail i to
// to[i%len(to)] with a code of its own. As fast as answers come, each mail takes one exchange:
// the next one's envelope goes with it.
type mailLoad struct {
	addr     string
	sessions int
	mails    int
	size     int     // bytes of each mail
	rate     float64 // mails a second over all sessions; zero is as fast as answers come
	to       []string
	first    int           // number of the first code, so that rounds do not repeat codes
	template *mailTemplate // nil: sign-in mails
	// sent, when not nil, is told of each mail that was taken, on its session's goroutine.
	sent func(i int, dot time.Time)
}

func (l *mailLoad) code(i int) string { return codeOf(l.first + i) }

// run delivers all mails. Latency is from the final dot to its 250, or with a rate from when
// the mail was due. A refused mail is counted; a broken session ends the run.
func (l *mailLoad) run(ctx context.Context) (Round, error) {
	conns := make([]*smtpConn, l.sessions)
	defer func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
	}()
	for k := range conns {
		var err error
		if conns[k], err = dialSMTP(ctx, l.addr); err != nil {
			return Round{}, err
		}
	}
	template := l.template
	if template == nil {
		template = newMailTemplate(time.Now(), l.size)
	}
	parts := make([]Round, l.sessions)
	start := time.Now()
	err := parallel(ctx, l.sessions, func(ctx context.Context, k int) error {
		defer interruptOn(ctx, conns[k].nc)()
		return l.session(conns[k], template, start, k, &parts[k])
	})
	total := Round{Elapsed: time.Since(start)}
	for _, part := range parts {
		total.add(part)
	}
	return total, err
}

func (l *mailLoad) session(c *smtpConn, template *mailTemplate, start time.Time, k int, out *Round) error {
	r := Round{latency: newLatencies()}
	defer func() { *out = r }()
	pace := newPacer(start, start.Add(time.Hour), l.rate, k, l.sessions) // bounded by the number of mails
	mail := make([]byte, 0, 2*l.size)
	from, to := share(l.mails, k, l.sessions)
	ahead := false // the envelope was sent behind the mail before
	for i := from; i < to; i++ {
		due, _ := pace.next()
		id := strconv.FormatInt(start.UnixMicro(), 36) + strconv.Itoa(i)
		mail = template.render(mail[:0], l.code(i), id)
		open := c.opened
		if !ahead {
			open = func() error { return c.Envelope(bounces, l.rcpt(i)) }
		}
		err := open()
		if ahead = err == nil && l.rate == 0 && i+1 < to; ahead {
			mail = appendEnvelope(mail, bounces, l.rcpt(i+1))
		}
		var dot time.Time
		if err == nil {
			dot, err = c.Data(mail)
		}
		switch {
		case isReply(err):
			r.fail(fmt.Sprintf("mail to %s: %v", l.rcpt(i), err))
			continue
		case err != nil:
			return err
		}
		if l.sent != nil {
			l.sent(i, dot)
		}
		if l.rate > 0 {
			dot = due
		}
		r.latency.record(time.Since(dot))
		r.Count++
	}
	return nil
}

func (l *mailLoad) rcpt(i int) string { return l.to[i%len(l.to)] }

// bounces is the sender of all our mails.
const bounces = "bounce@accounts.example.test"

// send delivers one mail and returns when its final dot was sent.
func (c *smtpConn) send(to string, mail []byte) (dot time.Time, err error) {
	if err := c.Envelope(bounces, to); err != nil {
		return time.Time{}, err
	}
	return c.Data(mail)
}

// acceptedName says what the latency of a run is.
func acceptedName(rate float64) string {
	if rate > 0 {
		return "mail due to 250"
	}
	return "final dot to 250"
}

func addresses(inboxes []Inbox) []string {
	out := make([]string, len(inboxes))
	for i, in := range inboxes {
		out[i] = in.Address
	}
	return out
}
