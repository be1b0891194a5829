package link

import (
	"slices"
	"strings"
	"testing"
)

// FuzzFind checks for every input that the result is a link of the message, and always the same
// one.
func FuzzFind(f *testing.F) {
	f.Add("Verify", "Verify: https://a.example/v/9f8e7d6c5b4a", "https://a.example/v/9f8e7d6c5b4a", "Verify")
	f.Add("\u202e\u200b", "> \u0301\u00ad https://%zz", "https://a.example/?url=https%3A%2F%2F%25", "\xff\xfe")
	f.Add("تأكيد", strings.Repeat("确认", 99), "http://a.example/%D8%AA%", "\n\n")
	f.Fuzz(func(t *testing.T, subject, text, links, said string) {
		m := SearchInput{Subject: subject, Text: text, VisibleText: text + said, Links: strings.Fields(links)}
		for i, url := range m.Links {
			if i%2 == 0 {
				m.Anchors = append(m.Anchors, Anchor{URL: url, Text: said})
			}
		}
		got := Find(m)
		if got != "" && !slices.Contains(m.Links, got) {
			t.Errorf("%q is no link of %q", got, m.Links)
		}
		if again := Find(m); again != got {
			t.Errorf("%q, then %q", got, again)
		}
	})
}
