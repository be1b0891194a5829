package icalendar

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-ical"
)

// lines returns the logical lines of a file: unfolded, with any line ending (CRLF, LF or CR),
// without empty lines. One call of parse owns it.
type lines struct {
	rest []byte
	fold []byte // buffer for a folded line
}

const byteOrderMark = "\xef\xbb\xbf"

// next returns the next logical line, which is valid until the next call, and false at the end.
// Pieces are joined as bytes, because a fold may be inside a character.
func (l *lines) next() ([]byte, bool) {
	for len(l.rest) > 0 {
		line := l.piece()
		if len(line) == 0 {
			continue
		}
		if !l.folded() {
			return line, true
		}
		l.fold = append(l.fold[:0], line...)
		for l.folded() {
			l.fold = append(l.fold, l.piece()[1:]...)
		}
		return l.fold, true
	}
	return nil, false
}

// folded reports whether the next piece continues the previous line.
func (l *lines) folded() bool {
	return len(l.rest) > 0 && (l.rest[0] == ' ' || l.rest[0] == '\t')
}

// piece takes the bytes up to the next line break.
func (l *lines) piece() []byte {
	i := bytes.IndexAny(l.rest, "\r\n")
	if i < 0 {
		line := l.rest
		l.rest = nil
		return line
	}
	line, n := l.rest[:i], i+1
	if n < len(l.rest) && l.rest[i] == '\r' && l.rest[n] == '\n' {
		n++
	}
	l.rest = l.rest[n:]
	return line
}

// keptParams are the parameters that are parsed.
var keptParams = map[string]bool{
	ical.ParamTimezoneID: true, ical.ParamValue: true, ical.ParamCommonName: true, ical.ParamRole: true, paramEmail: true, ical.ParamSentBy: true,
	ical.ParamParticipationStatus: true, ical.ParamCalendarUserType: true, ical.ParamRSVP: true, ical.ParamRange: true,
}

const (
	maxName  = 64   // octets, of properties and parameters
	maxParam = 2000 // octets of a parameter's value; the rest is cut off
)

// contentLine splits a line into the property's name, in upper case, and the rest. It fails for a
// line without a name or without a colon.
func contentLine(line []byte) (name string, rest []byte, ok bool) {
	i := bytes.IndexAny(line, ";:")
	if i <= 0 || i > maxName {
		return "", nil, false
	}
	return strings.ToUpper(string(bytes.TrimSpace(line[:i]))), line[i:], true
}

// property parses the parameters and the value of a line without its name. It fails for a line
// without a colon outside quotes.
func property(name string, rest []byte) (p ical.Prop, ok bool) {
	p.Name = name
	for {
		if rest[0] == ':' {
			p.Value = valid(rest[1:])
			return p, true
		}
		end := unquoted(rest[1:])
		if end < 0 {
			return p, false
		}
		p.Params = takeParam(p.Params, rest[1:1+end])
		rest = rest[1+end:]
	}
}

// unquoted is the index of the first colon or semicolon outside quotes, -1 for none.
func unquoted(b []byte) int {
	quoted := false
	for i, c := range b {
		switch {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ';' || c == ':'):
			return i
		}
	}
	return -1
}

// takeParam adds a known parameter. The first one of a name counts, and one without "=" is ignored.
func takeParam(params ical.Params, b []byte) ical.Params {
	key, value, ok := bytes.Cut(b, []byte("="))
	if !ok || len(key) > maxName {
		return params
	}
	name := strings.ToUpper(string(bytes.TrimSpace(key)))
	if !keptParams[name] || params[name] != nil {
		return params
	}
	if params == nil {
		params = ical.Params{}
	}
	value = bytes.ReplaceAll(value[:min(len(value), maxParam)], []byte(`"`), nil)
	params[name] = []string{caretDecoded(valid(value))}
	return params
}

// valid returns a copy in UTF-8. It is a copy so that a stored value does not keep the whole file
// in memory.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// caretDecoded decodes RFC 6868.
func caretDecoded(s string) string {
	if !strings.Contains(s, "^") {
		return s
	}
	return caretDecoder.Replace(s)
}

var caretDecoder = strings.NewReplacer("^n", "\n", "^N", "\n", "^^", "^", "^'", `"`)
