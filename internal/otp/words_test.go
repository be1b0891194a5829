package otp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// eachWord calls use for each word of a table of testdata.
func eachWord(t *testing.T, table string, use func(lang, word string)) {
	raw, err := os.ReadFile(filepath.Join("testdata", table))
	if err != nil {
		t.Fatal(err)
	}
	words := 0
	for l := range strings.Lines(string(raw)) {
		lang, list, _ := strings.Cut(strings.TrimSpace(l), "\t")
		if strings.HasPrefix(lang, "#") {
			continue
		}
		for word := range strings.SplitSeq(list, "\t") {
			words++
			use(lang, word)
		}
	}
	if words < 500 {
		t.Errorf("only %d words", words)
	}
}

// What announces a code does so without a word around it, before the code and above it.
func TestLabels(t *testing.T) {
	eachWord(t, "labels.tsv", func(lang, label string) {
		for _, text := range []string{label + ": 482913", label + "\n\n482913\n"} {
			if got := Find(Input{Subject: "Acme", Text: text}).Code; got != "482913" {
				t.Errorf("%s: %q: %q", lang, text, got)
			}
		}
	})
}

// The numbers of other things are no codes, in notices that speak of signing in and of codes too.
func TestNouns(t *testing.T) {
	eachWord(t, "nouns.tsv", func(lang, noun string) {
		for _, in := range []Input{
			{Subject: "New sign-in to your account", Text: "We noticed a new sign-in to your account.\n\n" + noun + ": 482913\n\nIf this wasn't you, change your password."},
			{Subject: "New sign-in", Visible: "We noticed a new sign-in.\n\n" + noun + "\n482913\n\nNever share your verification code with anyone."},
			{Subject: "Your verification code was used", Text: "Your verification code was used to sign in. " + noun + " 482913."},
			{Subject: "Thank you", Visible: "Thanks, Kim\n" + noun + "\n4829\nAcme Ltd"},
			{Subject: noun + " 482913", Text: "Hello Kim, thank you. Call us if you have questions."},
		} {
			if got := Find(in).Code; got != "" {
				t.Errorf("%s: %q, %q: %q", lang, in.Subject, in.Text+in.Visible, got)
			}
		}
	})
}
