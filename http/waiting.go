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

// parkedRequest is a request that waits outside fasthttp. Its goroutine owns it. The fields http
// and ctx of request are nil until there is a response to write.
type parkedRequest struct {
	apiRequest
	*wire.ParkedRequest
}

// parkRequest lets a request wait. It calls run on a new goroutine, which ends with p.respond or p.End.
func (s *Server) parkRequest(r *apiRequest, run func(*parkedRequest)) error {
	p := &parkedRequest{apiRequest: *r}
	p.httpCtx, p.ctx = nil, nil
	s.wire.ParkRequest(r.httpCtx, func(at *wire.ParkedRequest) {
		p.ParkedRequest = at
		run(p)
	})
	return nil
}

// errHungUp: the client disconnected, so there is nobody to respond to.
var errHungUp = errors.New("http: the client disconnected")

// pauseUntil waits until a or b is closed (a nil channel never is), until the deadline, or until the
// server stops. It returns an error if the client disconnected or the credential ended.
func (p *parkedRequest) pauseUntil(until time.Time, a, b <-chan struct{}) (over bool, err error) {
	most := time.Duration(math.MaxInt64)
	if e := p.principal.ExpiresAt; !e.IsZero() {
		most = e.Sub(p.requestTime)
	}
	ended := p.AwaitSignal(until, most, a, b, p.principal.EndedSignal())
	p.requestTime = p.server.opts.Now()
	switch {
	case !p.principal.IsValid(p.requestTime):
		return false, errNoCredential
	case p.principal.IsMoved():
		return false, partition.ErrMoved
	case ended == wire.HungUp:
		return false, errHungUp
	}
	p.principal.LastUsedUnix.Store(p.requestTime.Unix()) // a wait is a use: the principal stays in memory, where a revocation finds it
	return ended == wire.TimeOver, nil
}

// withContext calls fn with a request that has a context again.
func (p *parkedRequest) withContext(fn func(*apiRequest) error) error {
	ctx, cancel := context.WithTimeout(p.server.baseContext, requestTimeout)
	defer cancel()
	p.ctx = ctx
	defer func() { p.ctx = nil }()
	return fn(&p.apiRequest)
}

// respondWith writes the response with fn, or err if it is not nil. A client that disconnected gets
// none.
func (p *parkedRequest) respondWith(err error, fn func(*apiRequest) error) {
	if err == errHungUp {
		p.CloseConn()
		return
	}
	p.SendResponse(func(c *fasthttp.RequestCtx) {
		defer p.server.recoverPanic(c)
		p.httpCtx = c
		defer func() { p.httpCtx = nil }()
		p.server.answerRequest(&p.apiRequest, func(*apiRequest) error {
			if err != nil {
				return err
			}
			return p.withContext(fn)
		})
	})
}
