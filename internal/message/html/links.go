package html

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Links collects http(s) URLs in order of appearance, without doubles, at most MaxLinks. One
// goroutine at a time adds to it: whoever reads the mail.
type Links struct {
	list []string
	seen map[string]struct{} // nil while list is short enough to be looked through
	more bool                // than List has
}

// List is never changed again by what is added later.
func (l *Links) List() []string { return l.list }

// More reports that there was one beyond MaxLinks.
func (l *Links) More() bool { return l.more }

// full reports that no more are wanted, not even to know of them.
func (l *Links) full() bool { return l == nil || l.more }

func (l *Links) add(url string) {
	if l.full() || len(url) > maxLinkLen || l.has(url) {
		return
	}
	if l.more = len(l.list) == MaxLinks; l.more {
		return
	}
	url = strings.Clone(url) // a link must not keep the whole mail in memory
	l.list = append(l.list, url)
	if l.seen != nil {
		l.seen[url] = struct{}{}
	} else if len(l.list) == fewLinks {
		l.seen = make(map[string]struct{}, 2*fewLinks)
		for _, url := range l.list {
			l.seen[url] = struct{}{}
		}
	}
}

// fewLinks are looked through quicker than a map of them is made.
const fewLinks = 16

func (l *Links) has(url string) bool {
	if l.seen == nil {
		return slices.Contains(l.list, url)
	}
	_, ok := l.seen[url]
	return ok
}

// AddText adds every URL that is written out in a text.
func (l *Links) AddText(text string) {
	for !l.full() {
		i := strings.Index(text, "://")
		if i < 0 {
			return
		}
		start := i - schemeLen(text[:i])
		end := i + 3 + urlLen(text[i+3:])
		if start < i && end > i+3 {
			l.add(text[start:end])
		}
		text = text[end:]
	}
}

// addHref adds the target of a link. It returns the URL, "" when it is not http(s).
func (l *Links) addHref(href string) string {
	url := hrefURL(href)
	if url != "" && l != nil {
		l.add(url)
	}
	return url
}

// hrefURL decodes an href as a browser does: character references, no blanks around, no line
// breaks or tabs inside. A reference takes at most eight times the bytes of what it stands for
// in any href that escapes a URL.
func hrefURL(href string) string {
	if len(href) > 8*maxLinkLen {
		return ""
	}
	href = unescapeAttribute(href)
	href = strings.TrimFunc(href, unicode.IsSpace)
	if strings.ContainsAny(href, "\r\n\t") {
		href = breaks.Replace(href)
	}
	scheme, rest, ok := strings.Cut(href, "://")
	if !ok || rest == "" || schemeLen(scheme) != len(scheme) || hasControl(rest) {
		return ""
	}
	return strings.ReplaceAll(href, " ", "%20")
}

var breaks = strings.NewReplacer("\r", "", "\n", "", "\t", "")

func hasControl(s string) bool { return strings.IndexFunc(s, unicode.IsControl) >= 0 }

// schemeLen returns the length of http or https at the end of s, else 0.
func schemeLen(s string) int {
	for _, scheme := range [...]string{"https", "http"} {
		if n := len(scheme); len(s) >= n && strings.EqualFold(s[len(s)-n:], scheme) {
			return n
		}
	}
	return 0
}

// urlLen returns how much of s, which begins behind "://", is still URL. Punctuation at its
// end belongs to the sentence, and so does a bracket that was not opened inside.
func urlLen(s string) int {
	end := strings.IndexFunc(s, endsURL)
	if end < 0 {
		end = len(s)
	}
	open := [2]int{strings.Count(s[:end], "("), strings.Count(s[:end], "[")}
	closed := [2]int{strings.Count(s[:end], ")"), strings.Count(s[:end], "]")}
	for end > 0 {
		switch s[end-1] {
		case '.', ',', ';', ':', '!', '?', '\'', '*', '_', '~':
		case ')', ']':
			kind := 0
			if s[end-1] == ']' {
				kind = 1
			}
			if closed[kind] <= open[kind] {
				return end
			}
			closed[kind]--
		default:
			return end
		}
		end--
	}
	return 0
}

// endsURL reports whether r can't be part of a URL in running text.
func endsURL(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7f || strings.IndexByte("<>\"`{}|\\^", byte(r)) >= 0
	}
	return unicode.IsSpace(r) || unicode.In(r, unicode.Pi, unicode.Pf, unicode.Ps, unicode.Pe, unicode.Cf) ||
		strings.ContainsRune("。，、；：！？…", r)
}
