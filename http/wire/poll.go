package wire

import (
	"bytes"
	"sync"
	"time"

	"inboxd/internal/core/account"
)

// A fleet's connections carry one request over and over: the plain poll. Where a read
// between two requests brings exactly one such request and nothing else, it is answered
// right there, and fasthttp never wakes. Whatever is not plainly that, down to the spelling
// of a header, is handed to fasthttp untouched, which decides and refuses as for any other
// request.

// maxWireBytes bounds the responses that are written here; bigger ones gain nothing.
const maxWireBytes = 32 << 10

var wireBuffers = sync.Pool{New: func() any { return new([]byte) }}

// Poll is what a plain poll says. All of it lies in the read buffer: nothing may keep it.
// Options.Allow returns who sends it and the view of the inbox, when that is in memory and the
// sender may read it by all rules; else a nil view.
type Poll struct {
	Address  []byte
	PerInbox bool // on the per-inbox surface
	Token    []byte

	ifNoneMatch []byte
}

// Takes reports whether the surface takes that kind of credential (specification,
// Credentials).
func (q *Poll) Takes(p *account.Principal) bool {
	return !q.PerInbox || p.Kind != account.KindAccountKey
}

// answerPoll answers b if it is one whole plain poll that memory can answer. False means
// that nothing was written. at is the real time, for the deadline of the write.
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

// now is the time by which requests are judged, at the real time at.
func (w *Wire) now(at time.Time) time.Time {
	if w.opts.Now != nil {
		return w.opts.Now()
	}
	return at
}

// hashOf hashes a token. A connection nearly always brings the one that it brought before.
func (c *conn) hashOf(token []byte) account.Hash {
	if !bytes.Equal(c.token, token) {
		c.token, c.hash = append(c.token[:0], token...), account.HashToken(token)
	}
	return c.hash
}

// ready returns the finished response to a poll, whose token has the given hash; nil when
// memory does not hold all it takes, or when anything speaks against it. Who was allowed this
// response by all rules is asked nothing but what can have changed since.
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

// statusLine is how responses begin that are written here. What all have stands here and not in each Response.
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

// appendHead begins a response with what all have.
func (w *Wire) appendHead(b []byte, status string, c *conn, now time.Time) []byte {
	b = append(append(b, status...), w.date.at(now)...)
	b = append(b, "\r\nX-Request-Id: "...)
	b = w.ids.append(b, c.number, c.requests)
	return append(b, "\r\n"...)
}
