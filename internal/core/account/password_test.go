package account_test

import (
	"strings"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/testutil/budget"
)

// TestCheckPassword counts in code points, not bytes.
func TestCheckPassword(t *testing.T) {
	for _, c := range []struct {
		password string
		want     string // part of the error; empty: accepted
	}{
		{strings.Repeat("a", 10), ""},
		{strings.Repeat("é", 10), ""},
		{strings.Repeat("a", 128), ""},
		{strings.Repeat("😀", 128), ""},
		{"", "is too short (0 characters). The minimum is 10 characters"},
		{strings.Repeat("é", 9), "is too short (9 characters). The minimum is 10 characters"},
		{strings.Repeat("a", 129), "is too long (129 characters). The limit is 128 characters"},
	} {
		err := account.CheckPassword(c.password)
		if c.want == "" && err != nil {
			t.Errorf("%q: %v", c.password, err)
		}
		if c.want != "" && (!fault.Is(err, fault.InvalidRequest) || !strings.HasSuffix(err.Error(), "'password' "+c.want)) {
			t.Errorf("%q: %v", c.password, err)
		}
	}
}

// TestPasswordHash pins the stored form, because stored hashes must work in every later release.
func TestPasswordHash(t *testing.T) {
	const want = "$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$rk2Mi3E4dgRMg0fHaYaptWVZRKqs//6b6k3/nntqGJk"
	got := account.HashPassword("correct horse", [16]byte([]byte("0123456789abcdef")))
	if got != want {
		t.Errorf("stored as %s, used to be %s", got, want)
	}
	for password, ok := range map[string]bool{"correct horse": true, "correct horsf": false, "": false, "correct horse ": false} {
		if account.PasswordMatches(want, password) != ok {
			t.Errorf("%q matches: %v", password, !ok)
		}
	}
}

// TestOlderParameters checks that a hash made with other parameters is verified with its own.
func TestOlderParameters(t *testing.T) {
	made := account.HashPassword("correct horse", [16]byte{1})
	if account.PasswordMatches(strings.Replace(made, "t=2", "t=1", 1), "correct horse") {
		t.Error("the passes of the hash are not looked at")
	}
	if account.PasswordMatches(strings.Replace(made, "m=19456", "m=8192", 1), "correct horse") {
		t.Error("the memory of the hash is not looked at")
	}
}

func TestUnreadableHashNeverMatches(t *testing.T) {
	good := account.HashPassword("correct horse", [16]byte{1})
	for _, phc := range []string{
		"correct horse", "$argon2id$", strings.Replace(good, "argon2id", "argon2i", 1), strings.Replace(good, "m=", "x=", 1),
		good + "!", strings.Replace(good, "p=1$", "p=1$!", 1), good[:len(good)-4], good + "$",
	} {
		if account.PasswordMatches(phc, "correct horse") {
			t.Errorf("%s matches", phc)
		}
	}
}

// TestUnknownAccountCostsTheSame compares the fastest of a few attempts of each. argon2 takes tens
// of milliseconds; a comparison without it takes almost none.
func TestUnknownAccountCostsTheSame(t *testing.T) {
	known := account.HashPassword("correct horse", [16]byte{1})
	cheapest := func(phc string) time.Duration {
		best := time.Hour
		for range 3 {
			took := budget.MeasureOnce(func() {
				if account.PasswordMatches(phc, "wrong password") {
					t.Error("a wrong password matches")
				}
			})
			best = min(best, took.CPU)
		}
		return best
	}
	if a, b := cheapest(known), cheapest(""); a > 4*b || b > 4*a {
		t.Errorf("%v for a known account, %v for an unknown one", a, b)
	}
}
