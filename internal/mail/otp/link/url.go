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

// secretStrength says how hard it is to guess a part of a URL. A link that proves who clicked has a
// secret part.
type secretStrength uint8

const (
	guessablePart secretStrength = iota // can be guessed
	longNumber                          // a number of five digits or more
	tinySecret                          // a mix of letters and digits of three to five characters, or of upper and lower case
	shortSecret                         // a mix of letters and digits of six characters or more
	longSecret                          // ... with sixteen characters or more
	namedSecret                         // the value of a parameter with a name such as token
)

// parsedURL is the result of parsing a URL.
type parsedURL struct {
	wordConcepts   concept.Set    // concepts of its words
	nestedConcepts concept.Set    // concepts of a URL inside it, the target of a redirect
	secret         secretStrength // of its hardest part
	wordCount      int            // number of its words
	partCount      int            // number of the parts of its path and of its parameters
	isPlaceholder  bool           // a part stands for a secret: YOUR_TOKEN, {token}, :id
	isAPI          bool           // it is an address for programs
	urlShape       string         // scheme, host and first part of the path
}

// addressReader parses URLs.
type addressReader struct {
	words          text.Folded // words of the URL, folded, with a space before each
	nestedConcepts concept.Set
	secret         secretStrength
	isPlaceholder  bool
	isAPI          bool
	isNested       bool // it reads a URL inside another one, and does not read a third level
}

// parseLink parses a web link. ok is false if the link is not an HTTP or HTTPS URL, or has only a host.
func (r *addressReader) parseLink(link string) (a parsedURL, ok bool) {
	scheme, rest, _ := strings.Cut(link, "://")
	host, path := splitAt(rest, "/?#")
	if len(link) > maxLink || strings.TrimSuffix(strings.ToLower(scheme), "s") != "http" || len(host) < 3 || len(path) < 2 || strings.ContainsAny(host, "% <>") {
		return a, false
	}
	*r = addressReader{words: text.Folded{Lower: r.words.Lower[:0], Plain: r.words.Plain[:0]}, isNested: r.isNested, isAPI: strings.HasPrefix(host, "api.")}
	for label, more, _ := strings.Cut(host, "."); strings.Contains(more, "."); label, more, _ = strings.Cut(more, ".") {
		if len(label) > 3 { // not app, www or api
			r.addWord(label)
		}
	}
	first, _ := splitAt(path[1:], "/?#")
	a.urlShape = link[:len(link)-len(path)+1+len(first)]
	for path != "" {
		var part string
		part, path = splitAt(path[1:], "/?#&;")
		if part != "" {
			a.partCount++
		}
		r.readPart(part)
	}
	a.isPlaceholder, a.isAPI = r.isPlaceholder, r.isAPI
	spelled := concept.NormalizeFolded(r.words.Lower, r.words.Lower)
	a.wordCount = bytes.Count(spelled, []byte(" "))
	a.wordConcepts, a.secret, a.nestedConcepts = concept.InURL(spelled), r.secret, r.nestedConcepts
	return a, true
}

