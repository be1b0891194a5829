package compose

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	"inboxd/internal/mail/message"
)

const (
	softLine     = 78 // octets of a line where it can be folded, RFC 5322 section 2.1.1
	hardLine     = 998
	base64Line   = 76 // RFC 2045 section 6.8
	shortName    = 60 // octets of a file name that fits a line
	boundaryMark = "=_"
)

// partNode is one part to be written: a multipart with parts, or a leaf with content.
type partNode struct {
	mediaType   string
	params      []string // name=value, ready to be written
	disposition []string // the words of Content-Disposition
	encoding    string
	content     []byte // of a text with LF line ends
	parts       []partNode
}

func textNode(mediaType, text string) partNode {
	content := sendable(text)
	return partNode{mediaType: mediaType, params: []string{"charset=utf-8"}, encoding: textEncoding(content), content: content}
}

// fileNode makes an attachment. Multiparts and messages may not be encoded as base64 (RFC 2046
// section 5.2.1), so their bytes are sent as application/octet-stream.
func fileNode(f DraftAttachment) partNode {
	n := partNode{mediaType: "application/octet-stream", encoding: "base64", content: f.Bytes}
	if kind := message.MediaType(f.ContentType); kind != "text/plain" || strings.HasPrefix(strings.ToLower(f.ContentType), kind) {
		if !strings.HasPrefix(kind, "multipart/") && !strings.HasPrefix(kind, "message/") {
			n.mediaType = kind
		}
	}
	if charset := strings.ToLower(message.Param(f.ContentType, "charset")); message.IsToken(charset) {
		n.params = []string{"charset=" + charset}
	} else if strings.HasPrefix(n.mediaType, "text/") && utf8.Valid(f.Bytes) {
		n.params = []string{"charset=utf-8"}
	}
	n.disposition = append([]string{"attachment"}, filenameParams(f.Filename)...)
	return n
}

// filenameParams writes a file name as a quoted string if it is short ASCII without anything that
// looks like an encoded word. Otherwise it uses RFC 2231: percent-encoded UTF-8, in as many
// sections as the length requires. No section ends within a character, because some parsers decode
// each section separately. An ASCII form of the name follows for parsers without RFC 2231. It is
// last, because many parsers use the first of the two.
func filenameParams(name string) []string {
	name = oneLine(message.CleanFilename(name))
	if name == "" {
		name = "attachment"
	}
	if isPlainASCII(name) && len(name) <= shortName && !strings.Contains(name, "=?") {
		return []string{"filename=" + quoteString(name)}
	}
	var sections []string
	section := "utf-8''"
	for _, r := range name {
		character := escapeRune(r)
		if len(section)+len(character) > 55 {
			sections = append(sections, section)
			section = ""
		}
		section += character
	}
	sections = append(sections, section)
	plain := "filename=" + quoteString(asciiName(name))
	if len(sections) == 1 {
		return []string{"filename*=" + section, plain}
	}
	for i := range sections {
		sections[i] = "filename*" + strconv.Itoa(i) + "*=" + sections[i]
	}
	return append(sections, plain)
}

