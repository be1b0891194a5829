package link_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inboxd/internal/mail/message"
	"inboxd/internal/mail/otp"
	"inboxd/internal/mail/otp/link"
	"inboxd/internal/mail/otp/quote"
)

// received is a message as ingest hands it to the search.
func received(raw []byte) otp.Input {
	var doc message.ParsedMessage
	view, _ := message.ParseView(&doc, raw)
	in := otp.Input{Subject: doc.Subject, VisibleText: view.VisibleText, IsReply: doc.InReplyTo != "", Links: slices.DeleteFunc(doc.Links, func(url string) bool { return slices.Contains(view.HiddenLinks, url) })}
	if !doc.TextFromHTML {
		in.Text = doc.Text
	}
	for _, a := range view.Anchors {
		in.Anchors = append(in.Anchors, link.Anchor(a))
	}
	for _, span := range view.IndentedSpans {
		in.IndentedSpans = append(in.IndentedSpans, quote.TextSpan(span))
	}
	return in
}

// count has the results for one kind of message.
type count struct{ right, wrong, missed int }

// parts returns the right and the wrong part of all results.
func (c count) parts() (right, wrong float64) {
	n := float64(c.right + c.wrong + c.missed)
	return float64(c.right) / n, float64(c.wrong) / n
}

func (c count) String() string {
	right, wrong := c.parts()
	return fmt.Sprintf("%4d messages: %6.2f %% right, %.2f %% wrong or invented (%d), %d missed", c.right+c.wrong+c.missed, 100*right, 100*wrong, c.wrong, c.missed)
}

// check fails unless at least the part right is right and at most the part wrong is wrong.
func (c count) check(t *testing.T, name string, right, wrong float64) {
	if r, w := c.parts(); r < right || w > wrong {
		t.Errorf("%s: %v", name, c)
	}
}

// add counts the answer got where want is right, "NULL" for none.
func (c *count) add(want, accepted, got string) {
	switch {
	case got == strings.TrimPrefix(want, "NULL"), got != "" && slices.Contains(strings.Fields(strings.ReplaceAll(accepted, "|", " ")), got):
		c.right++
	case got == "":
		c.missed++
	default:
		c.wrong++
	}
}

// TestFieldLinks measures the links of real templates, in sums only: the corpus is not to be learned
// from.
func TestFieldLinks(t *testing.T) {
	dir := os.Getenv("INBOX_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "..", "shared", "corpora")
	}
	table, err := os.ReadFile(filepath.Join(dir, "field", "labels.tsv"))
	if err != nil {
		t.Skipf("no field corpus: set INBOX_CORPORA to the folder of the corpora (%v)", err)
	}
	counts := map[string]*count{}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		f := strings.Split(line, "\t")
		if f[3] == "-" || f[9] == "link" || f[9] == "both" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, "field", f[0]))
		if err != nil {
			t.Fatal(err)
		}
		got := otp.FindCode(received(raw)).VerificationLink
		language := "language: others"
		if l, _, _ := strings.Cut(f[6], "-"); slices.Contains([]string{"en", "de", "fr", "es", "it", "pt", "nl"}, l) {
			language = "language: " + l
		}
		for _, group := range []string{"all", "structure: " + f[7], "kind: " + f[5], language} {
			if counts[group] == nil {
				counts[group] = new(count)
			}
			counts[group].add(f[3], f[4], got)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-24s %v", group, counts[group])
	}
	counts["all"].check(t, "field", 0.975, 0.012)
}

// TestFresh measures the batches of testdata/fresh, which are never learned from.
func TestFresh(t *testing.T) {
	files, _ := filepath.Glob("testdata/fresh/*.txt")
	var all count
	for _, file := range files {
		var c count
		link.EachStory(t, file, func(name, want string, raw []byte) {
			got := otp.FindCode(received(raw)).VerificationLink
			if c.add(want, "", got); got != want {
				t.Logf("%s: %q, want %q", name, got, want)
			}
		})
		t.Logf("%-36s %v", filepath.Base(file), c)
		all = count{all.right + c.right, all.wrong + c.wrong, all.missed + c.missed}
	}
	t.Logf("%-36s %v", "all", all)
	all.check(t, "fresh", 0.85, 0.01)
}

// TestMetamorphic checks that changes of a message do not change a right link, and that a quoted older
// message never gives one. It makes all changes to every eighth training story.
func TestMetamorphic(t *testing.T) {
	counts, right := map[string]*count{}, ""
	link.EachChange(t, 8, func(name, change, want string, raw []byte) {
		got := otp.FindCode(received(raw)).VerificationLink
		if change == "" && got == want {
			right = name
		}
		if right != name {
			return
		}
		if counts[change] == nil {
			counts[change] = new(count)
		}
		if counts[change].add(want, "", got); got != want {
			t.Logf("%s with %s: %q, want %q", name, change, got, want)
		}
	})
	var all count
	for _, change := range slices.Sorted(maps.Keys(counts)) {
		c := *counts[change]
		t.Logf("%-34s %v", change, c)
		if all = (count{all.right + c.right, all.wrong + c.wrong, all.missed + c.missed}); strings.HasPrefix(change, "quoted") {
			c.check(t, change, 1, 0)
		} else {
			c.check(t, change, 0.96, 0.01)
		}
	}
	t.Logf("%-34s %v", "all", all)
	all.check(t, "metamorphic", 0.995, 0.002)
}
