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

// encodePhrase writes a display name as atoms, as a quoted string, or as encoded words (RFC 2047).
func encodePhrase(name string) []string {
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

// isAtoms reports whether a name consists of atoms (RFC 5322 section 3.2.3), each short enough for
// a line, with single spaces between them.
func isAtoms(name string) bool {
	return !strings.Contains(name, "  ") && strings.IndexFunc(strings.ReplaceAll(name, " ", ""), notAtext) < 0 && longestWord(name) < softLine
}

// encodeUnstructured writes an unstructured field, such as a subject. The text stays as it is if
// folding at its spaces does not change it. Otherwise it becomes encoded words.
func encodeUnstructured(text string) []string {
	text = oneLine(text)
	switch {
	case text == "":
		return nil
	case !isPlainASCII(text), strings.Contains(text, "=?"), strings.Contains(text, "  "), longestWord(text) >= softLine-len("Subject: "):
		return encodeWords(text)
	}
	return strings.Split(text, " ")
}

// oneLine returns a text on one line, without characters that a header must not contain.
func oneLine(text string) string {
	return strings.TrimFunc(message.CleanHeader(text), func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' })
}

func isAlphanumeric(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' }

// longestWord returns the length of the longest word.
func longestWord(text string) (n int) {
	for word := range strings.SplitSeq(text, " ") {
		n = max(n, len(word))
	}
	return n
}

// encodeWords writes a text as encoded words in UTF-8 (RFC 2047), in the shorter of the two
// encodings. No word ends within a character.
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

// qOctet escapes one octet by the strictest rules, those for a phrase (RFC 2047 section 5).
func qOctet(c byte) string {
	switch {
	case c == ' ':
		return "_"
	case isAlphanumeric(c), strings.IndexByte("!*+-/", c) >= 0:
		return string(c)
	}
	return string([]byte{'=', upperHex[c>>4], upperHex[c&15]})
}

// quoteString returns s as a quoted string. s must not contain control characters.
func quoteString(s string) string {
	return `"` + quoteEscaper.Replace(s) + `"`
}

var quoteEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// isPlainASCII reports whether a text has only printable ASCII characters and spaces.
func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
