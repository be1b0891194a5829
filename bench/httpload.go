package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// checkEvery is how many answers pass between two that are read and judged. Each one's status
// is.
const checkEvery = 256

// httpLoad sends prepared requests over keep-alive connections, in random order, for a time.
type httpLoad struct {
	addr     string
	requests [][]byte
	status   int // of a right answer
	conns    int
	duration time.Duration
	rate     float64 // requests a second over all connections; zero is as fast as answers come
	check    func(request int, answer httpAnswer) error
}

// run drives one round. A connection that breaks ends it with an error: a server under this
// load has no reason to close one.
func (l *httpLoad) run(ctx context.Context, round int) (Round, error) {
	conns := make([]*httpConn, l.conns)
	defer func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
	}()
	for k := range conns {
		var err error
		if conns[k], err = dialHTTP(ctx, l.addr); err != nil {
			return Round{}, err
		}
	}
	parts := make([]Round, l.conns)
	start := time.Now()
	deadline := start.Add(l.duration)
	err := parallel(ctx, l.conns, func(ctx context.Context, k int) error {
		pace := newPacer(start, deadline, l.rate, k, l.conns)
		rng := rand.New(rand.NewPCG(uint64(round), uint64(k)))
		return l.worker(ctx, conns[k], pace, rng, &parts[k])
	})
	total := Round{Elapsed: time.Since(start)}
	for _, part := range parts {
		total.add(part)
	}
	return total, err
}

func (l *httpLoad) worker(ctx context.Context, conn *httpConn, pace *pacer, rng *rand.Rand, out *Round) error {
	if err := conn.nc.SetDeadline(pace.deadline.Add(apiTimeout)); err != nil {
		return err
	}
	defer interruptOn(ctx, conn.nc)()
	r := Round{latency: newLatencies()} // on this goroutine's own cache lines
	for sent := rng.IntN(checkEvery); ; sent++ {
		from, ok := pace.next()
		if !ok {
			break
		}
		i := rng.IntN(len(l.requests))
		answer, err := conn.Do(l.requests[i])
		if err != nil {
			return err
		}
		r.latency.record(time.Since(from))
		l.judge(&r, i, answer, sent%checkEvery == 0)
	}
	r.Unsent = pace.unsent(r.latency)
	*out = r
	return context.Cause(ctx)
}

func (l *httpLoad) judge(r *Round, request int, answer httpAnswer, readAll bool) {
	var err error
	switch {
	case answer.Status != l.status:
		err = fmt.Errorf("status %d, want %d: %s", answer.Status, l.status, detailOf(answer.Body))
	case readAll:
		err = l.check(request, answer)
	}
	if err != nil {
		r.fail(err.Error())
		return
	}
	r.Count++
}
