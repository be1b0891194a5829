package message

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Calendar is a leaf that may be a calendar file: by its type, or by the end of its name, whatever
// its type. It points into the raw message.
type Calendar struct {
	Method string // the parameter of its Content-Type; empty: none
	Root   bool   // it is the whole message

	charset  string
	encoding transfer
	body     []byte
}

// maxCalendars is how many such leaves are handed out: as many as files are recorded.
const maxCalendars = maxFiles

// isCalendar reports what Calendar says. An attached message is none, whatever it is called: it is not
// for this reader; nor is a multipart that was nested too deep.
func (p *part) isCalendar() bool {
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

func (p *part) calendar() Calendar {
	encoding := p.encoding
	if encoding == base64Encoding && !isBase64(p.body) {
		encoding = identity
	}
	return Calendar{Method: p.method, Root: p.root, charset: p.charset, encoding: encoding, body: p.body}
}

// Text is the file in UTF-8, of whose octets at most max are read. Its charset is found as that of any
// text part. Folds (RFC 5545 section 3.1) may be inside a letter: they go before letters are looked
// for, where there are any.
func (c *Calendar) Text(max int) []byte {
	d := decoder{src: c.body, encoding: c.encoding}
	b := d.appendTo(make([]byte, 0, min(d.room(), max)), max)
	plain := c.charset == "" || isUTF8(c.charset) || isASCII(c.charset)
	if !(plain && utf8.Valid(b)) && !isWide(c.charset, b) {
		b = withoutFolds(b)
	}
	text, _ := toUTF8(c.charset, b)
	return text
}

// isWide reports a charset in which a line break is not one octet.
func isWide(charset string, b []byte) bool {
	charset = strings.ToLower(strings.Trim(charset, " \t\"'"))
	for _, prefix := range [...]string{"utf-16", "utf16", "utf-32", "utf32", "ucs-", "iso-10646-ucs"} {
		if strings.HasPrefix(charset, prefix) {
			return true
		}
	}
	return isUTF16(b)
}

// withoutFolds takes each line break with the blank behind it out of b, in place.
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

// Authors are who a mail says that it is from, for those to whom it matters that nobody else could be
// meant.
type Authors struct {
	From, Sender string // address of the one mailbox of the one field, as it was written; else empty
	// Whole is false when the header is longer than what is read of it, or has lines that are no fields:
	// then others may read other fields, and begin the body elsewhere.
	Whole bool
}

// AuthorsOf reads them from the top header.
func AuthorsOf(raw []byte) Authors {
	w := walker{raw: readable(raw), headers: maxHeadersSize}
	fields := w.readFields(w.fields[:0])
	return Authors{From: onlyMailbox(fields, "From"), Sender: onlyMailbox(fields, "Sender"), Whole: !w.degraded}
}

// BodyFixesParts reports whether the body alone says of which parts a message is made: no other Content-Type
// could make other parts of it. So it is in a multipart with a single Content-Type field, in no encoding, whose
// body starts with the delimiter line of the declared boundary, that is, without a preamble (ADR 0097). A
// boundary with a blank in it does not count, for relaxed canonicalization lets blanks change (RFC 6376 section
// 3.4.4); nor does a digest, in which a part without a type is something else than elsewhere.
func BodyFixesParts(raw []byte) bool {
	w := walker{raw: readable(raw), headers: maxHeadersSize}
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
	first := bytes.TrimRight(w.line(w.pos), " \t\r\n")
	return string(first) == "--"+p.boundary
}

func isUnencoded(encoding string) bool {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "7bit", "8bit", "binary":
		return true
	}
	return false
}

// MailboxesIn are the addresses in every To or Cc field of the top header, as they were written; name is one of
// the two.
func MailboxesIn(raw []byte, name string) (list []string) {
	w := walker{raw: readable(raw), headers: maxHeadersSize}
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

// onlyMailbox is the mailbox of the only field called name. A group is nobody's name.
func onlyMailbox(fields []field, name string) (email string) {
	found := 0
	for _, f := range fields {
		if !strings.EqualFold(f.name, name) {
			continue
		}
		r := addressReader{}
		r.readAll(f.value)
		found += len(r.list)
		if found != 1 || r.group {
			return ""
		}
		email = r.list[0].Email
	}
	return strings.Clone(email)
}
