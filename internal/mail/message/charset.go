package message

import (
	"bytes"
	"cmp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// toUTF8 converts b from charset. The result is valid UTF-8 and may be b itself. Without a charset,
// or with an unknown one (known = false), b is treated as UTF-8 if that is likely, else as
// windows-1252. Bytes that are invalid in a known charset become U+FFFD.
func toUTF8(charset string, b []byte) (text []byte, known bool) {
	charset = strings.Trim(charset, " \t\"'")
	b = bytes.TrimPrefix(b, []byte(byteOrderMark))
	if isUTF16(b) { // a byte order mark takes precedence over any label (WHATWG)
		charset = "utf-16"
	}
	switch {
	case isUTF8(charset):
		if utf8.Valid(b) {
			return b, true
		}
		if !hasMultibyte(b) {
			return guessUTF8(b), true // a wrong label
		}
		return bytes.ToValidUTF8(b, []byte("\uFFFD")), true
	case charset == "", isASCII(charset):
		return guessUTF8(b), true
	case strings.EqualFold(charset, "utf-7"), strings.EqualFold(charset, "unicode-1-1-utf-7"):
		return decodeUTF7(b), true
	case strings.EqualFold(charset, "iso-2022-kr"):
		return decodeISO2022KR(b), true
	}
	enc := lookupCharset(charset)
	if enc == nil {
		return guessUTF8(b), false
	}
	if enc == charmap.Windows1252 && utf8.Valid(b) {
		return b, true // a wrong label: nobody intends "Ã¼"
	}
	text, _ = enc.NewDecoder().Bytes(b) // an error can only be at the end of b; the text before it is kept
	return bytes.ToValidUTF8(text, []byte("\uFFFD")), true
}

const byteOrderMark = "\xef\xbb\xbf"

func isUTF8(charset string) bool {
	return strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}

func isASCII(charset string) bool {
	for _, name := range [...]string{"us-ascii", "ascii", "ansi_x3.4-1968", "iso646-us"} {
		if strings.EqualFold(charset, name) {
			return true
		}
	}
	return false
}

// charsetOfPage is the charset of a page. It is the one in the header, or the one in the page if
// the header has none or a plainly wrong one. A valid UTF-8 text is UTF-8, even if the page names
// the charset from before a conversion.
func charsetOfPage(declared string, page []byte) string {
	name := strings.Trim(declared, " \t\"'")
	switch {
	case name == "":
	case isUTF8(name):
		if utf8.Valid(page) || mostlyUTF8(page) {
			return declared
		}
	case !isASCII(name), utf8.Valid(page) && bytes.IndexByte(page, '\x1b') < 0: // ISO 2022 uses escapes
		return declared
	}
	return cmp.Or(metaCharset(page), declared)
}

// hasMultibyte reports whether b contains a non-ASCII character in valid UTF-8.
func hasMultibyte(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if b[i] >= utf8.RuneSelf && utf8.FullRune(b[i:]) {
			if r, _ := utf8.DecodeRune(b[i:]); r != utf8.RuneError {
				return true
			}
		}
	}
	return false
}

// isUTF16 reports whether text begins with the byte order mark of UTF-16, whose bytes never occur
// in UTF-8. Followed by two NULs, it is that of UTF-32.
func isUTF16(b []byte) bool {
	if len(b) < 4 || len(b)%2 != 0 {
		return false
	}
	switch [2]byte(b) {
	case [2]byte{0xff, 0xfe}:
		return b[2]|b[3] != 0
	case [2]byte{0xfe, 0xff}:
		return true
	}
	return false
}

func guessUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	if mostlyUTF8(b) {
		return bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	text, _ := charmap.Windows1252.NewDecoder().Bytes(b)
	return text
}

// mostlyUTF8 reports whether there are more multi-byte characters than invalid bytes: a text that
// lost a byte in transit, or was cut inside a character.
func mostlyUTF8(b []byte) bool {
	balance := 0
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if i += size; r == utf8.RuneError && size == 1 {
			balance--
		} else {
			balance++
		}
	}
	return balance > 0
}

// metaCharset finds charset= in the first kilobyte of HTML whose header has no charset, as browsers
// do.
func metaCharset(html []byte) string {
	head := bytes.ToLower(html[:min(len(html), 1024)])
	i := bytes.Index(head, []byte("charset="))
	if i < 0 {
		return ""
	}
	name := bytes.TrimLeft(head[i+len("charset="):], "\"' ")
	if end := bytes.IndexAny(name, "\"' />;"); end >= 0 {
		name = name[:end]
	}
	return readableMeta(string(name))
}

// readableMeta corrects an impossible value: bytes in which the mark is readable are not UTF-16
// (WHATWG HTML section 13.2.3.2).
func readableMeta(name string) string {
	if strings.HasPrefix(strings.ToLower(name), "utf-16") {
		return "utf-8"
	}
	return name
}

// NormalizeLines converts every line ending to LF and drops NULs, in place.
func NormalizeLines(b []byte) []byte {
	if bytes.IndexByte(b, '\r') < 0 && bytes.IndexByte(b, 0) < 0 {
		return b
	}
	out := b[:0]
	if bytes.IndexByte(b, 0) < 0 { // most messages: line by line
		for {
			line, rest, more := bytes.Cut(b, []byte("\r"))
			if out = append(out, line...); !more {
				return out
			}
			out = append(out, '\n')
			b = bytes.TrimPrefix(rest, []byte("\n"))
		}
	}
	for i, c := range b {
		switch {
		case c == 0, c == '\r' && i+1 < len(b) && b[i+1] == '\n':
		case c == '\r':
			out = append(out, '\n')
		default:
			out = append(out, c)
		}
	}
	return out
}

// cutText cuts b to at most max bytes, never inside a character.
func cutText(b []byte, max int) (_ []byte, cut bool) {
	if len(b) <= max {
		return b, false
	}
	for back := 1; back < utf8.UTFMax && max > 0 && !utf8.RuneStart(b[max]); back++ {
		max--
	}
	return b[:max], true
}
