package message

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
)

// toUTF8 converts b from charset. The result is valid UTF-8 and may be b itself. Without a
// charset, or with one nobody knows (known = false), b is UTF-8 where it is valid and
// windows-1252 elsewhere. What a known charset has no character for becomes U+FFFD.
func toUTF8(charset string, b []byte) (text []byte, known bool) {
	charset = strings.Trim(charset, " \t\"'")
	b = bytes.TrimPrefix(b, []byte(byteOrderMark))
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
	text, _ = enc.NewDecoder().Bytes(b) // errors are at the end of b: what came before counts
	return bytes.ToValidUTF8(text, []byte("\uFFFD")), true
}

const byteOrderMark = "\xef\xbb\xbf"

func isUTF8(charset string) bool {
	return strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}

func isASCII(charset string) bool {
	return strings.EqualFold(charset, "us-ascii") || strings.EqualFold(charset, "ascii")
}

// hasMultibyte reports whether b has any non-ASCII character that is valid UTF-8.
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

func guessUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	text, _ := charmap.Windows1252.NewDecoder().Bytes(b)
	return text
}

// lookupCharset prefers the WHATWG meaning of a label (iso-8859-1 is windows-1252), as mail
// readers do, over IANA's; nil when neither knows it. WHATWG maps some old charsets to
// "replacement", which would lose the text, and UTF-16 to little-endian whatever the mark.
func lookupCharset(name string) encoding.Encoding {
	switch strings.ToLower(name) {
	case "utf-16", "utf16", "ucs-2", "iso-10646-ucs-2":
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM) // RFC 2781 section 4.3
	}
	if enc, err := htmlindex.Get(name); err == nil && enc != encoding.Replacement {
		return enc
	}
	for _, index := range [...]*ianaindex.Index{ianaindex.MIME, ianaindex.IANA} {
		if enc, err := index.Encoding(name); err == nil && enc != nil {
			return enc
		}
	}
	return nil
}

// metaCharset finds charset= in the first kilobyte of HTML whose header names none, as
// browsers do.
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
	return string(name)
}

// normalizeLines makes every line end one LF and drops NULs, in place.
func normalizeLines(b []byte) []byte {
	if bytes.IndexByte(b, '\r') < 0 && bytes.IndexByte(b, 0) < 0 {
		return b
	}
	out := b[:0]
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
