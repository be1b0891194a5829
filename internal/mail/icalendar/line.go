package icalendar

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-ical"
)

// lineReader returns the logical lines of a file: unfolded, with any line ending (CRLF, LF or CR),
// without empty lines. One call of parse owns it.
type lineReader struct {
	unreadBytes []byte
	foldBuffer  []byte // buffer for a folded line
}

const byteOrderMark = "\xef\xbb\xbf"

// nextLine returns the next logical line, which is valid until the next call, and false at the end.
// Pieces are joined as bytes, because a fold may be inside a character.
func (l *lineReader) nextLine() ([]byte, bool) {
	for len(l.unreadBytes) > 0 {
		line := l.readPiece()
		if len(line) == 0 {
			continue
		}
		if !l.continuesLine() {
			return line, true
		}
		l.foldBuffer = append(l.foldBuffer[:0], line...)
		for l.continuesLine() {
			l.foldBuffer = append(l.foldBuffer, l.readPiece()[1:]...)
		}
		return l.foldBuffer, true
	}
	return nil, false
}

// continuesLine reports whether the next piece continues the previous line.
func (l *lineReader) continuesLine() bool {
	return len(l.unreadBytes) > 0 && (l.unreadBytes[0] == ' ' || l.unreadBytes[0] == '\t')
}

// readPiece takes the bytes up to the next line break.
func (l *lineReader) readPiece() []byte {
	i := bytes.IndexAny(l.unreadBytes, "\r\n")
	if i < 0 {
		line := l.unreadBytes
		l.unreadBytes = nil
		return line
	}
	line, n := l.unreadBytes[:i], i+1
	if n < len(l.unreadBytes) && l.unreadBytes[i] == '\r' && l.unreadBytes[n] == '\n' {
		n++
	}
	l.unreadBytes = l.unreadBytes[n:]
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

// parseProperty parses the parameters and the value of a line without its name. It fails for a line
// without a colon outside quotes.
func parseProperty(name string, rest []byte) (p ical.Prop, ok bool) {
	p.Name = name
	for {
		if rest[0] == ':' {
			p.Value = copyValidUTF8(rest[1:])
			return p, true
		}
		end := indexUnquotedDelimiter(rest[1:])
		if end < 0 {
			return p, false
		}
		p.Params = takeParam(p.Params, rest[1:1+end])
		rest = rest[1+end:]
	}
}

// indexUnquotedDelimiter is the index of the first colon or semicolon outside quotes, -1 for none.
func indexUnquotedDelimiter(b []byte) int {
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
	params[name] = []string{caretDecoded(copyValidUTF8(value))}
	return params
}

// copyValidUTF8 returns a copy in UTF-8. It is a copy so that a stored value does not keep the
// whole file in memory.
func copyValidUTF8(b []byte) string {
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
