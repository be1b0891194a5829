package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Secret signs the deliveries of one webhook: "whsec_" and 32 random bytes in base64. It is
// shown once.
type Secret string

const (
	secretPrefix = "whsec_"
	// SecretOverlap is how long the secret before a rotation signs beside the new one.
	SecretOverlap = 24 * time.Hour
)

// MintSecret makes a secret of 32 random bytes.
func MintSecret(random [32]byte) Secret {
	return Secret(secretPrefix + base64.StdEncoding.EncodeToString(random[:]))
}

// key is what the standard's signature is keyed with: the bytes behind the prefix. A secret
// is always one of MintSecret's; anything else signs with no key and verifies nowhere.
func (s Secret) key() []byte {
	b, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(s), secretPrefix))
	return b
}

// Header is one field of a delivery.
type Header struct{ Name, Value string }

// UserAgent names the service and the version of its deliveries (specification, Webhooks).
const UserAgent = "Service-Webhook/1.0"

// Headers are the fields of one call (specification, Webhooks). id stays the same over
// all calls, at is this call's time. With several secrets, newest first, the standard
// signature is given for each, and the older X-Service-Signature for the newest.
func Headers(name, id string, at time.Time, body []byte, secrets ...Secret) []Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, s := range secrets {
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac(s.key(), []byte(id+"."+stamp+"."), body))
	}
	return []Header{
		{"Content-Type", "application/json"},
		{"User-Agent", UserAgent},
		{"webhook-id", id},
		{"webhook-timestamp", stamp},
		{"webhook-signature", strings.Join(signatures, " ")},
		{"X-Service-Event", name},
		{"X-Service-Signature", "sha256=" + hex.EncodeToString(mac([]byte(secrets[0]), body))},
	}
}

func mac(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}
