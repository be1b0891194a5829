package otp

import (
	"net/url"
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/mail/otp/text"
)

// maxDeclared is the largest number of characters of a declared code.
const maxDeclared = 32

// parseDeclared reads the value of a header field that declares a code (specification, Codes):
//
//	"123456"; origin="https://example.com"
//	code=123456; origin=https://example.com
//
// ok is false for every other form, and for a parameter that appears twice.
func parseDeclared(value string) (code, host string, ok bool) {
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
		case name == "code", name == "origin": // a second one
			return "", "", false
		}
	}
	code = normalForm(code)
	return code, host, code != "" && host != ""
}

// DeclaredOrigin returns the host that the declared code in a header value claims to be bound to,
// or "" if the value does not declare a code. The caller must verify this host before it fills
// Input.DeclaredCodes.
func DeclaredOrigin(value string) string {
	if _, host, ok := parseDeclared(value); ok {
		return host
	}
	return ""
}

// originHost returns the host of an origin such as "https://example.com:443" in lower case, or ""
// if the value is not an HTTPS origin.
func originHost(origin string) string {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" || u.User != nil || strings.Trim(u.RequestURI(), "/") != "" {
		return ""
	}
	return boundHost(u.Hostname())
}

// boundHost returns the canonical form of a domain name with at least two labels, or "" if name is
// not one. A code is only bound to such a host.
func boundHost(name string) string {
	host, ok := address.CanonicalDomain(name)
	if !ok || !strings.Contains(host, ".") {
		return ""
	}
	return host
}

// normalForm returns a declared code as the user types it: digits without separators, everything
// else as written. It returns "" for a value that cannot be a code.
func normalForm(code string) string {
	code = string(text.Fold(code).Plain)
	if digits := separatorRemover.Replace(code); strings.Trim(digits, "0123456789") == "" {
		code = digits
	}
	if len(code) < minCode || len(code) > maxDeclared || strings.Trim(strings.ToLower(code), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return ""
	}
	return code
}

// originLine finds the domain-bound code of a page. Its last line, or the last line above the
// signature, is then "@example.com #123456". The host of the embedding frame may follow the code.
// Only the last 16 lines are read.
func (p *sourcePage) originLine() (code, host string, ok bool) {
	last := len(p.Lines) - 1
	for i := last; i >= 0 && i > last-16 && !ok; i-- {
		if p.Lower[p.Lines[i].Start] == '@' && (i == last || strings.Trim(p.lineText(i+1), "- ") == "") {
			code, host, ok = boundLine(p.lineText(i))
		}
	}
	return code, host, ok
}

// lineText returns line i as written, without accents.
func (p *sourcePage) lineText(i int) string { return string(p.Plain[p.Lines[i].Start:p.Lines[i].End]) }

// boundLine parses a line in the format of WICG "Origin-bound one-time codes delivered via SMS".
func boundLine(s string) (code, host string, ok bool) {
	fields := strings.Fields(s)
	if len(fields) < 2 || len(fields) > 3 || fields[1][0] != '#' || !strings.ContainsAny(fields[len(fields)-1][:1], "#@%") {
		return "", "", false
	}
	host, code = boundHost(fields[0][1:]), normalForm(fields[1][1:])
	return code, host, code != "" && host != ""
}
