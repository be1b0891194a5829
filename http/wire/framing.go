package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"

	"github.com/valyala/fasthttp"
)

// dropTrailers parses h again from the header block as received, after a chunked body. fasthttp
// adds trailer fields to the header, and a trailer must never be taken for a header (RFC 9110
// section 6.5.1).
func dropTrailers(h *fasthttp.RequestHeader) error {
	head := append(append(append(make([]byte, 0, readBufferBytes), h.Method()...), ' '), h.RequestURI()...)
	head = append(append(head, " HTTP/1.1\r\n"...), h.RawHeaders()...)
	return h.Read(bufio.NewReaderSize(bytes.NewReader(head), len(head)))
}

// isAmbiguous checks a header block, as received, for what two servers could parse differently (RFC
// 9112 sections 5.2, 6.3 and 11.2), and for duplicate credentials. It returns the reason, empty if
// there is none, and whether the body is chunked.
func isAmbiguous(raw []byte) (why string, chunked bool) {
	var lengths, codings, keys, bearers int
	for len(raw) > 0 {
		end := bytes.IndexByte(raw, '\n')
		if end < 1 || raw[end-1] != '\r' {
			return "a header line does not end in CRLF", false
		}
		line := raw[:end-1]
		raw = raw[end+1:]
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			return "a header line is folded", false
		}
		if name, _, _ := bytes.Cut(line, []byte(":")); len(name) == 0 || !allOf(name, inToken) {
			return "the name of a header field is empty or contains an invalid byte", false
		}
		switch line[0] {
		case 'c', 'C':
			lengths += fieldNamed(line, "Content-Length")
		case 't', 'T':
			if fieldNamed(line, "Transfer-Encoding") == 1 {
				codings++
				if !bytes.EqualFold(bytes.TrimSpace(line[len("Transfer-Encoding:"):]), []byte("chunked")) {
					return "Transfer-Encoding is not chunked", false
				}
			}
		case 'x', 'X':
			keys += fieldNamed(line, "X-API-Key")
		case 'a', 'A':
			bearers += fieldNamed(line, "Authorization")
		}
	}
	switch {
	case lengths+codings > 1:
		return "the body length is given twice", false
	case keys > 1, bearers > 1:
		return "a credential is given twice", false
	}
	return "", codings > 0
}

// fieldNamed returns 1 if the line is a field with this name, else 0.
func fieldNamed(line []byte, name string) int {
	if len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], []byte(name)) {
		return 1
	}
	return 0
}

// refuseFraming responds 400 and closes the connection. The end of this request is ambiguous, so
// nothing that follows on the connection may be parsed as a request.
func (w *ConnServer) refuseFraming(c *fasthttp.RequestCtx, why string) {
	w.opts.RefuseRequest(c, fasthttp.StatusBadRequest, "The request is ambiguous: "+why)
	endRefused(c, lingerStranger)
}

// refuseUnreadable responds to a request that could not be parsed. fasthttp closes the connection
// afterwards.
func (w *ConnServer) refuseUnreadable(c *fasthttp.RequestCtx, err error) {
	w.stampResponse(c)
	status, detail := unreadableResponse(err)
	w.opts.RefuseRequest(c, status, detail)
	endRefused(c, lingerStranger)
}

func unreadableResponse(err error) (status int, detail string) {
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.Is(err, errCrowded):
		return fasthttp.StatusServiceUnavailable, "The service is busy, try again soon"
	case errors.As(err, &small):
		return fasthttp.StatusRequestHeaderFieldsTooLarge, "The request header is too large"
	case errors.As(err, &network) && network.Timeout():
		return fasthttp.StatusRequestTimeout, "The request took too long to arrive"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fasthttp.StatusBadRequest, "The request ended early"
	}
	return fasthttp.StatusBadRequest, "The request is not valid HTTP/1.1"
}
