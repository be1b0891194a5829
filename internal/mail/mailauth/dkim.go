package mailauth

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

// bodies is a body with its hashes in both canonical forms, each computed on first use, so that a
// second signature costs little. Only the goroutine of Verify uses it.
type bodies struct {
	body []byte
	made [2]bool
	sums [2][sha256.Size]byte
}

func (b *bodies) hash(relaxed bool) []byte {
	i := 0
	if relaxed {
		i = 1
	}
	if !b.made[i] {
		b.made[i], b.sums[i] = true, bodyHash(b.body, relaxed)
	}
	return b.sums[i][:]
}

// readSignatures parses the first signatures of a message, in their order, and starts the lookups
// of their keys.
func readSignatures(in VerifyInput, fields []field, whole bool, dns *bounded) (list []Signature) {
	for i := range fields {
		if !fields[i].is("DKIM-Signature") || len(list) == maxSignatures {
			continue
		}
		s := readSignature(&fields[i], in.Now)
		if !whole {
			s.fail(PermError, "header too long")
		}
		if s.Word == None {
			s.key = seekKey(s.Domain, s.Selector, in, dns).get
		}
		list = append(list, s)
	}
	return list
}

func seekKey(domain, selector string, in VerifyInput, dns *bounded) pending[keyAnswer] {
	if key, ok := localKey(domain, selector, in.LocalKeys); ok {
		return pending[keyAnswer]{answer: key}
	}
	name := RecordName(domain, selector)
	find := func(txt txtLookup) keyAnswer { return findKey(name, txt) }
	return ahead(dns, in.Findings.keys, subject{name: name}, find, keyAnswer{word: PermError, reason: "unreadable key"})
}

// verifySignatures sets the result of each signature.
func verifySignatures(list []Signature, fields []field, body []byte) {
	content := bodies{body: body}
	for i := range list {
		s := &list[i]
		if s.key != nil {
			s.verify(fields, &content, s.key())
		}
		s.cover(fields)
		s.field, s.tags, s.key = nil, nil, nil // raw belongs to the caller
	}
}

// verify sets the result of a signature by its key, RFC 6376 section 6.1.3.
func (s *Signature) verify(fields []field, content *bodies, found keyAnswer) {
	if found.word != None {
		s.fail(found.word, found.reason)
		return
	}
	key := found.key
	s.Testing = key.testing
	switch _, isRSA := key.public.(*rsa.PublicKey); {
	case isRSA != (s.Algorithm == "rsa-sha256"):
		s.fail(PermError, "key of another algorithm")
	case !key.sha256:
		s.fail(PermError, "key not for SHA-256")
	case !key.email:
		s.fail(PermError, "key not for e-mail")
	case key.exact && s.Signer != s.Domain:
		s.fail(PermError, "key not for subdomains")
	}
	bh, ok := s.tags.base64("bh")
	b, okay := s.tags.base64("b")
	if !ok || !okay {
		s.fail(PermError, "unreadable signature")
	}
	if s.Word != None {
		return
	}
	if subtle.ConstantTimeCompare(bh, content.hash(s.relaxed[1])) != 1 {
		s.fail(Fail, "the body was changed")
		return
	}
	digest := s.headerHash(fields)
	if !verifies(key.public, digest, b) {
		s.fail(Fail, "the header was changed")
		return
	}
	s.Word = Pass
}

func verifies(public crypto.PublicKey, digest [sha256.Size]byte, signature []byte) bool {
	switch k := public.(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(k, crypto.SHA256, digest[:], signature) == nil
	case ed25519.PublicKey:
		return ed25519.Verify(k, digest[:], signature)
	}
	return false
}

// headerHash is the hash of the signed data: the fields of h=, then the signature itself without
// b=.
func (s *Signature) headerHash(fields []field) [sha256.Size]byte {
	b := make([]byte, 0, 2048)
	pick(fields, s.Signed, func(i int) {
		b = append(appendHeader(b, &fields[i], s.relaxed[0]), crlf...)
	})
	bare := newField(withoutSignature(s.field))
	return sha256.Sum256(appendHeader(b, &bare, s.relaxed[0]))
}

// pick iterates over the fields that names select: for each name, the lowest field that was not
// picked yet. A name without a field selects nothing (RFC 6376 section 5.4.2).
func pick(fields []field, names []string, picked func(int)) {
	used := make([]bool, len(fields))
	for _, name := range names {
		for i := len(fields) - 1; i >= 0; i-- {
			if !used[i] && fields[i].is(name) {
				used[i] = true
				picked(i)
				break
			}
		}
	}
}

// cover records the names of which every field in the message is signed.
func (s *Signature) cover(fields []field) {
	signed := make([]bool, len(fields))
	pick(fields, s.Signed, func(i int) { signed[i] = true })
	s.coversFrom = !unsigned(fields, signed, "From")
	for _, name := range s.Signed {
		if !unsigned(fields, signed, name) {
			s.covered = append(s.covered, strings.ToLower(name))
		}
	}
}

func unsigned(fields []field, signed []bool, name string) bool {
	for i := range fields {
		if !signed[i] && fields[i].is(name) {
			return true
		}
	}
	return false
}

// withoutSignature returns a DKIM-Signature field without the value of its b=. Everything else,
// including folding, is unchanged.
func withoutSignature(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	start := len(raw) - len(newField(raw).value)
	out = append(out, raw[:start]...)
	for rest := string(raw[start:]); rest != ""; {
		one, more, last := strings.Cut(rest, ";")
		name, _, ok := strings.Cut(one, "=")
		if ok && strings.Trim(name, fws) == "b" {
			one = one[:len(name)+1]
		}
		out = append(out, one...)
		if rest = more; last {
			out = append(out, ';')
		}
	}
	return out
}
