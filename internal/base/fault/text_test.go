package fault_test

import (
	"strings"
	"testing"

	"inboxd/internal/base/fault"
)

func TestCheckText(t *testing.T) {
	for _, c := range []struct {
		s    string
		line bool
		want string
	}{
		{"", true, ""},
		{strings.Repeat("é", 10), true, ""},
		{strings.Repeat("é", 11), true, "invalid: 'f' is too long (11 characters). The limit is 10 characters"},
		{"a\x00", false, "invalid: 'f' contains a NUL character, which cannot be stored"},
		{"a\nb\tc\x07", false, ""},
		{"a\nb", true, "invalid: 'f' contains a line break, which is not allowed in a header field"},
		{"a\u2028b", true, "invalid: 'f' contains a line break, which is not allowed in a header field"},
		{"a\tb", true, "invalid: 'f' contains a control character, which is not allowed in a header field"},
		{"a\u0080b", true, "invalid: 'f' contains a control character, which is not allowed in a header field"},
	} {
		got := ""
		if err := fault.CheckText("f", c.s, 10, c.line); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.s, got, c.want)
		}
	}
}
