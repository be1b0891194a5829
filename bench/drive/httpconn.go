package drive

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// maxResponse bounds one HTTP response, head and body, in bytes.
const maxResponse = 32 << 20

var (
	headEnd       = []byte("\r\n\r\n")
	statusPrefix  = []byte("HTTP/1.1 ")
	contentLength = []byte("content-length")
)

// HTTPConn is one keep-alive HTTP/1.1 connection for requests that are ready as bytes. It
// does as little as a correct client can, because it shares the cores with the server: one
// write, reads until Content-Length is met, no allocation. It refuses chunked responses,
// interim responses and bytes that were not asked for. Not safe for concurrent use.
type HTTPConn struct {
	NC   net.Conn
	buf  []byte
	undo func() bool // of the interrupt by the context of the dial

	chunked bool // responses may come in chunks (RFC 9112 section 7.1)
}

// HTTPResponse is one response. Head, with the empty line at its end, and Body live in the
// connection's buffer until the next request.
type HTTPResponse struct {
	Status int
	Head   []byte
	Body   []byte
}

// secure is in front of an address that is spoken to by TLS.
const secure = "https://"

// BaseURL is where the service at an address is.
func BaseURL(addr string) string {
	if strings.HasPrefix(addr, secure) {
		return addr
	}
	return "http://" + addr
}

// DialHTTP connects to HOST:PORT, or by TLS to https://HOST:PORT. Every wait on the connection ends
// with ctx.
func DialHTTP(ctx context.Context, addr string) (*HTTPConn, error) {
	var d interface {
		DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	} = new(net.Dialer)
	host, byTLS := strings.CutPrefix(addr, secure)
	if byTLS {
		d = new(tls.Dialer)
	}
	nc, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	return &HTTPConn{NC: nc, buf: make([]byte, 16<<10), undo: InterruptOn(ctx, nc)}, nil
}

// InterruptOn makes every wait on nc end when ctx does. The returned function undoes it.
func InterruptOn(ctx context.Context, nc net.Conn) (undo func() bool) {
	return context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
}

// Close ends the connection.
func (c *HTTPConn) Close() error {
	c.undo()
	return c.NC.Close()
}

// Do sends one request and reads its response.
func (c *HTTPConn) Do(request []byte) (HTTPResponse, error) {
	if _, err := c.NC.Write(request); err != nil {
		return HTTPResponse{}, err
	}
	return c.Receive()
}

// Receive reads the response to a request that was sent.
func (c *HTTPConn) Receive() (HTTPResponse, error) {
	n, head := 0, -1
	for head < 0 {
		m, err := c.read(n)
		if err != nil {
			return HTTPResponse{}, fmt.Errorf("after %d bytes of a response: %w", n, err)
		}
		n += m
		head = bytes.Index(c.buf[:n], headEnd)
	}
	if c.chunked && bytes.Contains(bytes.ToLower(c.buf[:head]), []byte("transfer-encoding: chunked")) {
		return c.receiveChunks(n, head)
	}
	status, length, err := parseHead(c.buf[:head])
	if err != nil {
		return HTTPResponse{}, err
	}
	start, end := head+len(headEnd), head+len(headEnd)+length
	for n < end {
		m, err := c.read(n)
		if err != nil {
			return HTTPResponse{}, fmt.Errorf("body of %d bytes ended after %d: %w", length, n-start, err)
		}
		n += m
	}
	if n > end {
		return HTTPResponse{}, fmt.Errorf("%d bytes after the response", n-end)
	}
	return HTTPResponse{Status: status, Head: c.buf[:start], Body: c.buf[start:end]}, nil
}

// receiveChunks reads a body of chunks, whose head is read already; n bytes are in the buffer. The
// body keeps its framing: the callers look at its size only.
func (c *HTTPConn) receiveChunks(n, head int) (HTTPResponse, error) {
	status := smallNumber(c.buf[len(statusPrefix) : len(statusPrefix)+3])
	for at := head + len(headEnd); ; {
		end := bytes.Index(c.buf[at:n], []byte("\r\n"))
		if end >= 0 {
			size, err := strconv.ParseInt(string(c.buf[at:at+end]), 16, 32)
			if err != nil || size < 0 || size > maxResponse {
				return HTTPResponse{}, fmt.Errorf("not the size of a chunk: %.20q", c.buf[at:at+end])
			}
			if next := at + end + 2 + int(size) + 2; next <= n {
				if at = next; size == 0 {
					return HTTPResponse{Status: status, Head: c.buf[:head+len(headEnd)], Body: c.buf[head+len(headEnd) : n]}, nil
				}
				continue
			}
		}
		m, err := c.read(n)
		if err != nil {
			return HTTPResponse{}, fmt.Errorf("chunks ended after %d bytes: %w", n, err)
		}
		n += m
	}
}

// read appends to the n bytes in the buffer, which grows when it is full.
func (c *HTTPConn) read(n int) (int, error) {
	if n == len(c.buf) {
		if n >= maxResponse {
			return 0, errors.New("response is too long")
		}
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	return c.NC.Read(c.buf[n:])
}

// parseHead reads the status and the body length of a response's head (RFC 9112 sections 4
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
	if status == 204 || status == 304 { // no body, whatever length a 304 has (RFC 9112 section 6.3)
		return status, 0, nil
	}
	for len(fields) > 0 {
		line, fields, _ = bytes.Cut(fields, []byte("\r\n"))
		if len(line) > len(contentLength) && line[len(contentLength)] == ':' &&
			bytes.EqualFold(line[:len(contentLength)], contentLength) {
			length = smallNumber(bytes.TrimSpace(line[len(contentLength)+1:]))
			if length < 0 || length > maxResponse {
				return 0, 0, fmt.Errorf("bad length: %.80q", line)
			}
			return status, length, nil
		}
	}
	return 0, 0, errors.New("response without Content-Length")
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

// BuildRequest renders a request; credential is a whole header line without its end, body
// may be nil.
func BuildRequest(method, path, host, credential string, body []byte) []byte {
	b := make([]byte, 0, 160+len(path)+len(credential)+len(body))
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, strings.TrimPrefix(host, secure)...)
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

// Field returns a header field by its lower-case name; empty when it is not there.
func (a HTTPResponse) Field(name string) string {
	for line := range bytes.Lines(a.Head) {
		if key, value, ok := strings.Cut(string(line), ":"); ok && strings.ToLower(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
