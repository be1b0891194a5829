package otp

import (
	"strings"

	"inboxd/internal/address"
	"inboxd/internal/otp/text"
)

// A declared code has at most this many characters.
const maxDeclared = 32

// declared reads the value of a header field that declares a code (specification, Codes):
//
//	"123456"; origin="https://example.com"
//	code=123456; origin=https://example.com
//
// It reports false for anything else; a value that nobody can read is no code.
func declared(value string) (code, host string, ok bool) {
	for i := 0; len(value) > 0; i++ {
		var part string
		part, value = parameter(value)
		name, v, named := strings.Cut(part, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case i == 0 && len(part) > 1 && part[0] == '"':
			code = unquote(part)
		case named && name == "code" && code == "":
			code = unquote(v)
		case named && name == "origin" && host == "":
			host = originHost(unquote(v))
		case named && (name == "code" || name == "origin"):
			return "", "", false // twice
		case i == 0 && !named:
			code = unquote(part)
		}
	}
	code = normalForm(code)
	return code, host, code != "" && host != ""
}

// Origin gives the host that a declared code says it is bound to, or "" when the value
// declares none: who fills Input.Declared must verify it first.
func Origin(value string) string {
	_, host, ok := declared(value)
	if !ok {
		return ""
	}
	return host
}

// parameter cuts s at the first semicolon outside quotation marks.
func parameter(s string) (part, more string) {
	inside := false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			inside = !inside
		case ';':
			if !inside {
				return strings.TrimSpace(s[:i]), s[i+1:]
			}
		}
	}
	return strings.TrimSpace(s), ""
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = strings.ReplaceAll(strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`), `\\`, `\`)
	}
	return s
}

// originHost gives the host of "https://example.com:443", in lower case, or "".
func originHost(origin string) string {
	host, https := strings.CutPrefix(strings.ToLower(origin), "https://")
	if !https {
		return ""
	}
	host = strings.TrimSuffix(host, "/")
	if h, port, ok := strings.Cut(host, ":"); ok {
		if port == "" || strings.Trim(port, "0123456789") != "" {
			return ""
		}
		host = h
	}
	return boundHost(host)
}

// boundHost is the canonical form of a host of at least two labels that a code may be bound
// to, or "".
func boundHost(name string) string {
	host, ok := address.Domain(name)
	if !ok || !strings.Contains(host, ".") {
		return ""
	}
	return host
}

// normalForm gives a declared code as it is to be typed in: digits without what parts
// them, anything else as written. It gives "" for what cannot be a code.
func normalForm(code string) string {
	var f text.Folded
	f.Fold(code)
	digits := make([]byte, 0, len(f.Plain))
	for i, b := range f.Plain {
		switch low := f.Lower[i]; {
		case text.IsDigit(b):
			digits = append(digits, b)
		case b == text.NotASCII || !text.IsAlnum(low) && b != '-' && b != ' ':
			return ""
		case text.IsAlnum(low) && !text.IsDigit(b):
			digits = nil
			if n := len(f.Plain); n < minCode || n > maxDeclared || strings.Contains(string(f.Plain), " ") {
				return ""
			}
			return string(f.Plain)
		}
	}
	if len(digits) < minCode || len(digits) > maxDeclared {
		return ""
	}
	return string(digits)
}

// originLine finds the domain-bound code of a page: its last line, or the last one above
// the signature, is "@example.com #123456". The host of the frame that asks for the code
// may follow it.
func (p *page) originLine() (code, host string, ok bool) {
	last := len(p.Lines) - 1
	for i := last; i >= 0 && i > last-16; i-- {
		if (i == last || p.signature(i+1)) && p.Lower[p.Lines[i].Start] == '@' {
			if code, host, ok = boundLine(string(p.Plain[p.Lines[i].Start:p.Lines[i].End])); ok {
				return code, host, ok
			}
		}
	}
	return "", "", false
}

// signature tells whether line i is the "-- " above a signature, or a rule.
func (p *page) signature(i int) bool {
	ln := &p.Lines[i]
	for k := ln.First; k < ln.Last; k++ {
		if c := p.Lower[p.Tokens[k].Start]; p.Tokens[k].Kind != text.KindPunct || c != '-' {
			return false
		}
	}
	return ln.Last-ln.First >= 2
}

// boundLine reads a line of the form that WICG's "origin-bound one-time codes" gives.
func boundLine(s string) (code, host string, ok bool) {
	fields := strings.Fields(s)
	if len(fields) < 2 || len(fields) > 3 || fields[0][0] != '@' || fields[1][0] != '#' {
		return "", "", false
	}
	if len(fields) == 3 && fields[2][0] != '@' && fields[2][0] != '%' {
		return "", "", false
	}
	host, code = boundHost(fields[0][1:]), normalForm(fields[1][1:])
	return code, host, code != "" && host != ""
}
