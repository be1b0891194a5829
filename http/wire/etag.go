package wire

import (
	"bytes"
)

var headerIfNoneMatch = []byte("If-None-Match")

// MatchesETag reports whether an If-None-Match field contains the tag, by the weak comparison of RFC
// 9110 section 13.1.2.
func MatchesETag(field, etag []byte) bool {
	for len(field) > 0 {
		var one []byte
		one, field, _ = bytes.Cut(field, []byte(","))
		one = bytes.TrimPrefix(bytes.TrimSpace(one), []byte("W/"))
		if bytes.Equal(one, etag) || len(one) == 1 && one[0] == '*' {
			return true
		}
	}
	return false
}
