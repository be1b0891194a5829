package message

import (
	"bytes"
	"testing"
)

func slowLines(b []byte) []byte {
	var out []byte
	for i, c := range b {
		switch {
		case c == 0, c == '\r' && i+1 < len(b) && b[i+1] == '\n':
		case c == '\r':
			out = append(out, '\n')
		default:
			out = append(out, c)
		}
	}
	return out
}

// FuzzNormalizeLines compares the fast implementation with the simple one.
func FuzzNormalizeLines(f *testing.F) {
	for _, s := range []string{"", "\r", "\n", "a\r\nb\rc\n\r\n", "\r\r\n\n", "x\x00\r\x00\n", "a\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := slowLines(b)
		if got := NormalizeLines(bytes.Clone(b)); !bytes.Equal(got, want) {
			t.Errorf("%q became %q, want %q", b, got, want)
		}
	})
}
