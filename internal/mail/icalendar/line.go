package icalendar

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-ical"
)

// lines hands out the logical lines of a file: unfolded, whatever ends them (CRLF, LF or CR),
// empty ones left out. One call of parse owns it.
type lines struct {
	rest []byte
	fold []byte // room for a line of several pieces
}

const byteOrderMark = "\xef\xbb\xbf"

// next returns the next logical line, which is good until the call after it, and false at the end.
// Pieces are joined before anybody looks for letters: a fold may be inside one.
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

// folded reports whether the next piece continues the line before it.
func (l *lines) folded() bool {
	return len(l.rest) > 0 && (l.rest[0] == ' ' || l.rest[0] == '\t')
}

// piece takes what is up to the next line break.
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

// keptParams are the parameters that a reader asks for.
var keptParams = map[string]bool{
	ical.ParamTimezoneID: true, ical.ParamValue: true, ical.ParamCommonName: true, ical.ParamRole: true, paramEmail: true, ical.ParamSentBy: true,
	ical.ParamParticipationStatus: true, ical.ParamCalendarUserType: true, ical.ParamRSVP: true, ical.ParamRange: true,
}

const (
	maxName  = 64   // of properties and parameters
	maxParam = 2000 // octets of a parameter's value; what is beyond is cut
)

// contentLine splits a line into a property's name, in upper case, and what comes behind it. It
// fails for a line without a name or without a colon.
func contentLine(line []byte) (name string, rest []byte, ok bool) {
	i := bytes.IndexAny(line, ";:")
	if i <= 0 || i > maxName {
		return "", nil, false
	}
	return strings.ToUpper(string(bytes.TrimSpace(line[:i]))), line[i:], true
}

// property reads parameters and value of a line whose name was cut off. It fails for a line without a
// colon, such as one whose quotes do not close.
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

// unquoted is the place of the first colon or semicolon outside quotes, -1 for none.
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

// takeParam adds a parameter that is kept; the first of a name counts, and one without "=" is none.
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

// valid is a copy in UTF-8: what is kept of a line must not hold the whole file.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// caretDecoded undoes RFC 6868.
func caretDecoded(s string) string {
	if !strings.Contains(s, "^") {
		return s
	}
	return caretDecoder.Replace(s)
}

var caretDecoder = strings.NewReplacer("^n", "\n", "^N", "\n", "^^", "^", "^'", `"`)
