package otp

import (
	"os"
	"path/filepath"
	"testing"

	"inboxd/internal/mail/otp/text"
)

// eachRow calls use for each row of a table of testdata, with its columns.
func eachRow(t testing.TB, table string, use func(columns []string)) {
	raw, err := os.ReadFile(filepath.Join("testdata", table))
	if err != nil {
		t.Fatal(err)
	}
	for columns := range text.TableRows(string(raw)) {
		use(columns)
	}
}

// eachWord calls use for each word of a table of testdata.
func eachWord(t testing.TB, table string, use func(lang, word string)) {
	words := 0
	eachRow(t, table, func(columns []string) {
		for _, word := range columns[1:] {
			words++
			use(columns[0], word)
		}
	})
	if words < 500 {
		t.Errorf("only %d words", words)
	}
}

// TestLabels checks that every label announces a code without other words, before the code and
// above it.
func TestLabels(t *testing.T) {
	var none misses
	eachWord(t, "labels.tsv", func(lang, label string) {
		for _, in := range labelMails(label) {
			none.count(t, lang, in, "482913")
		}
	})
	none.judge(t)
}

// labelMails returns messages with a label and the code 482913.
func labelMails(label string) []Input {
	return []Input{{Subject: "Acme", Text: label + ": 482913"}, {Subject: "Acme", Text: label + "\n\n482913\n"}, {Subject: "test", Text: label + " 482913"}}
}

// TestNouns checks that the numbers of other things are not codes, also in notices about signing in
// and codes.
func TestNouns(t *testing.T) {
	var none misses
	eachWord(t, "nouns.tsv", func(lang, noun string) {
		for _, in := range nounMails(noun) {
			none.count(t, lang, in, "")
		}
	})
}

// nounMails returns messages without a code, but with the number of a thing.
func nounMails(noun string) []Input {
	return []Input{
		{Subject: "New sign-in to your account", Text: "We noticed a new sign-in to your account.\n\n" + noun + ": 482913\n\nIf this wasn't you, change your password."},
		{Subject: "New sign-in", VisibleText: "We noticed a new sign-in.\n\n" + noun + "\n482913\n\nNever share your verification code with anyone."},
		{Subject: "Your verification code was used", Text: "Your verification code was used to sign in. " + noun + " 482913."},
		{Subject: "Thank you", VisibleText: "Thanks, Kim\n" + noun + "\n4829\nAcme Ltd"},
		{Subject: noun + " 482913", Text: "Hello Kim, thank you. Call us if you have questions."},
	}
}

// misses counts the messages of a table whose code was not found. A few are allowed, but a wrong
// code fails the test.
type misses struct{ none, of int }

func (m *misses) count(t *testing.T, name string, in Input, want string) {
	got := FindCode(in).Code
	m.of++
	switch {
	case got == want:
	case got == "":
		m.none++
		t.Logf("%s: none, want %q in %q", name, want, in.Text+in.VisibleText)
	default:
		t.Errorf("%s: %q, want %q in %q", name, got, want, in.Subject+" "+in.Text+in.VisibleText)
	}
}

func (m *misses) judge(t *testing.T) {
	if m.none*100 > m.of {
		t.Errorf("%d of %d mails gave none", m.none, m.of)
	}
}
