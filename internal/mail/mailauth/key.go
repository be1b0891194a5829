package mailauth

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
)

// publishedKey is the content of a key record (RFC 6376 section 3.6.1).
type publishedKey struct {
	publicKey   crypto.PublicKey
	isTesting   bool // t=y
	exactDomain bool // t=s: not for subdomains
	sha256      bool
	allowsEmail bool
}

// keyAnswer is a key, or the reason for its absence. None means that the key exists.
type keyAnswer struct {
	key        publishedKey
	resultCode ResultCode
	reason     string
}

// RecordName is the DNS name of a selector's key.
func RecordName(domain, selector string) string { return selector + "._domainkey." + domain }

// localKey is the key of a selector that this node has itself; false: DNS must be queried.
func localKey(domain, selector string, local LocalKeys) (found keyAnswer, ok bool) {
	if local != nil {
		found = keyAnswer{resultCode: None, key: publishedKey{sha256: true, allowsEmail: true}}
		recoverPanic(func() { found.key.publicKey, ok = local.PublicKey(domain, selector) }, func() {})
	}
	return found, ok
}

// findKey looks up the record called name.
func findKey(name string, lookup txtLookup) keyAnswer {
	records, err := lookup(name)
	switch {
	case err != nil && isTemporary(err):
		return keyAnswer{resultCode: TempError, reason: "the key lookup failed"}
	case err != nil:
		return keyAnswer{resultCode: PermError, reason: "no key"}
	case len(records) != 1: // RFC 6376 section 3.6.2.2
		return keyAnswer{resultCode: PermError, reason: "more than one key"}
	}
	k, reason := parseKey(records[0])
	if reason != "" {
		return keyAnswer{resultCode: PermError, reason: reason}
	}
	return keyAnswer{resultCode: None, key: k}
}

// parseKey parses a key record, or returns why it is unusable.
func parseKey(record string) (publishedKey, string) {
	if len(record) > maxTags {
		return publishedKey{}, "key too long"
	}
	list, ok := parseTags(record)
	if !ok || list.lowerValue("v", "dkim1") != "dkim1" {
		return publishedKey{}, "unreadable key"
	}
	if p, given := list.get("p"); given && p == "" {
		return publishedKey{}, "key revoked"
	}
	der, ok := list.base64("p")
	if !ok {
		return publishedKey{}, "unreadable key"
	}
	flags, hashes, services := list.splitValue("t"), list.splitValue("h"), list.splitValue("s")
	k := publishedKey{
		isTesting: slices.Contains(flags, "y"), exactDomain: slices.Contains(flags, "s"),
		sha256:      hashes == nil || slices.Contains(hashes, "sha256"),
		allowsEmail: services == nil || slices.Contains(services, "*") || slices.Contains(services, "email"),
	}
	var reason string
	switch list.lowerValue("k", "rsa") {
	case "rsa":
		k.publicKey, reason = parseRSA(der)
	case "ed25519":
		if k.publicKey = ed25519.PublicKey(der); len(der) != ed25519.PublicKeySize {
			reason = "unreadable key"
		}
	default:
		reason = "unknown kind of key"
	}
	return k, reason
}

// parseRSA accepts both forms that are in use, RFC 6376 erratum 3017.
func parseRSA(der []byte) (crypto.PublicKey, string) {
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		if public, err = x509.ParsePKCS1PublicKey(der); err != nil {
			return nil, "unreadable key"
		}
	}
	k, ok := public.(*rsa.PublicKey)
	switch {
	case !ok:
		return nil, "unreadable key"
	case k.N.BitLen() < minRSABits || k.N.BitLen() > maxRSABits: // RFC 8301 section 3.2
		return nil, "key of a size that is not accepted"
	}
	return k, ""
}

// Keys are the two keys of one sending domain. A signature by either is sufficient; RSA is for
// verifiers that do not support Ed25519 yet (RFC 8463).
type Keys struct {
	RSA     *rsa.PrivateKey // 2,048 bits
	Ed25519 ed25519.PrivateKey
}

// NewKeys makes a pair. It takes tens of milliseconds of CPU, rarely half a second.
func NewKeys() (Keys, error) {
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return Keys{}, err
	}
	_, e, err := ed25519.GenerateKey(rand.Reader)
	return Keys{RSA: r, Ed25519: e}, err
}

// KeyRecord is the text of the TXT record that publishes a key. A text longer than 255 octets is split
// into several strings in the zone.
func KeyRecord(public crypto.PublicKey) (string, error) {
	switch k := public.(type) {
	case *rsa.PublicKey:
		der, err := x509.MarshalPKIXPublicKey(k)
		return "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(der), err
	case ed25519.PublicKey:
		return "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(k), nil
	}
	return "", fmt.Errorf("no record for a %T", public)
}

// PublishesKey reports whether the records at a key's name publish the same key as wanted, a KeyRecord,
// for all verifiers. Two records, or one in testing mode, do not count.
func PublishesKey(records []string, wanted string) bool {
	if len(records) != 1 {
		return false
	}
	k, reason := parseKey(records[0])
	if reason != "" || k.isTesting || !k.sha256 || !k.allowsEmail {
		return false
	}
	want, _ := parseKey(wanted)
	same, ok := k.publicKey.(interface{ Equal(crypto.PublicKey) bool })
	return ok && same.Equal(want.publicKey)
}
