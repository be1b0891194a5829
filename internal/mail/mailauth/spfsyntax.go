package mailauth

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
)

// strictSPF replaces SPF records with a syntax error by an invalid one. The library parses a record
// only as far as needed, but an error anywhere makes it a permerror (RFC 7208 section 4.6).
type strictSPF struct{ Resolver }

const unreadableSPF = "v=spf1 unreadable"

func (r strictSPF) LookupTXT(ctx context.Context, name string) ([]string, error) {
	records, err := r.Resolver.LookupTXT(ctx, name)
	for i, record := range records {
		if terms, ok := spfTerms(record); ok && !isSPF(terms) {
			records = append([]string(nil), records...) // they belong to the resolver
			records[i] = unreadableSPF
		}
	}
	return records, err
}

// spfTerms removes the version from a record; false if it is not an SPF record.
func spfTerms(record string) (string, bool) {
	const version = "v=spf1"
	if len(record) < len(version) || !strings.EqualFold(record[:len(version)], version) {
		return "", false
	}
	terms := record[len(version):]
	return terms, terms == "" || terms[0] == ' '
}

// isSPF checks terms against RFC 7208 section 12.
func isSPF(terms string) bool {
	redirect, explanation := 0, 0
	for term := range strings.SplitSeq(terms, " ") {
		if term == "" {
			continue
		}
		valid := false
		switch name, value, ok := cutModifier(term); {
		case !ok:
			valid = isDirective(term)
		case name == "redirect":
			redirect++
			valid = isDomainSpec(value)
		case name == "exp":
			explanation++
			valid = isDomainSpec(value)
		default:
			valid = isMacroString(value, "slodiphcrtv")
		}
		if !valid {
			return false
		}
	}
	return redirect <= 1 && explanation <= 1
}

// cutModifier parses name=value. A mechanism has another delimiter before any equals sign.
func cutModifier(term string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(term, "=")
	if !ok || name == "" || !isLetter(name[0]) {
		return "", "", false
	}
	for i := range len(name) {
		if c := name[i]; !isLetter(c) && !isDigit(c) && strings.IndexByte("-_.", c) < 0 {
			return "", "", false
		}
	}
	return strings.ToLower(name), value, true
}

func isDirective(term string) bool {
	if strings.IndexByte("+-?~", term[0]) >= 0 {
		term = term[1:]
	}
	end := strings.IndexAny(term, ":/")
	if end < 0 {
		end = len(term)
	}
	rest := term[end:]
	domain, given := strings.CutPrefix(rest, ":")
	switch strings.ToLower(term[:end]) {
	case "all":
		return rest == ""
	case "include", "exists":
		return given && isDomainSpec(domain)
	case "ptr":
		return rest == "" || given && isDomainSpec(domain)
	case "a", "mx":
		if !given {
			return isDualCIDR(rest)
		}
		slash := strings.LastIndexByte(domain, '}') + 1 // a slash in a macro is a delimiter
		if i := strings.IndexByte(domain[slash:], '/'); i >= 0 {
			return isDomainSpec(domain[:slash+i]) && isDualCIDR(domain[slash+i:])
		}
		return isDomainSpec(domain)
	case "ip4":
		return given && isNetwork(domain, netip.Addr.Is4, 32)
	case "ip6":
		return given && isNetwork(domain, netip.Addr.Is6, 128)
	}
	return false
}

func isNetwork(s string, family func(netip.Addr) bool, bits int) bool {
	addr, length, found := strings.Cut(s, "/")
	ip, err := netip.ParseAddr(addr)
	if err != nil || !family(ip) || ip.Zone() != "" {
		return false
	}
	return !found || isCIDR(length, bits)
}

// isDualCIDR accepts an empty string, /24, //64 or /24//64.
func isDualCIDR(s string) bool {
	four, six, both := strings.Cut(s, "//")
	if both && !isCIDR(six, 128) {
		return false
	}
	length, given := strings.CutPrefix(four, "/")
	return four == "" || given && isCIDR(length, 32)
}

func isCIDR(s string, bits int) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n <= bits && strconv.Itoa(n) == s && s[0] != '-'
}

// isDomainSpec accepts a macro string that ends in a macro or in a label that is not a number.
func isDomainSpec(s string) bool {
	if s == "" || !isMacroString(s, "slodiphv") {
		return false
	}
	if s[len(s)-1] == '}' {
		return true
	}
	s = strings.TrimSuffix(s, ".")
	dot := strings.LastIndexByte(s, '.')
	label := s[dot+1:]
	if dot < 0 || label == "" || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	number := true
	for i := range len(label) {
		if !isLetter(label[i]) && !isDigit(label[i]) && label[i] != '-' {
			return false
		}
		number = number && isDigit(label[i])
	}
	return !number
}

// isMacroString accepts visible ASCII with macros, RFC 7208 section 7.1. The letters c, r and t are
// only allowed in explanations, not in names to look up.
func isMacroString(s, letters string) bool {
	for s != "" {
		switch c := s[0]; {
		case c <= ' ' || c > '~':
			return false
		case c != '%':
			s = s[1:]
			continue
		case len(s) < 2:
			return false
		case strings.IndexByte("%_-", s[1]) >= 0:
			s = s[2:]
			continue
		}
		macro, rest, ok := strings.Cut(s[1:], "}")
		if !ok || !isMacro(macro, letters) {
			return false
		}
		s = rest
	}
	return true
}

// isMacro accepts {d2r- and the like.
func isMacro(s, letters string) bool {
	if len(s) < 2 || s[0] != '{' || strings.IndexByte(letters, s[1]|0x20) < 0 {
		return false
	}
	s = s[2:]
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits > 0 && strings.Trim(s[:digits], "0") == "" {
		return false
	}
	s = s[digits:]
	if s != "" && s[0]|0x20 == 'r' {
		s = s[1:]
	}
	return strings.Trim(s, ".-+,/_=") == ""
}

func isLetter(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
