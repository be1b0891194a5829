package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// maxAnswer bounds one HTTP answer, head and body, in bytes.
const maxAnswer = 32 << 20

var (
	headEnd       = []byte("\r\n\r\n")
	statusPrefix  = []byte("HTTP/1.1 ")
	contentLength = []byte("content-length")
)

// httpConn is one keep-alive HTTP/1.1 connection for requests that are ready as bytes. It
// does as little as a correct client can, because it shares the cores with the server: one
// write, reads until Content-Length is met, no allocation. It refuses chunked answers,
// interim answers and bytes nobody asked for. Not safe for concurrent use.
type httpConn struct {
	nc  net.Conn
	buf []byte
}

// httpAnswer is one answer. Head, with the empty line at its end, and Body live in the
// connection's buffer until the next request.
type httpAnswer struct {
	Status int
	Head   []byte
	Body   []byte
}

func dialHTTP(ctx context.Context, addr string) (*httpConn, error) {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &httpConn{nc: nc, buf: make([]byte, 16<<10)}, nil
}

// interruptOn makes every wait on nc end when ctx does. The returned function undoes it.
func interruptOn(ctx context.Context, nc net.Conn) (undo func() bool) {
	return context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
}

func (c *httpConn) Close() error { return c.nc.Close() }

// Do sends one request and reads its answer.
func (c *httpConn) Do(request []byte) (httpAnswer, error) {
	if _, err := c.nc.Write(request); err != nil {
		return httpAnswer{}, err
	}
	return c.Receive()
}

// Receive reads the answer to a request that was sent.
func (c *httpConn) Receive() (httpAnswer, error) {
	n, head := 0, -1
	for head < 0 {
		m, err := c.read(n)
		if err != nil {
			return httpAnswer{}, fmt.Errorf("after %d bytes of an answer: %w", n, err)
		}
		n += m
		head = bytes.Index(c.buf[:n], headEnd)
	}
	status, length, err := parseHead(c.buf[:head])
	if err != nil {
		return httpAnswer{}, err
	}
	start, end := head+len(headEnd), head+len(headEnd)+length
	for n < end {
		m, err := c.read(n)
		if err != nil {
			return httpAnswer{}, fmt.Errorf("body of %d bytes ended after %d: %w", length, n-start, err)
		}
		n += m
	}
	if n > end {
		return httpAnswer{}, fmt.Errorf("%d bytes after the answer", n-end)
	}
	return httpAnswer{Status: status, Head: c.buf[:start], Body: c.buf[start:end]}, nil
}

// read appends to the n bytes in the buffer, which grows when it is full.
func (c *httpConn) read(n int) (int, error) {
	if n == len(c.buf) {
		if n >= maxAnswer {
			return 0, errors.New("answer is too long")
		}
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	return c.nc.Read(c.buf[n:])
}

// parseHead reads the status and the body length of an answer's head (RFC 9112 sections 4
// and 6); head has no final empty line.
func parseHead(head []byte) (status, length int, err error) {
	line, fields, _ := bytes.Cut(head, []byte("\r\n"))
	code, ok := bytes.CutPrefix(line, statusPrefix)
	if !ok || len(code) < 3 {
		return 0, 0, fmt.Errorf("not an HTTP/1.1 status line: %.80q", line)
	}
	if status = smallNumber(code[:3]); status < 200 {
		return 0, 0, fmt.Errorf("unexpected status: %.80q", line)
	}
	if status == 204 || status == 304 { // no body, whatever length a 304 tells of (RFC 9112 section 6.3)
		return status, 0, nil
	}
	for len(fields) > 0 {
		line, fields, _ = bytes.Cut(fields, []byte("\r\n"))
		if len(line) > len(contentLength) && line[len(contentLength)] == ':' &&
			bytes.EqualFold(line[:len(contentLength)], contentLength) {
			length = smallNumber(bytes.TrimSpace(line[len(contentLength)+1:]))
			if length < 0 || length > maxAnswer {
				return 0, 0, fmt.Errorf("bad length: %.80q", line)
			}
			return status, length, nil
		}
	}
	return 0, 0, errors.New("answer without Content-Length")
}

// smallNumber reads digits without allocating; anything else is -1.
func smallNumber(digits []byte) int {
	if len(digits) == 0 || len(digits) > 9 {
		return -1
	}
	n := 0
	for _, d := range digits {
		if d < '0' || d > '9' {
			return -1
		}
		n = n*10 + int(d-'0')
	}
	return n
}

// buildRequest renders a request; credential is a whole header line without its end, body
// may be nil.
func buildRequest(method, path, host, credential string, body []byte) []byte {
	b := make([]byte, 0, 160+len(path)+len(credential)+len(body))
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	if credential != "" {
		b = append(b, "\r\n"...)
		b = append(b, credential...)
	}
	if body != nil {
		b = append(b, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(body)), 10)
	}
	b = append(b, "\r\n\r\n"...)
	return append(b, body...)
}
