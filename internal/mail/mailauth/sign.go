package mailauth

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"inboxd/internal/base/address"
)

// Signer is one key to sign with.
type Signer struct {
	Domain   string // d=, in A-labels
	Selector string
	Key      crypto.Signer // *rsa.PrivateKey or ed25519.PrivateKey
	At       time.Time     // t=; zero omits it
}

// oversigned fields are listed one more time than they occur, so that adding one breaks the
// signature (RFC 6376 section 5.4).
var oversigned = []string{
	"From", "To", "Cc", "Subject", "Date", "Message-ID", "Reply-To", "In-Reply-To", "References",
	"MIME-Version", "Content-Type", "Content-Transfer-Encoding",
}

// signedIfThere fields are listed as often as they occur.
var signedIfThere = []string{
	"Sender", "Content-Disposition", "Content-ID", "Auto-Submitted", "List-Id", "List-Unsubscribe",
	"List-Unsubscribe-Post", "OTP-Token", "One-Time-Code",
}

// maxLine is the maximum length of a line without its CRLF, RFC 5322 section 2.1.1.
const maxLine = 998

// Sign adds one DKIM-Signature for each signer at the top of raw, relaxed/relaxed. The result must
// be transmitted unchanged. raw is refused unless its lines end in CRLF, are at most 998 octets
// long and contain no NUL, and its header has one From.
func Sign(raw []byte, signers ...Signer) ([]byte, error) {
	if err := checkWire(raw); err != nil {
		return nil, err
	}
	fields, body, whole := splitMail(raw, make([]headerField, 0, usualFields))
	if _, froms := fromDomain(fields); !whole || froms != 1 {
		return nil, errors.New("a message to sign needs exactly one From field")
	}
	names := signedNames(fields)
	sum := bodyHash(body, true)
	var out []byte
	for _, s := range signers {
		var err error
		if out, err = s.appendSignature(out, fields, names, sum); err != nil {
			return nil, fmt.Errorf("signing for %s: %w", s.Domain, err)
		}
	}
	return append(out, raw...), nil
}

func checkWire(raw []byte) error {
	for len(raw) > 0 {
		line, rest, ok := bytes.Cut(raw, crlf)
		if !ok || len(line) > maxLine || bytes.ContainsAny(line, "\r\n\x00") {
			return errors.New("a message to sign needs lines of at most 998 octets that end in CRLF, without NUL")
		}
		raw = rest
	}
	return nil
}

func signedNames(fields []headerField) (names []string) {
	add := func(name string, more int) {
		for i := range fields {
			if fields[i].is(name) {
				more++
			}
		}
		for range more {
			names = append(names, name)
		}
	}
	for _, name := range oversigned {
		add(name, 1)
	}
	for _, name := range signedIfThere {
		add(name, 0)
	}
	return names
}

func (s Signer) appendSignature(out []byte, fields []headerField, names []string, body [sha256.Size]byte) ([]byte, error) {
	var algorithm string
	hash := crypto.SHA256
	switch s.Key.(type) {
	case *rsa.PrivateKey:
		algorithm = "rsa-sha256"
	case ed25519.PrivateKey:
		algorithm, hash = "ed25519-sha256", 0 // RFC 8463 section 3: the digest itself is signed
	default:
		return nil, fmt.Errorf("no signature with a %T", s.Key)
	}
	domain, ok := canonicalDomain(s.Domain)
	selector, named := address.CanonicalHost(s.Selector)
	if !ok || !named || domain != s.Domain || selector != s.Selector {
		return nil, fmt.Errorf("invalid domain %q or selector %q", s.Domain, s.Selector)
	}
	start := len(out)
	out = append(out, "DKIM-Signature: v=1; a="+algorithm+"; c=relaxed/relaxed;\r\n\td="+s.Domain+"; s="+s.Selector+";"...)
	if !s.At.IsZero() {
		out = append(out, " t="+strconv.FormatInt(s.At.Unix(), 10)+";"...)
	}
	out = appendNames(append(out, "\r\n\th="...), names)
	out = append(out, ";\r\n\tbh="+base64.StdEncoding.EncodeToString(body[:])+";\r\n\tb="...)
	own := Signature{SignedFields: names, isRelaxed: [2]bool{true, true}, rawField: out[start:]}
	digest := own.headerHash(fields)
	signature, err := s.Key.Sign(rand.Reader, digest[:], hash)
	if err != nil {
		return nil, err
	}
	for b := base64.StdEncoding.EncodeToString(signature); ; {
		n := min(len(b), 72)
		out = append(out, b[:n]...)
		if b = b[n:]; b == "" {
			return append(out, crlf...), nil
		}
		out = append(out, "\r\n\t"...)
	}
}

// appendNames joins names by colons, on lines of at most 78 octets.
func appendNames(out []byte, names []string) []byte {
	width := len("\th=")
	for i, name := range names {
		if i > 0 {
			out = append(out, ':')
		}
		if width += len(name) + 1; width > 76 {
			out = append(out, "\r\n\t"...)
			width = len(name) + 2
		}
		out = append(out, strings.ToLower(name)...)
	}
	return out
}
