package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inboxd/bench/drive"
)

// ScaleOptions shape the load of a server that holds very much. The tags are for the command line.
type ScaleOptions struct {
	Inboxes     int           `help:"Inboxes the server holds." default:"1000000" least:"1" most:"5000000"`
	Messages    int           `help:"Messages, dealt out over them in turn." default:"1000000" least:"1"`
	Size        int           `help:"Bytes of a message." default:"2048" least:"1250"`
	Sessions    int           `help:"SMTP sessions." default:"32" least:"1"`
	Connections int           `help:"Connections that make inboxes, and that poll the hot ones." default:"32" least:"1"`
	Duration    time.Duration `help:"How long the hot ones are polled." default:"10s" least:"1ms"`
	Reads       int           `help:"Cold inboxes that are read once each." default:"1000" least:"1"`
	Rounds      int           `help:"Starts after SIGTERM." default:"3" least:"1"`
}

const (
	hotShare = 100 // one in so many is hot
	// What is promised of a million.
	firstReadPromise = 500 // ms
	afterPromise     = 120 // MiB
	coldPromise      = 10  // ms, p99
)

// Scale fills a server with inboxes and mail, starts it again, and reads: inboxes that were not asked for since the
// start, and a few that are asked for all the time. It needs a server of its own.
func Scale(ctx context.Context, bed *Bed, opts ScaleOptions) error {
	mailed, err := opts.fill(ctx, bed)
	if err != nil {
		return err
	}
	res := newStartResult("start")
	for round := range opts.Rounds {
		if err := bed.Server.Stop(); err != nil {
			return err
		}
		if err := startOnce(ctx, bed, mailed, 1, &res); err != nil {
			return fmt.Errorf("start %d: %w", round+1, err)
		}
	}
	started := res.result()
	bed.Report.Results = append(bed.Report.Results, started)
	bed.Report.Promised("start to first read, p50 in ms", started.Latency.P50, firstReadPromise, true)
	bed.Report.Promised("resident MiB after the start", started.Values["resident MiB after the first read"], afterPromise, true)
	if err := opts.readCold(ctx, bed, mailed); err != nil {
		return err
	}
	return opts.pollHot(ctx, bed, mailed)
}

// fill makes the inboxes and the messages, and returns those that have one, with the code of their newest.
func (o ScaleOptions) fill(ctx context.Context, bed *Bed) ([]mailedInbox, error) {
	made := drive.Round{Count: int64(o.Inboxes)}
	began := time.Now()
	inboxes, err := bed.CreateInboxes(ctx, bed.Keys, o.Inboxes, o.Connections)
	if err != nil {
		return nil, err
	}
	made.Elapsed = time.Since(began)
	bed.Report.Add("inboxes made", "inboxd", made)
	mailed := make([]mailedInbox, min(o.Inboxes, o.Messages))
	for i := range mailed {
		mailed[i].Inbox = inboxes[i]
	}
	taken := drive.NewRound()
	for first := 0; first < o.Messages; first += o.Inboxes { // a pass is over before the next one begins, so that the newest mail is known
		l := drive.MailLoad{Addr: bed.Server.SMTP, Mails: min(o.Inboxes, o.Messages-first), Size: o.Size, First: first, To: addresses(inboxes)}
		l.Sessions = min(o.Sessions, l.Mails)
		round, err := l.Run(ctx)
		if err != nil {
			return nil, err
		}
		for i := range l.Mails {
			mailed[i].code = l.Code(i)
		}
		taken.Add(round)
		taken.Elapsed += round.Elapsed
		drive.Tell(ctx, drive.Moment{Name: "mails in", Done: float64(first + l.Mails), All: float64(o.Messages)})
	}
	bed.Report.Add("mails in", "inboxd", taken)
	held, err := bed.Server.ResidentMiB()
	bed.Report.Results[len(bed.Report.Results)-1].Values = map[string]float64{"resident MiB with all of them": held}
	return mailed, err
}

// readCold reads inboxes one at a time, each for the first time since the start.
func (o ScaleOptions) readCold(ctx context.Context, bed *Bed, mailed []mailedInbox) error {
	cold := mailed[len(mailed)/hotShare+1:]
	if len(cold) == 0 {
		cold = mailed
	}
	conn, err := drive.DialHTTP(ctx, bed.Server.HTTP)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer drive.InterruptOn(ctx, conn.NC)()
	r := drive.NewRound()
	began := time.Now()
	n := min(o.Reads, len(cold))
	for i := range n {
		m := cold[i*len(cold)/n]
		request := pollVariants[0].request(bed.Server.HTTP, m)
		from := time.Now()
		answer, err := conn.Do(request)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		took := time.Since(from)
		if err := checkLatest(m, answer.Body); err != nil {
			r.Fail(err.Error())
			continue
		}
		r.Record(took)
	}
	r.Elapsed = time.Since(began)
	bed.Report.Add("cold reads, one at a time", "inboxd", r)
	if p := r.Latency.Percentiles(); p != nil {
		bed.Report.Promised("cold read, p99 in ms", p.P99, coldPromise, true)
	}
	return nil
}

// pollHot polls one inbox in a hundred, again and again.
func (o ScaleOptions) pollHot(ctx context.Context, bed *Bed, mailed []mailedInbox) error {
	hot := mailed[:max(len(mailed)/hotShare, 1)]
	l := drive.HTTPLoad{Addr: bed.Server.HTTP, Status: 200, Conns: o.Connections, Duration: o.Duration,
		Check: func(i int, a drive.HTTPAnswer) error { return checkLatest(hot[i], a.Body) }}
	for _, m := range hot {
		l.Requests = append(l.Requests, pollVariants[0].request(bed.Server.HTTP, m))
	}
	r, err := l.Run(ctx, 0)
	if err != nil {
		return err
	}
	bed.Report.Add("polls of the hot 1 %", "inboxd", r)
	after, err := bed.Server.ResidentMiB()
	bed.Report.Results[len(bed.Report.Results)-1].Values = map[string]float64{"resident MiB after": after}
	return err
}
