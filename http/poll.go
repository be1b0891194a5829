package http

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

var (
	pollPrefix = []byte("/api/v1/inboxes/")
	pollSuffix = []byte("/latest")
)

// poll answers GET .../latest without a query when everything it needs is in memory: no
// lock, no allocation, no disk, the router left out. In any doubt it reports false, having
// written nothing, and the ordinary road decides.
func (s *Server) poll(c *fasthttp.RequestCtx) bool {
	h := &c.Request.Header
	address, ok := pollAddress(h.RequestURI())
	if !ok || !h.IsGet() {
		return false
	}
	token, clear := credential(h)
	if !clear || len(token) == 0 {
		return false
	}
	kept := s.kept(address, token, s.opts.Now())
	if kept == nil {
		return false
	}
	writeLatest(c, kept)
	return true
}

// kept returns the finished answer to a poll of address by the holder of token; nil when
// memory does not hold all it takes, or when anything speaks against it.
func (s *Server) kept(address, token []byte, now time.Time) *inbox.Rendered {
	p, err := s.accounts.Authenticate(s.base, token)
	if err != nil || !p.Valid(now) || !p.Scopes.Allows(account.ScopeRead) {
		return nil
	}
	view := s.inboxes.Resident(address)
	if view == nil || !owns(p, view) {
		return nil
	}
	return view.Rendered(now)
}

// pollAddress cuts the address out of the path of a plain poll. It must stand there in its
// canonical form: nothing to decode, to lower or to strip.
func pollAddress(uri []byte) ([]byte, bool) {
	address, ok := bytes.CutPrefix(uri, pollPrefix)
	if !ok {
		return nil, false
	}
	if address, ok = bytes.CutSuffix(address, pollSuffix); !ok {
		return nil, false
	}
	ats := 0
	for _, b := range address {
		switch {
		case b >= 'a' && b <= 'z', b >= '0' && b <= '9', b == '.', b == '-', b == '_':
		case b == '@':
			ats++
		default:
			return nil, false
		}
	}
	return address, ats == 1
}
