package otp_test

import (
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"inboxd/internal/mail/message"
	"inboxd/internal/mail/otp"
	"inboxd/internal/mail/otp/link"
	"inboxd/internal/mail/otp/quote"
)

// Limits for the results on the corpus, without the rows that are marked as doubtful.
const (
	floorRight = 0.98  // smallest fraction of right answers, which include "no code"
	floorWrong = 0.005 // largest fraction of wrong codes
)

// row is one message of the corpus with its label.
type row struct {
	file, code, category string
	accept               []string
	doubtful             bool
}

func corpus(t testing.TB) (dir string, rows []row) {
	dir = os.Getenv("INBOX_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpora")
	}
	dir = filepath.Join(dir, "otp")
	table, err := os.ReadFile(filepath.Join(dir, "expected.tsv"))
	if err != nil {
		t.Skipf("no corpus of codes: set INBOX_CORPORA to the folder of the corpora (%v)", err)
	}
	for _, l := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		f := strings.Split(strings.TrimRight(l, "\r"), "\t")
		rows = append(rows, row{f[0], f[1], f[3], strings.Split(f[2], "|"), f[7] != "-"})
	}
	return dir, rows
}

// input parses a message in the way of ingest.
func input(raw []byte) otp.Input {
	var d message.ParsedMessage
	view, _ := message.ParseView(&d, raw)
	in := otp.Input{Subject: d.Subject, VisibleText: view.VisibleText, PreviewText: view.PreviewText, AltTexts: view.AltTexts, Links: d.Links, IsReply: d.InReplyTo != ""}
	for _, a := range view.Anchors {
		in.Anchors = append(in.Anchors, link.Anchor(a))
	}
	in.Links = slices.DeleteFunc(in.Links, func(url string) bool { return slices.Contains(view.HiddenLinks, url) })
	for _, span := range view.IndentedSpans {
		in.IndentedSpans = append(in.IndentedSpans, quote.TextSpan(span))
	}
	if !d.TextFromHTML {
		in.Text = d.Text
	}
	return in
}

func (r row) right(code string) bool {
	if r.code == "NULL" {
		return code == ""
	}
	for _, a := range r.accept {
		if code == a {
			return true
		}
	}
	return false
}

type tally struct{ messages, right, wrong, codes, found int }

func (y *tally) count(r row, code string) {
	y.messages++
	if r.code != "NULL" {
		y.codes++
	}
	switch {
	case r.right(code):
		y.right++
		if r.code != "NULL" {
			y.found++
		}
	case code != "":
		y.wrong++
	}
}

// TestCorpus checks the results on a corpus of messages that were not written for this project. The
// limit for wrong codes is stricter, since a wrong code is worse than none.
func TestCorpus(t *testing.T) {
	dir, rows := corpus(t)
	var all, doubtful tally
	byCategory := map[string]*tally{}
	for _, r := range rows {
		raw, err := os.ReadFile(filepath.Join(dir, r.file))
		if err != nil {
			t.Fatal(err)
		}
		res := otp.FindCode(input(raw))
		if !r.right(res.Code) {
			t.Logf("%s (%s, doubtful %v): %q, want %s; others %q", r.file, r.category, r.doubtful, res.Code, r.code, res.Candidates)
		}
		if r.doubtful {
			doubtful.count(r, res.Code)
			continue
		}
		if byCategory[r.category] == nil {
			byCategory[r.category] = new(tally)
		}
		byCategory[r.category].count(r, res.Code)
		all.count(r, res.Code)
	}
	names := make([]string, 0, len(byCategory))
	for name := range byCategory {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		y := byCategory[name]
		t.Logf("%-30s %3d mails, %3d right, %d wrong codes; precision %.3f, recall %.3f", name, y.messages, y.right, y.wrong, share(y.found, y.found+y.wrong), share(y.found, y.codes))
	}
	t.Logf("all: %d of %d right, %d wrong codes; doubtful rows: %d of %d", all.right, all.messages, all.wrong, doubtful.right, doubtful.messages)
	if share(all.right, all.messages) < floorRight {
		t.Errorf("only %d of %d right", all.right, all.messages)
	}
	if share(all.wrong, all.messages) > floorWrong {
		t.Errorf("%d wrong codes in %d mails", all.wrong, all.messages)
	}
}

// share returns part / whole, or 1 if both are 0.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}
