package message

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"inboxd/internal/address"
)

const (
	maxWordOctets      = 64  // of an encoded word, so that the longest field name fits before it
	maxComposedRefs    = 50  // message ids in References
	maxComposedID      = 995 // octets of one message id, which with brackets and a blank is a line of its own
	maxUnfoldableWords = 60  // octets of a quoted name, which is never folded
)

// headerWriter appends header fields, folded (RFC 5322 section 2.2.3).
type headerWriter struct {
	out    []byte
	column int
}

func (h *headerWriter) top(d Draft) error {
	h.field("Date", d.Date.UTC().Format(time.RFC1123Z))
	for _, list := range []struct {
		name string
		of   []Mailbox
	}{{"From", []Mailbox{d.From}}, {"To", d.To}, {"Cc", d.Cc}} {
		if err := h.mailboxes(list.name, list.of); err != nil {
			return err
		}
	}
	h.field("Subject", unstructured(d.Subject)...)
	h.ids("Message-ID", d.MessageID)
	h.ids("In-Reply-To", d.InReplyTo)
	h.ids("References", chain(d.References, d.InReplyTo)...)
	if d.Auto {
		h.field("Auto-Submitted", "auto-generated")
	}
	h.field("MIME-Version", "1.0")
	return nil
}

// field writes a field of words that are parted by single blanks and never broken. Only a
// word that would pass the limit of a line begins on the one after the field's name.
func (h *headerWriter) field(name string, words ...string) {
	h.out = append(append(h.out, name...), ':')
	h.column = len(name) + 1
	for i, word := range words {
		if end := h.column + 1 + len(word); i > 0 && end > softLine || end > hardLine {
			h.out = append(h.out, "\r\n"...)
			h.column = 0
		}
		h.out = append(append(h.out, ' '), word...)
		h.column += 1 + len(word)
	}
	h.out = append(h.out, "\r\n"...)
}

// params writes a structured field with its parameters.
func (h *headerWriter) params(name, value string, params []string) {
	words := append([]string{value}, params...)
	for i := range words[:len(words)-1] {
		words[i] += ";"
	}
	h.field(name, words...)
}

// ids writes message ids in brackets; those that can't be written are left out, and so is a
// field without any.
func (h *headerWriter) ids(name string, ids ...string) {
	var words []string
	for _, id := range ids {
		if isMessageID(id) {
			words = append(words, "<"+id+">")
		}
	}
	if words != nil {
		h.field(name, words...)
	}
}

// isMessageID refuses what would not come back as it was, an encoded word included.
func isMessageID(id string) bool {
	return id != "" && len(id) <= maxComposedID && isPlainASCII(id) && !strings.ContainsAny(id, " <>") && !strings.Contains(id, "=?")
}

// chain is the thread up to the mail that is answered (RFC 5322 section 3.6.4): its
// References and then itself. Of a long thread the first and the last ids are kept.
func chain(references []string, answered string) []string {
	ids := make([]string, 0, len(references)+1)
	for _, id := range references {
		if id != answered && !slices.Contains(ids, id) && len(ids) < maxReferences {
			ids = append(ids, id)
		}
	}
	if answered != "" {
		ids = append(ids, answered)
	}
	if extra := len(ids) - maxComposedRefs; extra > 0 {
		ids = slices.Delete(ids, 1, 1+extra)
	}
	return ids
}

// mailboxes writes an address list, no field when it is empty.
func (h *headerWriter) mailboxes(name string, list []Mailbox) error {
	var words []string
	for _, m := range list {
		addr, ok := address.Sender(m.Email) // what can stand in an envelope can stand in a header
		if !ok {
			return fmt.Errorf("message: %q can't be written as an address", m.Email)
		}
		if words != nil {
			words[len(words)-1] += ","
		}
		if name := phrase(oneLine(m.Name)); name != nil {
			words = append(words, name...)
			addr = "<" + addr + ">"
		}
		words = append(words, addr)
	}
	if words != nil {
		h.field(name, words...)
	}
	return nil
}

func notAtext(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune(`()<>[]:;@\,."`, r)
}

// phrase writes a display name: as atoms, in quotes, or as encoded words.
func phrase(name string) []string {
	switch {
	case name == "":
		return nil
	case !isPlainASCII(name), strings.Contains(name, "=?"), strings.Contains(name, "  ") && len(name) > maxUnfoldableWords:
		return encodeWords(name)
	case !strings.Contains(name, "  ") && strings.IndexFunc(strings.ReplaceAll(name, " ", ""), notAtext) < 0 && longest(name) < softLine:
		return strings.Split(name, " ")
	case len(name) <= maxUnfoldableWords:
		return []string{quoteString(name)}
	}
	return encodeWords(name)
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
	return strings.TrimFunc(cleanHeader(text), func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' })
}

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
		if used+width > maxWordOctets-frame {
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
	case isLetter(c), c >= '0' && c <= '9', strings.IndexByte("!*+-/", c) >= 0:
		return string(c)
	}
	return string([]byte{'=', upperHex[c>>4], upperHex[c&15]})
}

// quoteString puts s in quotes; it holds no control characters.
func quoteString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// isPlainASCII reports printable ASCII and blanks alone.
func isPlainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
