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
		w, n := letters(f.Lower, 0)
		if want := min(8, lettersEnd(f.Lower, 0)); n != want || n < 8 && w>>(8*n) != 0 {
			t.Fatalf("%q: %d letters, want %d; %x", f.Lower, n, want, w)
		}
	}
}

// Every word of the vocabulary passes the sieve, with any ending that it takes; few others do.
func TestSieve(t *testing.T) {
	passes := func(s string) bool {
		w, n := letters([]byte(s), 0)
		return n == 0 || words.sieve.passes(w, n)
	}
	for _, v := range readVocabulary(wordTable) {
		for _, word := range v.words {
			stem, takes := strings.CutSuffix(strings.TrimPrefix(word, "~"), "*")
			folded := string(FoldList(stem)[0])
			if !passes(folded) || takes && !passes(folded+"nelle") {
				t.Errorf("%q does not pass", word)
			}
		}
	}
	r := rand.New(rand.NewSource(1))
	passed := 0
	for range 10000 {
		b := make([]byte, 5+r.Intn(6))
		for i := range b {
			b[i] = byte('a' + r.Intn(26))
		}
		if passes(string(b)) {
			passed++
		}
	}
	if passed > 3000 {
		t.Errorf("%d of 10000 invented words pass", passed)
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

func TestPhrases(t *testing.T) {
	p := FoldPhrases("Sign in", "vérif", "确认")
	for text, want := range map[string]bool{"": false, "s": false, "please sign in": true, "sign i": false, "verify": true, "请确认": true, "确": false} {
		if p.In([]byte(text)) != want {
			t.Errorf("%q: not %v", text, want)
		}
	}
}
