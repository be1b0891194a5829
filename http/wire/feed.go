package wire

import (
	"bytes"
	"time"
)

// A program that follows a calendar asks for it again and again with the tag of what it has. Where one
// such request comes alone, and memory knows that the tag is still right, it is answered like a poll.

// Look is what a plain request for a calendar says. All of it lies in the read buffer: nothing may
// keep it. Options.Unchanged appends the fields of a 304, each with its line's end, and counts the
// look; nothing when the route must decide.
type Look struct{ Token, Known, Agent []byte }

var (
	feedPrefix = []byte("GET /calendar/feeds/")
	feedSuffix = []byte(".ics HTTP/1.1")
)

// parseLook reads one plain look that fills b from end to end.
func parseLook(b []byte) (l Look, ok bool) {
	rest, ok := bytes.CutPrefix(b, feedPrefix)
	if !ok {
		return l, false
	}
	line, rest, ok := cutLine(rest)
	if !ok {
		return l, false
	}
	if l.Token, ok = bytes.CutSuffix(line, feedSuffix); !ok || len(l.Token) == 0 || !all(l.Token, inFeedToken) {
		return l, false
	}
	var q Poll
	if !q.fields(rest) || q.Token != nil || q.ifNoneMatch == nil {
		return l, false
	}
	l.Known, l.Agent = q.ifNoneMatch, q.agent
	return l, true
}

// answerLook is answerPoll for a look at a calendar.
func (w *Wire) answerLook(c *conn, b []byte, at time.Time) (bool, error) {
	l, ok := parseLook(b)
	if !ok || w.isStopping() {
		return false, nil
	}
	now := w.now(at)
	buf := wireBuffers.Get().(*[]byte)
	defer wireBuffers.Put(buf)
	c.requests++
	*buf = w.appendHead((*buf)[:0], w.status304, c, now)
	head := len(*buf)
	if *buf = w.opts.Unchanged(*buf, l, now); len(*buf) == head {
		c.requests--
		return false, nil
	}
	*buf = append(*buf, "\r\n"...)
	_, err := c.writeAt(at, *buf, writePiece, writeTimeout)
	w.notePoll(c, feeds, b, at, *buf)
	return true, err
}
