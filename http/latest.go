package http

import (
	"math"
	"strconv"
	"time"

	"inboxd/http/search"
	"inboxd/http/wire"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

const maxWait = 60 * time.Second

// latest shows the newest message, now or when it comes.
type latest struct {
	*messages
	server *Server
}

func (l *latest) routes() []route {
	return []route{
		{get, agentInbox + "/latest", anyone, read, false, nil, l.show},
		{get, perInbox + "/latest", insiders, read, false, nil, l.show},
	}
}

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

// plain reports whether the response is the one that polls share.
func (w *wanted) plain() bool {
	return *w == wanted{wait: w.wait, fields: allFields}
}

func (w *wanted) match(m *inbox.Message) bool {
	return m.ID > w.after && (m.Damaged || w.fits(m))
}

func (w *wanted) fits(m *inbox.Message) bool {
	return (!w.otp || m.OTP != "") && search.Contains(m.Subject, w.subject) &&
		(search.Contains(m.From.Email, w.from) || search.Contains(m.From.Name, w.from))
}

// show answers with the newest received message that fits, waiting for one when asked to
// (specification, Latest). The poll that wants nothing special is usually answered by the wire.
func (l *latest) show(r *request) error {
	w, err := r.wanted()
	if err != nil {
		return err
	}
	if w.wait == 0 || r.view.Latest(r.now, w.match) != nil {
		return l.respond(r, &w)
	}
	return l.server.park(r, func(p *waiting) {
		p.respond(p.await(&w), func(r *request) error { return l.respond(r, &w) })
	})
}

func (l *latest) respond(r *request, w *wanted) error {
	response, err := l.render(r, w)
	if err != nil {
		return err
	}
	response.Send(r.http)
	return nil
}

// await returns when p.view holds a match, or when waiting is over. Ownership is checked
// again whenever something changed.
func (p *waiting) await(w *wanted) error {
	p.server.waiters.Add(1)
	defer p.server.waiters.Add(-1)
	for until := time.Now().Add(w.wait); p.view.Latest(p.now, w.match) == nil; {
		over, err := p.pause(until, p.view.Superseded(), nil)
		if over || err != nil {
			return err
		}
		if err := p.with((*request).look); err != nil {
			return err
		}
	}
	return nil
}

// renderTries bounds how often a message may vanish between view and content.
const renderTries = 4

// render makes the response from the present view, which carries it when polls share it.
func (l *latest) render(r *request, w *wanted) (*wire.Response, error) {
	for range renderTries {
		if ready := wire.ResponseOf(r.view, r.now); ready != nil && w.plain() {
			return ready, nil
		}
		e := messageJSON{meta: r.view.Latest(r.now, w.match)}
		if e.meta == nil {
			return w.response(r, []byte(`{"email":null}`), nil), nil
		}
		if err := r.reserve(e.weight(w.fields)); err != nil {
			return nil, err
		}
		here, err := l.fill(r, &e, w.fields)
		if err != nil {
			return nil, err
		}
		if here {
			b := appendMessage(append([]byte(nil), `{"email":`...), &e, w.fields)
			return w.response(r, append(b, '}'), e.meta), nil
		}
		if err := r.look(); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Unavailable, detailUnavailable)
}

func (w *wanted) response(r *request, body []byte, m *inbox.Message) *wire.Response {
	var expires time.Time
	if m != nil {
		expires = m.ExpiresAt
	}
	response := wire.NewResponse(r.address, body, etagOf(m), expires)
	if w.plain() {
		response.Keep(r.view)
	}
	return response
}

// etagOf depends on what a message can change by alone, its id and its read mark, so that
// it is the same after a restart. No message has one too.
func etagOf(m *inbox.Message) []byte {
	if m == nil {
		return []byte(`"0"`)
	}
	tag := strconv.AppendInt([]byte(`"`), m.ID, 10)
	if m.Read {
		return append(tag, `-read"`...)
	}
	return append(tag, `-new"`...)
}
