package main

import (
	"time"

	"inboxd/actors"
	"inboxd/internal/mail/mailauth"
)

// signMessage returns the signature fields for a message, one for each key.
func signMessage(raw []byte, domain string, keys []actors.SigningKey, at time.Time) ([]byte, error) {
	signers := make([]mailauth.Signer, len(keys))
	for i, k := range keys {
		signers[i] = mailauth.Signer{Domain: domain, Selector: k.Selector, Key: k.PrivateKey, At: at}
	}
	signed, err := mailauth.Sign(raw, signers...)
	if err != nil {
		return nil, err
	}
	return signed[: len(signed)-len(raw) : len(signed)-len(raw)], nil
}
