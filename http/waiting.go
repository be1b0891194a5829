package http

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/http/wire"
	"inboxd/internal/base/partition"
)

// waiting is a request that waits outside fasthttp. Its goroutine owns it. The fields http and ctx
// of request are nil until there is a response to write.
type waiting struct {
	request
	*wire.Parked
}

// park lets a request wait. It calls run on a new goroutine, which ends with p.respond or p.End.
func (s *Server) park(r *request, run func(*waiting)) error {
	p := &waiting{request: *r}
	p.http, p.ctx = nil, nil
	s.wire.Park(r.http, func(at *wire.Parked) {
		p.Parked = at
		run(p)
	})
	return nil
}

// errHungUp: the client disconnected, so there is nobody to respond to.
var errHungUp = errors.New("http: the client disconnected")

// pause waits until a or b is closed (a nil channel never is), until the deadline, or until the
// server stops. It returns an error if the client disconnected or the credential ended.
func (p *waiting) pause(until time.Time, a, b <-chan struct{}) (over bool, err error) {
	most := time.Duration(math.MaxInt64)
	if e := p.principal.ExpiresAt; !e.IsZero() {
		most = e.Sub(p.now)
	}
	ended := p.Wait(until, most, a, b, p.principal.Ended())
	p.now = p.server.opts.Now()
	switch {
	case !p.principal.Valid(p.now):
		return false, errNoCredential
	case p.principal.Moved():
		return false, partition.ErrMoved
	case ended == wire.HungUp:
		return false, errHungUp
	}
	p.principal.Used.Store(p.now.Unix()) // a wait is a use: the principal stays in memory, where a revocation finds it
	return ended == wire.Over, nil
}

// with calls fn with a request that has a context again.
func (p *waiting) with(fn func(*request) error) error {
	ctx, cancel := context.WithTimeout(p.server.base, requestTimeout)
	defer cancel()
	p.ctx = ctx
	defer func() { p.ctx = nil }()
	return fn(&p.request)
}

// respond writes the response with fn, or err if it is not nil. A client that disconnected gets
// none.
func (p *waiting) respond(err error, fn func(*request) error) {
	if err == errHungUp {
		p.End()
		return
	}
	p.Respond(func(c *fasthttp.RequestCtx) {
		defer p.server.survive(c)
		p.http = c
		defer func() { p.http = nil }()
		p.server.answer(&p.request, func(*request) error {
			if err != nil {
				return err
			}
			return p.with(fn)
		})
	})
}
