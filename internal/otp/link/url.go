package link

import (
	"bytes"
	"strings"

	"inboxd/internal/otp/concept"
	"inboxd/internal/otp/text"
)

// maxLink bounds how many bytes of a link are read.
const maxLink = 4096

// secrecy tells whether a part of a link can be guessed.
type secrecy uint8

const (
	open   secrecy = iota
	digits         // a number of five digits or more
	short          // letters and digits mixed
	long           // sixteen of them or more
	named          // ... under a name like token
)

// address is what the parts of a link say.
type address struct {
	means  concept.Set // its words
	inner  concept.Set // of another address in it: where it leads in the end
	secret secrecy
	words  int // how many it has, up to 7
	shape  string
}

// may tells whether a link may be the one: it says so, or nobody can guess it.
func (a *address) may() bool {
	switch {
	case (a.means | a.inner).Has(concept.Asks), a.secret > digits:
		return true
	}
	return a.secret == digits && !a.means.Has(concept.Others)
}

// read takes a web link apart; ok is false for what is none, or nothing but a host.
func (r *addressReader) read(link string) (a address, ok bool) {
	scheme, rest, ok := strings.Cut(link, "://")
	if !ok || len(link) > maxLink || len(scheme) > 5 || !strings.EqualFold(scheme[:min(4, len(scheme))], "http") {
		return a, false
	}
	*r = addressReader{words: r.words[:0], nested: r.nested}
	host, rest := splitAt(rest, "/?#")
	if len(host) < 3 || len(rest) < 2 || strings.ContainsAny(host, "% <>") {
		return a, false
	}
	path, query := splitAt(rest, "?#")
	first, _ := splitAt(strings.TrimLeft(path, "/"), "/")
	a.shape = link[:len(scheme)+3+len(host)+min(len(path), len(first)+1)]
	r.host(host)
	r.path(path)
	for query != "" {
		var pair string
		pair, query = splitAt(query[1:], "&#?;")
		r.pair(pair)
	}
	a.words = min(7, bytes.Count(r.words, []byte(" ")))
	a.means, a.secret, a.inner = concept.InURL(spelled(r.words)), r.secret, r.inner
	return a, true
}

// splitAt cuts s before the first of the signs.
func splitAt(s, signs string) (before, from string) {
	if i := strings.IndexAny(s, signs); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// addressReader collects the words of a link, each behind a blank.
type addressReader struct {
	words  []byte
	inner  concept.Set
	secret secrecy
	nested bool // it is an address in another one, and looks into no third
}

// host reads the names before the domain that somebody registered.
func (r *addressReader) host(host string) {
	for more := strings.Count(host, ".") - 1; more > 0; more-- {
		var label string
		label, host, _ = strings.Cut(host, ".")
		if len(label) > 3 { // app, www, api
			r.word(label)
		}
	}
}

func (r *addressReader) path(path string) {
	for path != "" {
		var part string
		part, path = splitAt(strings.TrimLeft(path, "/"), "/")
		if r.hide(opaque(part)) {
			r.word(part)
		}
	}
}

// pair reads a name and its value, of the query or of the fragment.
func (r *addressReader) pair(pair string) {
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		r.path(pair)
		return
	}
	if name = strings.ToLower(name); tracking(name) {
		return
	}
	if target := unescape(value); r.nested && strings.HasPrefix(target, "http") {
		return
	} else if strings.HasPrefix(target, "http") {
		inner := addressReader{nested: true}
		if a, ok := inner.read(target); ok {
			r.inner |= a.means
			r.secret = max(r.secret, min(a.secret, short))
		}
		return
	}
	secret := opaque(value)
	if secretName(name) && len(value) >= 4 {
		secret = named
	}
	if r.word(name); r.hide(secret) {
		r.word(value)
	}
}

// hide notes a secret, and tells whether there is none.
func (r *addressReader) hide(s secrecy) bool {
	r.secret = max(r.secret, s)
	return s == open
}

// word takes a part of a link as words: "verifyEmail", "sign-in".
func (r *addressReader) word(part string) {
	const most = 60
	if len(part) == 0 || len(part) > most && !strings.Contains(part, "%") || len(r.words) > 400 {
		return
	}
	part = unescape(part)
	part = part[:min(len(part), 2*most)]
	r.words = append(r.words, ' ')
	for i := range len(part) {
		c := part[i]
		hump := i > 0 && text.Between(c, 'A', 'Z') && text.Between(part[i-1], 'a', 'z')
		if hump || c == '.' {
			r.words = append(r.words, ' ')
		}
		r.words = append(r.words, c)
	}
}

// spelled is spell for what is ASCII already, in place.
func spelled(b []byte) []byte {
	for i, c := range b {
		switch {
		case c >= 0x80:
			return concept.Spell(nil, string(b))
		case 'A' <= c && c <= 'Z':
			b[i] = c | 0x20
		case c == '-' || c == '_' || c == '+' || c == '\'':
			b[i] = ' '
		}
	}
	return b
}

// unescape undoes %XX once.
func unescape(s string) string {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:i]...)
	for ; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) && nibble(s[i+1]) < 16 && nibble(s[i+2]) < 16 {
			c = nibble(s[i+1])<<4 | nibble(s[i+2])
			i += 2
		}
		b = append(b, c)
	}
	return string(b)
}

func nibble(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}

// secretName tells the names under which services pass what proves who clicked.
func secretName(name string) bool {
	switch name {
	case "otp", "code", "key", "ticket", "hmac", "jwt", "sig", "signature", "hash", "upn":
		return name != "upn"
	}
	if strings.Contains(name, "token") || strings.Contains(name, "secret") {
		return true
	}
	return strings.HasSuffix(name, "code") || strings.HasSuffix(name, "key") || strings.HasSuffix(name, "sessionid")
}

func tracking(name string) bool {
	switch name {
	case "ref", "source", "lang", "locale", "hl":
		return true
	}
	return strings.HasPrefix(name, "utm") || strings.HasPrefix(name, "mc_")
}

// opaque tells how hard a part of a link is to guess: long, and of mixed characters, or many digits.
func opaque(s string) secrecy {
	letters, numbers, upper, other := 0, 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case text.IsDigit(c):
			numbers++
		case c >= 'a' && c <= 'z':
			letters++
		case c >= 'A' && c <= 'Z':
			letters++
			upper++
		case strings.IndexByte("-_=~:%.+!", c) >= 0:
			other++
		default:
			return open
		}
	}
	switch n := letters + numbers; {
	case letters == 0 && numbers >= 5:
		return digits
	case other > n/3:
		return open
	case n >= 16 && (numbers >= 2 || upper >= 4 && upper < letters):
		return long
	case other == n/3:
		return open
	case n >= 6 && numbers >= 2 && letters >= 2:
		return short
	case n >= 8 && numbers > 0 && text.Between(upper, 2, n-3):
		return short
	}
	return open
}
