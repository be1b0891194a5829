package compose

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"inboxd/internal/mail/message"
)

const (
	maxWord   = 64 // octets of an encoded word, so that the longest field name fits before it
	maxQuoted = 60 // octets of a quoted name, which is never folded

	upperHex = "0123456789ABCDEF"
)

func notAtext(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune(`()<>[]:;@\,."`, r)
}

// phrase writes a display name: as atoms, in quotes, or as encoded words.
func phrase(name string) []string {
	switch {
	case name == "":
		return nil
	case !isPlainASCII(name), strings.Contains(name, "=?"):
		return encodeWords(name)
	case isAtoms(name):
		return strings.Split(name, " ")
	case len(name) <= maxQuoted:
		return []string{quoteString(name)}
	}
	return encodeWords(name)
}

// isAtoms reports words of atext, each short enough for a line, with single blanks between.
func isAtoms(name string) bool {
	return !strings.Contains(name, "  ") && strings.IndexFunc(strings.ReplaceAll(name, " ", ""), notAtext) < 0 && longest(name) < softLine
}

// unstructured writes a text that has no syntax, a subject: as it is, where folding at its
// blanks keeps it whole, else as encoded words.
func unstructured(text string) []string {
	text = oneLine(text)
	switch {
	case text == "":
		return nil
	case !isPlainASCII(text), strings.Contains(text, "=?"), strings.Contains(text, "  "), longest(text) >= softLine-len("Subject: "):
		return encodeWords(text)
	}
	return strings.Split(text, " ")
}

// oneLine is what of a text can stand in a header.
func oneLine(text string) string {
	return strings.TrimFunc(message.CleanHeader(text), func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' })
}

func isAlphanumeric(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' }

func longest(text string) (n int) {
	for word := range strings.SplitSeq(text, " ") {
		n = max(n, len(word))
	}
	return n
}

// encodeWords writes RFC 2047 words of UTF-8, in the shorter of both encodings, none of
// which breaks a character.
func encodeWords(text string) (words []string) {
	const frame = len("=?utf-8?q?") + len("?=")
	escaped := 0
	for i := range len(text) {
		escaped += len(qOctet(text[i])) - 1
	}
	binary := escaped > len(text)/3
	size := func(s string) int {
		if binary {
			return base64.StdEncoding.EncodedLen(len(s))
		}
		n := 0
		for i := range len(s) {
			n += len(qOctet(s[i]))
		}
		return n
	}
	start, used := 0, 0
	for i, r := range text {
		width := size(text[i : i+utf8.RuneLen(r)])
		if binary {
			width, used = 0, size(text[start:i+utf8.RuneLen(r)])
		}
		if used+width > maxWord-frame {
			words = append(words, encodeWord(text[start:i], binary))
			start, used = i, 0
		}
		used += width
	}
	return append(words, encodeWord(text[start:], binary))
}

func encodeWord(s string, binary bool) string {
	if binary {
		return "=?utf-8?b?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
	}
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(qOctet(s[i]))
	}
	return "=?utf-8?q?" + b.String() + "?="
}

// qOctet escapes one octet as the strictest place, a phrase, asks for (RFC 2047 section 5).
func qOctet(c byte) string {
	switch {
	case c == ' ':
		return "_"
	case isAlphanumeric(c), strings.IndexByte("!*+-/", c) >= 0:
		return string(c)
	}
	return string([]byte{'=', upperHex[c>>4], upperHex[c&15]})
}

// quoteString puts s in quotes; it holds no control characters.
func quoteString(s string) string {
	return `"` + quoted.Replace(s) + `"`
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// isPlainASCII reports printable ASCII and blanks alone.
func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
