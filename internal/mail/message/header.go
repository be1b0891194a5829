package message

import (
	"bytes"
	"slices"
	"strings"
)

// headerField is one header field, unfolded, with its value still encoded.
type headerField struct {
	name, value string
}

// parseFields parses a header block and appends its fields to fields. A line that is neither a
// field nor a continuation is left out and reported by clean = false; the other lines are still
// parsed. The envelope line of an mbox ("From x@y Mon...") is neither a field nor an error. It
// precedes the sender's header and follows the trace fields that a server added at the top.
func parseFields(fields []headerField, block []byte) (_ []headerField, clean bool) {
	clean = true
	for rest := unfoldHeader(block); rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		name, value, ok := splitField(line)
		switch {
		case ok:
			fields = append(fields, headerField{name, value})
		case line != "" && !isEnvelopeLine(line):
			clean = false
		}
	}
	return fields, clean
}

func isEnvelopeLine(line string) bool {
	return strings.HasPrefix(line, "From ") || strings.HasPrefix(line, ">From ")
}

// textStart finds where the text begins in a header block without a blank line after its last
// field. The lines after that field are the sender's text, even if one looks like an unknown field
// ("Code: 1234"). It is len(block) if the last line is a field.
func textStart(block []byte) (start int) {
	field := true // the last line was a field, which a continuation belongs to
	for pos := 0; pos < len(block); {
		line := lineOf(block[pos:])
		pos += len(line)
		if !isBlank(line[0]) {
			head := string(line[:min(len(line), 1<<10)]) // enough to recognize a field by its name
			name, _, ok := splitField(head)
			field = ok && (field || isKnownField(name)) || isEnvelopeLine(head)
		}
		if field {
			start = pos
		}
	}
	return start
}

// isKnownField reports whether name is common in messages: one with a hyphen, or of RFC 5322.
func isKnownField(name string) bool {
	if strings.Contains(name, "-") {
		return true
	}
	for _, known := range [...]string{"From", "To", "Cc", "Bcc", "Subject", "Date", "Sender", "References", "Received", "Comments", "Keywords"} {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}

// unfoldHeader joins continuation lines with one space (RFC 5322 section 2.2.3) and ends every
// field with LF. The whole block becomes one string, and the values are slices of it.
func unfoldHeader(block []byte) string {
	var b strings.Builder
	b.Grow(len(block))
	for len(block) > 0 {
		line := block
		if i := bytes.IndexByte(block, '\n'); i >= 0 {
			line, block = block[:i], block[i+1:]
		} else {
			block = nil
		}
		line = bytes.TrimRight(line, " \t\r")
		if b.Len() > 0 {
			if len(line) > 0 && !isBlank(line[0]) {
				b.WriteByte('\n')
			} else if line = bytes.TrimLeft(line, " \t"); len(line) > 0 {
				b.WriteByte(' ')
			}
		}
		b.Write(line)
	}
	return b.String()
}

// splitField splits a line at its colon. Names are printable ASCII (RFC 5322 section 2.2); spaces
// before the colon are tolerated.
func splitField(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, ":")
	name = strings.TrimPrefix(strings.TrimRight(name, " \t"), byteOrderMark)
	if !ok || name == "" {
		return "", "", false
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			return "", "", false
		}
	}
	return name, strings.Trim(value, " \t"), true
}

// is reports whether the field has this name; case does not matter.
func (f *headerField) is(name string) bool {
	return len(f.name) == len(name) && strings.EqualFold(f.name, name)
}

// fieldValue returns the value of the first field with this name that is not empty, otherwise "".
func fieldValue(fields []headerField, name string) string {
	for i := range fields {
		if fields[i].value != "" && fields[i].is(name) {
			return fields[i].value
		}
	}
	return ""
}

// readHeader sets everything that comes from the header of the message itself, not of its parts.
func (d *ParsedMessage) readHeader(fields []headerField) {
	d.Headers = make([]Header, len(fields), len(fields)+1) // package ingest adds one at the top
	var seen [len(singletonFields)]bool
	for i, f := range fields {
		d.Headers[i] = Header{Name: f.name, Value: decodeWords(f.value)}
		switch {
		case strings.EqualFold(f.name, "To"):
			d.To = appendMailboxes(d.To, f.value)
		case strings.EqualFold(f.name, "Cc"):
			d.Cc = appendMailboxes(d.Cc, f.value)
		case strings.EqualFold(f.name, "Reply-To"):
			d.ReplyTo = appendAuthors(d.ReplyTo, f.value)
		default:
			d.readSingle(&seen, f, d.Headers[i].Value)
		}
	}
}

// singletonFields are the fields that may appear only once. If one is repeated, the first value
// that is not empty counts.
var singletonFields = [...]string{"Subject", "From", "Date", "Message-ID", "In-Reply-To", "References"}

// readSingle sets the value of a field in singles, unless an earlier one has set it. decoded is the
// value with its encoded words decoded (RFC 2047).
func (d *ParsedMessage) readSingle(seen *[len(singletonFields)]bool, f headerField, decoded string) {
	i := slices.IndexFunc(singletonFields[:], func(known string) bool { return strings.EqualFold(f.name, known) })
	if i < 0 || seen[i] || f.value == "" {
		return
	}
	seen[i] = true
	switch singletonFields[i] {
	case "Subject":
		d.Subject = decoded
	case "From":
		if from := ParseMailboxes(f.value); len(from) > 0 {
			d.From = from[0]
		}
	case "Date":
		d.Date, _ = parseDate(f.value)
	case "Message-ID":
		d.MessageID = firstMessageID(decoded)
	case "In-Reply-To":
		d.InReplyTo = firstMessageID(decoded)
	case "References":
		d.References = messageIDs(decoded)
	}
}

// messageIDs parses a list of message identifiers, <id> (RFC 5322 section 3.6.4), and returns at
// most maxReferences of them without their brackets. In a list without any bracket, every word is
// an identifier.
func messageIDs(v string) []string {
	if !strings.Contains(v, "<") {
		ids := strings.Fields(v)
		return ids[:min(len(ids), maxReferences)]
	}
	var ids []string
	for len(ids) < maxReferences {
		_, rest, ok := strings.Cut(v, "<")
		if !ok {
			break
		}
		id, rest, ok := strings.Cut(rest, ">")
		if !ok {
			break
		}
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
		v = rest
	}
	return ids
}

// firstMessageID returns the first message identifier in v without its brackets, or all of v if it
// has no brackets.
func firstMessageID(v string) string {
	if open := strings.IndexByte(v, '<'); open >= 0 {
		v = v[open+1:]
		if end := strings.IndexByte(v, '>'); end >= 0 {
			v = v[:end]
		}
	}
	return strings.TrimSpace(v)
}

// isBlank reports whether c is white space as RFC 5322 defines it (WSP): a space or a tab.
func isBlank(c byte) bool { return c == ' ' || c == '\t' }
