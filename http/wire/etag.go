package http

import (
	"bytes"
	"strconv"

	"inboxd/internal/inbox"
)

var headerIfNoneMatch = []byte("If-None-Match")

// etagOf depends on what a message can change by alone, its id and its read mark, so that
// it is the same after a restart. No message has one too.
func etagOf(m *inbox.Message) []byte {
	if m == nil {
		return []byte(`"0"`)
	}
	tag := strconv.AppendInt([]byte(`"`), m.ID, 10)
	if m.Read {
		return append(tag, `-read"`...)
	}
	return append(tag, `-new"`...)
}

// matches reports whether an If-None-Match field names the tag, by the weak comparison of
// RFC 9110 section 13.1.2.
func matches(field, etag []byte) bool {
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
