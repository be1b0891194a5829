package archtest

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// parts of every ADR, in this order; others may stand behind the second.
var adrParts = []string{"Status", "Context", "Choice", "What we gave up", "How we would notice that we were wrong"}

// indexed is the last number that the index must explain; a later one may be under way.
const indexed = "0094"

var (
	adrTitle  = regexp.MustCompile(`^# (\d{4}): (.+)\n\n\*\*Status\.\*\* (.+)\n`)
	adrStatus = regexp.MustCompile(`^(Accepted|Amended by|Superseded by)((?:,? (?:and )?\d{4})*)\.`)
	number    = regexp.MustCompile(`\d{4}`)
	adrPart   = regexp.MustCompile(`(?m)^\*\*([A-Z][^*]*)\.\*\*`)
)

// TestADRs holds that they look alike, that whoever replaces another says so on both sides,
// and that the index has all of them.
func TestADRs(t *testing.T) {
	texts := map[string]string{}
	for _, name := range files(t, ".md") {
		if strings.HasPrefix(name, "docs/adr/") && name != "docs/adr/README.md" {
			texts[name] = read(t, name)
		}
	}
	index := read(t, "docs/adr/README.md")
	for name, text := range texts {
		n := path.Base(name)[:4]
		title := adrTitle.FindStringSubmatch(text)
		if title == nil || title[1] != n {
			t.Errorf("%s does not begin with '# %s: title' and '**Status.** ...'", name, n)
			continue
		}
		checkParts(t, name, text)
		status := checkStatus(t, name, title[3], texts)
		row := fmt.Sprintf("| [%s](%s) | %s | %s |\n", n, path.Base(name), title[2], status)
		if n <= indexed && !strings.Contains(index, row) {
			t.Errorf("docs/adr/README.md lacks the row\n%s", row)
		}
	}
	checkHoles(t, texts, index)
}

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

// checkStatus returns the status without what is said behind it.
func checkStatus(t *testing.T, name, status string, texts map[string]string) string {
	t.Helper()
	m := adrStatus.FindStringSubmatch(status)
	if m == nil || (m[1] == "Accepted") != (m[2] == "") {
		t.Errorf("%s: the status %q is none of 'Accepted.', 'Amended by NNNN.', 'Superseded by NNNN.'", name, status)
		return ""
	}
	for _, by := range number.FindAllString(m[2], -1) {
		if !strings.Contains(textOf(by, texts), "ADR "+path.Base(name)[:4]) {
			t.Errorf("%s is changed by %s, which does not speak of it", name, by)
		}
	}
	return strings.TrimSuffix(m[0], ".")
}

func textOf(n string, texts map[string]string) string {
	for name, text := range texts {
		if strings.HasPrefix(path.Base(name), n) {
			return text
		}
	}
	return ""
}

// checkHoles holds that the index explains each number that has no ADR.
func checkHoles(t *testing.T, texts map[string]string, index string) {
	t.Helper()
	for i := 1; fmt.Sprintf("%04d", i) < indexed; i++ {
		n := fmt.Sprintf("%04d", i)
		if textOf(n, texts) == "" && !strings.Contains(index, "\n| "+n+" |") {
			t.Errorf("docs/adr/README.md does not say why there is no ADR %s", n)
		}
	}
}
