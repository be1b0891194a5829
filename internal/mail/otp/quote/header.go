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

// matchHeader reports whether the line is the first one of the header of an older message: "From: ...",
// "Sent: ...", "To: ...", "Subject: ..." in any order. In an unknown language, only a reply is
// checked: the header must have at least three lines, and two of a date, an address and the subject
// of this message: see header.isQuoted.
func (f *finder) matchHeader(r *lineCursor) bool {
	guess := f.isReply && r.hasOwnLine
	if name, _ := nameAndValue(r.line); name == "" || f.fieldNamed(name) == 0 && !guess {
		return false
	}
	var h quotedHeader
	for next := *r; h.fieldCount+h.continuationCount < maxLines; {
		if name, value := nameAndValue(next.line); name != "" {
			h.fieldCount, h.lastField, h.continuationCount, h.awaitsValue = h.fieldCount+1, f.fieldNamed(name), 0, value == ""
			h.addValue(f, value)
		} else if h.continuationCount++; h.continuationCount <= maxWrapped && (h.awaitsValue || strings.ContainsAny(next.line, "@;")) {
			h.awaitsValue = false
			h.addValue(f, next.line)
		} else {
			break
		}
		if !next.nextLine() {
			break
		}
	}
	return h.isQuoted(guess)
}

// quotedHeader is what the lines of a possible header have so far.
type quotedHeader struct {
	seenFields, lastField fieldSet // all fields with a value, and the last field
	fieldCount            int      // number of fields
	continuationCount     int      // number of continuation lines of the last field
	awaitsValue           bool     // the last field has no value yet
	hasSender             bool     // a From field has an address
	hasAddress            bool     // a field has an address in brackets
	hasDate               bool     // a field has a date with its time
	hasSubject            bool     // a field has the subject of this message
}

// addValue adds a value, or a continuation line, of the last field.
func (h *quotedHeader) addValue(f *finder, value string) {
	l := f.foldLine(value)
	e := examineLine(l)
	h.seenFields |= h.lastField
	h.hasSender = h.hasSender || h.lastField == fromField && e.hasAddress
	h.hasAddress = h.hasAddress || e.isEnclosed
	h.hasDate = h.hasDate || e.hasDateTime() && !e.hasAddress
	h.hasSubject = h.hasSubject || f.subjectStem != "" && bytes.HasSuffix(l, []byte(f.subjectStem)) && len(l) <= len(f.subjectStem)+maxPrefix
}

// isQuoted reports whether the lines are the header of an older message. If guess is set, it may be
// in an unknown language.
func (h *quotedHeader) isQuoted(guess bool) bool {
	const others = sentField | toField | subjectField | copyField
	switch {
	case h.hasSender && h.seenFields&others != 0:
		return true
	case h.seenFields&fromField != 0 && h.seenFields&subjectField != 0 && h.seenFields&(sentField|toField) != 0:
		return true
	}
	signs := 0
	for _, has := range []bool{h.hasDate, h.hasAddress, h.hasSubject} {
		if has {
			signs++
		}
	}
	return guess && h.fieldCount >= 3 && signs >= 2
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
func (f *finder) fieldNamed(name string) fieldSet {
	return headerFields[string(f.foldLine(name))]
}
