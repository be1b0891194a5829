package otp

import (
	"strings"
	"testing"
)

// typedMails calls use with every pair of a subject and a body of a table of messages that developers
// type: see testdata/fresh/typed.tsv.
func typedMails(t testing.TB, table string, use func(want string, in Input)) {
	subjects, bodies := []string(nil), [][]string(nil)
	eachRow(t, table, func(columns []string) {
		if columns[0] == "subject" {
			subjects = append(subjects, columns[1])
		} else {
			bodies = append(bodies, columns[1:])
		}
	})
	for _, subject := range subjects {
		for _, body := range bodies {
			use(strings.Trim(body[0], "-"), Input{Subject: subject, Text: strings.ReplaceAll(body[1], "|", "\n") + "\n"})
		}
	}
}

// TestTyped measures messages that developers type, which the model did not learn from.
func TestTyped(t *testing.T) {
	of, missed, wrong := 0, 0, 0
	typedMails(t, "fresh/typed.tsv", func(want string, in Input) {
		of++
		switch res := FindCode(in); {
		case res.Code == want:
			return
		case res.Code == "":
			missed++
			t.Logf("none, want %q in %q", want, in.Subject+": "+in.Text)
		default:
			wrong++
			t.Errorf("%q (%.2f), want %q in %q", res.Code, res.Confidence, want, in.Subject+": "+in.Text)
		}
	})
	t.Logf("%d typed messages: %d missed, %d wrong", of, missed, wrong)
	if missed*100 > of {
		t.Errorf("%d of %d missed", missed, of)
	}
}