// splitAt cuts s before the first of the characters in signs.
func splitAt(s, signs string) (before, from string) {
	if i := strings.IndexAny(s, signs); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// readPart reads a part of the path, or a parameter with its value.
func (r *addressReader) readPart(part string) {
	name, value, pair := strings.Cut(part, "=")
	name = strings.ToLower(name)
	secret, target := estimateSecrecy(value), unescape(value)
	switch {
	case !pair:
		value, secret = part, estimateSecrecy(part)
	case slices.Contains(trackingNames, name), strings.HasPrefix(name, "utm"), strings.HasPrefix(name, "mc_"):
		return
	case strings.HasPrefix(target, "http"):
		r.readNested(target)
		return
	default:
		r.addWord(name)
		if len(value) >= 4 && isProvingName(name) {
			secret = namedSecret
		}
	}
	r.isPlaceholder = r.isPlaceholder || isPlaceholder(value)
	r.isAPI = r.isAPI || !pair && slices.Contains(apiParts, value)
	if r.secret = max(r.secret, secret); secret <= tinySecret {
		r.addWord(value)
	}
}

// isPlaceholder reports whether a part of a URL stands for a value that the reader is to fill in.
func isPlaceholder(part string) bool {
	if strings.IndexByte(part, '%') >= 0 {
		part = unescape(part)
	}
	holds := func(filler string) bool { return strings.Contains(part, filler) }
	if strings.ContainsAny(part, "{}[]<>$|") || strings.HasPrefix(part, ":") || slices.ContainsFunc(fillers, holds) {
		return true
	}
	if start := part[:min(len(part), len("your_"))]; strings.EqualFold(start, "your_") || strings.EqualFold(start, "your-") {
		return true
	}
	named := strings.Trim(part, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" && strings.IndexByte(part, '_') > 0
	return named || slices.Contains(placeholders, part)
}

// fillers are parts of a value that nobody has filled in.
var fillers = []string{"...", "…", "xxx", "XXX"}

// placeholders are names that stand for a value when they are written in capitals; apiParts are parts
// of a path of an address for programs.
var placeholders, apiParts = []string{"TOKEN", "CODE", "KEY", "SECRET", "UUID", "HASH", "ID"}, []string{"api", "rest", "graphql", "webhook", "webhooks", "v1", "v2", "v3"}

// readNested reads a URL inside another one. Its secret counts as short at most.
func (r *addressReader) readNested(link string) {
	inner := addressReader{isNested: true}
	if r.isNested {
		return
	}
	if a, ok := inner.parseLink(link); ok {
		r.nestedConcepts |= a.wordConcepts
		r.secret = max(r.secret, min(a.secret, shortSecret))
	}
}

// addWord adds a part of a URL to the words: "verifyEmail", "sign-in".
func (r *addressReader) addWord(part string) {
	if len(part) > maxWord && !strings.Contains(part, "%") || len(r.words.Lower) > maxWords {
		return
	}
	part = unescape(part)
	part = part[:min(len(part), 2*maxWord)]
	r.words.Fold(" ")
	from := 0
	for i := 1; i < len(part); i++ {
		hump := text.InRange(part[i], 'A', 'Z') && text.InRange(part[i-1], 'a', 'z')
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

// provingNames and provingEnds are names of parameters, and ends of names, with a value that proves who
// clicked.
var provingNames, provingEnds = []string{"otp", "ticket", "hmac", "jwt", "sig", "signature", "hash", "nonce", "tok", "otk"}, []string{"code", "key", "sessionid", "auth"}

// trackingNames are names of parameters for analytics and language, which are ignored.
var trackingNames = []string{"ref", "source", "lang", "locale", "hl"}

// isProvingName reports whether the value of a parameter with this name proves who clicked.
func isProvingName(name string) bool {
	ends := func(end string) bool { return strings.HasSuffix(name, end) }
	return strings.Contains(name, "token") || strings.Contains(name, "secret") || slices.Contains(provingNames, name) || slices.ContainsFunc(provingEnds, ends)
}

// estimateSecrecy returns how hard a part of a URL is to guess, by its length and its mix of
// characters.
func estimateSecrecy(s string) secretStrength {
	letters, numbers, upper, other, lowered := 0, 0, 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case text.IsDigit(c):
			numbers++
		case text.InRange(c, 'a', 'z'):
			letters++
			if i > 0 && text.InRange(s[i-1], 'A', 'Z') {
				lowered++
			}
		case text.InRange(c, 'A', 'Z'):
			letters++
			upper++
		case strings.IndexByte("-_=~:%.+!", c) >= 0:
			other++
		default:
			return guessablePart
		}
	}
	switch n := letters + numbers; {
	case letters == 0 && numbers >= 5:
		return longNumber
	case other >= max(1, n/3):
		return guessablePart
	case n >= 16 && (numbers >= 2 || upper >= 4 && upper < letters):
		return longSecret
	case n >= 6 && numbers >= 2 && letters >= 2:
		return shortSecret
	case n >= 8 && (numbers > 0 && text.InRange(upper, 2, n-3) || lowered >= 2 && upper > lowered):
		return shortSecret
	case n >= 3 && numbers > 0 && letters > 0, n >= 4 && lowered > 0 && upper > lowered:
		return tinySecret
	}
	return guessablePart
}
