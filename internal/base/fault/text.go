package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckText checks length and characters of a string of the request (specification, Errors). The
// limit counts Unicode code points. line means that the text becomes a header field.
func CheckText(field, s string, limit int, line bool) error {
	if n := utf8.RuneCountInString(s); n > limit {
		return InvalidField(field, "is too long (%d characters). The limit is %d characters", n, limit)
	}
	if strings.IndexByte(s, 0) >= 0 {
		return InvalidField(field, "contains a NUL character, which cannot be stored")
	}
	if line && strings.ContainsAny(s, "\r\n\v\f\u0085\u2028\u2029") {
		return InvalidField(field, "contains a line break, which is not allowed in a header field")
	}
	if line && strings.ContainsFunc(s, unicode.IsControl) {
		return InvalidField(field, "contains a control character, which is not allowed in a header field")
	}
	return nil
}
