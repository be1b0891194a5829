package http

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

var (
	agentPrefix  = []byte("/api/v1/inboxes/")
	insidePrefix = []byte("/api/inboxes/")
	pollSuffix   = []byte("/latest")
)

// poll answers GET .../latest without a query, on both surfaces, when everything it needs is
// in memory: no lock, no allocation, no disk, the router left out. In any doubt it reports
// false, having written nothing, and the ordinary road decides.
func (s *Server) poll(c *fasthttp.RequestCtx) bool {
	h := &c.Request.Header
	of, ok := pollOf(h.RequestURI())
	if !ok || !h.IsGet() {
		return false
	}
	token, clear := credential(h)
	if !clear || len(token) == 0 {
		return false
	}
	kept := s.kept(of, token, account.HashToken(token), s.opts.Now())
	if kept == nil {
		return false
	}
	writeLatest(c, kept)
	return true
}

// kept returns the finished answer to a poll by the holder of token, whose hash is given; nil
// when memory does not hold all it takes, or when anything speaks against it. Who was allowed
// this answer by all rules is asked nothing but what can have changed since.
func (s *Server) kept(of polled, token []byte, hash account.Hash, now time.Time) *inbox.Rendered {
	if r := s.shortcuts.find(of.address); r != nil {
		p := r.Reader()
		if p != nil && p.Current(now) && of.takes(p) && r.Alive(now) && p.Hash == hash {
			r.Count(p, now)
			return r
		}
	}
	p, err := s.accounts.Authenticate(s.base, token)
	if err != nil || !p.Valid(now) || !of.takes(p) || !p.Scopes.Allows(account.ScopeRead) {
		return nil
	}
	view := s.inboxes.Resident(of.address)
	if view == nil || !owns(p, view) {
		return nil
	}
	r := view.Rendered(now)
	if r != nil && r.Allow(p) {
		s.shortcuts.keep(r)
	}
	return r
}

// polled is what the path of a plain poll says.
type polled struct {
	address []byte
	inside  bool // on the per-inbox surface
}

// takes reports whether the surface takes that kind of credential (specification,
// Credentials).
func (of polled) takes(p *account.Principal) bool {
	return !of.inside || p.Kind != account.KindAccountKey
}

// pollOf reads the path of a plain poll. The address must stand there in its canonical form:
// nothing to decode, to lower or to strip.
func pollOf(uri []byte) (of polled, ok bool) {
	if of.address, ok = bytes.CutPrefix(uri, agentPrefix); !ok {
		of.inside = true
		if of.address, ok = bytes.CutPrefix(uri, insidePrefix); !ok {
			return of, false
		}
	}
	if of.address, ok = bytes.CutSuffix(of.address, pollSuffix); !ok {
		return of, false
	}
	ats := 0
	for _, b := range of.address {
		switch {
		case b >= 'a' && b <= 'z', b >= '0' && b <= '9', b == '.', b == '-', b == '_':
		case b == '@':
			ats++
		default:
			return of, false
		}
	}
	return of, ats == 1
}
