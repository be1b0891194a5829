package message

import "strings"

// addressReader reads an address list as mail really has them (RFC 5322 sections 3.4 and
// 4.4, and everything beside): one pass, nothing is an error. The value is raw, encoded
// words are decoded only inside a name, so that a decoded comma or bracket stays text. It
// belongs to one reading.
type addressReader struct {
	list    []Mailbox
	text    pieces // outside brackets and comments; quotes kept around a local part
	angle   string // the last <...>
	comment string
	bracket bool
	at      bool   // text has an @
	group   bool   // some of them are members of a group
	flushed int    // elements read, also empty ones
	half    string // "Bell" of Bell, Anna <a@b.example>: a name that should have been quoted
}

// pieces joins strings; a single one, as most often, costs nothing. Its reader owns it.
type pieces struct {
	only string
	all  strings.Builder
}

func (p *pieces) add(s string) {
	switch {
	case p.all.Len() > 0:
		p.all.WriteString(s)
	case p.only == "":
		p.only = s
	case s != "":
		p.all.WriteString(p.only)
		p.all.WriteString(s)
	}
}

func (p *pieces) String() string {
	if p.all.Len() > 0 {
		return p.all.String()
	}
	return p.only
}

// appendMailboxes appends the mailboxes of one field. Groups give their members, and an
// element without any address gives its name alone.
func appendMailboxes(list []Mailbox, value string) []Mailbox {
	r := addressReader{list: list}
	r.readAll(value)
	return r.list
}

func (r *addressReader) readAll(value string) {
	for value != "" && r.flushed < maxAddresses {
		value = r.read(value)
	}
	r.flush()
}

// read takes the next piece off value.
func (r *addressReader) read(value string) (rest string) {
	switch c := value[0]; c {
	case ',':
		if text := strings.TrimSpace(r.text.String()); !r.bracket && !r.at && text != "" && r.half == "" {
			r.half = text
			r.text = pieces{}
			break
		}
		r.flush()
	case ';':
		r.flush()
	case '"':
		quoted, rest := unquote(value)
		if strings.HasPrefix(rest, "@") {
			quoted = `"` + quoted + `"`
		}
		r.text.add(quoted)
		return rest
	case '(':
		r.comment, rest = cutComment(value)
		return rest
	case '<':
		inner, rest := cutAngle(value[1:])
		r.angle, r.bracket = inner, true
		return rest
	case ':':
		if !r.bracket && !r.at {
			r.text, r.group = pieces{}, true // that was its name
			break
		}
		r.text.add(":")
	default:
		end := strings.IndexAny(value, `,;"(<:`)
		if end < 0 {
			end = len(value)
		}
		r.text.add(value[:end])
		r.at = r.at || strings.Contains(value[:end], "@")
		return value[end:]
	}
	return value[1:]
}

// cutAngle reads up to the closing bracket; without one, up to the next comma. Of nested
// brackets the inner ones count, and a source route is dropped.
func cutAngle(s string) (inner, rest string) {
	end := strings.IndexByte(s, '>')
	if end < 0 {
		if end = strings.IndexByte(s, ','); end < 0 {
			return s, ""
		}
		return s[:end], s[end:]
	}
	inner, rest = s[:end], strings.TrimLeft(s[end+1:], ">")
	inner = inner[strings.LastIndexByte(inner, '<')+1:]
	if strings.HasPrefix(inner, "@") {
		inner = inner[strings.IndexByte(inner, ':')+1:]
	}
	return inner, rest
}

// cutComment reads the (nested) comment at the start of s.
func cutComment(s string) (comment, rest string) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return s[1:i], s[i+1:]
			}
		}
	}
	return s[1:], ""
}

// flush ends the current mailbox.
func (r *addressReader) flush() {
	text := strings.TrimSpace(r.text.String())
	if r.half != "" && r.bracket && text != "" {
		text = r.half + ", " + text
	} else if r.half != "" {
		r.append(splitBare(r.half))
	}
	m := Mailbox{Email: r.angle, Name: text}
	if !r.bracket {
		m.Name, m.Email = splitBare(text)
	}
	if m.Name == "" {
		m.Name = r.comment
	}
	r.append(m.Name, m.Email)
	*r = addressReader{list: r.list, group: r.group, flushed: r.flushed + 1}
}

func (r *addressReader) append(name, email string) {
	m := Mailbox{Name: strings.TrimSpace(decodeWords(name)), Email: cleanAddress(email)}
	if m != (Mailbox{}) {
		r.list = append(r.list, m)
	}
}

// splitBare finds the address in a text without brackets: its last word with an @, or its
// only word.
func splitBare(text string) (name, email string) {
	at := strings.LastIndexByte(text, '@')
	switch {
	case at < 0 && strings.ContainsAny(text, " \t=\""):
		return text, ""
	case at < 0:
		return "", text // a local name, as root
	}
	start := strings.LastIndexAny(text[:at], " \t") + 1
	if q := strings.IndexByte(text[:at], '"'); q >= 0 && text[at-1] == '"' && q < at-1 {
		start = q // a quoted local part, blanks included
	}
	end := at + 1
	for end < len(text) && !isBlank(text[end]) {
		end++
	}
	return strings.TrimSpace(text[:start] + text[end:]), text[start:end]
}

// cleanAddress removes what no address has. Obsolete blanks around dots go too.
func cleanAddress(s string) string {
	s = CleanHeader(s)
	if strings.IndexByte(s, ' ') < 0 || strings.IndexByte(s, '"') >= 0 {
		return strings.TrimSpace(s)
	}
	return strings.ReplaceAll(s, " ", "")
}

// Mailboxes reads the value of one address field, unfolded, as Parse does: whoever judges a
// sender must read the one that is shown.
func Mailboxes(value string) []Mailbox { return appendMailboxes(nil, value) }
