package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// WaitersOptions shape the load of long polls that wait. The tags are for the command line.
type WaitersOptions struct {
	Waiters  int     `help:"Long polls that wait at once, each on an inbox of its own." default:"10000"`
	Sessions int     `help:"SMTP sessions that wake them, one mail each." default:"8"`
	Rate     float64 `help:"Mails a second; 0 is as many as the server takes." default:"2000"`
	Size     int     `help:"Bytes of a mail." default:"2048"`
}

const (
	maxWaiters = 50_000
	// settleFor lets the server finish what the connections and requests made it do, before
	// its memory is looked at.
	settleFor = 3 * time.Second
	// longestWait is what a long poll may ask for (specification, Latest).
	longestWait = 60 * time.Second
)

// waiter is one long poll on its way.
type waiter struct {
	Inbox
	conn *httpConn
	code string    // that its mail carries
	dot  time.Time // of that mail; written by the session that sent it
	at   time.Time // of its answer
	err  error
}

// Waiters measures what waiting costs and how soon it ends: the server's resident memory
// with all long polls waiting beside none, and for each the way from its mail's final dot to
// its answer. It needs a server of its own, which it starts anew with the inboxes in memory.
func Waiters(ctx context.Context, bed *Bed, opts WaitersOptions) error {
	if err := opts.check(bed.Server); err != nil {
		return err
	}
	r := bed.Report
	r.Load["waiters"], r.Load["sessions"], r.Load["rate"], r.Load["bytes"] = opts.Waiters, opts.Sessions, opts.Rate, opts.Size
	waiters, before, err := prepareWaiters(ctx, bed, opts.Waiters)
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
	after, err := bed.Server.proc.residentMiB()
	if err != nil {
		return err
	}
	r.Results = append(r.Results, Result{Name: "waiting", Target: "inboxd", Count: int64(len(waiters)), Values: map[string]float64{
		"resident KiB each": (after - before) * 1024 / float64(len(waiters)), "resident MiB before": before, "resident MiB waiting": after,
	}})
	return wakeAll(ctx, bed, opts, waiters)
}

func (o WaitersOptions) check(server *Server) error {
	if server.proc == nil {
		return errors.New("waiters needs a server of its own; leave --base-url and --smtp out")
	}
	if o.Waiters > maxWaiters {
		return fmt.Errorf("--waiters: at most %d", maxWaiters)
	}
	return atLeastOne(map[string]int{"--waiters": o.Waiters, "--sessions": o.Sessions, "--size": o.Size})
}

// prepareWaiters makes the inboxes, starts the server again, so that nothing of their making
// is left in its memory, and reads each once, so that each is in memory.
func prepareWaiters(ctx context.Context, bed *Bed, n int) (waiters []*waiter, residentMiB float64, err error) {
	token := runToken()
	inboxes, err := createInboxes(ctx, bed.Server.HTTP, bed.Keys, n, setUpConns, func(i int) string { return token + strconv.Itoa(i) })
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
	residentMiB, err = bed.Server.proc.residentMiB()
	return waiters, residentMiB, err
}

// startWaiting opens the connections and sends the requests, without reading answers.
func startWaiting(ctx context.Context, host string, waiters []*waiter) error {
	return parallel(ctx, min(setUpConns, len(waiters)), func(ctx context.Context, k int) error {
		from, to := share(len(waiters), k, min(setUpConns, len(waiters)))
		for _, w := range waiters[from:to] {
			var err error
			if w.conn, err = dialHTTP(ctx, host); err != nil {
				return err
			}
			w.conn.buf = w.conn.buf[:4<<10]
			request := buildRequest("GET", latestPath(w.Address, 0, longestWait), host, keyHeader(w.Key), nil)
			if _, err := w.conn.nc.Write(request); err != nil {
				return err
			}
		}
		return nil
	})
}

// wakeAll sends each waiter its mail and wants every answer with its code.
func wakeAll(ctx context.Context, bed *Bed, opts WaitersOptions, waiters []*waiter) error {
	load := mailLoad{addr: bed.Server.SMTP, sessions: opts.Sessions, mails: len(waiters), size: opts.Size, rate: opts.Rate}
	load.sent = func(i int, dot time.Time) { waiters[i].dot = dot }
	for i, w := range waiters {
		w.code = load.code(i)
		load.to = append(load.to, w.Address)
	}
	answered := make(chan struct{})
	for _, w := range waiters {
		go func() { // ends by the deadline at the latest
			w.receive()
			answered <- struct{}{}
		}()
	}
	accepted, err := load.run(ctx)
	if err != nil {
		for _, w := range waiters {
			_ = w.conn.nc.SetDeadline(time.Unix(1, 0))
		}
	}
	for range waiters {
		<-answered
	}
	woken := Round{latency: newLatencies(), Elapsed: accepted.Elapsed}
	for _, w := range waiters {
		if w.err != nil {
			woken.fail(fmt.Sprintf("waiter on %s: %v", w.Address, w.err))
			continue
		}
		woken.Count++
		woken.latency.record(w.at.Sub(w.dot))
	}
	bed.Report.add(acceptedName(opts.Rate), accepted)
	bed.Report.add("final dot to answer", woken)
	return err
}

// receive reads the answer of the long poll.
func (w *waiter) receive() {
	if w.err = w.conn.nc.SetDeadline(time.Now().Add(longestWait + apiTimeout)); w.err != nil {
		return
	}
	answer, err := w.conn.Receive()
	w.at = time.Now()
	switch {
	case err != nil:
		w.err = err
	case answer.Status != 200:
		w.err = &refusal{answer.Status, detailOf(answer.Body)}
	default:
		var email *Email
		if email, w.err = parseLatest(answer.Body); w.err == nil && email.code() != w.code {
			w.err = fmt.Errorf("code %q, want %q", email.code(), w.code)
		}
	}
}
