package message

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// transferEncoding is a Content-Transfer-Encoding (RFC 2045 section 6).
type transferEncoding uint8

const (
	identityEncoding transferEncoding = iota // 7bit, 8bit, binary and any unknown encoding
	base64Encoding
	quotedPrintable
	uuencode
)

func parseTransfer(v string) transferEncoding {
	v = strings.TrimLeft(v, " \t\"'")
	if end := strings.IndexAny(v, " \t\"';("); end >= 0 {
		v = v[:end] // a remark
	}
	switch strings.ToLower(v) {
	case "base64":
		return base64Encoding
	case "quoted-printable":
		return quotedPrintable
	case "x-uuencode", "x-uue", "uuencode":
		return uuencode
	}
	return identityEncoding
}

// decoder decodes a transfer encoding in one pass over src. It tolerates what real messages
// contain: bytes outside the encoding are skipped (base64) or kept (quoted-printable). Counting and
// decoding use the same code, so that sizes always agree. One goroutine owns it.
type decoder struct {
	src      []byte
	encoding transferEncoding

	acc           uint32   // base64: bits read and not yet written
	bits          int      // base64: how many, less than eight between reads
	isPiece       bool     // base64: src is a piece of what was measured before, so padding ends nothing
	verbatimBytes int      // quoted-printable: this many bytes of src are copied as they are
	hasBegun      bool     // uuencode: the "begin" line was seen
	line          [66]byte // uuencode: one decoded line; line[from:to] is not yet read
	from, to      int
}

// appendTo appends at most max decoded bytes to b, with as few allocations as possible.
func (d *decoder) appendTo(b []byte, max int) []byte {
	if d.encoding == identityEncoding {
		n := min(max, len(d.src))
		b, d.src = append(b, d.src[:n]...), d.src[n:]
		return b
	}
	for max > 0 && (len(d.src) > 0 || d.from < d.to) {
		if cap(b)-len(b) < 64 {
			b = append(make([]byte, 0, len(b)+min(max, len(d.src))+64), b...)
		}
		n := d.readDecoded(b[len(b) : len(b)+min(max, cap(b)-len(b))])
		if n == 0 {
			break
		}
		b, max = b[:len(b)+n], max-n
	}
	return b
}

// spaceNeeded is the free space that appendTo needs to avoid another allocation.
func (d *decoder) spaceNeeded() int {
	switch d.encoding {
	case identityEncoding:
		return len(d.src)
	case base64Encoding:
		return len(d.src)/4*3 + 64
	}
	return len(d.src) + 64
}

// decodedSize counts the decoded bytes.
func (d *decoder) decodedSize() (n int64) {
	if d.encoding == identityEncoding {
		return int64(len(d.src))
	}
	var scratch [4096]byte
	for {
		read := d.readDecoded(scratch[:])
		if read == 0 {
			return n
		}
		n += int64(read)
	}
}

// readDecoded fills dst with decoded bytes; 0 means the end.
func (d *decoder) readDecoded(dst []byte) int {
	switch d.encoding {
	case base64Encoding:
		return d.readBase64(dst)
	case quotedPrintable:
		return d.readQuotedPrintable(dst)
	case uuencode:
		return d.readUU(dst)
	}
	n := copy(dst, d.src)
	d.src = d.src[n:]
	return n
}

// base64Value maps a character to its six bits, 255 for those outside the alphabet; the
// URL-safe alphabet is read too.
var base64Value = func() (t [256]byte) {
	for i := range t {
		t[i] = 255
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range len(alphabet) {
		t[alphabet[i]] = byte(i)
	}
	t['-'], t['_'] = 62, 63
	return t
}()

// isBase64 distinguishes base64 from a text with a wrong label by its first line: words that are
// not groups of four letters.
func isBase64(b []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(b, " \t\r\n"), []byte("\n"))
	words := bytes.Fields(line[:min(len(line), 998)])
	if len(words) < 3 {
		return true
	}
	for _, word := range words[:len(words)-1] {
		if len(word)%4 != 0 {
			return false
		}
	}
	return true
}

// readBase64 continues after padding as long as base64 follows, because some programs encode a text
// in pieces and join them. A mailing list's footer is not data, and nothing after it is either.
func (d *decoder) readBase64(dst []byte) (n int) {
	src := d.src
	for len(src) > 0 && n < len(dst) {
		if d.bits == 0 && len(src) >= 4 && n+3 <= len(dst) {
			a, b, c, e := base64Value[src[0]], base64Value[src[1]], base64Value[src[2]], base64Value[src[3]]
			if (a|b|c|e)&0xc0 == 0 {
				dst[n], dst[n+1], dst[n+2] = a<<2|b>>4, b<<4|c>>2, c<<6|e
				n, src = n+3, src[4:]
				continue
			}
		}
		c := src[0]
		src = src[1:]
		if v := base64Value[c]; v < 64 {
			d.acc, d.bits = d.acc<<6|uint32(v), d.bits+6
			if d.bits >= 8 {
				d.bits -= 8
				dst[n] = byte(d.acc >> d.bits)
				n++
			}
		} else if c == '=' {
			complete := d.bits == 2 || d.bits == 4 // a group of three or two characters
			d.bits = 0
			if complete && !d.isPiece && !continuesBase64(src) {
				src = nil
			}
		}
	}
	d.src = src
	return n
}

