package message

import (
	"bytes"
	"encoding/asn1"
	"strings"
)

// An opaque S/MIME signature (RFC 8551 section 3.5.2) is a file that contains the signed content:
// the CMS structure SignedData (RFC 5652 section 5.1), in BER. The signature is not verified. So
// its content is parsed like any other text, and counts as unsigned.

const (
	maxSignatures = 3  // nested, as in RFC 2634
	maxBER        = 16 // nested constructed encodings
)

// isSMIME reports whether the part has a type or the file name of RFC 8551 section 3.9.
func (p *mimePart) isSMIME() bool {
	switch p.mediaType {
	case "application/pkcs7-mime", "application/x-pkcs7-mime":
		return true
	case "application/octet-stream":
		return len(p.filename) > 4 && strings.EqualFold(p.filename[len(p.filename)-4:], ".p7m")
	}
	return false
}

// parseSigned parses the content of p, if it is an opaque signature, as a part of its own. Its leaves
// follow p, and are marked.
func (w *walker) parseSigned(p *mimePart, leaf func(mimePart)) {
	d := decoder{src: p.body, encoding: p.encoding}
	head := d.appendTo(make([]byte, 0, 64), 64)
	if w.signatureDepth >= maxSignatures || !bytes.Contains(head, signedData) {
		return // also encrypted content, which may be large
	}
	content, whole, ok := signedContent(d.appendTo(head, len(p.body)))
	if !ok {
		return
	}
	inner := walker{raw: normalizeLineEndings(content), headerBudget: w.headerBudget, searchBudget: w.searchBudget, partCount: w.partCount, depth: w.depth, signatureDepth: w.signatureDepth + 1}
	top := inner.newPart(inner.readFields(inner.fields[:0]))
	top.isRoot = true
	inner.parseEntity(top, leaf)
	w.headerBudget, w.searchBudget, w.partCount, w.limitReached = inner.headerBudget, inner.searchBudget, inner.partCount, inner.limitReached
	w.isDegraded = w.isDegraded || inner.isDegraded || !whole
}

// The object identifiers id-signedData and id-data (RFC 5652 sections 4 and 5.1), encoded.
var (
	signedData = []byte("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02")
	plainData  = []byte("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01")
)

// Tags as encoded; explicit is [0], constructed.
const (
	berSequence    = 0x20 | asn1.TagSequence
	berOctets      = asn1.TagOctetString
	berOctetPieces = 0x20 | asn1.TagOctetString
	berExplicit    = 0xa0
)

// signedContent finds the content of a SignedData. ok is false if there is none, because the
// signature is detached, or if it is not data. whole is false if its end is missing.
func signedContent(b []byte) (content []byte, whole, ok bool) {
	r := ber{b: b}
	ok = r.enterConstructed(berSequence) && r.skipLiteral(signedData) && r.enterConstructed(berExplicit) &&
		r.enterConstructed(berSequence) && r.skipEncoding(0) && r.skipEncoding(0) // version, digestAlgorithms
	ok = ok && r.enterConstructed(berSequence) && r.skipLiteral(plainData) && r.enterConstructed(berExplicit)
	if !ok {
		return nil, false, false
	}
	content, ok = r.appendOctets(nil, 0)
	return content, !r.isTruncated, ok && len(content) > 0
}

// ber parses encodings (ITU-T X.690), front to back. One call of signedContent owns it.
type ber struct {
	b           []byte
	isTruncated bool // a length exceeds the data
}

const indefiniteLength = -1

// readTagLength parses a tag and a length, which is indefinite or within the data.
func (r *ber) readTagLength() (tag byte, length int, ok bool) {
	if len(r.b) < 2 {
		return 0, 0, false
	}
	tag, r.b = r.b[0], r.b[1:]
	first := r.b[0]
	r.b = r.b[1:]
	switch n := int(first & 0x7f); {
	case tag&0x1f == 0x1f: // a tag of several octets; CMS has none
		return 0, 0, false
	case first < 0x80:
		length = n
	case first == 0x80:
		return tag, indefiniteLength, tag&0x20 != 0
	case n > 8 || n > len(r.b):
		return 0, 0, false
	default:
		for _, c := range r.b[:n] {
			length = min(length, 1<<40)<<8 | int(c)
		}
		r.b = r.b[n:]
	}
	if length > len(r.b) {
		r.isTruncated, length = true, len(r.b)
	}
	return tag, length, true
}

// enterConstructed goes into a constructed encoding, and drops what follows it.
func (r *ber) enterConstructed(tag byte) bool {
	got, length, ok := r.readTagLength()
	if length >= 0 {
		r.b = r.b[:length]
	}
	return ok && got == tag
}

// skipLiteral skips these octets.
func (r *ber) skipLiteral(want []byte) (ok bool) {
	r.b, ok = bytes.CutPrefix(r.b, want)
	return ok
}

// skipEncoding skips an encoding with all its content.
func (r *ber) skipEncoding(depth int) bool {
	_, length, ok := r.readTagLength()
	if !ok || depth > maxBER {
		return false
	}
	if length >= 0 {
		r.b = r.b[length:]
		return true
	}
	for !r.skipEnd() {
		if !r.skipEncoding(depth + 1) {
			return false
		}
	}
	return true
}

// skipEnd skips the end-of-contents that closes an indefinite length. The end of the data closes it,
// too.
func (r *ber) skipEnd() bool {
	rest, ok := bytes.CutPrefix(r.b, []byte{0, 0})
	if ok {
		r.b = rest
	} else if len(r.b) == 0 {
		r.isTruncated, ok = true, true
	}
	return ok
}

// appendOctets appends an OCTET STRING, which may be in pieces, to b. For a single piece it returns a
// slice of the data.
func (r *ber) appendOctets(b []byte, depth int) (_ []byte, ok bool) {
	tag, length, ok := r.readTagLength()
	switch {
	case !ok, depth > maxBER:
		return b, false
	case tag == berOctets && depth == 0:
		return r.b[:length], true
	case tag == berOctets:
		b, r.b = append(b, r.b[:length]...), r.b[length:]
		return b, true
	case tag != berOctetPieces:
		return b, false
	}
	pieces, ended := r, r.skipEnd
	if length >= 0 {
		pieces = &ber{b: r.b[:length], isTruncated: r.isTruncated}
		r.b, ended = r.b[length:], func() bool { return len(pieces.b) == 0 }
	}
	for !ended() {
		if b, ok = pieces.appendOctets(b, depth+1); !ok {
			pieces.isTruncated = true
			break
		}
	}
	r.isTruncated = pieces.isTruncated
	return b, ok || len(b) > 0
}
