package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inboxd/bench/drive"
)

// WaitersOptions shape the load of long polls that wait. The tags are for the command line.
type WaitersOptions struct {
	Inboxes  int     `help:"Inboxes, on each of which a long poll waits." default:"10000" least:"1" most:"50000"`
	Sessions int     `help:"SMTP sessions that wake them, one message each." default:"8" least:"1"`
	Rate     float64 `help:"Messages a second; 0 is as many as the server takes." default:"2000" least:"0"`
	Size     int     `help:"Bytes of a message." default:"2048" least:"1250"`
}

const (
	// settleFor lets the server finish what the connections and requests made it do, before
	// its memory is looked at.
	settleFor = 3 * time.Second
	// longestWait is what a long poll may ask for (specification, Latest).
	longestWait = 60 * time.Second
)

// waiter is one long poll on its way.
type waiter struct {
	Inbox
	conn *drive.HTTPConn
	code string    // that its mail carries
	dot  time.Time // of that message; written by the session that sent it
	at   time.Time // of its answer
	err  error
}

// Waiters measures what waiting costs and how soon it ends: the server's resident memory
// with all long polls waiting next to none, and for each the way from its mail's final dot to
// its answer. It needs a server of its own, which it starts anew with the inboxes in memory.
func Waiters(ctx context.Context, bed *Bed, opts WaitersOptions) error {
	r := bed.Report
	waiters, before, err := prepareWaiters(ctx, bed, opts.Inboxes)
	if err != nil {
		return err
	}
	defer func() {
		for _, w := range waiters {
			if w.conn != nil {
				w.conn.Close()
			}
		}
	}()
	if err := startWaiting(ctx, bed.Server.HTTP, waiters); err != nil {
		return err
	}
	time.Sleep(settleFor)
	after, err := bed.Server.proc.ResidentMiB()
	if err != nil {
		return err
	}
	r.Results = append(r.Results, drive.Result{Name: "waiting", Target: "inboxd", Count: int64(len(waiters)), Values: map[string]float64{
		"resident KiB each": (after - before) * 1024 / float64(len(waiters)), "resident MiB before": before, "resident MiB waiting": after,
	}})
	return wakeAll(ctx, bed, opts, waiters)
}

// prepareWaiters makes the inboxes, starts the server again, so that nothing of their making
// is left in its memory, and reads each once, so that each is in memory.
func prepareWaiters(ctx context.Context, bed *Bed, n int) (waiters []*waiter, residentMiB float64, err error) {
	inboxes, err := bed.CreateInboxes(ctx, bed.Keys, n, SetUpConns)
	if err != nil {
		return nil, 0, err
	}
	if err := errors.Join(bed.Server.Stop(), bed.Server.start(ctx)); err != nil {
		return nil, 0, err
	}
	for _, in := range inboxes {
		if email, err := in.latest(ctx, bed.Server.HTTP); err != nil || email.ID != 0 {
			return nil, 0, errors.Join(fmt.Errorf("a new inbox holds message %d", email.ID), err)
		}
		waiters = append(waiters, &waiter{Inbox: in})
	}
	time.Sleep(settleFor)
	residentMiB, err = bed.Server.proc.ResidentMiB()
	return waiters, residentMiB, err
}

// startWaiting opens the connections and sends the requests, without reading answers.
func startWaiting(ctx context.Context, host string, waiters []*waiter) error {
	return drive.Each(ctx, SetUpConns, len(waiters), func(ctx context.Context, i int) (err error) {
		w := waiters[i]
		if w.conn, err = drive.DialHTTP(ctx, host); err != nil {
			return err
		}
		w.conn.Small()
		request := drive.BuildRequest("GET", drive.LatestPath(w.Address, 0, longestWait), host, drive.KeyHeader(w.Key), nil)
		_, err = w.conn.NC.Write(request)
		return err
	})
}

// wakeAll sends each waiter its mail and wants every answer with its code.
func wakeAll(ctx context.Context, bed *Bed, opts WaitersOptions, waiters []*waiter) error {
	load := drive.MailLoad{Addr: bed.Server.SMTP, Sessions: opts.Sessions, Mails: len(waiters), Size: opts.Size, Rate: opts.Rate}
	load.Sent = func(i int, dot time.Time) { waiters[i].dot = dot }
	for i, w := range waiters {
		w.code = load.Code(i)
		load.To = append(load.To, w.Address)
	}
	answered := make(chan struct{})
	for _, w := range waiters {
		go func() { // ends by the deadline at the latest
			w.receive()
			answered <- struct{}{}
		}()
	}
	accepted, err := load.Run(ctx)
	if err != nil {
		for _, w := range waiters {
			_ = w.conn.NC.SetDeadline(time.Unix(1, 0))
		}
	}
	for range waiters {
		<-answered
	}
	woken := drive.Round{Latency: drive.NewLatencies(), Elapsed: accepted.Elapsed}
	for _, w := range waiters {
		if w.err != nil {
			woken.Fail(fmt.Sprintf("waiter on %s: %v", w.Address, w.err))
			continue
		}
		woken.Count++
		woken.Latency.Record(w.at.Sub(w.dot))
	}
	bed.Report.Add(drive.AcceptedName(opts.Rate), "inboxd", accepted)
	bed.Report.Add("final dot to answer", "inboxd", woken)
	return err
}

// receive reads the answer of the long poll.
func (w *waiter) receive() {
	if w.err = w.conn.NC.SetDeadline(time.Now().Add(longestWait + drive.AnswerWithin)); w.err != nil {
		return
	}
	answer, err := w.conn.Receive()
	w.at = time.Now()
	switch {
	case err != nil:
		w.err = err
	case answer.Status != 200:
		w.err = &drive.Refusal{Status: answer.Status, Detail: drive.DetailOf(answer.Body)}
	default:
		var email *drive.Email
		if email, w.err = drive.ParseLatest(answer.Body); w.err == nil && email.CodeIn() != w.code {
			w.err = fmt.Errorf("code %q, want %q", email.CodeIn(), w.code)
		}
	}
}