// continuesBase64 reports whether more base64 follows padding: characters of the alphabet up to the
// end of the line or to more padding, in whole groups. A last group may lack its padding if it is
// longer than any word or contains text, which is very unlikely for a word of a footer. Each octet
// is examined once, because the next padding ends the search.
func continuesBase64(src []byte) bool {
	src = bytes.TrimLeft(src, "= \t\r\n")
	n := 0
	for n < len(src) && base64Value[src[n]] < 64 && src[n] != '-' && src[n] != '_' {
		n++
	}
	rest := bytes.TrimLeft(src[n:], " \t")
	switch {
	case n == 0:
		return false
	case bytes.HasPrefix(rest, []byte("=")):
		return n%4 > 1
	case !atLineEnd(rest):
		return false
	case n%4 == 0, n > 40:
		return true
	}
	d := decoder{src: src[:n], encoding: base64Encoding}
	return isPlainText(d.appendTo(nil, n))
}

// isPlainText reports whether b is UTF-8 without control characters other than those of lines.
func isPlainText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return utf8.Valid(b)
}

// readQuotedPrintable follows RFC 2045 section 6.7: whitespace at the end of a line is transport
// padding, = at the end joins lines. A run of whitespace is examined once.
func (d *decoder) readQuotedPrintable(dst []byte) (n int) {
	for len(d.src) > 0 && n < len(dst) {
		if d.verbatimBytes > 0 {
			m := copy(dst[n:], d.src[:d.verbatimBytes])
			n, d.verbatimBytes, d.src = n+m, d.verbatimBytes-m, d.src[m:]
			continue
		}
		switch c := d.src[0]; {
		case c == '=':
			if v, ok := decodeEscape(d.src); ok {
				dst[n], n, d.src = v, n+1, d.src[3:]
			} else if blanks := countBlanks(d.src[1:]); atLineEnd(d.src[1+blanks:]) {
				d.src = afterLineEnd(d.src[1+blanks:])
			} else {
				d.verbatimBytes = 1 + blanks
			}
		case isBlank(c):
			if blanks := countBlanks(d.src); atLineEnd(d.src[blanks:]) {
				d.src = d.src[blanks:]
			} else {
				d.verbatimBytes = blanks
			}
		default:
			d.verbatimBytes = 1
			for d.verbatimBytes < len(d.src) && d.src[d.verbatimBytes] > ' ' && d.src[d.verbatimBytes] != '=' {
				d.verbatimBytes++
			}
		}
	}
	return n
}

func countBlanks(b []byte) (n int) {
	for n < len(b) && isBlank(b[n]) {
		n++
	}
	return n
}

func atLineEnd(b []byte) bool {
	return len(b) == 0 || b[0] == '\n' || bytes.HasPrefix(b, []byte("\r\n"))
}

func afterLineEnd(b []byte) []byte {
	if i := bytes.IndexByte(b[:min(len(b), 2)], '\n'); i >= 0 {
		return b[i+1:]
	}
	return b
}

// readUU decodes the lines between "begin" and "end" (POSIX uuencode).
func (d *decoder) readUU(dst []byte) (n int) {
	for n < len(dst) {
		if d.from == d.to && !d.nextUULine() {
			break
		}
		m := copy(dst[n:], d.line[d.from:d.to])
		n, d.from = n+m, d.from+m
	}
	return n
}

func (d *decoder) nextUULine() bool {
	for len(d.src) > 0 {
		line, rest, _ := bytes.Cut(d.src, []byte("\n"))
		d.src = rest
		line = bytes.TrimRight(line, "\r")
		switch {
		case !d.hasBegun:
			d.hasBegun = bytes.HasPrefix(line, []byte("begin "))
		case bytes.HasPrefix(line, []byte("end")):
			d.hasBegun = false // another file may follow
		case len(line) == 0:
		default:
			if d.from, d.to = 0, d.decodeUULine(line); d.to > 0 {
				return true
			}
		}
	}
	return false
}

// decodeUULine decodes one line, whose first character is its length, into d.line.
func (d *decoder) decodeUULine(line []byte) int {
	size := int(line[0]-' ') & 63
	var acc uint32
	n, bits := 0, 0
	for _, c := range line[1:] {
		acc, bits = acc<<6|uint32(c-' ')&63, bits+6
		if bits >= 8 && n < size {
			bits -= 8
			d.line[n] = byte(acc >> bits)
			n++
		}
	}
	return n
}

// decodeEscape decodes the byte of an =XX at the beginning of b.
func decodeEscape(b []byte) (byte, bool) {
	if len(b) < 3 {
		return 0, false
	}
	return hexByte(b[1], b[2])
}

// noHexDigit marks a byte that is not a hexadecimal digit.
const noHexDigit = 0xff

// hexDigits contains the value of each hexadecimal digit. A message of 25 MB may consist only of
// such digits.
var hexDigits = func() (t [256]byte) {
	for c := range t {
		t[c] = noHexDigit
	}
	for v, c := range []byte("0123456789ABCDEF") {
		t[c], t[c|0x20] = byte(v), byte(v) // digits have that bit already
	}
	return t
}()

// hexByte parses two hexadecimal digits.
func hexByte(a, b byte) (byte, bool) {
	high, low := hexDigits[a], hexDigits[b]
	return high<<4 | low, high|low != noHexDigit
}
