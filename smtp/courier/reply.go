package courier

import (
	"bufio"
	"errors"
	"strconv"
	"strings"
)

// Limits of one reply. RFC 5321 section 4.5.3.1.5 requires 512 octets per line.
const (
	maxReplyLine  = 4 << 10
	maxReplyBytes = 64 << 10
	maxReplyLines = 1000
	maxReplyText  = 1 << 10 // octets that are kept
)

var errReply = errors.New("not an SMTP reply")

// serverReply is one reply of another server.
type serverReply struct {
	code         int
	enhancedCode string // RFC 2034; "" if there was none
	text         string // its lines, joined by blanks, without the enhanced code
}

// String returns the reply as one line.
func (r serverReply) String() string {
	words := strconv.Itoa(r.code)
	if r.enhancedCode != "" {
		words += " " + r.enhancedCode
	}
	return strings.TrimSpace(words + " " + r.text)
}

func (r serverReply) ok() bool { return r.code >= 200 && r.code < 300 }

// readReply reads one reply (RFC 5321 section 4.2.1) and calls each, if it is not nil, with every
// line. Whatever the server sends, memory is limited to one line and maxReplyText.
func readReply(in *bufio.Reader, each func(line string)) (serverReply, error) {
	var r serverReply
	for total, lines := 0, 1; lines <= maxReplyLines; lines++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = errReply
		}
		if err != nil {
			return serverReply{}, err
		}
		code, last, text, ok := parseReplyLine(string(line))
		if lines == 1 {
			r.code = code
		}
		if total += len(line); !ok || code != r.code || total > maxReplyBytes {
			break
		}
		r.addLine(text)
		if each != nil {
			each(text)
		}
		if last {
			return r, nil
		}
	}
	return serverReply{}, errReply
}

// addLine appends a line. Every line may repeat the enhanced code. It counts only if its class matches
// that of the reply.
func (r *serverReply) addLine(text string) {
	if code, rest, ok := cutEnhanced(text); ok && int(code[0]-'0') == r.code/100 {
		if r.enhancedCode == "" {
			r.enhancedCode = code
		}
		text = rest
	}
	if room := maxReplyText - len(r.text) - 1; room > 0 {
		r.text = strings.TrimSpace(r.text + " " + printableLine(text, room))
	}
}

// parseReplyLine parses "250-text", "250 text" or "250", with its line end.
func parseReplyLine(line string) (code int, last bool, text string, ok bool) {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if len(line) < 3 {
		return 0, false, "", false
	}
	for i := range 3 {
		if line[i] < '0' || line[i] > '9' {
			return 0, false, "", false
		}
		code = code*10 + int(line[i]-'0')
	}
	if code < 200 || code > 599 {
		return 0, false, "", false
	}
	if len(line) == 3 {
		return code, true, "", true
	}
	return code, line[3] == ' ', line[4:], line[3] == ' ' || line[3] == '-'
}

// cutEnhanced splits "5.1.1 " off a text (RFC 3463 section 2).
func cutEnhanced(text string) (code, rest string, ok bool) {
	code, rest, _ = strings.Cut(text, " ")
	parts := strings.Split(code, ".")
	if len(parts) != 3 || parts[0] != "2" && parts[0] != "4" && parts[0] != "5" {
		return "", text, false
	}
	for _, part := range parts[1:] {
		if _, err := strconv.ParseUint(part, 10, 16); err != nil || len(part) > 3 {
			return "", text, false
		}
	}
	return code, rest, true
}
