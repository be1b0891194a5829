package otp_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inboxd/internal/mail/otp"
)

// batch is a file of messages with the right answers, for a test on unseen data. Its author must
// not know the vocabulary or the training data, and only the result of the first run is unbiased.
//
// Run it with go test ./internal/mail/otp -run '^TestBatch$' -v -batch FILE. The format is:
//
//	=== name, then the code or "-", then the link or "-"
//	Subject: ...
//	the text
//	--- html
//	the HTML, optional
var batch = flag.String("batch", "", "judge a file of mails with their codes and links")

// answers counts the right, wrong and missing answers.
type answers struct{ right, wrong, missing int }

// judge counts one answer; a want of "-" means that no answer is right.
func (a *answers) judge(t *testing.T, what, name, want, got string) {
	switch {
	case got == strings.Trim(want, "-") || got == want:
		a.right++
		return
	case got == "":
		a.missing++
	default:
		a.wrong++
	}
	t.Logf("%s: %s %q, want %q", name, what, got, want)
}

func TestBatch(t *testing.T) {
	if *batch == "" {
		t.Skip("no -batch")
	}
	codes, links := judgeBatch(t, *batch)
	t.Logf("codes: %+v, links: %+v", codes, links)
}

// judgeBatch counts the answers for the messages of a batch.
func judgeBatch(t *testing.T, file string) (codes, links answers) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range strings.Split("\n"+string(raw), "\n=== ")[1:] {
		head, body, _ := strings.Cut(s, "\n")
		words := strings.Fields(head)
		n := len(words)
		if n < 3 {
			t.Fatalf("%q has no answers", head)
		}
		res := otp.FindCode(written(body))
		codes.judge(t, "code", head, words[n-2], res.Code)
		links.judge(t, "link", head, words[n-1], res.VerificationLink)
	}
	return codes, links
}

// TestFresh measures the codes of the batches in testdata/fresh, which nothing is learned from.
func TestFresh(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("testdata", "fresh", "*.txt"))
	var all answers
	for _, file := range files {
		codes, _ := judgeBatch(t, file)
		t.Logf("%s: %+v", filepath.Base(file), codes)
		all.right, all.wrong, all.missing = all.right+codes.right, all.wrong+codes.wrong, all.missing+codes.missing
	}
	if n := all.right + all.wrong + all.missing; n < 200 || share(all.right, n) < 0.90 || share(all.wrong, n) > 0.05 {
		t.Errorf("of %d messages: %+v", n, all)
	}
}

// written parses a message of a batch in the way of a received one.
func written(body string) otp.Input {
	subject := ""
	if rest, ok := strings.CutPrefix(body, "Subject:"); ok {
		subject, body, _ = strings.Cut(rest, "\n")
	}
	text, markup, _ := strings.Cut("\n"+body, "\n--- html\n")
	raw := "MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=parts\r\n"
	if strings.TrimSpace(text) != "" || markup == "" {
		raw += "\r\n--parts\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + strings.TrimPrefix(text, "\n")
	}
	if markup != "" {
		raw += "\r\n--parts\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + markup
	}
	in := input([]byte(raw + "\r\n--parts--\r\n"))
	in.Subject = strings.TrimSpace(subject)
	return in
}
