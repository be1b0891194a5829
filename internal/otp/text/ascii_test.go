package text

import (
	"math/rand"
	"strings"
	"testing"
)

// slowly folds ASCII text by the rules alone, one character after the other.
func slowly(s string) (low, plain string) {
	var f Folded
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c > ' ' && c < 0x7F:
			f.ascii(c)
		case c == '\n':
			f.newlines++
		case c == '\t':
			f.blanks += 3
		case c == ' ':
			f.blanks++
		}
	}
	return string(f.Lower), string(f.Plain)
}

// Eight bytes at once come to the same as one at a time.
func TestFoldASCII(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	const signs = "AZaz09@[`{/:~!.  \n\n\t\x7f\x01"
	for range 20000 {
		b := make([]byte, r.Intn(40))
		for i := range b {
			if b[i] = byte('a' + r.Intn(26)); r.Intn(4) == 0 {
				b[i] = signs[r.Intn(len(signs))]
			}
		}
		var f Folded
		f.Fold(string(b))
		low, plain := slowly(string(b))
		if string(f.Lower) != low || string(f.Plain) != plain || f.digits != strings.ContainsAny(low, "0123456789") {
			t.Fatalf("%q: %q, %q, digits %v; want %q, %q", b, f.Lower, f.Plain, f.digits, low, plain)
		}
	}
}

func TestMayHold(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                   false,
		"No code here, NOT EVEN in CAPITALS": false,
		strings.Repeat("X", 78):              false,
		"room 4":                             true,
		"٤":                                  true,
		"use QGFDAE now":                     true,
		"it is PENDING":                      false,
		"XKJ-BVT":                            true,
		"NEW - OLD":                          false,
		"验证码QGFDAE":                          true,
		"@acme.example #abcdef":              true,
	} {
		var f Folded
		f.Fold(text)
		if got := f.MayHold(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
