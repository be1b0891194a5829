package icalendar

import (
	"strings"
	"unicode/utf8"

	"inboxd/internal/mail/icalendar/zone"
)

// writer writes a document. One call of Append owns it.
type writer struct {
	b      []byte
	places map[string]place // the zones that were written, by TZID
	// customs are the TZIDs of zones that only a file explains, by where their observances are.
	customs map[*zone.Observance]string
	asks    bool // answers are asked for
	walked  int  // days of rules
}

// maxLine is how many octets a line has before it is folded (RFC 5545, section 3.1).
const maxLine = 75

// line writes a property. Its value holds no control characters.
func (w *writer) line(name, value string) {
	if len(name)+1+len(value) <= maxLine {
		w.b = append(append(append(append(w.b, name...), ':'), value...), "\r\n"...)
		return
	}
	room := maxLine
	for _, s := range [3]string{name, ":", value} {
		for s != "" {
			_, n := utf8.DecodeRuneInString(s)
			if n > room {
				w.b = append(w.b, "\r\n "...)
				room = maxLine - 1
			}
			w.b = append(w.b, s[:n]...)
			s, room = s[n:], room-n
		}
	}
	w.b = append(w.b, "\r\n"...)
}

// text writes a property with a text, unless that is empty.
func (w *writer) text(name, value string) {
	if value = clean(strings.ToValidUTF8(value, "\uFFFD"), len(value)); value != "" {
		w.line(name, escaper.Replace(value))
	}
}

var escaper = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`)

// param is a parameter with its semicolon, unless it is empty: quoted where it has to be, encoded by
// RFC 6868.
func param(name, value string) string {
	value = clean(strings.ToValidUTF8(value, "\uFFFD"), len(value))
	if value == "" {
		return ""
	}
	value = caretEncoder.Replace(value)
	if strings.ContainsAny(value, ",;: \t") {
		value = `"` + value + `"`
	}
	return ";" + name + "=" + value
}

var caretEncoder = strings.NewReplacer("^", "^^", "\n", "^n", `"`, "^'")

// uri is a mailbox as a URI, or another URI as it is.
func uri(email string) string {
	email = lineOf(strings.ToValidUTF8(email, "\uFFFD"), maxUID)
	if strings.Contains(email, "@") && !strings.Contains(email, ":") {
		return "mailto:" + mailtoEscaper.Replace(email)
	}
	return email
}

// mailtoEscaper encodes what would end a mailbox within a mailto URI (RFC 6068, section 2).
var mailtoEscaper = strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23")
