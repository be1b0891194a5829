package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SendOptions shape the load of outgoing mail. The tags are for the command line.
type SendOptions struct {
	Mails   int `help:"Mails a turn." default:"3000"`
	Size    int `help:"Bytes of a mail's text." default:"2048"`
	Clients int `help:"Clients that send side by side." default:"64"`
	Singles int `help:"Mails that one client sends, one at a time, while nothing else is done." default:"300"`
	Rounds  int `help:"Turns each target gets." default:"3"`
}

const (
	maxSend     = 9_000           // an account's day of sending, and an inbox's quota
	drainWithin = 5 * time.Minute // a backlog that is not gone by then is an error
	drainLook   = 20 * time.Millisecond
)

// sendRun owns what the parts share.
type sendRun struct {
	bed     *Bed
	opts    SendOptions
	inboxes []Inbox
	probe   *diskProbe
	sent    int64 // accepted so far
	// order is what a client asks for again and again; nil: to send a mail.
	order func(in Inbox) []byte
}

// Send measures the send call and the queue behind it, with smtp-sink as the smarthost: the
// 202 of one client beside the disk's own fdatasync, that of many beside mail in, and how
// fast what they left is signed and handed over. Each turn has an account of its own,
// because a plan bounds the sends of a day.
func Send(ctx context.Context, bed *Bed, opts SendOptions) error {
	if err := opts.check(bed); err != nil {
		return err
	}
	sink, addr, err := startSink(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = sink.kill() }()
	run := &sendRun{bed: bed, opts: opts}
	if err := run.prepare(ctx, addr); err != nil {
		return err
	}
	defer func() { _ = run.probe.Close() }()
	bed.Report.Load["mails"], bed.Report.Load["bytes"], bed.Report.Load["clients"] = opts.Mails, opts.Size, opts.Clients
	if err := run.singles(ctx); err != nil {
		return err
	}
	if err := run.crowd(ctx); err != nil {
		return err
	}
	delivered, err := run.metric(ctx, deliveredMetric)
	bed.Report.Checks = append(bed.Report.Checks, Check{"delivered of what was accepted", run.sent, int64(delivered)})
	return err
}

func (o SendOptions) check(bed *Bed) error {
	switch {
	case bed.Server.proc == nil:
		return errors.New("send needs a server of its own; leave --base-url and --smtp out")
	case o.Mails > maxSend || o.Singles > maxSend:
		return fmt.Errorf("--mails, --singles: at most %d", maxSend)
	case len(bed.Keys) < o.Rounds+1:
		return fmt.Errorf("%d rounds need --accounts %d: an account's plan bounds its sends of a day", o.Rounds, o.Rounds+1)
	}
	return atLeastOne(map[string]int{"--mails": o.Mails, "--size": o.Size, "--clients": o.Clients, "--singles": o.Singles, "--rounds": o.Rounds})
}

// prepare has the server send everything to the sink, and makes the inboxes: one for each
// client and account.
func (r *sendRun) prepare(ctx context.Context, sink string) (err error) {
	server := r.bed.Server
	if err = server.Stop(); err != nil {
		return err
	}
	server.plan = append(slices.Clip(server.plan), "--smarthost", sink, "--log-level", "warn")
	if err = server.start(ctx); err != nil {
		return err
	}
	token := runToken()
	r.inboxes, err = createInboxes(ctx, server.HTTP, r.bed.Keys, r.opts.Clients*len(r.bed.Keys), setUpConns,
		func(i int) string { return fmt.Sprint("send", i, token) })
	if err == nil {
		r.probe, err = openProbe(r.bed.dir)
	}
	return err
}

// singles sends one mail at a time and lets each leave before the next, so that what is
// measured is the call and not the queue beside it.
func (r *sendRun) singles(ctx context.Context) error {
	conn, err := dialHTTP(ctx, r.bed.Server.HTTP)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer interruptOn(ctx, conn.nc)()
	request := r.request(r.inboxes[0])
	call, disk := Round{latency: newLatencies()}, Round{latency: newLatencies()}
	for range r.opts.Singles {
		from := time.Now()
		answer, err := conn.Do(request)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		call.latency.record(time.Since(from))
		r.count(&call, answer)
		if err := r.drained(ctx, r.sent+call.Count); err != nil {
			return err
		}
		took, err := r.probe.once()
		if err != nil {
			return err
		}
		disk.latency.record(took)
		disk.Count++
	}
	r.sent += call.Count
	r.bed.Report.add("send to 202, one at a time", call)
	res := Result{Name: "send to 202, one at a time", Target: "fdatasync"}
	res.fill(disk)
	r.bed.Report.Results = append(r.bed.Report.Results, res)
	return nil
}

