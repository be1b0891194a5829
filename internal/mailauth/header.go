package mailauth

import (
	"bytes"
	"strings"

	"inboxd/internal/message"
)

// field is one header field as it is on the wire.
type field struct {
	name  []byte // without the colon and blanks before it
	value []byte // behind the colon, with its line breaks, without the last CRLF
	raw   []byte // all of it, without the last CRLF
}

func (f *field) is(name string) bool {
	return len(f.name) == len(name) && strings.EqualFold(string(f.name), name)
}

var crlf = []byte("\r\n")

// splitMail cuts a mail into header fields and body. False means that the header is longer
// than anybody's: fields are then those within the limits.
func splitMail(raw []byte) (fields []field, body []byte, whole bool) {
	fields = make([]field, 0, 24)
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

// fieldLength is the length of the field on top of b, with its continuation lines and its
// last CRLF; 0 when the header ends there. It looks no further than a header may be long.
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

func newField(raw []byte) field {
	name, value, ok := bytes.Cut(raw, []byte(":"))
	if !ok {
		return field{raw: raw}
	}
	return field{name: bytes.TrimRight(name, " \t"), value: value, raw: raw}
}

// fromDomain is the domain of the one mailbox of the one From field, and how many mailboxes
// and further From fields there are.
func fromDomain(fields []field) (domain string, froms int) {
	var first *field
	for i := range fields {
		if f := &fields[i]; f.is("From") {
			if first == nil {
				first = f
			} else {
				froms++
			}
		}
	}
	if first == nil {
		return "", 0
	}
	boxes := message.Mailboxes(strings.Join(strings.FieldsFunc(string(first.value), isLineBreak), ""))
	if froms += len(boxes); froms != 1 {
		return "", froms
	}
	at := strings.LastIndexByte(boxes[0].Email, '@')
	if at < 0 {
		return "", 0
	}
	domain, ok := canonicalDomain(boxes[0].Email[at+1:])
	if !ok {
		return "", 0
	}
	return domain, 1
}

func isLineBreak(r rune) bool { return r == '\r' || r == '\n' }
