package http

import (
	"fmt"
	"math"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

const (
	maxWait = 60 * time.Second
	// maxKeptBytes bounds a rendered answer that is kept beside its view.
	maxKeptBytes = 256 << 10
)

// wanted is what a call of latest asks for.
type wanted struct {
	after   int64
	wait    time.Duration
	otp     bool
	from    string // folded
	subject string // folded
	fields  fieldSet
}

func (r *request) wanted() (wanted, error) {
	q := r.query()
	w := wanted{
		after:   q.number("after", 0, 0, math.MaxInt64),
		wait:    time.Duration(q.number("wait", 0, 0, int64(maxWait/time.Second))) * time.Second,
		otp:     q.flag("otp"),
		from:    q.text("from"),
		subject: q.text("subject"),
		fields:  q.selection(allFields),
	}
	return w, q.err
}

// plain reports whether the answer is the one that polls share.
func (w *wanted) plain() bool {
	return w.after == 0 && !w.otp && w.from == "" && w.subject == "" && w.fields == allFields
}

func (w *wanted) match(m *inbox.Message) bool {
	return m.ID > w.after && (!w.otp || m.OTP != "") && contains(m.Subject, w.subject) &&
		(contains(m.From.Email, w.from) || contains(m.From.Name, w.from))
}

// latest answers with the newest received message that fits, waiting for one when asked to
// (specification, Latest). The poll that wants nothing special is usually answered by poll.
func (s *Server) latest(r *request) error {
	w, err := r.wanted()
	if err != nil {
		return err
	}
	if w.wait == 0 || r.view.Latest(r.now, w.match) != nil {
		return s.answerLatest(r, &w)
	}
	return s.park(r, func(p *parked) {
		if err := p.await(&w); err != errHungUp {
			p.answer(func(r *request) error {
				if err != nil {
					return err
				}
				return s.answerLatest(r, &w)
			})
			return
		}
		p.end()
	})
}

func (s *Server) answerLatest(r *request, w *wanted) error {
	answer, err := s.render(r, w)
	if err != nil {
		return err
	}
	writeLatest(r.http, answer)
	return nil
}

// await returns when p.view holds a match, or when waiting is over. Ownership is checked
// again whenever something changed.
func (p *parked) await(w *wanted) error {
	p.server.waiters.Add(1)
	defer p.server.waiters.Add(-1)
	for until := time.Now().Add(w.wait); p.view.Latest(p.now, w.match) == nil; {
		ended, err := p.pause(until, p.view.Superseded(), nil)
		switch {
		case err != nil:
			return err
		case ended == over:
			return nil
		case ended == gone:
			return errHungUp
		}
		if err := p.with(p.server.look); err != nil {
			return err
		}
	}
	return nil
}

// renderTries bounds how often a message may vanish between view and content.
const renderTries = 4

// render makes the answer from the present view, and keeps it there when polls share it.
func (s *Server) render(r *request, w *wanted) (*inbox.Rendered, error) {
	for range renderTries {
		if kept := r.view.Rendered(r.now); kept != nil && w.plain() {
			return kept, nil
		}
		e := email{meta: r.view.Latest(r.now, w.match)}
		if e.meta == nil {
			return s.keep(r, w, rendered(r.address, []byte(`{"email":null}`), etagOf(nil), time.Time{})), nil
		}
		here, err := s.fill(r, &e, w.fields)
		if err != nil {
			return nil, err
		}
		if here {
			b := appendEmail(append([]byte(nil), `{"email":`...), &e, w.fields)
			return s.keep(r, w, rendered(r.address, append(b, '}'), etagOf(e.meta), e.meta.ExpiresAt)), nil
		}
		if err := s.look(r); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Unavailable, detailUnavailable)
}

// rendered makes the answer as wirepoll.go sends it: the rest of a head, then the body.
func rendered(address string, body, etag []byte, expires time.Time) *inbox.Rendered {
	return inbox.Render(inbox.Parts{
		Address: address, ETag: etag, Body: body, ExpiresAt: expires,
		Fields: fmt.Appendf(nil, "Cache-Control: %s\r\nETag: %s\r\n", cacheRevalidated, etag),
		Head:   fmt.Appendf(nil, "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body)),
	})
}

func (s *Server) keep(r *request, w *wanted, answer *inbox.Rendered) *inbox.Rendered {
	if w.plain() && len(answer.Body()) <= maxKeptBytes {
		r.view.KeepRendered(answer)
	}
	return answer
}

// writeLatest answers with shared bytes, or with 304 when the client has them.
func writeLatest(c *fasthttp.RequestCtx, answer *inbox.Rendered) {
	h := &c.Response.Header
	h.SetCanonical(headerETag, answer.ETag())
	h.SetCanonical(headerCache, cacheRevalidated)
	if matches(c.Request.Header.PeekCanonical(headerIfNoneMatch), answer.ETag()) {
		c.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentTypeBytes(typeJSON)
	c.Response.SetBodyRaw(answer.Body())
}
