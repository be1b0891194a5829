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
func (p *part) isSMIME() bool {
	switch p.mediaType {
	case "application/pkcs7-mime", "application/x-pkcs7-mime":
		return true
	case "application/octet-stream":
		return len(p.filename) > 4 && strings.EqualFold(p.filename[len(p.filename)-4:], ".p7m")
	}
	return false
}

// signed parses the content of p, if it is an opaque signature, as a part of its own. Its leaves
// follow p, and are marked.
func (w *walker) signed(p *part, leaf func(part)) {
	d := decoder{src: p.body, encoding: p.encoding}
	head := d.appendTo(make([]byte, 0, 64), 64)
	if w.signatures >= maxSignatures || !bytes.Contains(head, signedData) {
		return // also encrypted content, which may be large
	}
	content, whole, ok := signedContent(d.appendTo(head, len(p.body)))
	if !ok {
		return
	}
	inner := walker{raw: readable(content), headers: w.headers, looks: w.looks, parts: w.parts, depth: w.depth, signatures: w.signatures + 1}
	top := inner.newPart(inner.readFields(inner.fields[:0]))
	top.root = true
	inner.entity(top, leaf)
	w.headers, w.looks, w.parts, w.stopped = inner.headers, inner.looks, inner.parts, inner.stopped
	w.degraded = w.degraded || inner.degraded || !whole
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
	ok = r.enter(berSequence) && r.literal(signedData) && r.enter(berExplicit) &&
		r.enter(berSequence) && r.skip(0) && r.skip(0) // version, digestAlgorithms
	ok = ok && r.enter(berSequence) && r.literal(plainData) && r.enter(berExplicit)
	if !ok {
		return nil, false, false
	}
	content, ok = r.octets(nil, 0)
	return content, !r.cut, ok && len(content) > 0
}

// ber parses encodings (ITU-T X.690), front to back. One call of signedContent owns it.
type ber struct {
	b   []byte
	cut bool // a length exceeds the data
}

const indefinite = -1

// header parses a tag and a length, which is indefinite or within the data.
func (r *ber) header() (tag byte, length int, ok bool) {
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
		return tag, indefinite, tag&0x20 != 0
	case n > 8 || n > len(r.b):
		return 0, 0, false
	default:
		for _, c := range r.b[:n] {
			length = min(length, 1<<40)<<8 | int(c)
		}
		r.b = r.b[n:]
	}
	if length > len(r.b) {
		r.cut, length = true, len(r.b)
	}
	return tag, length, true
}

// enter goes into a constructed encoding, and drops what follows it.
func (r *ber) enter(tag byte) bool {
	got, length, ok := r.header()
	if length >= 0 {
		r.b = r.b[:length]
	}
	return ok && got == tag
}

// literal skips these octets.
func (r *ber) literal(want []byte) (ok bool) {
	r.b, ok = bytes.CutPrefix(r.b, want)
	return ok
}

// skip skips an encoding with all its content.
func (r *ber) skip(depth int) bool {
	_, length, ok := r.header()
	if !ok || depth > maxBER {
		return false
	}
	if length >= 0 {
		r.b = r.b[length:]
		return true
	}
	for !r.ended() {
		if !r.skip(depth + 1) {
			return false
		}
	}
	return true
}

// ended skips the end-of-contents that closes an indefinite length. The end of the data closes it,
// too.
func (r *ber) ended() bool {
	rest, ok := bytes.CutPrefix(r.b, []byte{0, 0})
	if ok {
		r.b = rest
	} else if len(r.b) == 0 {
		r.cut, ok = true, true
	}
	return ok
}

// octets appends an OCTET STRING, which may be in pieces, to b. For a single piece it returns a
// slice of the data.
func (r *ber) octets(b []byte, depth int) (_ []byte, ok bool) {
	tag, length, ok := r.header()
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
	pieces, ended := r, r.ended
	if length >= 0 {
		pieces = &ber{b: r.b[:length], cut: r.cut}
		r.b, ended = r.b[length:], func() bool { return len(pieces.b) == 0 }
	}
	for !ended() {
		if b, ok = pieces.octets(b, depth+1); !ok {
			pieces.cut = true
			break
		}
	}
	r.cut = pieces.cut
	return b, ok || len(b) > 0
}
