package http

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"sync"
	"time"

	"inboxd/internal/webhook"
)

var answerReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

// begun reads on where the first byte was read already.
type begun struct {
	first byte
	taken bool
	rest  io.Reader
}

func (b *begun) Read(p []byte) (int, error) {
	if b.taken || len(p) == 0 {
		return b.rest.Read(p)
	}
	b.taken = true
	p[0] = b.first
	if len(p) == 1 {
		return 1, nil
	}
	n, err := b.rest.Read(p[1:])
	return 1 + n, err
}

// answer reads what begins with first. whole says that the connection is at the answer's end
// and may be used again. A body that drips or never ends costs no more than the attempt's
// time, and changes nothing about the status that came before it.
func (c *postConn) answer(first byte, began time.Time) (a webhook.Answer, whole bool, err error) {
	bound := &io.LimitedReader{R: c.Conn, N: postHeadBytes}
	r := answerReaders.Get().(*bufio.Reader)
	r.Reset(&begun{first: first, rest: bound})
	defer func() { r.Reset(nil); answerReaders.Put(r) }()
	if _, err = r.Peek(1); err != nil {
		return a, false, err
	}
	came, _ := r.Peek(r.Buffered())
	if status, body, plain := plainAnswer(came); plain {
		a.Status, a.Duration, a.Excerpt = status, time.Since(began), excerptOf(body)
		return a, true, nil
	}
	return readAnswer(r, bound, began)
}

func excerptOf(body []byte) string {
	return strings.ToValidUTF8(string(body[:min(len(body), webhook.ExcerptBytes)]), "\uFFFD")
}

// readAnswer is answer for whatever may come.
func readAnswer(r *bufio.Reader, bound *io.LimitedReader, began time.Time) (a webhook.Answer, whole bool, err error) {
	resp, err := finalHead(r)
	if err != nil {
		return a, false, err
	}
	a.Status, a.Duration = resp.StatusCode, time.Since(began)
	bound.N = 2 * postAnswerBytes // framing included
	head, err := io.ReadAll(io.LimitReader(resp.Body, webhook.ExcerptBytes))
	a.Excerpt = excerptOf(head)
	if err == nil {
		_, err = io.CopyN(io.Discard, resp.Body, postAnswerBytes-webhook.ExcerptBytes)
	}
	whole = errors.Is(err, io.EOF) && !resp.Close && a.Status >= 200 && r.Buffered() == 0
	return a, whole, nil
}

// finalHead passes over interim answers.
func finalHead(r *bufio.Reader) (*nethttp.Response, error) {
	for {
		resp, err := nethttp.ReadResponse(r, &nethttp.Request{Method: nethttp.MethodPost})
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode < 100:
			return nil, fmt.Errorf("status %d", resp.StatusCode)
		case resp.StatusCode >= 200 || resp.StatusCode == nethttp.StatusSwitchingProtocols:
			return resp, nil
		}
	}
}

// plainAnswer reads the answer of nearly every receiver, which has come whole and says how
// long it is, without net/http's part of an attempt's work. It takes nothing that it is not
// sure of: FuzzPlainAnswer compares.
func plainAnswer(came []byte) (status int, body []byte, plain bool) {
	head, body, whole := bytes.Cut(came, []byte("\r\n\r\n"))
	line, fields, _ := bytes.Cut(head, []byte("\r\n"))
	if status = statusOf(line); !whole || status < 200 || status == nethttp.StatusNotModified {
		return 0, nil, false
	}
	length := -1
	if status == nethttp.StatusNoContent {
		length = 0
	}
	for len(fields) > 0 {
		line, fields, _ = bytes.Cut(fields, []byte("\r\n"))
		name, value, found := bytes.Cut(line, []byte(":"))
		switch {
		case !found || !isPlain(name, value) || isFraming(name):
			return 0, nil, false
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length >= 0 {
				return 0, nil, false
			}
			length = lengthOf(bytes.Trim(value, " "))
		}
	}
	return status, body, length == len(body)
}

// statusOf is 0 for anything but the usual first line.
func statusOf(line []byte) int {
	const before, digits = "HTTP/1.1 ", 3
	if len(line) <= len(before)+digits || string(line[:len(before)]) != before || line[len(before)+digits] != ' ' || !isText(line) {
		return 0
	}
	return max(0, lengthOf(line[len(before):][:digits]))
}

// lengthOf is -1 for anything but a few digits.
func lengthOf(text []byte) (n int) {
	if len(text) == 0 || len(text) > 5 {
		return -1
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// isFraming is true of names of fields that change where the answer or the connection ends.
func isFraming(name []byte) bool {
	for _, one := range [...]string{"Transfer-Encoding", "Connection", "Trailer", "Upgrade"} {
		if len(name) == len(one) && strings.EqualFold(string(name), one) {
			return true
		}
	}
	return false
}

func isPlain(name, value []byte) bool {
	for _, c := range name {
		if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return len(name) > 0 && isText(value)
}

func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
