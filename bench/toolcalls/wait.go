package toolcalls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"time"

	"inboxd/bench/drive"
	"inboxd/http/client"
)

// begun lets a reader's question reach the service before its mail does, whichever reader it is.
const begun = 5 * time.Millisecond

// reader waits for the next code in its inbox.
type reader struct {
	name    string
	address string
	next    func(context.Context) (code string, err error)
	round   drive.Round
}

// wait compares, one message at a time, the way from its final dot to the code: by the bare long poll and
// by the tool, over both transports.
func (l *load) wait(ctx context.Context) error {
	pipes, err := startStdio(l.bed, l.path)
	if err != nil {
		return err
	}
	defer pipes.Close()
	web := newHTTP(l.url)
	defer web.Close()
	readers := []*reader{{name: "long poll"}, {name: "wait_for_otp by stdio"}, {name: "wait_for_otp by http"}}
	for _, r := range readers {
		address, err := l.inbox(ctx)
		if err != nil {
			return err
		}
		r.address, r.round = address, drive.NewRound()
	}
	readers[0].next = l.byPoll(readers[0].address)
	readers[1].next = byTool(pipes, readers[1].address)
	readers[2].next = byTool(web, readers[2].address)
	mail, err := smtp.Dial(l.bed.Server.SMTP)
	if err != nil {
		return err
	}
	defer mail.Close()
	for i := range l.opts.Messages {
		for _, r := range readers {
			if err := r.one(ctx, mail, i); err != nil {
				return errors.Join(fmt.Errorf("mail %d, %s: %w", i+1, r.name, err), context.Cause(ctx))
			}
		}
	}
	for _, r := range readers {
		l.bed.Report.Add("final dot to code", r.name, r.round)
	}
	results := l.bed.Report.Results[len(l.bed.Report.Results)-len(readers):]
	for _, r := range results[1:] {
		l.bed.Report.Promised(r.Target+", p50 in ms", r.Latency.P50, wantWaitMS, true)
		l.bed.Report.Promised(r.Target+", p50 to the long poll's", r.Latency.P50/results[0].Latency.P50, wantWaitRatio, true)
	}
	return nil
}

// byPoll reads by the public client's long poll.
func (l *load) byPoll(address string) func(context.Context) (string, error) {
	var last int64
	return func(ctx context.Context) (string, error) {
		m, err := l.api.Latest(ctx, address, client.LatestQuery{After: last, Wait: waitFor * time.Second, OTP: true})
		if err != nil || m == nil {
			return "", errors.Join(errors.New("no code came"), err)
		}
		last = m.ID
		return m.OTPCode, nil
	}
}

func byTool(c caller, address string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		out, err := c.call(ctx, "wait_for_otp", map[string]any{"address": address, "timeout": waitFor})
		if err != nil {
			return "", err
		}
		var got struct {
			Code string `json:"otp_code"`
		}
		err = json.Unmarshal(out, &got)
		return got.Code, err
	}
}

// one sends a message while the reader waits for it.
func (r *reader) one(ctx context.Context, mail *smtp.Client, i int) error {
	code := fmt.Sprintf("%06d", 100_000+(i*7919)%900_000)
	type sighting struct {
		code string
		at   time.Time
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := make(chan sighting, 1)
	go func() { // ends by the message, or by the wait's own end
		got, err := r.next(ctx)
		seen <- sighting{got, time.Now(), err}
	}()
	time.Sleep(begun)
	dot, err := send(mail, r.address, code)
	if err != nil {
		return err
	}
	s := <-seen
	if s.err == nil && s.code != code {
		s.err = fmt.Errorf("code %q, want %q", s.code, code)
	}
	if s.err == nil {
		r.round.Record(s.at.Sub(dot))
	}
	return s.err
}

// send hands a message over and returns when its final dot was written: all of it is in one buffer, which
// leaves with the dot.
func send(mail *smtp.Client, to, code string) (dot time.Time, err error) {
	if err := errors.Join(mail.Mail("no-reply@shop.test"), mail.Rcpt(to)); err != nil {
		return dot, err
	}
	w, err := mail.Data()
	if err != nil {
		return dot, err
	}
	fmt.Fprintf(w, "From: Shop <no-reply@shop.test>\r\nTo: %s\r\nSubject: Your sign-in code\r\n\r\nYour verification code is %s.\r\n", to, code)
	dot = time.Now()
	return dot, w.Close()
}

// wake sends each of those that wait a message.
func (l *load) wake(ctx context.Context, addresses []string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", l.bed.Server.SMTP)
	if err != nil {
		return err
	}
	mail, err := smtp.NewClient(conn, "localhost")
	if err != nil {
		return err
	}
	defer mail.Close()
	for i, to := range addresses {
		if _, err := send(mail, to, fmt.Sprintf("%06d", 200_000+i)); err != nil {
			return err
		}
	}
	return nil
}
