package sealed

import (
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
)

// stanzaRecipient wraps file keys for its recipient, as age.Recipient.
type stanzaRecipient RecipientKey

// Wrap produces the result of age.X25519Recipient.Wrap (age-encryption.org/v1, The X25519 recipient
// type), with two multiplications on the curve instead of four. They take most of the time for a
// small message (ADR 0073). A point of low order is an error.
func (s stanzaRecipient) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	ephemeral, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	secret, err := ephemeral.ECDH(s.publicKey)
	if err != nil {
		return nil, err
	}
	share := ephemeral.PublicKey().Bytes()
	key, err := hkdf.Key(sha256.New, secret, slices.Concat(share, s.publicKey.Bytes()), "age-encryption.org/v1/X25519", chacha20poly1305.KeySize)
	if err != nil {
		return nil, err
	}
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, err
	}
	// The key is used once, so its nonce may be zero.
	body := aead.Seal(nil, make([]byte, chacha20poly1305.NonceSize), fileKey, nil)
	return []*age.Stanza{{Type: "X25519", Args: []string{base64.RawStdEncoding.EncodeToString(share)}, Body: body}}, nil
}
