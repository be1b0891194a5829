package wire

import "bytes"

var (
	agentPrefix    = []byte("/api/v1/inboxes/")
	perInboxPrefix = []byte("/api/inboxes/")
	pollSuffix     = []byte("/latest")
	receivedSuffix = []byte("/latest?direction=in") // equivalent; many clients write it this way
	bearerScheme   = []byte("Bearer ")
)

// parsePoll parses b, which must be exactly one plain poll.
func parsePoll(b []byte) (q PollRequest, ok bool) {
	line, rest, ok := cutLine(b)
	if !ok {
		return q, false
	}
	uri, get := bytes.CutPrefix(line, []byte("GET "))
	uri, current := bytes.CutSuffix(uri, []byte(" HTTP/1.1"))
	return q, get && current && q.readPath(uri) && q.readFields(rest) && q.BearerToken != nil
}

// readFields parses the header fields, up to the end of b.
func (q *PollRequest) readFields(b []byte) bool {
	hosts := 0
	for {
		line, rest, ok := cutLine(b)
		if !ok {
			return false
		}
		if len(line) == 0 {
			return len(rest) == 0 && hosts == 1
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !q.takeField(name, bytes.Trim(value, " \t"), &hosts) {
			return false
		}
		b = rest
	}
}

// cutLine cuts a line that ends in CRLF and contains no other CR. The caller checks its other
// bytes.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '\r')
	if end < 0 || end+1 >= len(b) || b[end+1] != '\n' {
		return nil, nil, false
	}
	return b[:end], b[end+2:], true
}

// readPath parses the path. The address must be in canonical form, with or without a tag, so that
// nothing has to be decoded or lower-cased.
func (q *PollRequest) readPath(uri []byte) (ok bool) {
	if q.InboxAddress, ok = bytes.CutPrefix(uri, agentPrefix); !ok {
		q.PerInbox = true
		if q.InboxAddress, ok = bytes.CutPrefix(uri, perInboxPrefix); !ok {
			return false
		}
	}
	address := q.InboxAddress
	if q.InboxAddress, ok = bytes.CutSuffix(address, pollSuffix); !ok {
		q.InboxAddress, ok = bytes.CutSuffix(address, receivedSuffix)
	}
	return ok && allOf(q.InboxAddress, inAddress) && bytes.Count(q.InboxAddress, []byte("@")) == 1
}

// takeField notes one header field. It returns false if the field is a duplicate, or if it can change
// the meaning or the end of the request. fasthttp handles such requests.
func (q *PollRequest) takeField(name, value []byte, hosts *int) bool {
	if len(name) == 0 || !allOf(name, inName) || !allOf(value, inValue) {
		return false
	}
	switch {
	case is(name, "Host"):
		*hosts++
		return plainHost(value)
	case is(name, "X-Api-Key"):
		return q.setCredential(value)
	case is(name, "Authorization"):
		token, bearer := bytes.CutPrefix(value, bearerScheme)
		return bearer && q.setCredential(bytes.TrimLeft(token, " "))
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

// plainHost accepts a name or an IPv4 address, with or without a port. fasthttp handles everything
// else.
func plainHost(value []byte) bool {
	host, port, ported := bytes.Cut(value, []byte(":"))
	return len(host) > 0 && allOf(host, inHost) && (!ported || len(port) > 0 && allOf(port, inPort))
}

// setCredential notes the token of the request, which must be the only one.
func (q *PollRequest) setCredential(token []byte) bool {
	again := q.BearerToken != nil
	q.BearerToken = token
	return !again && len(token) > 0
}

// These are the parts of a plain poll that a byte may belong to.
const (
	inName byte = 1 << iota
	inValue
	inHost
	inPort
	inAddress
	inToken // RFC 9110 section 5.6.2: the characters of a field name
)

var charClasses = func() (of [256]byte) {
	set := func(part byte, among string) {
		for i := range len(among) {
			of[among[i]] |= part
		}
	}
	for i := ' '; i <= 0xff; i++ {
		of[i] |= inValue
	}
	of['\t'], of[0x7f] = inValue, 0
	const small, capital, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	set(inName, small+capital+digits+"-_")
	set(inToken, small+capital+digits+"!#$%&'*+-.^_`|~")
	set(inHost, small+capital+digits+"-.")
	set(inPort, digits)
	set(inAddress, small+digits+".-_+@")
	return of
}()

func allOf(text []byte, part byte) bool {
	for _, b := range text {
		if charClasses[b]&part == 0 {
			return false
		}
	}
	return true
}

// notPlain are fields that affect the framing, the protocol or the content of the response.
var notPlain = [...]string{
	"Content-Length", "Transfer-Encoding", "Expect", "Upgrade", "Te", "Trailer",
	"Proxy-Connection", "Keep-Alive", "Http2-Settings", "Origin",
}

func is(b []byte, s string) bool {
	return len(b) == len(s) && b[0]|0x20 == s[0]|0x20 && bytes.EqualFold(b, []byte(s))
}
