package message

import (
	"strings"
	"unicode/utf8"
)

// addressReader parses an address list as found in real messages (RFC 5322 sections 3.4 and 4.4,
// and deviations from it): one pass, nothing is an error. The value is raw; encoded words are
// decoded only inside a name, so that a decoded comma or bracket stays text. It belongs to one
// parse.
type addressReader struct {
	list             []Mailbox
	pendingText      stringJoiner // outside brackets and comments; quotes kept around a local part
	bracketedAddress string       // the last <...>
	lastComment      string
	insideBrackets   bool
	at               bool     // text has an @
	insideGroup      bool     // text contains members of a group
	parsedCount      int      // parsed elements, including empty ones
	unquotedHalves   []string // "Bell" of Bell, Anna <a@b.example>: a name that should have been quoted
}

// stringJoiner joins strings. A single one, the usual case, is not copied. Its reader owns it.
type stringJoiner struct {
	singlePiece  string
	joinedPieces strings.Builder
}

func (p *stringJoiner) addPiece(s string) {
	switch {
	case p.joinedPieces.Len() > 0:
		p.joinedPieces.WriteString(s)
	case p.singlePiece == "":
		p.singlePiece = s
	case s != "":
		p.joinedPieces.WriteString(p.singlePiece)
		p.joinedPieces.WriteString(s)
	}
}

func (p *stringJoiner) String() string {
	if p.joinedPieces.Len() > 0 {
		return p.joinedPieces.String()
	}
	return p.singlePiece
}

// appendMailboxes appends the mailboxes of one field. Groups give their members, and an element
// without an address gives its name alone.
func appendMailboxes(list []Mailbox, value string) []Mailbox {
	r := addressReader{list: list}
	r.readAll(value)
	return r.list
}

func (r *addressReader) readAll(value string) {
	for value != "" && r.parsedCount < maxAddresses {
		value = r.readPiece(value)
	}
	r.flushMailbox()
}

// readPiece parses the next piece of value.
func (r *addressReader) readPiece(value string) (rest string) {
	switch c := value[0]; c {
	case ',':
		if text := strings.TrimSpace(r.pendingText.String()); !r.insideBrackets && !r.at && text != "" {
			r.unquotedHalves, r.pendingText = append(r.unquotedHalves, text), stringJoiner{}
			r.parsedCount++
			break
		}
		r.flushMailbox()
	case ';':
		r.flushMailbox()
	case '"':
		quoted, rest := parseQuoted(value)
		if strings.HasPrefix(rest, "@") {
			quoted = `"` + quoted + `"`
		}
		r.pendingText.addPiece(quoted)
		return rest
	case '(':
		r.lastComment, rest = cutComment(value)
		return rest
	case '<':
		inner, rest := cutAngle(value[1:])
		r.bracketedAddress, r.insideBrackets = inner, true
		return rest
	case ':':
		switch text, isURL := cutMailto(r.pendingText.String()); {
		case isURL:
			r.pendingText = stringJoiner{singlePiece: text}
		case !r.insideBrackets && !r.at:
			r.pendingText, r.insideGroup = stringJoiner{}, true // that was the group's name
		default:
			r.pendingText.addPiece(":")
		}
	default:
		end := strings.IndexAny(value, `,;"(<:`)
		if end < 0 {
			end = len(value)
		}
		r.pendingText.addPiece(value[:end])
		r.at = r.at || strings.Contains(value[:end], "@")
		return value[end:]
	}
	return value[1:]
}

// cutAngle returns the text up to the closing bracket, or without one to the next comma. Of
// nested brackets the inner ones count, and a source route is dropped.
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

// cutComment returns the (possibly nested) comment at the start of s.
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

// flushMailbox ends the current mailbox.
func (r *addressReader) flushMailbox() {
	text := strings.TrimSpace(r.pendingText.String())
	if len(r.unquotedHalves) > 0 && r.insideBrackets && text != "" {
		text = strings.Join(append(r.unquotedHalves, text), ", ")
	} else {
		for _, half := range r.unquotedHalves {
			r.appendMailbox(splitBare(half))
		}
	}
	m := Mailbox{Email: r.bracketedAddress, Name: text}
	if !r.insideBrackets {
		m.Name, m.Email = splitBare(text)
	}
	if m.Name == "" {
		m.Name = r.lastComment
	}
	r.appendMailbox(m.Name, m.Email)
	*r = addressReader{list: r.list, insideGroup: r.insideGroup, parsedCount: r.parsedCount + 1}
}

func (r *addressReader) appendMailbox(name, email string) {
	m := Mailbox{Name: strings.TrimSpace(decodeWords(name)), Email: cleanAddress(email)}
	if m != (Mailbox{}) {
		r.list = append(r.list, m)
	}
}

// splitBare finds the address in a text without brackets: its last word with an @, or its only
// word.
func splitBare(text string) (name, email string) {
	at := strings.LastIndexByte(text, '@')
	switch {
	case at < 0 && strings.ContainsAny(text, " \t=\""):
		return text, ""
	case at < 0:
		return "", text // a local name, such as root
	}
	start := strings.LastIndexAny(text[:at], " \t") + 1
	if q := strings.IndexByte(text[:at], '"'); q >= 0 && text[at-1] == '"' && q < at-1 {
		start = q // a quoted local part, spaces included
	}
	end := at + 1
	for end < len(text) && !isBlank(text[end]) {
		end++
	}
	return strings.TrimSpace(text[:start] + text[end:]), text[start:end]
}

