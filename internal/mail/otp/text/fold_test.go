package text

import (
	"math/rand"
	"testing"
)

// slowly folds ASCII text one character at a time, without the fast path of run.
func slowly(s string) (low, plain string) {
	var f Folded
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c > ' ' && c < 0x7F:
			f.writeChar(asciiForms[c], c)
		case c == '\n':
			f.pendingNewlines++
		case c == '\t':
			f.pendingSpaces += 3
		case c == ' ':
			f.pendingSpaces++
		}
	}
	return string(f.Lower), string(f.Plain)
}

// TestFoldASCII checks that the fast path gives the same result as slowly.
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
		if string(f.Lower) != low || string(f.Plain) != plain {
			t.Fatalf("%q: %q, %q; want %q, %q", b, f.Lower, f.Plain, low, plain)
		}
	}
}

// TestFoldLineEnds checks that a carriage return alone separates words, and that one before a
// newline has no effect.
func TestFoldLineEnds(t *testing.T) {
	if got := string(Fold("code\r482913 \r\n\r\nb\r").Lower); got != "code 482913\n\nb" {
		t.Errorf("%q", got)
	}
}
