package otp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inboxd/internal/otp"
)

// tale is one invented mail of testdata/stories and the code that must be found, "" for none.
type tale struct {
	name, want, subject, text, html string
}

// tales reads a file of stories:
//
//	=== name, then the code or "-"
//	Subject: ...
//	the text
//	--- html
//	the HTML, if there is one
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
		m.text = strings.TrimPrefix(m.text, "\n")
		all = append(all, m)
	}
	return all
}

func (m tale) find() otp.Result {
	return otp.Find(otp.Input{Subject: m.subject, Text: m.text,
		Visible: viewOf(m.html).Visible, Preview: viewOf(m.html).Preview})
}

// Mails that were written before the engine saw them: the rules must carry over.
func TestInventedMails(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("testdata", "stories", "*.txt"))
	if len(files) == 0 {
		t.Fatal("no stories")
	}
	for _, file := range files {
		right, wrong := 0, 0
		all := tales(t, file)
		for _, m := range all {
			res := m.find()
			switch {
			case res.Code == m.want:
				right++
				continue
			case res.Code != "":
				wrong++
			}
			t.Errorf("%s: %s: %q, want %q; others %q", filepath.Base(file), m.name, res.Code, m.want, res.Candidates)
		}
		t.Logf("%s: %d of %d right, %d wrong codes", filepath.Base(file), right, len(all), wrong)
	}
}
