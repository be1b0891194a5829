package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"time"
)

// TestSignatureOfTheStandard pins the example of the Standard Webhooks specification.
func TestSignatureOfTheStandard(t *testing.T) {
	const (
		secret = SigningSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
		id     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
		body   = `{"test": 2432232314}`
	)
	at := time.Unix(1614265330, 0)
	got := map[string]string{}
	for _, h := range SignedHeaders(MessageReceived, id, at, []byte(body), secret) {
		got[h.Name] = h.Value
	}
	legacy := hmac.New(sha256.New, []byte(secret))
	legacy.Write([]byte(body))
	for name, want := range map[string]string{
		"webhook-id": id, "webhook-timestamp": "1614265330",
		"webhook-signature":   "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		"X-Service-Event":     "message.received",
		"X-Service-Signature": "sha256=" + hex.EncodeToString(legacy.Sum(nil)),
		"User-Agent":          "Service-Webhook/1.0", "Content-Type": "application/json",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

func TestBothSecretsSignDuringARotation(t *testing.T) {
	older, newer := MintSecret([32]byte{1}), MintSecret([32]byte{2})
	at := time.Unix(1, 0)
	both := SignedHeaders("*", "id", at, nil, newer, older)
	signatures := strings.Split(both[4].Value, " ")
	if len(signatures) != 2 || signatures[0] != SignedHeaders("*", "id", at, nil, newer)[4].Value || signatures[1] != SignedHeaders("*", "id", at, nil, older)[4].Value {
		t.Errorf("%v", signatures)
	}
	if both[6] != SignedHeaders("*", "id", at, nil, newer)[6] {
		t.Errorf("the older signature is not the newest secret's: %v", both[6])
	}
}

func TestSecretsAreWhole(t *testing.T) {
	s := MintSecret([32]byte{0xff, 31: 0xfe})
	rest, ok := strings.CutPrefix(string(s), "whsec_")
	if b, err := base64.StdEncoding.DecodeString(rest); !ok || err != nil || len(b) != 32 || string(s.signingKey()) != string(b) {
		t.Errorf("%s: %v", s, err)
	}
}

func TestSchedule(t *testing.T) {
	begin := time.Unix(1000, 0)
	for _, c := range []struct{ takes, second, third time.Duration }{
		{0, 30 * time.Second, 5 * time.Minute},
		{10 * time.Second, 30 * time.Second, 5 * time.Minute},
		{time.Minute, time.Minute, 5 * time.Minute},
		{time.Hour, time.Hour, 2 * time.Hour},
	} {
		ended, s := begin, DefaultSchedule()
		for n, want := range []time.Duration{0, c.second, c.third} {
			next, more := s.NextAttempt(n, begin, ended)
			if !more || next.Sub(begin) != want {
				t.Errorf("each takes %v: attempt %d at %v, %v", c.takes, n+1, next.Sub(begin), more)
			}
			ended = next.Add(c.takes)
		}
		if _, more := s.NextAttempt(3, begin, ended); more {
			t.Error("there is a fourth attempt")
		}
	}
}

func TestCanonicalURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://Example.com/Hook?x=1#frag": "https://example.com/Hook?x=1",
		"http://example.com.:8080":          "http://example.com:8080",
		"http://bücher.example/":            "http://xn--bcher-kva.example/",
		"http://[2001:DB8::1]:443/":         "http://[2001:db8::1]:443/",
		"http://127.0.0.1:80/x":             "http://127.0.0.1:80/x", // refused when the connection is made
	} {
		if got, err := CanonicalURL(raw); got != want || err != nil {
			t.Errorf("%s: %q %v, want %q", raw, got, err, want)
		}
	}
	for raw, about := range map[string]string{
		"":                          "must begin with http",
		"ftp://example.com":         "must begin with http",
		"javascript:alert(1)":       "must begin with http",
		"//example.com/":            "must begin with http",
		"http:///path":              "no host",
		"http://a:b@example.com":    "user name",
		"http://example.com:22/":    "port",
		"http://example.com:0/":     "port",
		"http://example.com:/":      "port",
		"http://example.com:99999/": "port",
		"http://exa mple.com/":      "space",
		"http://example.com\r\nX:1": "space",
		"http://example.com\\@evil": "backslash",
		"http://0x7f.1/":            "neither a name nor an address",
		"http://017700000001/":      "neither a name nor an address",
		"http://2130706433/":        "neither a name nor an address",
		"http://127.0.0.1.5x/":      "neither a name nor an address",
		"http://[fe80::1%25eth0]/":  "zone",
		"http://-bad-.example/":     "valid host",
		"http://" + strings.Repeat("a", MaxURL) + ".example/": "too long (2064 characters). The limit is 2048 characters",
	} {
		if got, err := CanonicalURL(raw); err == nil || !strings.Contains(err.Error(), about) {
			t.Errorf("%.60q: %q %v, want a sentence with %q", raw, got, err, about)
		}
	}
}

func FuzzCanonicalURL(f *testing.F) {
	for _, s := range []string{"https://example.com/x", "http://[::1]/", "http://0177.1", "http://a@b/", "http://é.x:80/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once, err := CanonicalURL(raw)
		if err != nil {
			return
		}
		if again, err := CanonicalURL(once); err != nil || again != once {
			t.Errorf("%q becomes %q, which becomes %q, %v", raw, once, again, err)
		}
	})
}
