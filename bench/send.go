package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"inboxd/bench/drive"
)

// SendOptions shape the load of outgoing mail. The tags are for the command line.
type SendOptions struct {
	Messages    int `help:"Messages a turn." default:"3000" least:"1" most:"9000"`
	Size        int `help:"Bytes of a message's text." default:"2048" least:"1"`
	Connections int `help:"Keep-alive connections that send side by side." default:"64" least:"1"`
	Singles     int `help:"Messages that one client sends, one at a time, while nothing else is done." default:"300" least:"1" most:"9000"`
	Rounds      int `help:"Turns each target gets." default:"3" least:"1" most:"9"`
}

const (
	maxSend     = 9_000           // an account's day of sending; also the bound of --messages
	drainWithin = 5 * time.Minute // a backlog that is not gone by then is an error
	drainLook   = 5 * time.Millisecond
)

// sendRun owns what the parts share.
type sendRun struct {
	bed     *Bed
	opts    SendOptions
	inboxes []Inbox
	probe   *diskProbe
	sent    int64 // accepted so far
	// order is what a client asks for again and again; nil: to send a message.
	order func(in Inbox) []byte
}

// Send measures the send call and the queue behind it, with a sink as the smarthost: the
// 202 of one client next to the disk's own fdatasync, that of many next to mail in, and how
// fast what they left is signed and handed over. Each turn has an account of its own,
// because a plan bounds the sends of a day.
func Send(ctx context.Context, bed *Bed, opts SendOptions) error {
	run, err := newSendRun(ctx, bed, opts)
	if err != nil {
		return err
	}
	defer func() { _ = run.probe.Close() }()
	if err := run.singles(ctx); err != nil {
		return err
	}
	if err := run.crowd(ctx); err != nil {
		return err
	}
	bed.Report.Verify("delivered of what was accepted", run.sent, bed.Server.Sink.Total())
	return nil
}

// newSendRun makes the inboxes: one for each client and account.
func newSendRun(ctx context.Context, bed *Bed, opts SendOptions) (r *sendRun, err error) {
	r = &sendRun{bed: bed, opts: opts}
	r.inboxes, err = bed.CreateInboxes(ctx, bed.Keys, opts.Connections*len(bed.Keys))
	if err == nil {
		r.probe, err = openProbe(bed.dir)
	}
	return r, err
}

// singles sends one message at a time and lets each leave before the next, so that what is
// measured is the call and not the queue next to it.
func (r *sendRun) singles(ctx context.Context) error {
	conn, err := drive.DialHTTP(ctx, r.bed.Server.HTTP)
	if err != nil {
		return err
	}
	defer conn.Close()
	request := r.request(r.inboxes[0])
	call, disk := drive.NewRound(), drive.NewRound()
	for range r.opts.Singles {
		from := time.Now()
		response, err := conn.Do(request)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		call.Latency.Record(time.Since(from))
		r.count(&call, response)
		if err := r.drained(ctx, r.sent+call.Count); err != nil {
			return err
		}
		took, err := r.probe.once()
		if err != nil {
			return err
		}
		disk.Latency.Record(took)
		disk.Count++
	}
	r.sent += call.Count
	r.bed.Report.Add("send to 202, one at a time", "inboxd", call)
	res := drive.Result{Name: "send to 202, one at a time", Target: "fdatasync"}
	res.Fill(disk)
	r.bed.Report.Results = append(r.bed.Report.Results, res)
	return nil
}

