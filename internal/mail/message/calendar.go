package message

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// CalendarCandidate is a leaf that may be a calendar file, by its type or by the extension of its
// name. It points into the raw message.
type CalendarCandidate struct {
	Method string // the parameter of its Content-Type; empty: none
	IsRoot bool   // it is the whole message

	charset  string
	encoding transferEncoding
	body     []byte
}

// maxCalendars is how many such leaves are returned: as many as files are listed.
const maxCalendars = maxFiles

// isCalendar reports whether a part may be a calendar file. An attached message is not, whatever
// its name, because it is not addressed to this reader; nor is a multipart that was nested too
// deep.
func (p *mimePart) isCalendar() bool {
	if p.mediaType == "text/calendar" || p.mediaType == "application/ics" {
		return true
	}
	return isCalendarName(p.filename) && !strings.HasPrefix(p.mediaType, "message/") && !strings.HasPrefix(p.mediaType, "multipart/")
}

func isCalendarName(name string) bool {
	const extension = ".ics"
	name = strings.TrimRight(name, " ")
	return len(name) >= len(extension) && strings.EqualFold(name[len(name)-len(extension):], extension)
}

func (p *mimePart) calendarCandidate() CalendarCandidate {
	encoding := p.encoding
	if encoding == base64Encoding && !isBase64(p.body) {
		encoding = identityEncoding
	}
	return CalendarCandidate{Method: p.method, IsRoot: p.isRoot, charset: p.charset, encoding: encoding, body: p.body}
}

// DecodedText is the file in UTF-8, of at most max octets. Its charset is found as for any text part.
// Folds (RFC 5545 section 3.1) may be inside a multi-byte character, so they are removed before the
// charset is decoded.
func (c *CalendarCandidate) DecodedText(max int) []byte {
	d := decoder{src: c.body, encoding: c.encoding}
	b := d.appendTo(make([]byte, 0, min(d.spaceNeeded(), max)), max)
	plain := c.charset == "" || isUTF8(c.charset) || isASCII(c.charset)
	if !(plain && utf8.Valid(b)) && !isWide(c.charset, b) {
		b = withoutFolds(b)
	}
	text, _ := toUTF8(c.charset, b)
	return text
}

// isWide reports whether a line break is more than one octet in a charset.
func isWide(charset string, b []byte) bool {
	charset = strings.ToLower(strings.Trim(charset, " \t\"'"))
	for _, prefix := range [...]string{"utf-16", "utf16", "utf-32", "utf32", "ucs-", "iso-10646-ucs"} {
		if strings.HasPrefix(charset, prefix) {
			return true
		}
	}
	return isUTF16(b)
}

// withoutFolds removes each line break with the following space from b, in place.
func withoutFolds(b []byte) []byte {
	out := b[:0]
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return append(out, b...)
		}
		line, rest := b[:i], b[i+1:]
		if len(rest) > 0 && isBlank(rest[0]) {
			line, rest = bytes.TrimSuffix(line, []byte("\r")), rest[1:]
		} else {
			line = b[:i+1]
		}
		out, b = append(out, line...), rest
	}
}

// Authors are the senders that a message names, for code that must exclude any other reading.
type Authors struct {
	From, Sender string // address of the only mailbox of the only field, as written; else empty
	// IsComplete is false if the header is longer than the parsed part, or contains lines that are not
	// fields. Other parsers may then find other fields and another start of the body.
	IsComplete bool
}

// AuthorsOf parses them from the top header.
func AuthorsOf(raw []byte) Authors {
	w := walker{raw: normalizeLineEndings(raw), headerBudget: maxHeadersSize}
	fields := w.readFields(w.fields[:0])
	return Authors{From: onlyMailbox(fields, "From"), Sender: onlyMailbox(fields, "Sender"), IsComplete: !w.isDegraded}
}

// BodyFixesParts reports whether the body alone determines the parts of a message, so that no other
// Content-Type could make other parts of it. This is true for a multipart with a single
// Content-Type field, without transfer encoding, whose body starts with the delimiter line of the
// declared boundary, that is, without a preamble (ADR 0097). A boundary with a space does not
// count, because relaxed canonicalization permits changes of whitespace (RFC 6376 section 3.4.4). A
// digest does not count either, because the default type of its parts differs.
func BodyFixesParts(raw []byte) bool {
	w := walker{raw: normalizeLineEndings(raw), headerBudget: maxHeadersSize}
	fields := w.readFields(w.fields[:0])
	types := 0
	for _, f := range fields {
		switch {
		case strings.EqualFold(f.name, "Content-Type"):
			types++
		case strings.EqualFold(f.name, "Content-Transfer-Encoding") && !isUnencoded(f.value):
			return false
		}
	}
	p := w.newPart(fields)
	if types != 1 || !strings.HasPrefix(p.mediaType, "multipart/") || p.mediaType == "multipart/digest" {
		return false
	}
	if p.boundary == "" || strings.ContainsAny(p.boundary, " \t") {
		return false
	}
	first := bytes.TrimRight(w.lineAt(w.pos), " \t\r\n")
	return string(first) == "--"+p.boundary
}

func isUnencoded(encoding string) bool {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "7bit", "8bit", "binary":
		return true
	}
	return false
}

// MailboxesIn are the addresses in every field called name of the top header, as written; name is
// To or Cc.
func MailboxesIn(raw []byte, name string) (list []string) {
	w := walker{raw: normalizeLineEndings(raw), headerBudget: maxHeadersSize}
	for _, f := range w.readFields(w.fields[:0]) {
		if !strings.EqualFold(f.name, name) {
			continue
		}
		r := addressReader{}
		r.readAll(f.value)
		for _, m := range r.list {
			list = append(list, m.Email)
		}
	}
	return list
}

// onlyMailbox is the mailbox of the only field called name. A group does not count.
func onlyMailbox(fields []headerField, name string) (email string) {
	found := 0
	for _, f := range fields {
		if !strings.EqualFold(f.name, name) {
			continue
		}
		r := addressReader{}
		r.readAll(f.value)
		found += len(r.list)
		if found != 1 || r.insideGroup {
			return ""
		}
		email = r.list[0].Email
	}
	return strings.Clone(email)
}
