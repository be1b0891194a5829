package operator

import (
	"regexp"
	"strings"
	"testing"
)

// The operator sees each candidate and the weights of its features.
func TestExplainOTP(t *testing.T) {
	var out strings.Builder
	mail := "Subject: Sign in\r\nContent-Type: text/plain\r\n\r\nYour verification code is 482913.\r\nOrder 771204\r\n"
	if err := explainCode(&out, []byte(mail)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"candidates: 2", `482913 in text: share (1\.0|0\.9)`, `771204 in text: share 0\.0`, "left2=code-strong", `\n\nanswer: 482913, from text, with a confidence of 0\.\d\d\n$`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
