package icalendar

import (
	"strings"
	"unicode/utf8"

	"inboxd/internal/mail/icalendar/zone"
)

// calendarWriter writes a document. One call of AppendDocument owns it.
type calendarWriter struct {
	b            []byte
	writtenZones map[string]zoneClock // the written zones, by TZID
	// customZoneIDs are the TZIDs of zones that only a file defines, by the address of their
	// observances.
	customZoneIDs   map[*zone.Observance]string
	requestsReplies bool // guests are asked for answers
	expandedDays    int  // expanded days of rules
}

// maxLine is the maximum length of a line in octets; longer ones are folded (RFC 5545, section
// 3.1).
const maxLine = 75

// writeLine writes a property. Its value must not contain control characters.
func (w *calendarWriter) writeLine(name, value string) {
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

// writeText writes a property with a text, unless the text is empty.
func (w *calendarWriter) writeText(name, value string) {
	if value = cleanText(strings.ToValidUTF8(value, "\uFFFD"), len(value)); value != "" {
		w.writeLine(name, escaper.Replace(value))
	}
}

var escaper = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`)

// param is a parameter with its semicolon, unless it is empty. It is quoted where necessary and
// encoded by RFC 6868.
func param(name, value string) string {
	value = cleanText(strings.ToValidUTF8(value, "\uFFFD"), len(value))
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

// uri is the mailto URI of a mailbox; another URI is unchanged.
func uri(email string) string {
	email = lineOf(strings.ToValidUTF8(email, "\uFFFD"), maxUID)
	if strings.Contains(email, "@") && !strings.Contains(email, ":") {
		return "mailto:" + mailtoEscaper.Replace(email)
	}
	return email
}

// mailtoEscaper encodes characters that would end a mailbox within a mailto URI (RFC 6068, section
// 2).
var mailtoEscaper = strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23")
