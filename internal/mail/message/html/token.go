package html

import (
	"cmp"
	"strings"
)

// tokenKind says what a scanner found.
type tokenKind uint8

const (
	endOfInput tokenKind = iota
	textToken
	startTag
	endTag
)

// htmlToken is one token of HTML. Its strings are slices of the input with unresolved character
// references.
type htmlToken struct {
	kind tokenKind
	text string // of a textToken
	tag  elementTag
	attr attributes // of a startTag
}

// attributes are the attributes that decide what is visible, and the targets of links.
type attributes struct {
	alt, class, cite, href, style, kind, value string // kind is type=
	background, bgcolor, color, media, text    string
	isHidden                                   bool
	anySet                                     bool // at least one of them is set
}

// htmlScanner splits HTML into texts and tags in one pass. It follows the tokenizer of the HTML
// standard as far as needed to decide what is text, which comments, attribute values, scripts and
// style sheets are not. A renderer owns it.
type htmlScanner struct {
	s          string
	pos        int
	rawTextTag elementTag // tag of the element that has just started, for rawText
}

// readToken reads the next token into t.
func (h *htmlScanner) readToken(t *htmlToken) {
	t.kind, t.text, t.tag = endOfInput, "", 0
	if t.attr.anySet {
		t.attr = attributes{}
	}
	if h.rawTextTag.hasTrait(rawText) {
		h.rawText(t)
		return
	}
	for h.pos < len(h.s) {
		rest := h.s[h.pos:]
		if rest[0] != '<' || !opensMarkup(rest) {
			end := strings.IndexByte(rest[1:], '<') + 1
			if end == 0 {
				end = len(rest)
			}
			t.kind, t.text = textToken, rest[:end]
			h.pos += end
			return
		}
		switch c := rest[1]; {
		case c == '!' && strings.HasPrefix(rest, "<!--"):
			h.skipComment()
		case c == '!', c == '?', c == '/' && !isLetter(rest[2]):
			h.skipPast(">", 2)
		case c == '/':
			h.pos += 2
			t.kind, t.tag = endTag, h.tagName()
			h.readAttributes(&t.attr) // an end tag has no attributes, but this finds its end
			return
		default:
			h.pos++
			t.kind, t.tag = startTag, h.tagName()
			h.readAttributes(&t.attr)
			h.rawTextTag = t.tag
			return
		}
	}
}

// opensMarkup reports whether the "<" at the start of s begins a tag or a comment, and is not text.
func opensMarkup(s string) bool {
	if len(s) < 2 {
		return false
	}
	switch c := s[1]; c {
	case '!', '?':
		return true
	case '/':
		return len(s) > 2
	default:
		return isLetter(c)
	}
}

// rawText reads the text up to the end tag of h.raw. The caller decides whether it is visible.
func (h *htmlScanner) rawText(t *htmlToken) {
	name, rest := h.rawTextTag.elementName(), h.s[h.pos:]
	h.rawTextTag = 0
	end := 0
	for {
		i := strings.Index(rest[end:], "</")
		if i < 0 {
			end = len(rest)
			break
		}
		end += i
		if after := rest[end+2:]; len(after) >= len(name) && strings.EqualFold(after[:len(name)], name) &&
			(len(after) == len(name) || !isLetter(after[len(name)])) {
			break
		}
		end += 2
	}
	t.kind, t.text = textToken, rest[:end]
	h.pos += end
}

// skipComment moves behind a comment. A comment without an end hides the rest, as in a browser.
func (h *htmlScanner) skipComment() {
	rest := h.s[h.pos+4:]
	switch {
	case strings.HasPrefix(rest, ">"):
		h.pos += 5
	case strings.HasPrefix(rest, "->"):
		h.pos += 6
	default:
		h.skipPast("-->", 4)
	}
}

// skipPast moves behind the next mark that is at least from bytes ahead.
func (h *htmlScanner) skipPast(mark string, from int) {
	if i := strings.Index(h.s[h.pos+from:], mark); i >= 0 {
		h.pos += from + i + len(mark)
		return
	}
	h.pos = len(h.s)
}

