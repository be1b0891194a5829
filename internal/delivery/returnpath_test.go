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
			gotInbox, gotID, gotRcpt, ok := ReadReturnPath(secret, p)
			if !ok || gotInbox != inbox || gotID != id || gotRcpt != rcpt {
				t.Fatalf("%s: %s %d %d %v", p, gotInbox, gotID, gotRcpt, ok)
			}
		}
		if _, _, _, ok := ReadReturnPath([]byte("other"), path); ok {
			t.Fatalf("%s: another secret reads it", path)
		}
		// Whatever one octet is changed into, nobody signed that.
		i := rapid.IntRange(0, len(path)-1).Draw(t, "at")
		forged := path[:i] + rapid.StringMatching(`[a-z0-9+@-]`).Draw(t, "octet") + path[i+1:]
		if _, _, _, ok := ReadReturnPath(secret, forged); ok && forged != path {
			t.Fatalf("%s is taken for %s", forged, path)
		}
	})
}

func TestReturnPathWithoutRoom(t *testing.T) {
	inbox := strings.Repeat("a", 64) + "@" + strings.Repeat("x", 63) + "." + strings.Repeat("x", 63) + "." + strings.Repeat("x", 40) + ".example"
	if got := ReturnPath([]byte("s"), inbox, 1, 0); got != inbox {
		t.Error(got)
	}
	for _, address := range []string{"", "@", "+b@", "a@b", "a+b@c", "a+b-@c", "a+b1-0@c", "a+b1-0-@c", "+b1-0-aaaaaaaaaaaa@c", "a+btag@c", inbox} {
		if _, _, _, ok := ReadReturnPath([]byte("s"), address); ok {
			t.Errorf("%q is read", address)
		}
	}
	// A return path stays what it is: mails that are out there come back to it for days.
	if got := ReturnPath([]byte("s"), "a@x.example", 12345, 99); got != "a+b9ix-2r-vcc5e6hnnryk@x.example" {
		t.Error(got)
	}
}