// cleanAddress removes what is not part of an address: characters that people and programs put
// around it, the scheme and the query of a mailto URL, and obsolete spaces around dots.
func cleanAddress(s string) string {
	s = strings.TrimSpace(CleanHeader(s))
	for range 3 { // nested wrappers
		if !isAddress(s) {
			return s
		}
		s = bareAddress(s)
	}
	switch quoted := strings.IndexByte(s, '"') >= 0; {
	case strings.IndexByte(s, ' ') < 0:
		return s
	case !isAddress(s) && !quoted:
		return strings.ReplaceAll(s, " ", "")
	case !quoted:
		s = aroundDots.Replace(aroundDots.Replace(strings.Join(strings.Fields(s), " ")))
	}
	if isAddress(s) { // with a name before it inside the brackets
		_, s = splitBare(s)
	}
	return s
}

var aroundDots = strings.NewReplacer(" .", ".", ". ", ".", " @", "@", "@ ", "@")

func bareAddress(s string) string {
	if n := len(mailto); len(s) > n && strings.EqualFold(s[:n], mailto) {
		s = s[n:]
	}
	s = strings.TrimRight(strings.TrimLeft(s, "[<＜"), ">＞")
	if strings.HasSuffix(s, "]") && (!strings.Contains(s, "@[") || strings.HasSuffix(s, "]]")) {
		s = s[:len(s)-1]
	}
	if n := len(s); n > 1 && (s[0] == '\'' && s[n-1] == '\'' || s[0] == '{' && s[n-1] == '}') {
		s = s[1 : n-1]
	}
	if local, domain, _ := strings.Cut(s, "@"); !strings.HasPrefix(s, `"`) && strings.ContainsAny(domain, "?&") { // the query, or &gt;
		s = local + "@" + domain[:strings.IndexAny(domain, "?&")]
	}
	return s
}

const mailto = "mailto:"

// cutMailto removes the scheme at the end of a text, without its colon.
func cutMailto(text string) (before string, found bool) {
	at := len(text) - len("mailto")
	if at < 0 || !strings.EqualFold(text[at:], "mailto") || at > 0 && isWordByte(text[at-1]) {
		return text, false
	}
	return text[:at], true
}

// atomChars are the characters of a dot-atom (RFC 5322 section 3.2.3).
const atomChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~."

func isWordByte(c byte) bool { return c >= utf8.RuneSelf || strings.IndexByte(atomChars, c) >= 0 }

// isAddress reports whether s has the form something@something. An encoded word is never an
// address.
func isAddress(s string) bool {
	at := strings.LastIndexByte(s, '@')
	return at > 0 && at < len(s)-1 && !strings.HasPrefix(s, "=?")
}

// ParseMailboxes parses the unfolded value of a field that usually contains one mailbox, From or
// Reply-To, in the same way as Parse. Code that judges a sender must read the one that is
// displayed. A malformed value that contains exactly one address gives that address, because a name
// with commas is not a mailbox.
func ParseMailboxes(value string) []Mailbox { return appendAuthors(nil, value) }

func appendAuthors(list []Mailbox, value string) []Mailbox {
	known := len(list)
	list = appendMailboxes(list, value)
	read := list[known:]
	if len(read) == 0 || len(read) == 1 && isAddress(read[0].Email) {
		return list
	}
	email := ""
	for _, m := range read {
		switch {
		case !isAddress(m.Email):
		case email != "":
			return list // it is ambiguous which of them
		default:
			email = m.Email
		}
	}
	if email == "" {
		if email = onlyAddress(decodeWords(value)); email == "" {
			return list
		}
	}
	return append(list[:known], Mailbox{Email: email, Name: namesOf(read, email)})
}

// namesOf joins all texts of the mailboxes, except the address.
func namesOf(read []Mailbox, email string) string {
	var names []string
	for _, m := range read {
		for _, text := range [...]string{m.Name, m.Email} {
			if text != "" && !strings.Contains(text, email) {
				names = append(names, text)
			}
		}
	}
	return strings.Join(names, ", ")
}

// onlyAddress finds the only address anywhere in s; "" if there are none or several.
func onlyAddress(s string) (email string) {
	for from := 0; ; {
		at := strings.IndexByte(s[from:], '@')
		if at < 0 {
			return email
		}
		at += from
		start, end := at, at+1
		for start > from && isWordByte(s[start-1]) {
			start--
		}
		for end < len(s) && isWordByte(s[end]) {
			end++
		}
		from = end
		if one := strings.Trim(s[start:end], "'.{}"); isAddress(one) {
			if email != "" && email != one {
				return ""
			}
			email = one
		}
	}
}

// FromOf is the mailbox that Parse takes as the author of a message.
func FromOf(raw []byte) Mailbox {
	w := walker{raw: normalizeLineEndings(raw), headerBudget: maxHeadersSize}
	var doc ParsedMessage
	var seen [len(singletonFields)]bool
	for _, f := range w.readFields(w.fields[:0]) {
		if strings.EqualFold(f.name, "From") {
			doc.readSingle(&seen, f, "")
		}
	}
	return doc.From
}
