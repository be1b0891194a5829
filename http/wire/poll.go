package http

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

// A fleet's connections carry one request over and over: the plain poll. Where a read
// between two requests brings exactly one such request and nothing else, it is answered
// right there, and fasthttp never wakes. Whatever is not plainly that, down to the spelling
// of a header, is handed to fasthttp untouched, which decides and refuses as for any other
// request.

// maxWireBytes bounds the answers that are written here; bigger ones gain nothing.
const maxWireBytes = 32 << 10

var wireBuffers = sync.Pool{New: func() any { return new([]byte) }}

// wirePoll is what a plain poll says. All of it lies in the read buffer.
type wirePoll struct {
	polled
	token, ifNoneMatch []byte
}

// answerPoll answers b if it is one whole plain poll that memory can answer. False means
// that nothing was written. at is the real time, for the deadline of the write.
func (s *Server) answerPoll(c *conn, b []byte, at time.Time) (bool, error) {
	q, ok := parsePoll(b)
	if !ok || s.isStopping() {
		return false, nil
	}
	now := at
	if s.clockSet {
		now = s.opts.Now()
	}
	kept := s.kept(q.polled, q.token, c.hashOf(q.token), now)
	if kept == nil || len(kept.Wire()) > maxWireBytes {
		return false, nil
	}
	buf := wireBuffers.Get().(*[]byte)
	defer wireBuffers.Put(buf)
	c.requests++
	*buf = s.appendPoll((*buf)[:0], c, kept, q.ifNoneMatch, now)
	_, err := c.writeAt(at, *buf)
	return true, err
}

// hashOf hashes a token. A connection nearly always brings the one that it brought before.
func (c *conn) hashOf(token []byte) account.Hash {
	if !bytes.Equal(c.token, token) {
		c.token, c.hash = append(c.token[:0], token...), account.HashToken(token)
	}
	return c.hash
}

func (s *Server) appendPoll(b []byte, c *conn, kept *inbox.Rendered, ifNoneMatch []byte, now time.Time) []byte {
	rest, unchanged := kept.Wire(), matches(ifNoneMatch, kept.ETag())
	if unchanged {
		rest = kept.Fields()
		b = append(b, "HTTP/1.1 304 Not Modified\r\nDate: "...)
	} else {
		b = append(b, "HTTP/1.1 200 OK\r\nDate: "...)
	}
	b = append(b, s.date.at(now)...)
	b = append(b, "\r\nX-Request-Id: "...)
	b = s.ids.append(b, c.number, c.requests)
	b = append(b, "\r\n"...)
	b = append(b, rest...)
	if unchanged {
		b = append(b, "\r\n"...)
	}
	return b
}

func (s *Server) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// parsePoll reads one request that fills b from end to end.
func parsePoll(b []byte) (q wirePoll, ok bool) {
	line, rest, ok := cutLine(b)
	if !ok {
		return q, false
	}
	uri, ok := bytes.CutPrefix(line, []byte("GET "))
	if !ok {
		return q, false
	}
	if uri, ok = bytes.CutSuffix(uri, []byte(" HTTP/1.1")); !ok {
		return q, false
	}
	if q.polled, ok = pollOf(uri); !ok {
		return q, false
	}
	hosts := 0
	for {
		if line, rest, ok = cutLine(rest); !ok {
			return q, false
		}
		if len(line) == 0 {
			return q, len(rest) == 0 && hosts == 1 && q.token != nil
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !q.take(name, trimmed(value), &hosts) {
			return q, false
		}
	}
}

// cutLine cuts a line that ends in CRLF and holds no other CR; what else it may hold is for
// its reader to check.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '\r')
	if end < 0 || end+1 >= len(b) || b[end+1] != '\n' {
		return nil, nil, false
	}
	return b[:end], b[end+2:], true
}

// take notes one header field. False: it stands twice, or it can change what the request
// means or where it ends, so it is not for here.
func (q *wirePoll) take(name, value []byte, hosts *int) bool {
	if len(name) == 0 || !all(name, inName) || !all(value, inValue) {
		return false
	}
	switch {
	case is(name, "Host"):
		*hosts++
		return len(value) > 0 && all(value, inHost)
	case is(name, "X-Api-Key"):
		again := q.token != nil
		q.token = value
		return !again && len(value) > 0
	case is(name, "If-None-Match"):
		again := q.ifNoneMatch != nil
		q.ifNoneMatch = value
		return !again
	case is(name, "Connection"):
		return is(value, "keep-alive")
	}
	for _, other := range notPlain {
		if is(name, other) {
			return false
		}
	}
	return true
}

// What a byte of a plain poll may be part of.
const (
	inName byte = 1 << iota
	inValue
	inHost
)

var parts = func() (of [256]byte) {
	for i := range of {
		b := byte(i)
		if b >= ' ' && b != 0x7f || b == '\t' {
			of[i] |= inValue
		}
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' {
			of[i] |= inName | inHost
		}
	}
	of['_'] |= inName
	for _, b := range ".:[]" {
		of[b] |= inHost
	}
	return of
}()

func all(text []byte, part byte) bool {
	for _, b := range text {
		if parts[b]&part == 0 {
			return false
		}
	}
	return true
}

// trimmed is value without the blanks around it.
func trimmed(value []byte) []byte {
	for len(value) > 0 && (value[0] == ' ' || value[0] == '\t') {
		value = value[1:]
	}
	for end := len(value) - 1; end >= 0 && (value[end] == ' ' || value[end] == '\t'); end-- {
		value = value[:end]
	}
	return value
}

// notPlain are fields with a say in framing, credentials or protocol.
var notPlain = [...]string{
	"Authorization", "Content-Length", "Transfer-Encoding", "Expect", "Upgrade", "Te", "Trailer",
	"Proxy-Connection", "Keep-Alive", "Http2-Settings",
}

func is(b []byte, s string) bool {
	return len(b) == len(s) && b[0]|0x20 == s[0]|0x20 && bytes.EqualFold(b, []byte(s))
}

// httpDate is the form of RFC 9110 section 5.6.7.
const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"

// dateLine is the Date of answers, made once a second.
type dateLine struct{ current atomic.Pointer[datedSecond] }

type datedSecond struct {
	unix int64
	text []byte
}

func (d *dateLine) at(now time.Time) []byte {
	unix := now.Unix()
	if c := d.current.Load(); c != nil && c.unix == unix {
		return c.text
	}
	c := &datedSecond{unix, now.UTC().AppendFormat(nil, httpDate)}
	d.current.Store(c)
	return c.text
}
