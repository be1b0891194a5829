package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inboxd/bench/drive"
)

// StartOptions shape the start of a server that holds much. The tags are for the command line.
type StartOptions struct {
	Inboxes     int           `help:"Inboxes the server holds." default:"${inboxes}" least:"1" most:"5000000"`
	Messages    int           `help:"Messages, dealt out over the inboxes in turn." default:"${messages}" least:"1"`
	Size        int           `help:"Bytes of a message." default:"2048" least:"1250"`
	Reads       int           `help:"Inboxes that are read once each after a start." default:"1000" least:"1"`
	Rounds      int           `help:"Starts after SIGTERM, and as many after kill -9 with messages just accepted." default:"5" least:"1"`
	Connections int           `help:"Connections that poll one inbox in a hundred at the end." default:"32" least:"1"`
	Duration    time.Duration `help:"How long these are polled." default:"5s" least:"1ms"`
}

const (
	hotShare  = 100    // one inbox in so many is polled at the end
	mostCrash = 10_000 // messages that are accepted right before each kill -9
)

// Start measures a server that holds many inboxes: start to ready line, start to first read, the
// first read of each inbox, polls of a few, and resident memory. It needs a server of its own,
// which it stops and kills.
func Start(ctx context.Context, bed *Bed, opts StartOptions) error {
	mailed, err := opts.fill(ctx, bed)
	if err != nil {
		return err
	}
	// Right before a crash the server accepts messages, so that there is something to recover.
	crash := func(round int) error {
		last := mailed[:min(len(mailed), mostCrash)]
		if err := mailEach(ctx, bed.Server.SMTP, last, opts.Messages+round*len(last)); err != nil {
			return err
		}
		return bed.Server.Kill()
	}
	cold := drive.NewRound()
	for _, ending := range []struct {
		name string
		end  func(round int) error
	}{{"SIGTERM", func(int) error { return bed.Server.Stop() }}, {"kill -9", crash}} {
		starts, values := drive.NewRound(), map[string][]float64{}
		for round := range opts.Rounds {
			if err := ending.end(round); err != nil {
				return err
			}
			if err := startOnce(ctx, bed, mailed, opts.Reads, &starts, &cold, values); err != nil {
				return fmt.Errorf("start %d after %s: %w", round+1, ending.name, err)
			}
		}
		bed.Report.Add("start after "+ending.name+" to first read", "inboxd", starts)
		for name, all := range values {
			bed.Report.Note(name, drive.Median(all))
		}
	}
	bed.Report.Add("first reads, one at a time", "inboxd", cold)
	return opts.pollHot(ctx, bed, mailed)
}

// Scale is Start with a million inboxes, for which there are promises.
func Scale(ctx context.Context, bed *Bed, opts StartOptions) error {
	if err := Start(ctx, bed, opts); err != nil {
		return err
	}
	out := bed.Report
	started, reads := out.Results[2], out.Results[4]
	out.Promised("start to first read, p50 in ms", started.Latency.P50, 500, true)
	out.Promised("resident MiB after the first read", started.Values["resident MiB after the first read"], 120, true)
	out.Promised("first read of an inbox, p99 in ms", reads.Latency.P99, 10, true)
	return nil
}

// fill makes the inboxes and the messages, and returns the inboxes that have one, with the code of
// their newest.
func (o StartOptions) fill(ctx context.Context, bed *Bed) ([]mailedInbox, error) {
	began := time.Now()
	inboxes, err := bed.CreateInboxes(ctx, bed.Keys, o.Inboxes)
	if err != nil {
		return nil, err
	}
	bed.Report.Add("inboxes made", "inboxd", drive.Round{Count: int64(o.Inboxes), Elapsed: time.Since(began)})
	mailed := withoutMail(inboxes[:min(o.Inboxes, o.Messages)])
	accepted := drive.NewRound()
	// A pass ends before the next one begins, so that the newest message of each inbox is known.
	for first := 0; first < o.Messages; first += o.Inboxes {
		l := drive.MailLoad{Addr: bed.Server.SMTP, Messages: min(o.Inboxes, o.Messages-first), Size: o.Size,
			First: first, To: addresses(inboxes)}
		l.Sessions = min(SetUpConns, l.Messages)
		round, err := l.Run(ctx)
		if err != nil {
			return nil, err
		}
		for i := range l.Messages {
			mailed[i].code = l.Code(i)
		}
		accepted.Add(round)
		accepted.Elapsed += round.Elapsed
		drive.ShowProgress(ctx, drive.Moment{Name: "messages accepted", Done: float64(first + l.Messages), All: float64(o.Messages)})
	}
	bed.Report.Add("messages accepted", "inboxd", accepted)
	resident, err := bed.Server.Proc.ResidentMiB()
	bed.Report.Note("resident MiB with all of them", resident)
	return mailed, err
}

// startOnce starts the server on its data folder and reads: first one inbox, then more. Every
// response must have the inbox's code.
func startOnce(ctx context.Context, bed *Bed, mailed []mailedInbox, reads int, starts, cold *drive.Round, values map[string][]float64) error {
	begin := time.Now()
	if err := bed.Server.Start(ctx); err != nil {
		return err
	}
	ready := time.Since(begin)
	if err := readOnce(ctx, bed.Server.HTTP, mailed[len(mailed)/2:][:1], cold); err != nil {
		return err
	}
	starts.Record(time.Since(begin))
	starts.Elapsed += time.Since(begin)
	first, err1 := bed.Server.Proc.ResidentMiB()
	err := readOnce(ctx, bed.Server.HTTP, mailed[:min(reads, len(mailed))], cold)
	after, err2 := bed.Server.Proc.ResidentMiB()
	for name, v := range map[string]float64{"ready ms": ready.Seconds() * 1000,
		"resident MiB after the first read": first, "resident MiB after all reads": after} {
		values[name] = append(values[name], v)
	}
	return errors.Join(err1, err, err2)
}

// readOnce polls each inbox once and expects its code.
func readOnce(ctx context.Context, host string, mailed []mailedInbox, out *drive.Round) error {
	conn, err := drive.DialHTTP(ctx, host)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, m := range mailed {
		from := time.Now()
		response, err := conn.Do(pollVariants[0].request(host, m))
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		took := time.Since(from)
		if err := checkLatest(m, response.Body); err != nil {
			return err
		}
		out.Record(took)
		out.Elapsed += took
	}
	return nil
}

// pollHot polls one inbox in a hundred, again and again.
func (o StartOptions) pollHot(ctx context.Context, bed *Bed, mailed []mailedInbox) error {
	hot := mailed[:max(len(mailed)/hotShare, 1)]
	l := drive.HTTPLoad{Addr: bed.Server.HTTP, Status: 200, Conns: o.Connections, Duration: o.Duration,
		Check: func(i int, a drive.HTTPResponse) error { return checkLatest(hot[i], a.Body) }}
	for _, m := range hot {
		l.Requests = append(l.Requests, pollVariants[0].request(bed.Server.HTTP, m))
	}
	r, err := l.Run(ctx, 0)
	bed.Report.Add("polls of one inbox in a hundred", "inboxd", r)
	return err
}
