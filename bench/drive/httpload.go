package drive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// checkEvery is how many responses pass between two that are read and judged. Each one's status
// is.
const checkEvery = 256

// ResponseWithin bounds one call of the preparation and of the checks, and how long a response may
// trail the end of a load.
const ResponseWithin = 30 * time.Second

// HTTPLoad sends prepared requests over keep-alive connections, in random order, for a time.
type HTTPLoad struct {
	Addr     string
	Requests [][]byte
	Status   int // of a right response
	Conns    int
	Duration time.Duration
	Rate     float64 // requests a second over all connections; zero is as fast as responses come
	Chunked  bool    // responses may come in chunks
	Check    func(request int, response HTTPResponse) error
}

// Run drives one round. A connection that breaks ends it with an error: a server under this
// load has no reason to close one.
func (l *HTTPLoad) Run(ctx context.Context, round int) (Round, error) {
	dial := func() (*HTTPConn, error) {
		c, err := DialHTTP(ctx, l.Addr)
		if err == nil {
			c.chunked = l.Chunked
		}
		return c, err
	}
	return overAll(ctx, l.Conns, dial, func(ctx context.Context, k int, c *HTTPConn, start time.Time, out *Round) error {
		pace := NewPacer(start, start.Add(l.Duration), l.Rate, k, l.Conns)
		rng := rand.New(rand.NewPCG(uint64(round), uint64(k)))
		return l.worker(ctx, c, pace, rng, out)
	})
}

func (l *HTTPLoad) worker(ctx context.Context, conn *HTTPConn, pace *Agenda, rng *rand.Rand, out *Round) error {
	if err := conn.NC.SetDeadline(pace.Deadline.Add(ResponseWithin)); err != nil {
		return err
	}
	defer InterruptOn(ctx, conn.NC)()
	r := NewRound()           // on this goroutine's own cache lines
	for sent := 0; ; sent++ { // the first is judged, however short the load
		_, from, ok := pace.Next()
		if !ok {
			break
		}
		i := rng.IntN(len(l.Requests))
		response, err := conn.Do(l.Requests[i])
		if err != nil {
			return err
		}
		r.Latency.Record(time.Since(from))
		l.judge(&r, i, response, sent%checkEvery == 0)
	}
	r.Unsent = pace.Unsent(r.Latency.Record)
	*out = r
	return context.Cause(ctx)
}

func (l *HTTPLoad) judge(r *Round, request int, response HTTPResponse, readAll bool) {
	var err error
	switch {
	case response.Status != l.Status:
		err = fmt.Errorf("status %d, want %d: %s", response.Status, l.Status, DetailOf(response.Body))
	case readAll:
		err = l.Check(request, response)
	}
	if err != nil {
		r.Fail(err.Error())
		return
	}
	r.Count++
}
