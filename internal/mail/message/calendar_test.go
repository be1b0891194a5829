package message

import (
	"strings"
	"testing"
)

// TestBodyFixesParts attacks the rule by which a signature that does not cover Content-Type
// authenticates the parts of a message (ADR 0097). An attacker may change that field, add others,
// and change whitespace in the body.
func TestBodyFixesParts(t *testing.T) {
	const mixed = "Content-Type: multipart/mixed; boundary=b"
	const body = "--b\r\nContent-Type: text/calendar\r\n\r\nx\r\n--b--\r\n"
	for _, row := range []struct {
		name, header, body string
		want               bool
	}{
		{"a multipart", mixed, body, true},
		{"folded, quoted, in capitals", "CONTENT-TYPE:\r\n\tMultipart/Alternative;\r\n BOUNDARY=\"b\"", body, true},
		{"with blanks behind the delimiter", mixed, "--b \t\r\nx\r\n--b--\r\n", true},
		{"8bit", mixed + "\r\nContent-Transfer-Encoding: 8BIT ", body, true},
		{"an epilogue", mixed, body + "--c\r\nContent-Type: text/calendar\r\n\r\ny\r\n", true},
		{"a boundary that ends in hyphens", "Content-Type: multipart/mixed; boundary=b--", "--b--\r\nx\r\n--b----\r\n", true},

		{"another boundary", "Content-Type: multipart/mixed; boundary=c", body, false},
		{"the boundary of parts within", "Content-Type: multipart/mixed; boundary=c", "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nx\r\n--c--\r\n--b--\r\n", false},
		{"a boundary that is a prefix", mixed, "--bb\r\nx\r\n--bb--\r\n", false},
		{"a boundary that has a prefix", "Content-Type: multipart/mixed; boundary=bb", body, false},
		{"a boundary that the first line closes", mixed, "--b--\r\nx\r\n--b\r\ny\r\n", false},
		{"a boundary in another case", "Content-Type: multipart/mixed; boundary=B", body, false},
		{"a boundary with a blank", "Content-Type: multipart/mixed; boundary=\"b b\"", "--b b\r\nx\r\n--b b--\r\n", false},
		{"no boundary", "Content-Type: multipart/mixed", body, false},
		{"a preamble", mixed, "Hello\r\n" + body, false},
		{"an empty line for a preamble", mixed, "\r\n" + body, false},
		{"a second Content-Type", mixed + "\r\nContent-Type: text/calendar", body, false},
		{"a second Content-Type, the same", mixed + "\r\ncontent-type : multipart/mixed; boundary=b", body, false},
		{"an empty Content-Type before it", "Content-Type:\r\n" + mixed, body, false},
		{"no Content-Type", "Subject: x", body, false},
		{"no multipart", "Content-Type: text/calendar; boundary=b", body, false},
		{"a digest, whose parts have another type", "Content-Type: multipart/digest; boundary=b", body, false},
		{"base64", mixed + "\r\nContent-Transfer-Encoding: base64", body, false},
		{"quoted-printable in a second field", mixed + "\r\nContent-Transfer-Encoding: 7bit\r\nContent-Transfer-Encoding: quoted-printable", body, false},
		{"an encoding with a comment", mixed + "\r\nContent-Transfer-Encoding: 7bit (base64)", body, false},
		{"a header that ends early", mixed + "\r\n\r\nX-More: x", body, false},
		{"no body", mixed, "", false},
	} {
		raw := []byte("From: a@b.test\r\n" + row.header + "\r\n\r\n" + row.body)
		if got := BodyFixesParts(raw); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
		if bare := []byte(strings.ReplaceAll(string(raw), "\r\n", "\n")); BodyFixesParts(bare) != row.want {
			t.Errorf("%s, lines that end in LF alone: %v", row.name, !row.want)
		}
	}
}
