package delivery

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReturnPath(t *testing.T) {
	secret := []byte("secret")
	rapid.Check(t, func(t *rapid.T) {
		inbox := rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,62}[a-z0-9]@[a-z]{1,9}\.example`).Draw(t, "inbox")
		id, rcpt := rapid.Int64Range(1, 1<<40).Draw(t, "id"), rapid.IntRange(0, 99).Draw(t, "rcpt")
		path := ReturnPath(secret, inbox, id, rcpt)
		if path == inbox || len(path) > maxAddress {
			t.Fatalf("%s: %d octets", path, len(path))
		}
		for _, p := range []string{path, strings.ToUpper(path)} {
			if got, ok := ReadReturnPath(secret, p); !ok || got != (ReturnTarget{inbox, id, rcpt, false}) || !LooksLikeReturnPath(p) {
				t.Fatalf("%s: %+v %v", p, got, ok)
			}
		}
		if _, ok := ReadReturnPath([]byte("other"), path); ok || !LooksLikeReturnPath(path) {
			t.Fatalf("%s: another secret reads it", path)
		}
		// No path with one changed octet may verify.
		i := rapid.IntRange(0, len(path)-1).Draw(t, "at")
		forged := path[:i] + rapid.StringMatching(`[a-z0-9+@-]`).Draw(t, "octet") + path[i+1:]
		if _, ok := ReadReturnPath(secret, forged); ok && forged != path {
			t.Fatalf("%s is taken for %s", forged, path)
		}
	})
}

func TestReturnPathWithoutRoom(t *testing.T) {
	inbox := strings.Repeat("a", 64) + "@" + strings.Repeat("x", 63) + "." + strings.Repeat("x", 63) + "." + strings.Repeat("x", 40) + ".example"
	if got := ReturnPath([]byte("s"), inbox, 1, 0); got != inbox {
		t.Error(got)
	}
	for _, address := range []string{"", "@", "+b@", "a@b", "a+b@c", "a+b-@c", "a+b1-0@c", "a+b1-0-@c", "+b1-0-aaaaaaaaaaaa@c", "a+b1=0=@c", "a+b==aaaaaaaa@c", "a+btag@c", inbox} {
		if _, ok := ReadReturnPath([]byte("s"), address); ok || LooksLikeReturnPath(address) {
			t.Errorf("%q is read", address)
		}
	}
}

// TestReturnPathsStayWhatTheyAre pins the form, because bounces use it for days after a message was
// sent.
func TestReturnPathsStayWhatTheyAre(t *testing.T) {
	if got := ReturnPath([]byte("s"), "a@x.example", 12345, 99); got != "a+b9ix=2r=v26kqna3@x.example" {
		t.Error(got)
	}
	for path, want := range map[string]ReturnTarget{
		"a+b9ix=2r=v26kqna3@x.example":     {"a@x.example", 12345, 99, false},
		"a+b9ix-2r-vcc5e6hnnryk@x.example": {"a@x.example", 12345, 99, true}, // of ADR 0014
	} {
		if got, ok := ReadReturnPath([]byte("s"), path); !ok || got != want {
			t.Errorf("%s: %+v %v", path, got, ok)
		}
	}
}

// TestReturnPathsFit checks that names of up to 48 octets give addresses that every server accepts.
func TestReturnPathsFit(t *testing.T) {
	for name, want := range map[int]int{48: 64, 49: 65, 64: 80} {
		path := ReturnPath([]byte("s"), strings.Repeat("a", name)+"@x.example", 36*36*36-1, 35)
		if got := strings.IndexByte(path, '@'); got != want {
			t.Errorf("a name of %d octets: %d", name, got)
		}
	}
}

// TestLooksLikeReturnPath includes tags that people choose themselves.
func TestLooksLikeReturnPath(t *testing.T) {
	for address, want := range map[string]bool{
		"a+b1=0=aaaaaaaa@x": true, "a+b1-0-aaaaaaaaaaaa@x": true, "A+B1=0=AAAAAAAA@X": true, "a+bzz=zzz=aaaaaaaa@x": true,
		"a+b1=0=aaaaaaa1@x": false, "a+b1=0=aaaaaaaaa@x": false, "a+b1=0@x": false, "a+c1=0=aaaaaaaa@x": false, "b1=0=aaaaaaaa@x": false,
		"a+black-friday-discount@x": false, "a+blog-2026-subscription@x": false, "a+b=x=y=aaaaaaaa@x": false, "a+b1=0000=aaaaaaaa@x": false,
	} {
		if got := LooksLikeReturnPath(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
