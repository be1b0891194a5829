package mailauth

import (
	"bytes"
	"strings"

	"inboxd/internal/mail/message"
)

// headerField is one header field as received.
type headerField struct {
	name  []byte // without the colon and the whitespace before it
	value []byte // after the colon, with its line breaks, without the last CRLF
	raw   []byte // all of it, without the last CRLF
}

func (f *headerField) is(name string) bool {
	return len(f.name) == len(name) && strings.EqualFold(string(f.name), name)
}

var crlf = []byte("\r\n")

// usualFields is enough for the header of most messages.
const usualFields = 24

// splitMail splits a message into header fields, stored in room, and body. False means that the
// header exceeds the limits: fields are then those within them.
func splitMail(raw []byte, room []headerField) (fields []headerField, body []byte, whole bool) {
	fields = room[:0]
	for size := 0; len(raw) > 0; {
		n := fieldLength(raw)
		if n == 0 {
			return fields, raw[len(crlf):], true
		}
		if size += n; size > maxHeader || len(fields) == maxFields {
			return fields, nil, false
		}
		fields = append(fields, newField(bytes.TrimSuffix(raw[:n], crlf)))
		raw = raw[n:]
	}
	return fields, nil, true
}

// fieldLength is the length of the first field of b, with its continuation lines and its last CRLF;
// 0 at the end of the header. It does not read beyond the maximum header length.
func fieldLength(b []byte) int {
	if bytes.HasPrefix(b, crlf) {
		return 0
	}
	n := 0
	for n <= maxHeader {
		i := bytes.Index(b[n:], crlf)
		if i < 0 {
			return len(b)
		}
		n += i + len(crlf)
		if n == len(b) || b[n] != ' ' && b[n] != '\t' {
			return n
		}
	}
	return n
}

func newField(raw []byte) headerField {
	name, value, ok := bytes.Cut(raw, []byte(":"))
	if !ok {
		return headerField{raw: raw}
	}
	return headerField{name: bytes.TrimRight(name, " \t"), value: value, raw: raw}
}

// fromDomain is the domain of the only mailbox in the only From field, empty if it is missing or
// is invalid. froms is how many mailboxes and further From fields there are.
func fromDomain(fields []headerField) (domain string, froms int) {
	var first *headerField
	for i := range fields {
		switch f := &fields[i]; {
		case !f.is("From"):
		case first == nil:
			first = f
		default:
			froms++
		}
	}
	if first == nil {
		return "", 0
	}
	boxes := message.ParseMailboxes(lineBreaks.Replace(string(first.value)))
	if froms += len(boxes); froms != 1 || len(boxes) != 1 {
		return "", froms
	}
	_, at, ok := cutLast(boxes[0].Email, '@')
	if domain, valid := canonicalDomain(at); ok && valid {
		return domain, froms
	}
	return "", froms
}

// shownDomain is the From domain as readers of the message see it. Their parser may split lines
// into fields differently, so that a second From is visible to only one of the two.
func shownDomain(raw []byte) string {
	_, at, _ := cutLast(message.FromOf(raw).Email, '@')
	domain, _ := canonicalDomain(at)
	return domain
}

// cutLast cuts s at the last sep. It returns false without a sep, and then all of s is in after.
func cutLast(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	return s[:max(i, 0)], s[i+1:], i >= 0
}

var lineBreaks = strings.NewReplacer("\r", "", "\n", "")
