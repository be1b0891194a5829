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

// Secret signs the deliveries of one webhook: "whsec_" and 32 random bytes in base64. Its owner
// sees it once.
type Secret string

const (
	secretPrefix = "whsec_"
	// SecretOverlap is how long the previous secret signs together with the new one after a
	// rotation.
	SecretOverlap = 24 * time.Hour
)

// MintSecret makes a secret of 32 random bytes.
func MintSecret(random [32]byte) Secret {
	return Secret(secretPrefix + base64.StdEncoding.EncodeToString(random[:]))
}

// key returns the key of the standard's signature: the decoded bytes after the prefix. A secret
// always comes from MintSecret. Any other value signs with an empty key, which no receiver can
// verify.
func (s Secret) key() []byte {
	b, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(s), secretPrefix))
	return b
}

// Header is one header field of a delivery.
type Header struct{ Name, Value string }

// UserAgent names the service and the version of its deliveries (specification, Webhooks).
const UserAgent = "Service-Webhook/1.0"

// Headers returns the header fields of one attempt (specification, Webhooks). id is the same for
// all attempts; at is the time of this one. With several secrets, newest first, the standard
// signature contains one value for each. The older X-Service-Signature uses the newest.
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
