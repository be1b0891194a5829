package sealed

import (
	"regexp"
	"strings"
)

// privateKey is the prefix of every age private key, in upper or lower case.
const privateKey = "AGE-SECRET-KEY-"

// IsPrivate reports whether text contains a private key. It is called for every log line, so it
// first counts the dashes, which most lines do not have.
func IsPrivate(text string) bool {
	return strings.Count(text, "-") >= strings.Count(privateKey, "-") && strings.Contains(strings.ToUpper(text), privateKey)
}

var privateKeys = regexp.MustCompile(`(?i)(` + privateKey + `)[^\s']*`)

// RedactKeys replaces every private key in text by the common prefix of all private keys. It is for
// texts about a request that may contain a key in an unexpected place, such as a member's name or
// the path.
func RedactKeys(text string) string {
	if !IsPrivate(text) {
		return text
	}
	return privateKeys.ReplaceAllString(text, "$1…")
}
