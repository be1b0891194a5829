package wire

import (
	"bytes"
	"sync"
	"time"

	"inboxd/internal/core/account"
)

// Many clients repeat one request on a connection: the plain poll. If a read between two requests
// returns exactly one such request and nothing else, the response is written here, and fasthttp
// does not run. Anything else, even an unusual spelling of a header, is passed to fasthttp
// unchanged, which handles or refuses it like any other request.

// maxWireBytes bounds the responses that are written here; bigger ones gain nothing.
const maxWireBytes = 32 << 10

var wireBuffers = sync.Pool{New: func() any { return new([]byte) }}

// Poll is the content of a plain poll. Its slices point into the read buffer and must not be
// retained. Options.Allow returns the principal and the view of the inbox, if the view is in memory
// and the principal passes every check for it; otherwise the view is nil.
type Poll struct {
	Address  []byte
	PerInbox bool // the path is under /api/inboxes/, not /api/v1/inboxes/
	Token    []byte

	ifNoneMatch []byte
}

// Takes reports whether the surface accepts that kind of credential (specification, Credentials).
func (q *Poll) Takes(p *account.Principal) bool {
	return !q.PerInbox || p.Kind != account.KindAccountKey
}

// answerPoll responds to b if it is one complete plain poll that can be answered from memory. False
// means that nothing was written. at is the real time, for the deadline of the write.
func (w *Wire) answerPoll(c *conn, b []byte, at time.Time) (bool, error) {
	q, ok := parsePoll(b)
	if !ok {
		return false, nil
	}
	if w.isStopping() {
		return false, nil
	}
	now := w.now(at)
	r := w.ready(q, c.hashOf(q.Token), now)
	if r == nil || len(r.wire()) > maxWireBytes {
		return false, nil
	}
	buf := wireBuffers.Get().(*[]byte)
	defer wireBuffers.Put(buf)
	c.requests++
	*buf = w.appendPoll((*buf)[:0], c, r, q.ifNoneMatch, now)
	_, err := c.writeAt(at, *buf, writePiece, writeTimeout)
	w.notePoll(c, b, at, *buf)
	return true, err
}

// now returns the time for access checks and expiry, given the real time.
func (w *Wire) now(at time.Time) time.Time {
	if w.opts.Now != nil {
		return w.opts.Now()
	}
	return at
}

// hashOf hashes a token. It caches the last one, because a connection nearly always repeats its
// token.
func (c *conn) hashOf(token []byte) account.Hash {
	if !bytes.Equal(c.token, token) {
		c.token, c.hash = append(c.token[:0], token...), account.HashToken(token)
	}
	return c.hash
}

// ready returns the finished response to a poll whose token has the given hash. It returns nil if a
// needed part is not in memory, or if any check fails. For a principal that already got this
// response, it repeats only those checks whose result can have changed.
func (w *Wire) ready(q Poll, hash account.Hash, now time.Time) *Response {
	if r := w.shortcuts.find(q.Address); r != nil && w.opts.Owner.Owns(r.cuts.group) {
		if p := r.readerNow(now); p != nil && p.Hash == hash && q.Takes(p) && r.alive(now) {
			r.count(p, now)
			return r
		}
	}
	p, view := w.opts.Allow(q, now)
	if view == nil {
		return nil
	}
	r := responseTo(q, view, now)
	if r != nil && r.allow(p) {
		w.shortcuts.keep(r)
	}
	return r
}

// statusLine returns the start of the responses that are written here. It has the fields that all
// share, so that a Response does not repeat them.
func (w *Wire) statusLine(status string) string {
	line := "HTTP/1.1 " + status + "\r\nX-Content-Type-Options: nosniff\r\n"
	if w.opts.Secure {
		line += string(headerSecure) + ": " + string(secureAlways) + "\r\n"
	}
	return line + "Date: "
}

func (w *Wire) appendPoll(b []byte, c *conn, r *Response, ifNoneMatch []byte, now time.Time) []byte {
	if Matches(ifNoneMatch, r.etag()) {
		b = append(w.appendHead(b, w.status304, c, now), r.fields()...)
		return append(b, "\r\n"...)
	}
	return append(w.appendHead(b, w.status200, c, now), r.wire()...)
}

// appendHead appends the start of a response that all share.
func (w *Wire) appendHead(b []byte, status string, c *conn, now time.Time) []byte {
	b = append(append(b, status...), w.date.at(now)...)
	b = append(b, "\r\nX-Request-Id: "...)
	b = w.ids.append(b, c.number, c.requests)
	return append(b, "\r\n"...)
}