// asciiName returns the ASCII form of a file name, with its extension, in at most shortName
// characters. It contains no character that must be escaped.
func asciiName(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%?`, r) {
			return '_'
		}
		return r
	}, name)
	if over := len(plain) - shortName; over > 0 {
		end := strings.LastIndexByte(plain, '.')
		if len(plain)-end > 16 {
			end = len(plain)
		}
		plain = plain[:end-over] + plain[end:]
	}
	return plain
}

func escapeRune(r rune) (escaped string) {
	for _, c := range []byte(string(r)) {
		if isAlphanumeric(c) || strings.IndexByte(".-_", c) >= 0 {
			escaped += string(c)
		} else {
			escaped += string([]byte{'%', upperHex[c>>4], upperHex[c&15]})
		}
	}
	return escaped
}

// textEncoding chooses the encoding that keeps a text readable in transit, or base64 if too much of
// it would be escaped. 7bit is for lines that no server has a reason to change.
func textEncoding(text []byte) string {
	if isSafe7Bit(text) {
		return "7bit"
	}
	escaped := 0
	for _, c := range text {
		if c != '\n' && !isPrintable(c) {
			escaped++
		}
	}
	if escaped > len(text)/4 {
		return "base64"
	}
	return "quoted-printable"
}

// isPrintable reports whether quoted-printable leaves c unchanged within a line.
func isPrintable(c byte) bool { return c == '\t' || ' ' <= c && c < 0x7f && c != '=' }

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isSafe7Bit rejects long lines, control characters, whitespace at the end of a line, a dot at its
// start, what an mbox would quote, and what could look like our boundary.
func isSafe7Bit(text []byte) bool {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) > softLine || bytes.HasPrefix(line, []byte("From ")) || bytes.HasPrefix(line, []byte("--"+boundaryMark)) {
			return false
		}
		if n := len(line); n > 0 && (isBlank(line[n-1]) || line[0] == '.') {
			return false
		}
		for _, c := range line {
			if c != '=' && !isPrintable(c) {
				return false
			}
		}
	}
	return true
}

// mimeBuilder appends parts to a message. One call of WriteMessage owns it.
type mimeBuilder struct {
	out           []byte
	seed          [16]byte
	boundaryCount int
}

// writePart appends a part's header and content. The header before it is not terminated yet.
func (b *mimeBuilder) writePart(n partNode) {
	h := headerWriter{out: b.out}
	if n.parts == nil {
		h.params("Content-Type", n.mediaType, n.params)
		h.writeField("Content-Transfer-Encoding", n.encoding)
		if n.disposition != nil {
			h.params("Content-Disposition", n.disposition[0], n.disposition[1:])
		}
		b.out = append(h.out, "\r\n"...)
		b.writeContent(n)
		return
	}
	b.boundaryCount++
	boundary := boundaryMark + strconv.Itoa(b.boundaryCount) + "_" + hex.EncodeToString(b.seed[:])
	h.params("Content-Type", n.mediaType, []string{"boundary=" + quoteString(boundary)})
	b.out = append(h.out, "\r\n"...)
	for _, part := range n.parts {
		b.writeLine("--" + boundary)
		b.writePart(part)
		b.writeLine("") // belongs to the delimiter that follows
	}
	b.writeLine("--" + boundary + "--")
}

func (b *mimeBuilder) writeLine(s string) { b.out = append(append(b.out, s...), "\r\n"...) }

func (b *mimeBuilder) writeContent(n partNode) {
	switch {
	case n.encoding == "base64" && n.disposition == nil: // a text, whose line ends are CRLF in base64 too
		b.base64(bytes.ReplaceAll(n.content, []byte("\n"), []byte("\r\n")))
	case n.encoding == "base64":
		b.base64(n.content)
	case n.encoding == "quoted-printable":
		b.out = appendQuotedPrintable(b.out, n.content)
	default:
		for line := range bytes.Lines(n.content) {
			b.writeLine(string(bytes.TrimSuffix(line, []byte("\n"))))
		}
	}
}

func (b *mimeBuilder) base64(content []byte) {
	const perLine = base64Line / 4 * 3
	for len(content) > 0 {
		n := min(len(content), perLine)
		b.out = base64.StdEncoding.AppendEncode(b.out, content[:n])
		b.out = append(b.out, "\r\n"...)
		content = content[n:]
	}
}

// appendQuotedPrintable encodes a text with LF line endings (RFC 2045 section 6.7). It also escapes
// what servers are known to change: a dot at the start of a line, and the From of an mbox.
func appendQuotedPrintable(out, text []byte) []byte {
	const softBreak = 76 // octets of a line with the = that breaks it
	column := 0
	for i, c := range text {
		if c == '\n' {
			out, column = append(out, "\r\n"...), 0
			continue
		}
		lineEnds := i+1 == len(text) || text[i+1] == '\n'
		escape := !isPrintable(c) || isBlank(c) && lineEnds
		width := 1
		if escape {
			width = 3
		}
		if room := softBreak - column; width > room || width == room && !lineEnds {
			out, column = append(out, "=\r\n"...), 0
		}
		if column == 0 && !escape && (c == '.' || bytes.HasPrefix(text[i:], []byte("From "))) {
			escape, width = true, 3
		}
		if column += width; escape {
			out = append(out, '=', upperHex[c>>4], upperHex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return out
}
