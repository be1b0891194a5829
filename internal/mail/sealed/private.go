package sealed

import (
	"regexp"
	"strings"
)

// privateKey is what every private key of age begins with, in capitals or not.
const privateKey = "AGE-SECRET-KEY-"

// IsPrivate reports whether a private key is somewhere in text. Every line of a log is asked: most have not
// the dashes.
func IsPrivate(text string) bool {
	return strings.Count(text, "-") >= strings.Count(privateKey, "-") && strings.Contains(strings.ToUpper(text), privateKey)
}

var privateKeys = regexp.MustCompile(`(?i)(` + privateKey + `)[^\s']*`)

// Veil is text with every private key in it cut down to what all of them begin with: for what tells of a
// request, in which somebody gave one where no key is looked for, as a member's name or in the path.
func Veil(text string) string {
	if !IsPrivate(text) {
		return text
	}
	return privateKeys.ReplaceAllString(text, "$1…")
}
