package archtest

import (
	"regexp"
	"strings"
	"testing"
)

// dialect is words that this project used in a meaning of its own, with the word to use and how
// many may be left in comments and documents. The numbers may only fall.
var dialect = []struct {
	pattern, use string
	left         int
}{
	{`(?i)\b(tells?|told|telling)\b`, "report, return, notify or log", 7},
	{`(?i)\b(hears?|heard|unheard)\b`, "is notified, is acknowledged", 3},
	{`(?i)\b(a|each|every|one|another|no|this|that|first|next|last|whole) mail\b|\bmails\b`, "message", 22},
	{`(?i)\banew\b`, "again", 0},
	{`(?i)\bbeside\b`, "next to, together with", 0},
	{`(?i)\blikewise\b`, "also", 0},
	{`(?i)\bseldom\b`, "rarely; throttled", 0},
	{`(?i)\bonce more\b`, "again, retry", 0},
	{`(?i)\bput off\b`, "defer", 0},
	{`(?i)\bin the middle of\b`, "while, during", 1},
	{`(?i)\bat hand\b`, "cached", 0},
	{`(?i)([^e]|[^r]e) is (no [a-z]|none\b)`, "is not a, invalid, unknown", 11}, // "there is no" is plain English
	{`(^|[.:;] )(Who|Whoever|Whose) [a-z]`, "name the subject", 3},
}

// TestPlainWords holds that the words of dialect become fewer.
func TestPlainWords(t *testing.T) {
	all, words := passages(t), 0
	for _, p := range all {
		words += len(strings.Fields(p.text))
	}
	total := 0
	for _, d := range dialect {
		pattern, n, where := regexp.MustCompile(d.pattern), 0, ""
		for _, p := range all {
			if found := len(pattern.FindAllString(p.text, -1)); found > 0 {
				n, where = n+found, p.at
			}
		}
		total += n
		switch {
		case n > d.left:
			t.Errorf("%d times %s, of at most %d, for instance in %s: write %s", n, d.pattern, d.left, where, d.use)
		case n < d.left:
			t.Errorf("%s is left %d times: lower its number, %d", d.pattern, n, d.left)
		}
	}
	t.Logf("%d words, of which %d (%.1f of 10,000) are of the dialect", words, total, float64(total)*10_000/float64(words))
}
