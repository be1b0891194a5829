package message

import (
	"cmp"
	"slices"
	"strings"
)

// MediaType returns the type/subtype of a Content-Type, in lower case. An invalid one is text/plain
// (RFC 2045 section 5.2).
func MediaType(v string) string {
	v = strings.TrimLeft(v, " \t\"")
	if end := strings.IndexAny(v, "; \t(\""); end >= 0 {
		v = v[:end]
	}
	v = strings.ToLower(v)
	main, sub, _ := strings.Cut(v, "/")
	if !IsToken(main) || !IsToken(sub) {
		return "text/plain"
	}
	return v
}

// IsToken reports whether s is an RFC 2045 token, short enough to be a type or a charset.
func IsToken(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f || strings.IndexByte("()<>@,;:\\\"/[]?=", s[i]) >= 0 {
			return false
		}
	}
	return s != "" && len(s) < 128
}

// params iterates over the parameters of a structured field, value; name=value; ... One goroutine
// owns it.
type params struct {
	remainingText string
	paramCount    int
}

func newParams(field string) params {
	_, rest, _ := strings.Cut(field, ";")
	return params{remainingText: rest}
}

// nextParam returns the next parameter without quotes. Unquoted values extend to the next semicolon,
// because file names with spaces are sent unquoted.
func (p *params) nextParam() (name, value string, ok bool) {
	p.remainingText = strings.TrimLeft(p.remainingText, "; \t")
	if p.paramCount++; p.remainingText == "" || p.paramCount > maxParameters {
		return "", "", false
	}
	end := strings.IndexAny(p.remainingText, "=;")
	if end < 0 {
		name, p.remainingText = p.remainingText, ""
		return strings.TrimSpace(name), "", true
	}
	separator := p.remainingText[end]
	name, p.remainingText = strings.TrimSpace(p.remainingText[:end]), p.remainingText[end+1:]
	if separator == ';' {
		return name, "", true
	}
	p.remainingText = strings.TrimLeft(p.remainingText, " \t")
	if strings.HasPrefix(p.remainingText, `"`) {
		value, p.remainingText = parseQuoted(p.remainingText)
		return name, value, true
	}
	value, p.remainingText, _ = strings.Cut(p.remainingText, ";")
	return name, strings.TrimSpace(value), true
}

// parseQuoted parses the quoted string at the start of s. A backslash counts only before a quote or a
// backslash: Windows paths are sent without escaping.
func parseQuoted(s string) (value, rest string) {
	s = s[1:]
	end := strings.IndexAny(s, `"\`)
	if end < 0 {
		return s, ""
	}
	if s[end] == '"' {
		return s[:end], s[end+1:]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

// Param returns the raw value of one plain parameter.
func Param(field, name string) string {
	for p := newParams(field); ; {
		n, value, ok := p.nextParam()
		if !ok || strings.EqualFold(n, name) {
			return value
		}
	}
}

// paramSegment is one piece of a parameter that RFC 2231 section 3 splits: name*0, name*1*, ...
type paramSegment struct {
	index     int
	isEncoded bool // percent-encoded
	value     string
}

// decodedParam returns a parameter as text: its extended form of RFC 2231 if present, else the
// plain one, in which encoded words are decoded although RFC 2047 forbids them.
func decodedParam(field, name string) string {
	var plain string
	var segments []paramSegment
	for p := newParams(field); len(segments) < maxSegments; {
		n, value, ok := p.nextParam()
		if !ok {
			break
		}
		base, suffix, extended := strings.Cut(n, "*")
		switch {
		case !strings.EqualFold(base, name):
		case !extended && plain == "":
			plain = value
		case extended:
			if s, ok := parseSegment(suffix, value); ok {
				segments = append(segments, s)
			}
		}
	}
	if len(segments) == 0 {
		if n := len(plain); n > 2 && plain[0] == '\'' && plain[n-1] == '\'' {
			plain = plain[1 : n-1] // quotes of a programming language
		}
		return decodeWords(plain)
	}
	return joinSegments(segments)
}

// parseSegment parses what follows the first asterisk of a name: "", "0", "0*".
func parseSegment(suffix, value string) (s paramSegment, ok bool) {
	s.value = value
	if suffix == "" {
		s.isEncoded = true
		return s, true
	}
	suffix, s.isEncoded = strings.CutSuffix(suffix, "*")
	for i := range len(suffix) {
		if suffix[i] < '0' || suffix[i] > '9' || s.index > maxSegments {
			return s, false
		}
		s.index = s.index*10 + int(suffix[i]-'0')
	}
	return s, suffix != ""
}

// joinSegments joins the segments up to the first missing one, and decodes them as a whole, because
// a character may be split between two.
func joinSegments(segments []paramSegment) string {
	slices.SortStableFunc(segments, func(a, b paramSegment) int { return cmp.Compare(a.index, b.index) })
	var charset string
	var b []byte
	plain := true
	next := min(segments[0].index, 1) // some programs count from 1
	for i, s := range segments {
		if s.index != next {
			if s.index < next {
				continue // a second one of the same number
			}
			break
		}
		next++
		if i == 0 && s.isEncoded {
			if parts := strings.SplitN(s.value, "'", 3); len(parts) == 3 {
				charset, s.value = parts[0], parts[2]
			}
		}
		if s.isEncoded {
			b = appendUnescaped(b, s.value)
			plain = plain && !strings.Contains(s.value, "%")
		} else {
			b = append(b, s.value...)
		}
	}
	if plain && charset == "" { // encoded words, against the rules, which may be cut anywhere
		return decodeWords(string(b))
	}
	text, _ := toUTF8(charset, b)
	return CleanHeader(string(text))
}

// appendUnescaped appends s with its percent-encoded bytes decoded.
func appendUnescaped(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if v, ok := hexByte(s[i+1], s[i+2]); ok {
				c = v
				i += 2
			}
		}
		b = append(b, c)
	}
	return b
}
