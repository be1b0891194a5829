package otp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inboxd/internal/mail/otp"
)

// tale is one invented message of testdata/stories with its code, "" for none.
type tale struct {
	name, want, subject, text, html, visible string
}

// tales reads a file of stories:
//
//	=== name, then the code or "-"
//	Subject: ...
//	the text
//	--- html
//	the HTML, optional
func tales(t testing.TB, file string) (all []tale) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range strings.Split("\n"+string(raw), "\n=== ")[1:] {
		head, body, _ := strings.Cut(s, "\n")
		i := strings.LastIndexByte(head, ' ')
		m := tale{name: head[:i], want: strings.Trim(head[i+1:], "-")}
		if head[i+1:] != "-" {
			m.want = head[i+1:]
		}
		if rest, ok := strings.CutPrefix(body, "Subject: "); ok {
			m.subject, body, _ = strings.Cut(rest, "\n")
		}
		m.text, m.html, _ = strings.Cut("\n"+body, "\n--- html\n")
		m.text, m.visible, _ = strings.Cut(m.text, "\n--- visible\n")
		m.text = strings.TrimPrefix(m.text, "\n")
		all = append(all, m)
	}
	return all
}

func (m tale) find() otp.CodeResult {
	return otp.FindCode(otp.Input{Subject: m.subject, Text: m.text,
		VisibleText: otp.ViewOf(m.html).VisibleText + m.visible, PreviewText: otp.ViewOf(m.html).PreviewText})
}

// TestInventedMails checks the results on the training data, from the text of a message to its
// code. It finds errors outside of the model. The results on held-out folds are in the output of
// make otp-train.
func TestInventedMails(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("testdata", "stories", "*.txt"))
	messages, right, wrong := 0.0, 0.0, 0.0
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "hard-") { // adversarial messages
			continue
		}
		for _, m := range tales(t, file) {
			res := m.find()
			messages++
			switch {
			case res.Code == m.want:
				right++
				continue
			case res.Code != "":
				wrong++
			}
			t.Logf("%s: %s: %q, want %q; others %q", filepath.Base(file), m.name, res.Code, m.want, res.Candidates)
		}
	}
	t.Logf("%v of %v right, %v wrong codes", right, messages, wrong)
	if messages < 5000 || right/messages < 0.985 || wrong/messages > 0.002 {
		t.Error("too few right, or too many wrong")
	}
}
