package webhook

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
)

// MaxURL bounds a webhook's URL, in characters (specification, Webhooks).
const MaxURL = 2048

// CanonicalURL checks a webhook's URL and returns it as it will be requested: host in A-labels and
// lower case, no fragment. Whether the address of the host is allowed is checked separately, at
// each connection.
func CanonicalURL(raw string) (string, error) {
	if n := utf8.RuneCountInString(raw); n > MaxURL {
		return "", badURL("is too long (%d characters). The limit is %d characters", n, MaxURL)
	}
	if !utf8.ValidString(raw) || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return "", badURL("contains a space, a control character or a backslash")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", badURL("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", badURL("must begin with http:// or https://")
	case u.User != nil:
		return "", badURL("must not contain a user name or password")
	case u.Hostname() == "":
		return "", badURL("has no host")
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return "", err
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n != 80 && n != 443 && n < 1024 {
			return "", badURL("must use port 80, port 443, or a port from 1024 on")
		}
		host += ":" + strconv.FormatUint(n, 10)
	}
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	return u.String(), nil
}

// canonicalHost rejects numbers that some resolvers read as an address and ours does not: 0x7f.1,
// 017700000001, 2130706433.
func canonicalHost(host string) (string, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		switch {
		case a.Zone() != "":
			return "", badURL("contains an address with a zone, which is not supported")
		case a.Is4():
			return a.String(), nil
		}
		return "[" + a.String() + "]", nil
	}
	name, ok := address.CanonicalDomain(strings.TrimSuffix(host, "."))
	if !ok {
		return "", badURL("has an invalid host")
	}
	if address.EndsInNumber(name) {
		return "", badURL("has a host that is neither a name nor an address")
	}
	return name, nil
}

func badURL(format string, args ...any) error {
	return fault.InvalidField("url", format, args...)
}
