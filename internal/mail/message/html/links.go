package html

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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

// LinkText is a URL with its visible text.
type LinkText struct{ URL, Text string }

// LinkTexts returns each of the URLs with its visible text on one line: that of its first link in
// the HTML that has a text, cut at maxLinkText bytes. It is "" for a URL without such a link.
func LinkTexts(s string, urls []string) []LinkText {
	texts := make(map[string]string, len(urls))
	for _, url := range urls {
		texts[url] = ""
	}
	if s != "" && len(urls) > 0 {
		RenderText(s, Options{MaxBytes: len(s), linkTexts: texts})
	}
	out := make([]LinkText, len(urls))
	for i, url := range urls {
		out[i] = LinkText{url, texts[url]}
	}
	return out
}

// linkText returns a text of the layout on one line, without the marks of quoted lines.
func linkText(b []byte) string {
	lines := strings.ReplaceAll("\n"+strings.TrimSpace(string(b)), "\n> ", "\n")
	text := strings.Join(strings.Fields(lines), " ")
	cut := min(len(text), maxLinkText)
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
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
