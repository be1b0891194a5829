package mailauth

import (
	"bytes"
	"crypto/sha256"
	"hash"
)

// Canonicalization, RFC 6376 section 3.4.

// appendHeader appends a field in canonical form, without the last CRLF.
func appendHeader(b []byte, f *headerField, relaxed bool) []byte {
	if !relaxed {
		return append(b, f.raw...)
	}
	start := len(b)
	b = append(b, f.name...)
	for i := start; i < len(b); i++ {
		if c := b[i]; c >= 'A' && c <= 'Z' {
			b[i] |= 0x20
		}
	}
	b = append(b, ':')
	start = len(b)
	blank := false
	for _, c := range f.value {
		switch c {
		case ' ', '\t':
			blank = true
		case '\r', '\n': // a folded line continues with a space
		default:
			if blank && len(b) > start {
				b = append(b, ' ')
			}
			b, blank = append(b, c), false
		}
	}
	return b
}

// bodyHash is the SHA-256 of a body whose lines end in CRLF, in canonical form.
func bodyHash(body []byte, relaxed bool) [sha256.Size]byte {
	h := sha256.New()
	if relaxed {
		hashRelaxed(h, body)
	} else {
		hashSimple(h, body)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// hashSimple drops the empty lines at the end; an empty body becomes one CRLF.
func hashSimple(h hash.Hash, body []byte) {
	for bytes.HasSuffix(body, crlf) {
		body = body[:len(body)-len(crlf)]
	}
	h.Write(body)
	h.Write(crlf)
}

// hashRelaxed joins whitespace, drops it at the end of lines, and drops the empty lines at the end;
// an empty body stays empty.
func hashRelaxed(h hash.Hash, body []byte) {
	const chunk = 8 << 10
	out := make([]byte, 0, min(len(body)+len(crlf), chunk))
	blank, breaks := false, 0 // held back until something follows
	written := false
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case c == ' ' || c == '\t':
			blank = true
			continue
		case c == '\r' && i+1 < len(body) && body[i+1] == '\n':
			blank = false
			breaks++
			i++
			continue
		}
		for ; breaks > 0; breaks-- {
			out = flushToHash(h, append(out, crlf...), chunk)
		}
		if blank {
			out, blank = append(out, ' '), false
		}
		out, written = flushToHash(h, append(out, c), chunk), true
	}
	if written {
		out = append(out, crlf...)
	}
	h.Write(out)
}

// flushToHash hashes the content of out before it would exceed size.
func flushToHash(h hash.Hash, out []byte, size int) []byte {
	if len(out) < size-len(crlf) {
		return out
	}
	h.Write(out)
	return out[:0]
}
