package http

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"inboxd/http/search"
	"inboxd/http/wire"
	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
)

const maxWait = 60 * time.Second

// latest returns the newest message, immediately or when it arrives.
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

// wanted is the query of a request for the latest message.
type wanted struct {
	after   int64
	seen    int64  // messages up to this id were checked, and none of them matches
	to      string // envelope recipient; empty: any
	since   time.Time
	known   string // If-None-Match
	way     direction
	wait    time.Duration
	otp     bool
	from    sender
	proven  bool   // only messages whose From is verified
	subject string // folded
	fields  fieldSet
}

func (r *request) wanted() (wanted, error) {
	q := r.query()
	w := wanted{
		after:   q.after(r.view),
		to:      q.recipient(r),
		since:   q.moment("since"),
		known:   string(r.http.Request.Header.PeekCanonical(headerIfNoneMatch)),
		wait:    time.Duration(q.number("wait", 0, 0, int64(maxWait/time.Second))) * time.Second,
		way:     q.direction(),
		otp:     q.flag("otp"),
		from:    q.sender("from"),
		proven:  q.flag("verified"),
		subject: q.text("subject"),
		fields:  q.selection(q.form.message),
	}
	return w, q.err
}

var headerIfNoneMatch = []byte("If-None-Match")

// after returns an id. "now" means the highest id in the inbox when the request arrived.
func (q *query) after(v *inbox.View) int64 {
	if q.raw("after") == "now" {
		return v.LastID
	}
	return q.number("after", 0, 0, math.MaxInt64)
}

// plain reports whether polls share the response: that of the inbox or, with to, of a tag.
func (w *wanted) plain() bool {
	return *w == wanted{wait: w.wait, known: w.known, to: w.to, seen: w.seen, way: received, fields: allFields}
}

// mostUnasked is how many messages a poll may search without a turn.
const mostUnasked = 256

// find returns the newest matching message, or nil. If it must search the texts of many messages,
// it takes a turn, like a search. It never checks a message twice, because one that does not match
// now never will.
func (w *wanted) find(r *request) (*inbox.Message, error) {
	after := max(w.after, w.seen)
	if w.looks() && r.view.Behind(after) > mostUnasked {
		done, err := r.server.turns.Take(r.ctx, r.principal.Account)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	found := r.view.Latest(r.now, func(m *inbox.Message) bool {
		return m.ID > after && (m.Damaged || w.way.takes(m) && w.all(r, m))
	})
	if found == nil && len(r.view.Messages) > 0 {
		w.seen = max(w.seen, r.view.Messages[len(r.view.Messages)-1].ID)
	}
	return found, nil
}

// passes checks the facts in memory of a message, but not its texts.
func (w *wanted) passes(m *inbox.Message) bool {
	if w.otp && m.OTP == "" || w.proven && !isProven(m) {
		return false
	}
	return m.IsTo(w.to) && m.IsSince(w.since)
}

// isProven reports whether a message comes from its sender's domain, or was sent from this inbox.
func isProven(m *inbox.Message) bool { return m.FromVerified || m.Direction == inbox.Out }

// looks reports whether texts must be searched.
func (w *wanted) looks() bool { return w.from != sender{} || w.subject != "" }

// all checks a message completely: passes and, if needed, fits.
func (w *wanted) all(r *request, m *inbox.Message) bool {
	return w.passes(m) && (!w.looks() || w.fits(r, m))
}

// fits checks the subject and the sender's address.
func (w *wanted) fits(r *request, m *inbox.Message) bool {
	at := search.Mail{Address: r.view.Address, ID: m.ID, At: m.ReceivedAt.UnixMilli(), Head: true}
	head, kept := r.server.texts.Of(at)
	if !kept {
		head = search.Join(search.Fold(m.Subject), search.Fold(m.From.Email))
		r.server.texts.Keep(at, head)
	}
	subject, from, _ := strings.Cut(head, search.Between)
	return strings.Contains(subject, w.subject) && w.from.matches(from)
}

// show responds with the newest matching message, by default a received one, and waits for one if
// the request asks for it (specification, Latest). The wire usually responds to polls without
// further parameters.
func (l *latest) show(r *request) error {
	w, err := r.wanted()
	if err != nil {
		return err
	}
	found, err := w.find(r)
	if err != nil {
		return err
	}
	if w.wait == 0 || w.answeredBy(found) {
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

// answeredBy reports whether found ends a wait. Without If-None-Match, any match does. With it, any
// result with another ETag does, also no message.
func (w *wanted) answeredBy(found *inbox.Message) bool {
	if w.known == "" {
		return found != nil
	}
	return !wire.Matches([]byte(w.known), etagOf(found))
}

// await returns when p.view has a matching message, or when the wait is over. It checks ownership
// again after each change.
func (p *waiting) await(w *wanted) error {
	p.server.waiters.Add(1)
	defer p.server.waiters.Add(-1)
	for until := time.Now().Add(w.wait); ; {
		over, err := p.pause(until, p.view.Superseded(), nil)
		if over || err != nil {
			return err
		}
		answered := false
		err = p.with(func(r *request) error {
			if err := r.look(); err != nil {
				return err
			}
			found, err := w.find(r)
			answered = w.answeredBy(found)
			return err
		})
		if answered || err != nil {
			return err
		}
	}
}

// renderTries bounds the attempts when a message is deleted between finding and reading it.
const renderTries = 4

// render makes the response from the current view, or returns the one that the view carries if
// polls share it.
func (l *latest) render(r *request, w *wanted) (*wire.Response, error) {
	for range renderTries {
		if ready := w.ready(r); ready != nil {
			return ready, nil
		}
		meta, err := w.find(r)
		if err != nil {
			return nil, err
		}
		e := messageJSON{meta: meta}
		if e.meta == nil {
			return l.keep(r, w, r.appendEnd([]byte(`{"email":null`)), nil), nil
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
			return l.keep(r, w, r.appendEnd(b), e.meta), nil
		}
		if err := r.look(); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Unavailable, detailUnavailable)
}

// ready returns the response that the view carries, or nil.
func (w *wanted) ready(r *request) *wire.Response {
	switch {
	case !w.plain():
		return nil
	case w.to == "":
		return wire.ResponseOf(r.view, r.now)
	}
	return wire.LaneOf(r.view, w.to, r.now)
}

// keep makes the response, and lets the view carry it if polls share it.
func (l *latest) keep(r *request, w *wanted, body []byte, m *inbox.Message) *wire.Response {
	var expires time.Time
	if m != nil {
		expires = m.ExpiresAt
	}
	polled := cmp.Or(w.to, r.address)
	response := wire.NewResponse(polled, body, etagOf(m), expires)
	switch {
	case !w.plain():
	case w.to == "":
		response.Keep(r.view)
	case w.to != r.address && address.WithoutTag(w.to) == r.address:
		l.server.wire.KeepLane(r.view, w.to, response)
	}
	return response
}

// etagOf returns the ETag of a message. It depends on the id and on what can change: the read mark,
// or the delivery status. So it is the same after a restart. No message has an ETag too.
func etagOf(m *inbox.Message) []byte {
	if m == nil {
		return []byte(`"0"`)
	}
	tag := strconv.AppendInt([]byte(`"`), m.ID, 10)
	if m.Sending != nil {
		e := &messageJSON{meta: m}
		sum := sha256.Sum256(appendRecipients(appendSendStatus(nil, e), e))
		return fmt.Appendf(tag, `-%x"`, sum[:8])
	}
	if m.Read {
		return append(tag, `-read"`...)
	}
	return append(tag, `-new"`...)
}
