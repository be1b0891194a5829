package operator

import (
	"errors"
	"fmt"

	"inboxd/internal/base/fault"
)

// ErrorSentence returns the text of an error for an operator: a fault's own sentence with its cause.
func ErrorSentence(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err.Error()
	}
	text := f.Sentence()
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	return text
}

// ByteText formats n bytes in the unit that leaves at most four digits.
func ByteText(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	f := float64(n)
	for f >= 1024 && len(units) > 1 {
		f, units = f/1024, units[1:]
	}
	return fmt.Sprintf("%.4g %s", f, units[0])
}

// ResetURL returns the link for a reset token. The token is in the fragment, after #, which
// browsers do not send and proxies do not log.
func ResetURL(base, token string) string { return base + "/reset#token=" + token }

// VerifyURL returns the link for a token that verifies an e-mail address.
func VerifyURL(base, token string) string { return base + "/verify#token=" + token }