// crowd lets many clients send as fast as responses come, in turns with as many sessions
// of mail in, and waits after each turn until the queue is empty.
func (r *sendRun) crowd(ctx context.Context) error {
	name := fmt.Sprintf("connections=%d", r.opts.Connections)
	var drains []drive.Round
	turn := 0
	ours := func(ctx context.Context, _ int) (drive.Round, error) {
		turn++
		round, drain, err := r.one(ctx, r.ofKey(turn%len(r.bed.Keys)))
		drains = append(drains, drain)
		return round, err
	}
	in := func(ctx context.Context, round int) (drive.Round, error) {
		l := drive.MailLoad{Addr: r.bed.Server.SMTP, Sessions: r.opts.Connections, Messages: r.opts.Messages, Size: r.opts.Size,
			To: addresses(r.inboxes), First: round * r.opts.Messages}
		return l.Run(ctx)
	}
	server := r.bed.Server.Proc
	results, err := drive.Alternate(ctx, name, r.opts.Rounds, drive.Side{Target: "send", Run: ours, Proc: server}, drive.Side{Target: "messages in", Run: in, Proc: server})
	if err != nil {
		return err
	}
	r.bed.Report.Compare(results)
	drained := drive.Result{Name: "queue drain, signed, to a sink", Target: "inboxd"}
	var total drive.Round
	for _, d := range drains {
		total.Add(d)
		total.Elapsed += d.Elapsed
		drained.Rounds = append(drained.Rounds, d.PerSecond())
	}
	if drained.Fill(total); drained.Count == 0 {
		r.bed.Report.Notes = append(r.bed.Report.Notes, "The queue was empty whenever the clients were done: it drains as fast as they send.")
		return nil
	}
	r.bed.Report.Results = append(r.bed.Report.Results, drained)
	return nil
}

// one is one turn: messages sent over all inboxes, then the time the rest of them takes.
func (r *sendRun) one(ctx context.Context, inboxes []Inbox) (round, drain drive.Round, err error) {
	parts := make([]drive.Round, r.opts.Connections)
	start := time.Now()
	err = drive.Parallel(ctx, r.opts.Connections, func(ctx context.Context, k int) error {
		return r.client(ctx, inboxes[k%len(inboxes)], k, &parts[k])
	})
	round.Elapsed = time.Since(start)
	for _, p := range parts {
		round.Add(p)
	}
	r.sent += round.Count
	if err != nil {
		return round, drain, err
	}
	from, before := time.Now(), r.bed.Server.Sink.Total()
	err = r.drained(ctx, r.sent)
	return round, drive.Round{Count: r.sent - before, Elapsed: time.Since(from)}, err
}

func (r *sendRun) client(ctx context.Context, in Inbox, k int, out *drive.Round) error {
	conn, err := drive.DialHTTP(ctx, r.bed.Server.HTTP)
	if err != nil {
		return err
	}
	defer conn.Close()
	part := drive.NewRound()
	defer func() { *out = part }()
	request := r.request(in)
	if r.order != nil {
		request = r.order(in)
	}
	from, to := drive.Share(r.opts.Messages, k, r.opts.Connections)
	for range to - from {
		begin := time.Now()
		response, err := conn.Do(request)
		if err != nil {
			return err
		}
		part.Latency.Record(time.Since(begin))
		r.count(&part, response)
	}
	return nil
}

func (r *sendRun) count(round *drive.Round, response drive.HTTPResponse) {
	if response.Status != http.StatusAccepted {
		round.Fail(fmt.Sprintf("status %d: %s", response.Status, drive.DetailOf(response.Body)))
		return
	}
	round.Count++
}

func (r *sendRun) request(in Inbox) []byte {
	line := "A line of a message that is sent to somebody else, of ordinary length.\n"
	body, _ := json.Marshal(map[string]string{ // strings alone: it cannot fail
		"to": "somebody@receiver.example.test", "subject": "A message that is sent",
		"body": strings.Repeat(line, r.opts.Size/len(line)+1)[:r.opts.Size],
	})
	return drive.BuildRequest("POST", "/api/v1/inboxes/"+in.Address+"/send", r.bed.Server.HTTP, drive.KeyHeader(in.Key), body)
}

// ofKey lists the inboxes of one account.
func (r *sendRun) ofKey(n int) (list []Inbox) {
	for i := n; i < len(r.inboxes); i += len(r.bed.Keys) {
		list = append(list, r.inboxes[i])
	}
	return list
}

// drained waits until so many messages reached the sink.
func (r *sendRun) drained(ctx context.Context, messages int64) error {
	for end := time.Now().Add(drainWithin); ; {
		n := r.bed.Server.Sink.Total()
		if n >= messages {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d messages were delivered within %v", n, messages, drainWithin)
		}
		select {
		case <-time.After(drainLook):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
