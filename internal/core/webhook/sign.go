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

// SigningSecret signs the deliveries of one webhook: "whsec_" and 32 random bytes in base64. Its owner
// sees it once.
type SigningSecret string

const (
	secretPrefix = "whsec_"
	// SecretOverlap is how long the previous secret signs together with the new one after a
	// rotation.
	SecretOverlap = 24 * time.Hour
)

// MintSecret makes a secret of 32 random bytes.
func MintSecret(random [32]byte) SigningSecret {
	return SigningSecret(secretPrefix + base64.StdEncoding.EncodeToString(random[:]))
}

// signingKey returns the key of the standard's signature: the decoded bytes after the prefix. A secret
// always comes from MintSecret. Any other value signs with an empty key, which no receiver can
// verify.
func (s SigningSecret) signingKey() []byte {
	b, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(string(s), secretPrefix))
	return b
}

// HeaderField is one header field of a delivery.
type HeaderField struct{ Name, Value string }

// UserAgent names the service and the version of its deliveries (specification, Webhooks).
const UserAgent = "Service-Webhook/1.0"

// SignedHeaders returns the header fields of one attempt (specification, Webhooks). id is the same for
// all attempts; at is the time of this one. With several secrets, newest first, the standard
// signature contains one value for each. The older X-Service-Signature uses the newest.
func SignedHeaders(name, id string, at time.Time, body []byte, secrets ...SigningSecret) []HeaderField {
	stamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, s := range secrets {
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(computeMAC(s.signingKey(), []byte(id+"."+stamp+"."), body))
	}
	return []HeaderField{
		{"Content-Type", "application/json"},
		{"User-Agent", UserAgent},
		{"webhook-id", id},
		{"webhook-timestamp", stamp},
		{"webhook-signature", strings.Join(signatures, " ")},
		{"X-Service-Event", name},
		{"X-Service-Signature", "sha256=" + hex.EncodeToString(computeMAC([]byte(secrets[0]), body))},
	}
}

func computeMAC(key []byte, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}
