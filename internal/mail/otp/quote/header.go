package quote

import (
	"bytes"
	"strings"
)

// Bounds of the header that mail programs show above a quotation: its lines, the bytes of a name, and the lines of
// one field.
const (
	maxLines   = 14
	maxName    = 30
	maxWrapped = 2
)

// header reports whether the line is the first one of the header of an older message: "From: ...", "Sent: ...",
// "To: ...", "Subject: ..." in any order. In a language that we don't know, it has the subject of the message that is
// answered, or a date and a sender.
func (f *finder) header(r *reading) bool {
	guess := f.reply && r.own
	if name, _ := nameAndValue(r.line); name == "" || f.fieldNamed(name) == 0 && !guess {
		return false
	}
	var h header
	for next := *r; h.lines+h.wrapped < maxLines; {
		if name, value := nameAndValue(next.line); name != "" {
			h.lines, h.last, h.wrapped, h.open = h.lines+1, f.fieldNamed(name), 0, value == ""
			h.add(f, value)
		} else if h.wrapped++; h.wrapped <= maxWrapped && (h.open || strings.ContainsAny(next.line, "@;")) {
			h.open = false
			h.add(f, next.line)
		} else {
			break
		}
		if !next.next() {
			break
		}
	}
	return h.quoted(guess)
}

// header is what has been read of one.
type header struct {
	seen, last field
	lines      int
	wrapped    int  // lines of the last field besides its first
	open       bool // which has no value yet
	sender     bool // its From has an address
	address    bool // so has any field, in brackets
	date       bool
	subject    bool // that of the message that answers
}

// add reads a value of the last field.
func (h *header) add(f *finder, value string) {
	l := f.fold(value)
	e := examine(l)
	h.seen |= h.last
	h.sender = h.sender || h.last == fromField && e.address
	h.address = h.address || e.enclosed
	h.date = h.date || e.timed() && !e.address
	h.subject = h.subject || f.stem != "" && bytes.HasSuffix(l, []byte(f.stem)) && len(l) <= len(f.stem)+maxPrefix
}

func (h *header) quoted(guess bool) bool {
	const others = sentField | toField | subjectField | copyField
	switch {
	case h.sender && h.seen&others != 0:
		return true
	case h.seen&fromField != 0 && h.seen&subjectField != 0 && h.seen&(sentField|toField) != 0:
		return true
	}
	signs := 0
	for _, has := range []bool{h.date, h.address, h.subject} {
		if has {
			signs++
		}
	}
	return guess && h.lines >= 3 && signs >= 2
}

// nameAndValue cuts "Name: value", with no name if the line has another form. A value may be empty.
func nameAndValue(l string) (name, value string) {
	name, value, ok := cutColon(l[:min(len(l), maxName)])
	if !ok || strings.Count(name, " ") > 2 {
		return "", ""
	}
	if name = strings.Trim(name, "* "); name == "" || strings.IndexFunc(name, isWord) != 0 || strings.HasPrefix(value, "//") {
		return "", ""
	}
	_, value, _ = cutColon(l)
	return name, strings.Trim(value, "* ")
}

func (f *finder) fieldNamed(name string) field {
	return fields[string(f.fold(name))]
}
