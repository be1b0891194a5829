package link

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/text"
)

// maxLink bounds how many bytes of a link are read, maxWords how many of them are read as words, and maxWord those
// of one.
const (
	maxLink  = 4096
	maxWords = 400
	maxWord  = 60
)

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
	words  int // how many it has
	shape  string
}

// may tells whether a link may be the one: it says so, or nobody can guess it.
func (a *address) may() bool {
	return (a.means | a.inner).Has(concept.Asks) || a.secret > digits || a.secret == digits && !a.means.Has(concept.Others)
}

// addressReader takes links apart. The words of one are folded, each behind a blank.
type addressReader struct {
	words  text.Folded
	inner  concept.Set
	secret secrecy
	nested bool // it is an address in another one, and looks into no third
}

// read takes a web link apart; ok is false for what is none, or nothing but a host.
func (r *addressReader) read(link string) (a address, ok bool) {
	scheme, rest, _ := strings.Cut(link, "://")
	host, path := splitAt(rest, "/?#")
	if len(link) > maxLink || strings.TrimSuffix(strings.ToLower(scheme), "s") != "http" || len(host) < 3 || len(path) < 2 || strings.ContainsAny(host, "% <>") {
		return a, false
	}
	*r = addressReader{words: text.Folded{Lower: r.words.Lower[:0], Plain: r.words.Plain[:0]}, nested: r.nested}
	for label, more, _ := strings.Cut(host, "."); strings.Contains(more, "."); label, more, _ = strings.Cut(more, ".") {
		if len(label) > 3 { // no app, www or api
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

// splitAt cuts s before the first of the signs.
func splitAt(s, signs string) (before, from string) {
	if i := strings.IndexAny(s, signs); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// part reads a part of the path, or a name and its value.
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

// nest reads an address inside of another one.
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

// word takes a part of a link as words: "verifyEmail", "sign-in".
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

// unescape undoes %XX once, if all of them can be undone.
func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// proving are names, and ends of names, under which services pass what proves who clicked.
var proving, provingEnds = []string{"otp", "ticket", "hmac", "jwt", "sig", "signature", "hash"}, []string{"code", "key", "sessionid"}

// tracking are names that tell where somebody clicked.
var tracking = []string{"ref", "source", "lang", "locale", "hl"}

// proves tells a name of what proves who clicked.
func proves(name string) bool {
	ends := func(end string) bool { return strings.HasSuffix(name, end) }
	return strings.Contains(name, "token") || strings.Contains(name, "secret") || slices.Contains(proving, name) || slices.ContainsFunc(provingEnds, ends)
}

// opaque tells how hard a part of a link is to guess: long, and of mixed characters, or many digits.
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
