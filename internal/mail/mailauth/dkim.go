package mailauth

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

// bodyHashes is a body with its hashes in both canonical forms, each computed on first use, so that a
// second signature costs little. Only the goroutine of Verify uses it.
type bodyHashes struct {
	body        []byte
	isComputed  [2]bool
	bodyDigests [2][sha256.Size]byte
}

func (b *bodyHashes) hashBody(relaxed bool) []byte {
	i := 0
	if relaxed {
		i = 1
	}
	if !b.isComputed[i] {
		b.isComputed[i], b.bodyDigests[i] = true, bodyHash(b.body, relaxed)
	}
	return b.bodyDigests[i][:]
}

// readSignatures parses the first signatures of a message, in their order, and starts the lookups
// of their keys.
func readSignatures(in VerifyInput, fields []headerField, whole bool, dns *verificationResolver) (list []Signature) {
	for i := range fields {
		if !fields[i].is("DKIM-Signature") || len(list) == maxSignatures {
			continue
		}
		s := readSignature(&fields[i], in.Now)
		if !whole {
			s.setFailure(PermError, "header too long")
		}
		if s.ResultCode == None {
			s.lookupKey = seekKey(s.Domain, s.Selector, in, dns).awaitAnswer
		}
		list = append(list, s)
	}
	return list
}

func seekKey(domain, selector string, in VerifyInput, dns *verificationResolver) pendingAnswer[keyAnswer] {
	if key, ok := localKey(domain, selector, in.LocalKeys); ok {
		return pendingAnswer[keyAnswer]{answer: key}
	}
	name := RecordName(domain, selector)
	find := func(txt txtLookup) keyAnswer { return findKey(name, txt) }
	return startSearch(dns, in.Findings.keys, searchSubject{name: name}, find, keyAnswer{resultCode: PermError, reason: "unreadable key"})
}

// verifySignatures sets the result of each signature.
func verifySignatures(list []Signature, fields []headerField, body []byte) {
	content := bodyHashes{body: body}
	for i := range list {
		s := &list[i]
		if s.lookupKey != nil {
			s.verifyWithKey(fields, &content, s.lookupKey())
		}
		s.recordCovered(fields)
		s.rawField, s.tags, s.lookupKey = nil, nil, nil // raw belongs to the caller
	}
}

// verifyWithKey sets the result of a signature by its key, RFC 6376 section 6.1.3.
func (s *Signature) verifyWithKey(fields []headerField, content *bodyHashes, found keyAnswer) {
	if found.resultCode != None {
		s.setFailure(found.resultCode, found.reason)
		return
	}
	key := found.key
	s.IsTesting = key.isTesting
	switch _, isRSA := key.publicKey.(*rsa.PublicKey); {
	case isRSA != (s.Algorithm == "rsa-sha256"):
		s.setFailure(PermError, "key of another algorithm")
	case !key.sha256:
		s.setFailure(PermError, "key not for SHA-256")
	case !key.allowsEmail:
		s.setFailure(PermError, "key not for e-mail")
	case key.exactDomain && s.SignerDomain != s.Domain:
		s.setFailure(PermError, "key not for subdomains")
	}
	bh, ok := s.tags.base64("bh")
	b, okay := s.tags.base64("b")
	if !ok || !okay {
		s.setFailure(PermError, "unreadable signature")
	}
	if s.ResultCode != None {
		return
	}
	if subtle.ConstantTimeCompare(bh, content.hashBody(s.isRelaxed[1])) != 1 {
		s.setFailure(Fail, "the body was changed")
		return
	}
	digest := s.headerHash(fields)
	if !verifySignature(key.publicKey, digest, b) {
		s.setFailure(Fail, "the header was changed")
		return
	}
	s.ResultCode = Pass
}

func verifySignature(public crypto.PublicKey, digest [sha256.Size]byte, signature []byte) bool {
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
func (s *Signature) headerHash(fields []headerField) [sha256.Size]byte {
	b := make([]byte, 0, 2048)
	selectFields(fields, s.SignedFields, func(i int) {
		b = append(appendHeader(b, &fields[i], s.isRelaxed[0]), crlf...)
	})
	bare := newField(withoutSignature(s.rawField))
	return sha256.Sum256(appendHeader(b, &bare, s.isRelaxed[0]))
}

// selectFields iterates over the fields that names select: for each name, the lowest field that was not
// picked yet. A name without a field selects nothing (RFC 6376 section 5.4.2).
func selectFields(fields []headerField, names []string, picked func(int)) {
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

// recordCovered records the names of which every field in the message is signed.
func (s *Signature) recordCovered(fields []headerField) {
	signed := make([]bool, len(fields))
	selectFields(fields, s.SignedFields, func(i int) { signed[i] = true })
	s.coversFrom = !hasUnsigned(fields, signed, "From")
	for _, name := range s.SignedFields {
		if !hasUnsigned(fields, signed, name) {
			s.coveredNames = append(s.coveredNames, strings.ToLower(name))
		}
	}
}

func hasUnsigned(fields []headerField, signed []bool, name string) bool {
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
