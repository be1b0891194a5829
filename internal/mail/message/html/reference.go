package html

import (
	"html"
	"strings"
	"unicode/utf8"
)

// maxReference is the length of the longest name of a character reference with its semicolon.
const maxReference = 32

// unescapeAttribute resolves the character references in the value of an attribute (WHATWG HTML,
// "named character reference state"). Unlike in text, a name without a semicolon stays as written
// if a letter, a digit or "=" follows. Otherwise "?a=1&copy=2" would lose its parameter "copy".
func unescapeAttribute(s string) string {
	i := strings.IndexByte(s, '&')
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for ; i >= 0; i = strings.IndexByte(s, '&') {
		b.WriteString(s[:i])
		n := referenceLen(s[i:])
		b.WriteString(attributeReference(s[i : i+n]))
		s = s[i+n:]
	}
	b.WriteString(s)
	return b.String()
}

// referenceLen returns how many bytes of s, which begins with "&", may be one reference. If "="
// follows the name, it is included, since the name then is not a reference.
func referenceLen(s string) int {
	n := 1
	if strings.HasPrefix(s, "&#") {
		n = 2
	}
	for n < len(s) && isAlphanumeric(s[n]) {
		n++
	}
	if n < len(s) && (s[n] == ';' || s[n] == '=' && s[1] != '#') {
		n++
	}
	return n
}

// attributeReference resolves a reference that referenceLen found. It returns anything else
// unchanged.
func attributeReference(s string) string {
	switch {
	case s == "&amp;":
		return "&"
	case strings.HasPrefix(s, "&#"):
		return numericReference(s)
	case len(s) < 2, len(s) > 1+maxReference, s[len(s)-1] == '=':
		return s
	}
	resolved := html.UnescapeString(s)
	if s[len(s)-1] == ';' {
		if strings.HasSuffix(resolved, ";") && s != "&semi;" {
			return s // the name is unknown, or only its beginning is a known name
		}
		return resolved
	}
	if utf8.RuneCountInString(resolved) > 1 {
		return s
	}
	return resolved
}

// numericReference resolves numeric references such as "&#65;" and "&#x41". The text behind the
// digits stays.
func numericReference(s string) string {
	digits, base := s[2:], "0123456789"
	if digits != "" && digits[0]|0x20 == 'x' {
		digits, base = digits[1:], "0123456789abcdefABCDEF"
	}
	rest := strings.TrimLeft(digits, base)
	digits = digits[:len(digits)-len(rest)]
	if digits == "" {
		return s
	}
	written := s[:len(s)-len(rest)]
	if rest = strings.TrimPrefix(rest, ";"); len(strings.TrimLeft(digits, "0")) > 7 {
		return "\uFFFD" + rest // above the range of Unicode, and perhaps of an int32
	}
	return html.UnescapeString(written+";") + rest
}

func isAlphanumeric(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }
