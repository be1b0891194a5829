package otp

import (
	"net/url"
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/mail/otp/text"
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
	for part := range strings.SplitSeq(value, ";") {
		name, said, named := strings.Cut(strings.TrimSpace(part), "=")
		name, said = strings.ToLower(strings.TrimSpace(name)), strings.Trim(strings.TrimSpace(said), `"`)
		switch {
		case !named && code == "":
			code = strings.Trim(strings.TrimSpace(part), `"`)
		case name == "code" && code == "":
			code = said
		case name == "origin" && host == "":
			host = originHost(said)
		case name == "code", name == "origin":
			return "", "", false // twice
		}
	}
	code = normalForm(code)
	return code, host, code != "" && host != ""
}

// Origin gives the host that a declared code says it is bound to, or "" when the value
// declares none: who fills Input.Declared must verify it first.
func Origin(value string) string {
	if _, host, ok := declared(value); ok {
		return host
	}
	return ""
}

// originHost gives the host of "https://example.com:443", in lower case, or "".
func originHost(origin string) string {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" || u.User != nil || strings.Trim(u.RequestURI(), "/") != "" {
		return ""
	}
	return boundHost(u.Hostname())
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
	code = string(text.Fold(code).Plain)
	if digits := bare.Replace(code); strings.Trim(digits, "0123456789") == "" {
		code = digits
	}
	if len(code) < minCode || len(code) > maxDeclared || strings.Trim(strings.ToLower(code), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return ""
	}
	return code
}

// originLine finds the domain-bound code of a page: its last line, or the last one above
// the signature, is "@example.com #123456". The host of the frame that asks for the code
// may follow it.
func (p *page) originLine() (code, host string, ok bool) {
	last := len(p.Lines) - 1
	for i := last; i >= 0 && i > last-16 && !ok; i-- {
		if p.Lower[p.Lines[i].Start] == '@' && (i == last || strings.Trim(p.lineText(i+1), "- ") == "") {
			code, host, ok = boundLine(p.lineText(i))
		}
	}
	return code, host, ok
}

// lineText gives line i as it was written, save for accents.
func (p *page) lineText(i int) string { return string(p.Plain[p.Lines[i].Start:p.Lines[i].End]) }

// boundLine reads a line of the form that WICG's "origin-bound one-time codes" gives.
func boundLine(s string) (code, host string, ok bool) {
	fields := strings.Fields(s)
	if len(fields) < 2 || len(fields) > 3 || fields[1][0] != '#' || !strings.ContainsAny(fields[len(fields)-1][:1], "#@%") {
		return "", "", false
	}
	host, code = boundHost(fields[0][1:]), normalForm(fields[1][1:])
	return code, host, code != "" && host != ""
}
