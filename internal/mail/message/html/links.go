package html

import (
	"slices"
	"strings"
	"unicode"
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

// hrefURL returns the URL of a link, "" when it is not http(s). It decodes an href as a browser does: character references, no blanks around, no line
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
