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

// PollRequest is the content of a plain poll. Its slices point into the read buffer and must not be
// retained. Options.AllowPoll returns the principal and the view of the inbox, if the view is in memory
// and the principal passes every check for it; otherwise the view is nil.
type PollRequest struct {
	InboxAddress []byte
	PerInbox     bool // the path is under /api/inboxes/, not /api/v1/inboxes/
	BearerToken  []byte

	ifNoneMatch []byte
}

// TakesCredential reports whether the surface accepts that kind of credential (specification,
// Credentials).
func (q *PollRequest) TakesCredential(p *account.Principal) bool {
	return !q.PerInbox || p.Kind != account.KindAccountKey
}

// answerPoll responds to b if it is one complete plain poll that can be answered from memory. False
// means that nothing was written. at is the real time, for the deadline of the write.
func (w *ConnServer) answerPoll(c *deadlineConn, b []byte, at time.Time) (bool, error) {
	q, ok := parsePoll(b)
	if !ok {
		return false, nil
	}
	if w.isStopping() {
		return false, nil
	}
	now := w.currentTime(at)
	r := w.readyResponse(q, c.hashOf(q.BearerToken), now)
	if r == nil || len(r.wireBytes()) > maxWireBytes {
		return false, nil
	}
	buf := wireBuffers.Get().(*[]byte)
	defer wireBuffers.Put(buf)
	c.requestCount++
	*buf = w.appendPoll((*buf)[:0], c, r, q.ifNoneMatch, now)
	_, err := c.writeAt(at, *buf, writePiece, writeTimeout)
	w.notePoll(c, b, at, *buf)
	return true, err
}

// currentTime returns the time for access checks and expiry, given the real time.
func (w *ConnServer) currentTime(at time.Time) time.Time {
	if w.opts.Now != nil {
		return w.opts.Now()
	}
	return at
}

// hashOf hashes a token. It caches the last one, because a connection nearly always repeats its
// token.
func (c *deadlineConn) hashOf(token []byte) account.TokenHash {
	if !bytes.Equal(c.lastToken, token) {
		c.lastToken, c.tokenHash = append(c.lastToken[:0], token...), account.HashToken(token)
	}
	return c.tokenHash
}

// readyResponse returns the finished response to a poll whose token has the given hash. It returns
// nil if a needed part is not in memory, or if any check fails. For a principal that already got
// this response, it repeats only those checks whose result can have changed.
func (w *ConnServer) readyResponse(q PollRequest, hash account.TokenHash, now time.Time) *PollResponse {
	if r := w.responseTable.findResponse(q.InboxAddress); r != nil && w.opts.PartitionOwner.OwnsGroup(r.textOffsets.group) {
		if p := r.readerNow(now); p != nil && p.Hash == hash && q.TakesCredential(p) && r.isAlive(now) {
			r.countPoll(p, now)
			return r
		}
	}
	p, view := w.opts.AllowPoll(q, now)
	if view == nil {
		return nil
	}
	r := responseTo(q, view, now)
	if r != nil && r.setReader(p) {
		w.responseTable.keepResponse(r)
	}
	return r
}

// statusLine returns the start of the responses that are written here. It has the fields that all
// share, so that a Response does not repeat them.
func (w *ConnServer) statusLine(status string) string {
	line := "HTTP/1.1 " + status + "\r\nX-Content-Type-Options: nosniff\r\n"
	if w.opts.HTTPSOnly {
		line += string(headerSecure) + ": " + string(secureAlways) + "\r\n"
	}
	return line + "Date: "
}

func (w *ConnServer) appendPoll(b []byte, c *deadlineConn, r *PollResponse, ifNoneMatch []byte, now time.Time) []byte {
	if MatchesETag(ifNoneMatch, r.etag()) {
		b = append(w.appendHead(b, w.status304, c, now), r.headerFields()...)
		return append(b, "\r\n"...)
	}
	return append(w.appendHead(b, w.status200, c, now), r.wireBytes()...)
}

// appendHead appends the start of a response that all share.
func (w *ConnServer) appendHead(b []byte, status string, c *deadlineConn, now time.Time) []byte {
	b = append(append(b, status...), w.dateHeader.at(now)...)
	b = append(b, "\r\nX-Request-Id: "...)
	b = w.requestIDs.appendID(b, c.connNumber, c.requestCount)
	return append(b, "\r\n"...)
}
