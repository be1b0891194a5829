package account_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
)

var kinds = map[account.TokenKind]string{
	account.KindSession: "svc_sess_", account.KindAccountKey: "svc_live_", account.KindInboxKey: "svc_sk_", account.KindReset: "svc_reset_",
}

const tokenAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"

func randomBytes(seed byte) (b [32]byte) {
	for i := range b {
		b[i] = seed + byte(i)*37
	}
	return b
}

// TestTokenOfEveryPartition mints a token of every kind for every partition and parses it.
func TestTokenOfEveryPartition(t *testing.T) {
	for kind, prefix := range kinds {
		for home := range partition.ID(partition.NumPartitions) {
			token := account.MintToken(kind, home, randomBytes(byte(home)))
			if !strings.HasPrefix(token, prefix) || len(token) != len(prefix)+49 {
				t.Fatalf("kind %d: %q", kind, token)
			}
			if k, p, ok := account.ParseToken(token); k != kind || p != home || !ok {
				t.Fatalf("%q of partition %d is read as kind %d of partition %d, %v", token, home, k, p, ok)
			}
		}
	}
}

// TestAnAccountLiesBesideItsAddress checks that the ID is in the address's group for any random
// bytes, and keeps its time.
func TestAnAccountLiesBesideItsAddress(t *testing.T) {
	ids := map[account.ID]bool{}
	for i := range 200 {
		email := fmt.Sprintf("u%d@example.test", i)
		random := [10]byte{byte(i)}
		if i%2 == 0 {
			random = [10]byte{9, byte(i), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		}
		id := account.NewIDBeside(email, start, random)
		if plain := account.NewID(start, random); ids[id] || id.HomePartition().Group() != partition.Of(email).Group() || !bytes.Equal(id[:8], plain[:8]) {
			t.Errorf("%s: %v of %v", email, id, plain)
		}
		ids[id] = true
	}
}

func BenchmarkNewIDBeside(b *testing.B) {
	for n := 0; b.Loop(); n++ {
		account.NewIDBeside("ada@example.test", start, [10]byte{2: byte(n), 3: byte(n >> 8)})
	}
}

// TestTokenKeepsItsRandomness checks that only the first 12 bits are replaced by the partition.
func TestTokenKeepsItsRandomness(t *testing.T) {
	seen := map[string]int{}
	for bit := range 256 {
		var random [32]byte
		random[bit/8] = 0x80 >> (bit % 8)
		seen[account.MintToken(account.KindSession, 5, random)]++
	}
	if len(seen) != 256-12+1 {
		t.Errorf("%d different tokens of 256 different bits", len(seen))
	}
}

// TestTokenGolden pins the form of issued tokens, which stay valid for years.
func TestTokenGolden(t *testing.T) {
	const want = "svc_live_ejRpHMV6s1d08qFbbRTTiyq4GAKgBlvV5YdAejJw3B61vliJT"
	if got := account.MintToken(account.KindAccountKey, 0xabc, randomBytes(1)); got != want {
		t.Errorf("minted %s, used to mint %s", got, want)
	}
	if got := account.KeyPrefix(want); got != "svc_live_ejRp" {
		t.Errorf("shown as %s", got)
	}
	if got := account.KeyPrefix("svc"); got != "svc" {
		t.Errorf("a short string is shown as %s", got)
	}
}

// TestTypo changes each character of tokens to every other one, removes it, doubles it and swaps it
// with its neighbour. None of the results may be valid.
func TestTypo(t *testing.T) {
	for kind := range kinds {
		token := account.MintToken(kind, 0x123, randomBytes(9))
		refused := func(typo string) {
			t.Helper()
			if _, _, ok := account.ParseToken(typo); ok && typo != token {
				t.Errorf("%q passes for a token beside %q", typo, token)
			}
		}
		for i := range token {
			head, tail := token[:i], token[i+1:]
			for _, c := range tokenAlphabet {
				refused(head + string(c) + tail)
			}
			refused(head + tail)
			refused(head + token[i:i+1] + token[i:])
			if i+1 < len(token) {
				refused(head + token[i+1:i+2] + token[i:i+1] + token[i+2:])
			}
		}
		refused(token + " ")
		refused(strings.ToUpper(token))
	}
}

func TestNoToken(t *testing.T) {
	for _, s := range []string{
		"", "svc_live_", "svc_live_" + strings.Repeat("0", 49), "svc_other_" + strings.Repeat("0", 49),
		"svc_live_" + strings.Repeat("z", 43) + "0UsatS", // a correct checksum of more than 256 bits
		"svc_sk_" + strings.Repeat("é", 24) + "0",
	} {
		if kind, home, ok := account.ParseToken(s); ok || kind != 0 || home != 0 {
			t.Errorf("%q is read as kind %d of partition %d, %v", s, kind, home, ok)
		}
	}
}

func TestTokenRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]account.TokenKind{account.KindSession, account.KindAccountKey, account.KindInboxKey}).Draw(t, "kind")
		home := partition.ID(rapid.IntRange(0, partition.NumPartitions-1).Draw(t, "home"))
		var random [32]byte
		copy(random[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "random"))
		token := account.MintToken(kind, home, random)
		if k, p, ok := account.ParseToken(token); !ok || k != kind || p != home {
			t.Fatalf("%q of %d/%d is read as %d/%d, %v", token, kind, home, k, p, ok)
		}
		if n := len(account.KeyPrefix(token)); n != 13 {
			t.Fatalf("%d characters are shown", n)
		}
	})
}

// FuzzParseToken checks that every valid token has exactly the form that we mint.
func FuzzParseToken(f *testing.F) {
	f.Add("")
	f.Add("svc_live_" + strings.Repeat("z", 43) + "0UsatS")
	for kind := range kinds {
		f.Add(account.MintToken(kind, 77, randomBytes(3)))
	}
	f.Fuzz(func(t *testing.T, s string) {
		kind, home, ok := account.ParseToken(s)
		if !ok {
			if kind != 0 || home != 0 {
				t.Fatalf("%q is refused, yet %d %d", s, kind, home)
			}
			return
		}
		if prefix := kinds[kind]; prefix == "" || !strings.HasPrefix(s, prefix) || len(s) != len(prefix)+49 || home >= partition.NumPartitions {
			t.Fatalf("%q is read as kind %d of partition %d", s, kind, home)
		}
	})
}