// crowd lets many clients send as fast as they are answered, in turns with as many sessions
// of mail in, and waits after each turn until the queue is empty.
func (r *sendRun) crowd(ctx context.Context) error {
	name := fmt.Sprintf("clients=%d", r.opts.Clients)
	var drains []Round
	turn := 0
	ours := func(ctx context.Context, _ int) (Round, error) {
		turn++
		round, drain, err := r.one(ctx, r.ofKey(turn%len(r.bed.Keys)))
		drains = append(drains, drain)
		return round, err
	}
	in := func(ctx context.Context, round int) (Round, error) {
		l := mailLoad{addr: r.bed.Server.SMTP, sessions: r.opts.Clients, mails: r.opts.Mails, size: r.opts.Size,
			to: addresses(r.inboxes), first: round * r.opts.Mails}
		return l.run(ctx)
	}
	server := r.bed.Server.proc
	results, err := Alternate(ctx, name, r.opts.Rounds, Side{"send", ours, server, nil}, Side{"mail in", in, server, nil})
	if err != nil {
		return err
	}
	r.bed.Report.Compare(results)
	drained := Result{Name: "queue drain, signed, to smtp-sink", Target: "inboxd"}
	var total Round
	for _, d := range drains {
		total.add(d)
		total.Elapsed += d.Elapsed
		drained.Rounds = append(drained.Rounds, d.perSecond())
	}
	drained.fill(total)
	r.bed.Report.Results = append(r.bed.Report.Results, drained)
	return nil
}

// one is one turn: mails sent over all inboxes, then the time the rest of them takes.
func (r *sendRun) one(ctx context.Context, inboxes []Inbox) (round, drain Round, err error) {
	parts := make([]Round, r.opts.Clients)
	start := time.Now()
	err = parallel(ctx, r.opts.Clients, func(ctx context.Context, k int) error {
		return r.client(ctx, inboxes[k%len(inboxes)], k, &parts[k])
	})
	round.Elapsed = time.Since(start)
	for _, p := range parts {
		round.add(p)
	}
	r.sent += round.Count
	if err != nil {
		return round, drain, err
	}
	from := time.Now()
	before, err := r.metric(ctx, deliveredMetric)
	if err == nil {
		err = r.drained(ctx, r.sent)
	}
	return round, Round{Count: r.sent - int64(before), Elapsed: time.Since(from)}, err
}

func (r *sendRun) client(ctx context.Context, in Inbox, k int, out *Round) error {
	conn, err := dialHTTP(ctx, r.bed.Server.HTTP)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer interruptOn(ctx, conn.nc)()
	part := Round{latency: newLatencies()}
	defer func() { *out = part }()
	request := r.request(in)
	if r.order != nil {
		request = r.order(in)
	}
	from, to := share(r.opts.Mails, k, r.opts.Clients)
	for range to - from {
		begin := time.Now()
		answer, err := conn.Do(request)
		if err != nil {
			return err
		}
		part.latency.record(time.Since(begin))
		r.count(&part, answer)
	}
	return nil
}

func (r *sendRun) count(round *Round, answer httpAnswer) {
	if answer.Status != http.StatusAccepted {
		round.fail(fmt.Sprintf("status %d: %s", answer.Status, detailOf(answer.Body)))
		return
	}
	round.Count++
}

func (r *sendRun) request(in Inbox) []byte {
	line := "A line of a mail that is sent to somebody else, of ordinary length.\n"
	body, _ := json.Marshal(map[string]string{ // strings alone: it cannot fail
		"to": "somebody@receiver.example.test", "subject": "A mail that is sent",
		"body": strings.Repeat(line, r.opts.Size/len(line)+1)[:r.opts.Size],
	})
	return buildRequest("POST", "/api/v1/inboxes/"+in.Address+"/send", r.bed.Server.HTTP, keyHeader(in.Key), body)
}

// ofKey lists the inboxes of one account.
func (r *sendRun) ofKey(n int) (list []Inbox) {
	for i := n; i < len(r.inboxes); i += len(r.bed.Keys) {
		list = append(list, r.inboxes[i])
	}
	return list
}

const deliveredMetric = `inboxd_mail_results_total{result="delivered"}`

// drained waits until so many mails were handed over.
func (r *sendRun) drained(ctx context.Context, mails int64) error {
	for end := time.Now().Add(drainWithin); ; {
		n, err := r.metric(ctx, deliveredMetric)
		if err != nil || int64(n) >= mails {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d mails were handed over within %v", int64(n), mails, drainWithin)
		}
		select {
		case <-time.After(drainLook):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// metric reads one value of /metrics.
func (r *sendRun) metric(ctx context.Context, name string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.bed.Server.HTTP+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := apiHTTP.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("/metrics has no %s", name)
}
