// Package sealed makes envelopes that one person alone can open: age files
// (age-encryption.org/v1) for one X25519 recipient. It knows which text is such a recipient, how
// a mail and its files become envelopes, and what stays plain of them. It refuses to know who
// reads a sealed mail, how private keys are made or kept, disks and inboxes: nothing here can
// open an envelope.
package sealed

import (
	"crypto/ecdh"
	"strings"

	"filippo.io/age"

	"inboxd/internal/base/fault"
)

// Recipient is a public key that is sealed for. It never changes; the zero Recipient seals nothing.
type Recipient struct {
	text  string
	point *ecdh.PublicKey
}

// maxRecipient is far above the 62 characters that a recipient has.
const maxRecipient = 128

// Parse reads a recipient that a person gave: one X25519 recipient, "age1" and 58 more lower-case
// characters with their checksum. Errors are fault.Invalid of the field; none holds a part of text,
// for it may be a private key.
func Parse(field, text string) (Recipient, error) {
	if IsPrivate(text) {
		return Recipient{}, fault.Field(field, "is a private key. Never send it anywhere: make a new key pair")
	}
	r, ok := read(text)
	if ok {
		// A point of low order gives every sender the same secret: nothing is sealed for it.
		_, err := stanza(r).Wrap(make([]byte, 16))
		ok = err == nil
	}
	if !ok {
		return Recipient{}, fault.Field(field, "is not an age public key: it must be one X25519 recipient, 'age1' and 58 more characters")
	}
	return r, nil
}

// Stored reads a recipient that Parse accepted before.
func Stored(text string) (Recipient, error) {
	r, ok := read(text)
	if !ok {
		return Recipient{}, fault.New(fault.Unavailable, "The public key of this account can't be read, so nothing can be encrypted for it. Try again later")
	}
	return r, nil
}

func read(text string) (Recipient, bool) {
	if len(text) > maxRecipient {
		return Recipient{}, false
	}
	key, err := age.ParseX25519Recipient(text)
	if err != nil || key.String() != text { // another spelling of the same key
		return Recipient{}, false
	}
	point, err := ecdh.X25519().NewPublicKey(pointIn(text))
	return Recipient{text, point}, err == nil
}

// pointIn is the point of a recipient in its one spelling, which has a right checksum (BIP 173).
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

// String is the recipient as it was given.
func (r Recipient) String() string { return r.text }
