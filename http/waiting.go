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

// waiting is a request that waits outside of fasthttp. Its goroutine owns it. In request,
// http and ctx are nil until there is something to answer.
type waiting struct {
	request
	*wire.Parked
}

// park lets a request wait. run gets it, on a goroutine of its own, and ends with p.respond
// or p.End.
func (s *Server) park(r *request, run func(*waiting)) error {
	p := &waiting{request: *r}
	p.http, p.ctx = nil, nil
	s.wire.Park(r.http, func(at *wire.Parked) {
		p.Parked = at
		run(p)
	})
	return nil
}

// errHungUp says that nobody is there to be answered.
var errHungUp = errors.New("http: the client disconnected")

// pause waits until a or b is closed (nil never is), until the time is over, or until the
// server stops. An error says that the client left, or that the credential ended meanwhile.
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
	p.principal.Used.Store(p.now.Unix()) // waiting is a use: the principal stays where a revocation finds it
	return ended == wire.Over, nil
}

// with gives fn a request that has a context again.
func (p *waiting) with(fn func(*request) error) error {
	ctx, cancel := context.WithTimeout(p.server.base, requestTimeout)
	defer cancel()
	p.ctx = ctx
	defer func() { p.ctx = nil }()
	return fn(&p.request)
}

// respond answers by fn, or with err when there is one. Nobody is told that the client hung up.
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
