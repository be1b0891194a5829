package archtest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// adrParts are the parts of every ADR, in this order. The summary follows the status, and other
// parts may follow the third one.
var adrParts = []string{"Status", "Context", "Choice", "What we gave up", "How we would notice that we were wrong"}

// indexed is the last number that the index must explain; a later one may be in progress.
const indexed = "0124"

const (
	adrTitleLen = 85  // largest number of characters
	adrLineLen  = 100 // largest number of characters, except in tables
	summaryLen  = 25  // smallest number of words
	summaryMost = 110 // largest number of words
)

var (
	adrName    = regexp.MustCompile(`^\d{4}(-[a-z0-9]+)+\.md$`)
	adrHead    = regexp.MustCompile(`^# (\d{4}): (.+)\n\n\*\*Status\.\*\* (.+)\n\n` + adrSummary + `\n\n\*\*Context`)
	adrStatus  = regexp.MustCompile(`^(Accepted|Amended by` + listOf(`\d{4}`) + `)\.(?: Amends` + listOf(`ADR \d{4}`) + `\.)?$`)
	number     = regexp.MustCompile(`\d{4}`)
	adrPart    = regexp.MustCompile(`(?m)^\*\*([A-Z][^*]*)\.\*\*`)
	adrRow     = regexp.MustCompile(`(?m)^\| \[?(\d{4})\b.*$`)
	adrMissing = regexp.MustCompile(`^\| \d{4} \| (?:not used|replaced by` + listOf(`\d{4}`) + `) \|$`)
)

// adrSummary matches one paragraph that is not one of the parts.
const adrSummary = `([^*][^\n]*(?:\n[^\n]+)*)`

// listOf returns a pattern for a list such as "a", "a and b" or "a, b and c", with a space before
// each item.
func listOf(item string) string { return `( ` + item + `(?:(?:, ` + item + `)* and ` + item + `)?)` }

// TestADRs checks the form of each ADR: a title, a status, a summary for newcomers that states the
// price, and the parts. If an ADR amends another one, both statuses must say so. The index has each
// number once.
func TestADRs(t *testing.T) {
	names, texts := map[string]string{}, map[string]string{} // by number
	for _, name := range files(t, ".md") {
		if !strings.HasPrefix(name, "docs/adr/") || name == "docs/adr/README.md" {
			continue
		}
		n := path.Base(name)[:4]
		if !adrName.MatchString(path.Base(name)) || texts[n] != "" {
			t.Errorf("%s: invalid name or repeated number, want NNNN-words-with-hyphens.md", name)
			continue
		}
		names[n], texts[n] = name, read(t, name)
	}
	rows := indexRows(t, texts)
	for n, name := range names {
		head := adrHead.FindStringSubmatch(texts[n])
		if head == nil || head[1] != n {
			t.Errorf("%s does not begin with '# %s: title', '**Status.** ...', a summary and '**Context.**'", name, n)
			continue
		}
		checkParts(t, name, texts[n])
		checkProse(t, name, head[2], head[4], texts[n])
		status := checkStatus(t, name, head[3], texts)
		row := fmt.Sprintf("| [%s](%s) | %s | %s |", n, path.Base(name), head[2], status)
		if n <= indexed && rows[n] != row {
			t.Errorf("docs/adr/README.md lacks the row\n%s", row)
		}
	}
}

// checkParts checks that the ADR has all parts in order.
func checkParts(t *testing.T, name, text string) {
	t.Helper()
	at := 0
	for _, m := range adrPart.FindAllStringSubmatch(text, -1) {
		if at < len(adrParts) && m[1] == adrParts[at] {
			at++
		} else if at < 3 {
			t.Errorf("%s has %q where %q belongs", name, m[1], adrParts[at])
			return
		}
	}
	if at < len(adrParts) {
		t.Errorf("%s has no part %q", name, adrParts[at])
	}
	if strings.Contains(text, "\n## ") {
		t.Errorf("%s has headings besides its title", name)
	}
}

// checkProse checks the length of the title, that the summary has the right length and states the
// price, and that lines are wrapped.
func checkProse(t *testing.T, name, title, summary, text string) {
	t.Helper()
	if utf8.RuneCountInString(title) > adrTitleLen {
		t.Errorf("%s: title longer than %d characters", name, adrTitleLen)
	}
	if n := len(strings.Fields(summary)); n < summaryLen || n > summaryMost || !strings.Contains(summary, "price") {
		t.Errorf("%s: the summary must name the price in %d to %d words", name, summaryLen, summaryMost)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") && utf8.RuneCountInString(strings.TrimSpace(line)) > adrLineLen {
			t.Errorf("%s: line longer than %d characters: %s", name, adrLineLen, line)
		}
	}
}

// checkStatus checks the status, and that both sides of an amendment name it. It returns the status
// without the ADRs that this one amends.
func checkStatus(t *testing.T, name, status string, texts map[string]string) string {
	t.Helper()
	m := adrStatus.FindStringSubmatch(status)
	if m == nil {
		t.Errorf("%s: invalid status %q, want 'Accepted.' or 'Amended by NNNN.', then 'Amends ADR NNNN.' or nothing", name, status)
		return ""
	}
	n := path.Base(name)[:4]
	for _, by := range number.FindAllString(m[2], -1) {
		if !slices.Contains(statusNumbers(texts[by], 3), n) {
			t.Errorf("%s is amended by %s, whose status does not say so", name, by)
		}
	}
	for _, of := range number.FindAllString(m[3], -1) {
		if !slices.Contains(statusNumbers(texts[of], 2), n) {
			t.Errorf("%s amends %s, whose status does not say so", name, of)
		}
	}
	return m[1]
}

// statusNumbers returns the numbers in a group of adrStatus: group 2 has the ADRs that amend this
// one, group 3 those that it amends.
func statusNumbers(text string, group int) []string {
	head := adrHead.FindStringSubmatch(text)
	if head == nil {
		return nil
	}
	m := adrStatus.FindStringSubmatch(head[3])
	if m == nil {
		return nil
	}
	return number.FindAllString(m[group], -1)
}

// indexRows returns the row of each number in the index. It checks that each number has one row,
// and that a number without an ADR has the reason.
func indexRows(t *testing.T, texts map[string]string) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, m := range adrRow.FindAllStringSubmatch(read(t, "docs/adr/README.md"), -1) {
		if rows[m[1]] != "" {
			t.Errorf("docs/adr/README.md has two rows for %s", m[1])
		}
		rows[m[1]] = m[0]
	}
	for i := 1; fmt.Sprintf("%04d", i) <= indexed; i++ {
		n := fmt.Sprintf("%04d", i)
		if texts[n] != "" {
			continue
		}
		m := adrMissing.FindStringSubmatch(rows[n])
		if m == nil {
			t.Errorf("docs/adr/README.md does not say why there is no ADR %s", n)
			continue
		}
		for _, by := range number.FindAllString(m[1], -1) {
			if texts[by] == "" {
				t.Errorf("docs/adr/README.md: %s is replaced by %s, which does not exist", n, by)
			}
		}
	}
	return rows
}