// tagName reads the name of a tag.
func (h *htmlScanner) tagName() elementTag {
	start := h.pos
	for h.pos < len(h.s) && !isSpace(h.s[h.pos]) && h.s[h.pos] != '>' && h.s[h.pos] != '/' {
		h.pos++
	}
	return lookupTag(h.s[start:h.pos])
}

// readAttributes reads the attributes up to the ">" of a tag. If the input ends inside a tag, the
// attributes make no difference, since nothing follows.
func (h *htmlScanner) readAttributes(a *attributes) {
	s := h.s
	for {
		for h.pos < len(s) && (isSpace(s[h.pos]) || s[h.pos] == '/') {
			h.pos++
		}
		if h.pos == len(s) {
			return
		}
		if s[h.pos] == '>' {
			h.pos++
			return
		}
		start := h.pos
		for h.pos++; h.pos < len(s) && !isSpace(s[h.pos]) && strings.IndexByte("=>/", s[h.pos]) < 0; {
			h.pos++
		}
		name := s[start:h.pos]
		a.setAttribute(name, h.attributeValue())
	}
}

// attributeValue reads "=value" behind the name of an attribute. It returns "" without a value.
func (h *htmlScanner) attributeValue() string {
	h.skipSpace()
	if h.pos == len(h.s) || h.s[h.pos] != '=' {
		return ""
	}
	h.pos++
	h.skipSpace()
	if h.pos == len(h.s) {
		return ""
	}
	start := h.pos
	if quote := h.s[start]; quote == '"' || quote == '\'' {
		end := strings.IndexByte(h.s[start+1:], quote)
		if end < 0 {
			h.pos = len(h.s)
			return ""
		}
		h.pos = start + 1 + end + 1
		return h.s[start+1 : start+1+end]
	}
	for h.pos < len(h.s) && !isSpace(h.s[h.pos]) && h.s[h.pos] != '>' {
		h.pos++
	}
	return h.s[start:h.pos]
}

func (h *htmlScanner) skipSpace() {
	for h.pos < len(h.s) && isSpace(h.s[h.pos]) {
		h.pos++
	}
}

// setAttribute stores the value of an attribute. If a name appears twice, the first value counts.
func (a *attributes) setAttribute(name, value string) {
	if len(name) == len("hidden") && strings.EqualFold(name, "hidden") {
		a.isHidden, a.anySet = true, true
		return
	}
	to := a.fieldNamed(name)
	if to == nil {
		return
	}
	if a.anySet = true; *to == "" {
		*to = value
	}
}

// fieldNamed returns the field of an attribute, or nil for an attribute that is not needed.
func (a *attributes) fieldNamed(name string) *string {
	if len(name) < len("alt") || len(name) > len("background") {
		return nil
	}
	switch name[0] | 0x20 {
	case 's':
		return a.is(name, "style", &a.style)
	case 'h':
		return a.is(name, "href", &a.href)
	case 'c':
		return cmp.Or(a.is(name, "class", &a.class), a.is(name, "color", &a.color), a.is(name, "cite", &a.cite))
	case 'a':
		return a.is(name, "alt", &a.alt)
	case 'b':
		return cmp.Or(a.is(name, "bgcolor", &a.bgcolor), a.is(name, "background", &a.background))
	case 't':
		return cmp.Or(a.is(name, "type", &a.kind), a.is(name, "text", &a.text))
	case 'v':
		return a.is(name, "value", &a.value)
	case 'm':
		return a.is(name, "media", &a.media)
	}
	return nil
}

// is returns place if name is wanted, otherwise nil.
func (a *attributes) is(name, wanted string, place *string) *string {
	if len(name) == len(wanted) && strings.EqualFold(name, wanted) {
		return place
	}
	return nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isSpace(c byte) bool {
	switch c {
	case ' ', '\n', '\t', '\r', '\f':
		return true
	}
	return false
}
