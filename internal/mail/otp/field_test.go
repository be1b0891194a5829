package otp_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inboxd/internal/mail/otp"
)

// details is set by make otp-field to print the figures of each group.
var details = flag.Bool("field", false, "print the results on the field corpus by language group, structure, kind and project")

// Limits for the results on the field corpus, without its doubtful rows.
const (
	fieldCodes     = 0.995 // smallest fraction of right codes, which include "no code"
	fieldLinks     = 0.95  // smallest fraction of right links
	fieldLinkWrong = 0.02  // largest fraction of wrong or invented links
)

// fieldRow is one message of the field corpus with its labels. Messages of that corpus only measure:
// nothing may be learned from them.
type fieldRow struct{ file, code, acceptCodes, link, acceptLinks, kind, language, structure, doubtful, project string }

func fieldRows(t testing.TB) (dir string, rows []fieldRow) {
	if dir = os.Getenv("INBOX_CORPORA"); dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpora")
	}
	dir = filepath.Join(dir, "field")
	table, err := os.ReadFile(filepath.Join(dir, "labels.tsv"))
	if err != nil {
		t.Skipf("no field corpus: set INBOX_CORPORA to the folder of the corpora (%v)", err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		f := strings.Split(line, "\t")
		rows = append(rows, fieldRow{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[9], f[10]})
	}
	return dir, rows
}

// languageGroups are the groups of languages that the figures are printed for; all others are in the
// group "other".
var languageGroups = map[string]string{
	"English": "en", "Germanic": "de nl sv nb nn no da is af fy lb", "Romance": "fr es it pt ro ca gl oc",
	"Slavic, Latin": "pl cs sk sl hr bs", "Cyrillic": "ru uk be bg mk sr kk ky mn tg", "East Asian": "zh ja ko yue",
	"right to left": "ar he fa ur ug ku ckb ps", "South Asian": "hi bn ta te mr gu kn ml pa si ne as or",
}

// languageGroup returns the group of a language tag such as "pt-BR".
func languageGroup(tag string) string {
	base, _, _ := strings.Cut(tag, "-")
	for group, languages := range languageGroups {
		if slices.Contains(strings.Fields(languages), base) {
			return group
		}
	}
	return "other"
}

// fieldTally counts the answers of one group.
type fieldTally struct{ right, wrong, missed int }

// count adds an answer. A want of "NULL" means that no answer is right, and "-" that every one is.
func (y *fieldTally) count(want, accept, got string) (right bool) {
	switch {
	case want == "-", want == "NULL" && got == "", got != "" && (got == want || slices.Contains(strings.Split(accept, "|"), got)):
		y.right++
		return true
	case got == "":
		y.missed++
	default:
		y.wrong++
	}
	return false
}

func (y *fieldTally) total() int { return y.right + y.wrong + y.missed }

// fieldFigures are the tallies of codes or links: by kind of group, and then by group.
type fieldFigures struct {
	all, doubtful fieldTally
	sure          fieldTally // answers with a confidence of at least 0.9; missed does not count
	groups        map[string]map[string]*fieldTally
}

// count adds an answer to the tallies of its groups.
func (f *fieldFigures) count(t testing.TB, what string, r fieldRow, want, accept, got string) {
	if r.doubtful == what || r.doubtful == "both" {
		f.doubtful.count(want, accept, got)
		return
	}
	if !f.all.count(want, accept, got) {
		t.Logf("%s %s: %s, answered %v", what, r.file, r.kind, got != "")
	}
	for by, group := range map[string]string{"language": languageGroup(r.language), "structure": r.structure, "kind": r.kind, "project": r.project} {
		if f.groups[by] == nil {
			f.groups[by] = map[string]*fieldTally{}
		}
		if f.groups[by][group] == nil {
			f.groups[by][group] = new(fieldTally)
		}
		f.groups[by][group].count(want, accept, got)
	}
}

// print logs the figures, with the mean over the projects.
func (f *fieldFigures) print(t testing.TB, what string) {
	mean := 0.0
	for _, y := range f.groups["project"] {
		mean += share(y.right, y.total()) / float64(len(f.groups["project"]))
	}
	t.Logf("%ss: %d of %d right (%.2f %%), %d wrong, %d missed; mean over %d projects %.2f %%; doubtful rows: %+v", what,
		f.all.right, f.all.total(), 100*share(f.all.right, f.all.total()), f.all.wrong, f.all.missed, len(f.groups["project"]), 100*mean, f.doubtful)
	for _, by := range []string{"language", "structure", "kind"} {
		for _, group := range slices.Sorted(maps.Keys(f.groups[by])) {
			if y := f.groups[by][group]; *details {
				t.Logf("  %ss by %s, %-18s %4d right, %2d wrong, %2d missed", what, by, group, y.right, y.wrong, y.missed)
			}
		}
	}
}

// TestField measures codes and links on messages made from the templates of public projects.
func TestField(t *testing.T) {
	dir, rows := fieldRows(t)
	codes, links := fieldFigures{groups: map[string]map[string]*fieldTally{}}, fieldFigures{groups: map[string]map[string]*fieldTally{}}
	for _, r := range rows {
		raw, err := os.ReadFile(filepath.Join(dir, r.file))
		if err != nil {
			t.Fatal(err)
		}
		res := otp.FindCode(input(raw))
		codes.count(t, "code", r, r.code, r.acceptCodes, res.Code)
		links.count(t, "link", r, r.link, r.acceptLinks, res.VerificationLink)
		if res.Confidence >= 0.9 {
			codes.sure.count(r.code, r.acceptCodes, res.Code)
		}
	}
	codes.print(t, "code")
	t.Logf("codes with a confidence of 0.9 or more: %d right, %d wrong", codes.sure.right, codes.sure.wrong)
	links.print(t, "link")
	if share(codes.all.right, codes.all.total()) < fieldCodes || codes.all.wrong > 0 {
		t.Errorf("too few right codes, or a wrong one")
	}
	if n := links.all.total(); share(links.all.right, n) < fieldLinks || share(links.all.wrong, n) > fieldLinkWrong {
		t.Errorf("too few right links, or too many wrong ones")
	}
}
