// Package sealed makes envelopes that only one person can open: age files (age-encryption.org/v1)
// for one X25519 recipient. It validates such recipients, makes envelopes of a message and its
// files, and defines which facts stay unencrypted. It does not know who reads an encrypted message,
// how private keys are made or stored, disks and inboxes. Nothing here can open an envelope.
package sealed

import (
	"crypto/ecdh"
	"strings"

	"filippo.io/age"

	"inboxd/internal/base/fault"
)

// RecipientKey is a public key to encrypt to. It never changes; the zero Recipient encrypts nothing.
type RecipientKey struct {
	encodedKey string
	publicKey  *ecdh.PublicKey
}

// maxRecipient is far above the 62 characters of a recipient.
const maxRecipient = 128

// ParseRecipient parses a recipient that a person entered: one X25519 recipient, "age1" and 58 more
// lower-case characters with their checksum. Errors are fault.InvalidRequest of the field. No error
// contains a part of text, because text may be a private key.
func ParseRecipient(field, text string) (RecipientKey, error) {
	if IsPrivate(text) {
		return RecipientKey{}, fault.InvalidField(field, "is a private key. Never send it to anybody: create a new key pair")
	}
	r, ok := decodeRecipient(text)
	if ok {
		// A point of low order gives every sender the same secret, so nothing may be encrypted to
		// it.
		_, err := stanzaRecipient(r).Wrap(make([]byte, 16))
		ok = err == nil
	}
	if !ok {
		return RecipientKey{}, fault.InvalidField(field, "is not an age public key: it must be one X25519 recipient, 'age1' and 58 more characters")
	}
	return r, nil
}

// ParseStored parses a recipient that Parse accepted before.
func ParseStored(text string) (RecipientKey, error) {
	r, ok := decodeRecipient(text)
	if !ok {
		return RecipientKey{}, fault.New(fault.TemporarilyUnavailable, "The public key of this account cannot be read, so nothing can be encrypted for it. Try again later")
	}
	return r, nil
}

func decodeRecipient(text string) (RecipientKey, bool) {
	if len(text) > maxRecipient {
		return RecipientKey{}, false
	}
	key, err := age.ParseX25519Recipient(text)
	if err != nil || key.String() != text { // another spelling of the same key
		return RecipientKey{}, false
	}
	point, err := ecdh.X25519().NewPublicKey(pointIn(text))
	return RecipientKey{text, point}, err == nil
}

// pointIn decodes the point of a recipient in its canonical spelling with a valid checksum (BIP
// 173).
func pointIn(text string) (point []byte) {
	const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l" // five bits each
	bits, pending := 0, 0
	for _, c := range []byte(text[len("age1") : len(text)-6]) {
		bits, pending = bits<<5|strings.IndexByte(alphabet, c), pending+5
		if pending >= 8 {
			pending -= 8
			point = append(point, byte(bits>>pending))
			bits &= 1<<pending - 1
		}
	}
	return point
}

// String is the recipient in its canonical spelling.
func (r RecipientKey) String() string { return r.encodedKey }
