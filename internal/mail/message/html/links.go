package html

import (
	"slices"
	"strings"
	"unicode"
)

// Links collects HTTP and HTTPS URLs in order of appearance, without duplicates, at most MaxLinks.
// It is not safe for concurrent use; the goroutine that parses the message owns it.
type Links struct {
	list     []string
	seenURLs map[string]struct{} // nil while list is short
	hasMore  bool                // there are more than MaxLinks
}

// List returns the URLs so far. Later URLs do not change the returned slice.
func (l *Links) List() []string { return l.list }

// HasMore reports whether the message has more than MaxLinks URLs.
func (l *Links) HasMore() bool { return l.hasMore }

// isFull reports whether further URLs make no difference: there are no Links, or HasMore is already
// true.
func (l *Links) isFull() bool { return l == nil || l.hasMore }

// addURL adds a URL, unless it is too long or a duplicate.
func (l *Links) addURL(url string) {
	if l.isFull() || len(url) > maxLinkLen || l.hasURL(url) {
		return
	}
	if l.hasMore = len(l.list) == MaxLinks; l.hasMore {
		return
	}
	url = strings.Clone(url) // the URL is a slice of the message, and must not keep it in memory
	l.list = append(l.list, url)
	if l.seenURLs != nil {
		l.seenURLs[url] = struct{}{}
	} else if len(l.list) == fewLinks {
		l.seenURLs = make(map[string]struct{}, 2*fewLinks)
		for _, url := range l.list {
			l.seenURLs[url] = struct{}{}
		}
	}
}

// fewLinks is the number of links from which on a map is faster than a search through the list.
const fewLinks = 16

func (l *Links) hasURL(url string) bool {
	if l.seenURLs == nil {
		return slices.Contains(l.list, url)
	}
	_, ok := l.seenURLs[url]
	return ok
}

// hrefURL returns the URL of an href, or "" if it is not an HTTP or HTTPS URL. Like a browser, it
// resolves character references, trims white space, and removes line breaks and tabs inside. An
// escaped URL is at most eight times as long as the URL, so a longer href is refused before it is
// decoded.
func hrefURL(href string) string {
	if len(href) > 8*maxLinkLen {
		return ""
	}
	href = unescapeAttribute(href)
	href = strings.TrimFunc(href, unicode.IsSpace)
	if strings.ContainsAny(href, "\r\n\t") {
		href = breakRemover.Replace(href)
	}
	scheme, rest, ok := strings.Cut(href, "://")
	if !ok || rest == "" || schemeLen(scheme) != len(scheme) || hasControl(rest) {
		return ""
	}
	return strings.ReplaceAll(href, " ", "%20")
}

var breakRemover = strings.NewReplacer("\r", "", "\n", "", "\t", "")

func hasControl(s string) bool { return strings.IndexFunc(s, unicode.IsControl) >= 0 }
