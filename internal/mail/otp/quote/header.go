package quote

import (
	"bytes"
	"strings"
)

// Limits of the header that e-mail clients show above a quotation.
const (
	maxLines   = 14 // lines of the header
	maxName    = 30 // bytes of the name of a field, with its colon
	maxWrapped = 2  // continuation lines of one field
)

// header reports whether the line is the first one of the header of an older message: "From: ...",
// "Sent: ...", "To: ...", "Subject: ..." in any order. In an unknown language, only a reply is
// checked: the header must have at least three lines, and two of a date, an address and the subject
// of this message: see header.quoted.
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

// header is what the lines of a possible header have so far.
type header struct {
	seen, last field // all fields with a value, and the last field
	lines      int   // number of fields
	wrapped    int   // number of continuation lines of the last field
	open       bool  // the last field has no value yet
	sender     bool  // a From field has an address
	address    bool  // a field has an address in brackets
	date       bool  // a field has a date with its time
	subject    bool  // a field has the subject of this message
}

// add adds a value, or a continuation line, of the last field.
func (h *header) add(f *finder, value string) {
	l := f.fold(value)
	e := examine(l)
	h.seen |= h.last
	h.sender = h.sender || h.last == fromField && e.address
	h.address = h.address || e.enclosed
	h.date = h.date || e.timed() && !e.address
	h.subject = h.subject || f.stem != "" && bytes.HasSuffix(l, []byte(f.stem)) && len(l) <= len(f.stem)+maxPrefix
}

// quoted reports whether the lines are the header of an older message. If guess is set, it may be
// in an unknown language.
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

// nameAndValue splits "Name: value". The name is empty if the line has another form; the value may
// be empty.
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

// fieldNamed returns the field with this name in any language, or 0.
func (f *finder) fieldNamed(name string) field {
	return fields[string(f.fold(name))]
}
