package link

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/text"
)

// Limits, in bytes.
const (
	maxLink  = 4096 // a longer URL is not a candidate
	maxWords = 400  // of a URL that are read as words
	maxWord  = 60   // of one part of a URL that are read as words
)

// secrecy says how hard it is to guess a part of a URL. A link that proves who clicked has a secret
// part.
type secrecy uint8

const (
	open   secrecy = iota // can be guessed
	digits                // a number of five digits or more
	short                 // a mix of letters and digits
	long                  // ... with sixteen characters or more
	named                 // the value of a parameter with a name such as token
)

// address is the result of parsing a URL.
type address struct {
	means  concept.Set // concepts of its words
	inner  concept.Set // concepts of a URL inside it, the target of a redirect
	secret secrecy     // of its hardest part
	words  int         // number of its words
	shape  string      // scheme, host and first part of the path
}

// may reports whether the URL permits the link to be a candidate: its words ask for an action, or
// it has a secret part.
func (a *address) may() bool {
	return (a.means | a.inner).Has(concept.Asks) || a.secret > digits || a.secret == digits && !a.means.Has(concept.Others)
}

// addressReader parses URLs.
type addressReader struct {
	words  text.Folded // words of the URL, folded, with a space before each
	inner  concept.Set
	secret secrecy
	nested bool // it reads a URL inside another one, and does not read a third level
}

// read parses a web link. ok is false if the link is not an HTTP or HTTPS URL, or has only a host.
func (r *addressReader) read(link string) (a address, ok bool) {
	scheme, rest, _ := strings.Cut(link, "://")
	host, path := splitAt(rest, "/?#")
	if len(link) > maxLink || strings.TrimSuffix(strings.ToLower(scheme), "s") != "http" || len(host) < 3 || len(path) < 2 || strings.ContainsAny(host, "% <>") {
		return a, false
	}
	*r = addressReader{words: text.Folded{Lower: r.words.Lower[:0], Plain: r.words.Plain[:0]}, nested: r.nested}
	for label, more, _ := strings.Cut(host, "."); strings.Contains(more, "."); label, more, _ = strings.Cut(more, ".") {
		if len(label) > 3 { // not app, www or api
			r.word(label)
		}
	}
	first, _ := splitAt(path[1:], "/?#")
	a.shape = link[:len(link)-len(path)+1+len(first)]
	for path != "" {
		var part string
		part, path = splitAt(path[1:], "/?#&;")
		r.part(part)
	}
	spelled := concept.Respell(r.words.Lower, r.words.Lower)
	a.words = bytes.Count(spelled, []byte(" "))
	a.means, a.secret, a.inner = concept.InURL(spelled), r.secret, r.inner
	return a, true
}

// splitAt cuts s before the first of the characters in signs.
func splitAt(s, signs string) (before, from string) {
	if i := strings.IndexAny(s, signs); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// part reads a part of the path, or a parameter with its value.
func (r *addressReader) part(part string) {
	name, value, pair := strings.Cut(part, "=")
	name = strings.ToLower(name)
	secret, target := opaque(value), unescape(value)
	switch {
	case !pair:
		value, secret = part, opaque(part)
	case slices.Contains(tracking, name), strings.HasPrefix(name, "utm"), strings.HasPrefix(name, "mc_"):
		return
	case strings.HasPrefix(target, "http"):
		r.nest(target)
		return
	default:
		r.word(name)
		if len(value) >= 4 && proves(name) {
			secret = named
		}
	}
	if r.secret = max(r.secret, secret); secret == open {
		r.word(value)
	}
}

// nest reads a URL inside another one. Its secret counts as short at most.
func (r *addressReader) nest(link string) {
	inner := addressReader{nested: true}
	if r.nested {
		return
	}
	if a, ok := inner.read(link); ok {
		r.inner |= a.means
		r.secret = max(r.secret, min(a.secret, short))
	}
}

// word adds a part of a URL to the words: "verifyEmail", "sign-in".
func (r *addressReader) word(part string) {
	if len(part) > maxWord && !strings.Contains(part, "%") || len(r.words.Lower) > maxWords {
		return
	}
	part = unescape(part)
	part = part[:min(len(part), 2*maxWord)]
	r.words.Fold(" ")
	from := 0
	for i := 1; i < len(part); i++ {
		hump := text.Between(part[i], 'A', 'Z') && text.Between(part[i-1], 'a', 'z')
		if hump || part[i] == '.' {
			r.words.Fold(part[from:i])
			r.words.Fold(" ")
			from = i
		}
	}
	r.words.Fold(part[from:])
}

// unescape decodes the %XX sequences of s once. It returns s itself if one of them is invalid.
func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// proving and provingEnds are names of parameters, and ends of names, with a value that proves who
// clicked.
var proving, provingEnds = []string{"otp", "ticket", "hmac", "jwt", "sig", "signature", "hash"}, []string{"code", "key", "sessionid"}

// tracking are names of parameters for analytics and language, which are ignored.
var tracking = []string{"ref", "source", "lang", "locale", "hl"}

// proves reports whether the value of a parameter with this name proves who clicked.
func proves(name string) bool {
	ends := func(end string) bool { return strings.HasSuffix(name, end) }
	return strings.Contains(name, "token") || strings.Contains(name, "secret") || slices.Contains(proving, name) || slices.ContainsFunc(provingEnds, ends)
}

// opaque returns how hard a part of a URL is to guess, by its length and its mix of characters.
func opaque(s string) secrecy {
	letters, numbers, upper, other := 0, 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case text.IsDigit(c):
			numbers++
		case text.Between(c, 'a', 'z'):
			letters++
		case text.Between(c, 'A', 'Z'):
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
	case other >= max(1, n/3):
		return open
	case n >= 16 && (numbers >= 2 || upper >= 4 && upper < letters):
		return long
	case n >= 6 && numbers >= 2 && letters >= 2:
		return short
	case n >= 8 && numbers > 0 && text.Between(upper, 2, n-3):
		return short
	}
	return open
}
