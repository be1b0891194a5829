package otp

import (
	"slices"
	"strings"

	"inboxd/internal/mail/otp/quote"
	"inboxd/internal/mail/otp/text"
)

// withoutQuotes returns the input without the parts that the message quotes from older messages,
// because their codes and links do not belong to this message (ADR 0100). The subject of a reply
// stays as context, but its numbers are not candidates: see page.numbersBorrowed.
func (in Input) withoutQuotes() Input {
	quoted, visible := quote.Find(&quote.SearchInput{Subject: in.Subject, IsReply: in.IsReply, Text: in.Text, VisibleText: in.VisibleText, IndentedSpans: in.IndentedSpans})
	if len(quoted) == 0 && len(visible) == 0 {
		return in
	}
	whole := in
	in.Text, in.VisibleText, in.Anchors, in.Links = quote.RemoveSpans(in.Text, quoted), quote.RemoveSpans(in.VisibleText, visible), nil, nil
	urls := urlsIn(nil, in.Text[:min(len(in.Text), text.MaxScan)])
	urls = urlsIn(urls, in.VisibleText)
	for _, a := range whole.Anchors {
		if !quote.InSpans(visible, a.At) {
			in.Anchors = append(in.Anchors, a)
			urls = append(urls, written{url: a.URL})
		}
	}
	slices.SortFunc(urls, func(a, b written) int { return strings.Compare(a.url, b.url) })
	for _, url := range whole.Links {
		if containsLink(urls, url) {
			in.Links = append(in.Links, url)
		}
	}
	return in
}

// written is a URL as it appears in a text, up to the next white space, angle bracket or quotation
// mark.
type written struct {
	url      string
	isBroken bool // it starts behind "<" and is cut before ">": a line break splits it
}

// urlsIn appends the URLs in s to urls.
func urlsIn(urls []written, s string) []written {
	for {
		i := strings.Index(s, "://")
		if i < 0 {
			return urls
		}
		start := i
		for start > 0 && text.IsAlnum(s[start-1]|0x20) {
			start--
		}
		end := len(s)
		if n := strings.IndexAny(s[i:], " \t\r\n<>\""); n >= 0 {
			end = i + n
		}
		broken := start > 0 && s[start-1] == '<' && end < len(s) && s[end] != '>'
		urls, s = append(urls, written{s[start:end], broken}), s[end:]
	}
}

// containsLink reports whether link is a prefix of one of the sorted URLs, since punctuation may follow
// it in the text, or whether it continues a URL that a line break splits.
func containsLink(urls []written, link string) bool {
	i, _ := slices.BinarySearchFunc(urls, link, func(w written, link string) int { return strings.Compare(w.url, link) })
	if i < len(urls) && strings.HasPrefix(urls[i].url, link) {
		return true
	}
	return i > 0 && urls[i-1].isBroken && strings.HasPrefix(link, urls[i-1].url)
}
