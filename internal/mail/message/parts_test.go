package message

import (
	"strings"
	"testing"
)

func TestLastAlternativeWithContent(t *testing.T) {
	const plain, page = "Content-Type: text/plain", "Content-Type: text/html"
	inner := func(boundary, subtype string, parts ...string) string {
		return section(strings.ReplaceAll(strings.Join(parts, "")+"--b--", "--b", "--"+boundary), "Content-Type: multipart/"+subtype+"; boundary="+boundary)
	}
	for _, c := range []struct{ name, mail, text, html string }{
		{"first page empty", multipartMail("alternative", section("", page), section("<p>code</p>", page)), "code", "<p>code</p>"},
		{"last page empty", multipartMail("alternative", section("<p>code</p>", page), section(" \n", page)), "code", "<p>code</p>"},
		{"last page without text", multipartMail("alternative", section("<p>code</p>", page), section("<html><style>p{}</style><p>&nbsp;</p></html>", page)), "code", "<p>code</p>"},
		{"a page of an image", multipartMail("alternative", section("<p>old</p>", page), section("<IMG src='cid:a'>", page)), "", "<IMG src='cid:a'>"},
		{"two pages", multipartMail("alternative", section("<p>old</p>", page), section("<p>new</p>", page)), "new", "<p>new</p>"},
		{"all empty", multipartMail("alternative", section("", page), section("", page)), "", ""},
		{"two texts", multipartMail("alternative", section("old", plain), section("new", plain), section("<p>page</p>", page)), "new", "<p>page</p>"},
		{"last text empty", multipartMail("alternative", section("text", plain), section("", plain), section("<p>page</p>", page)), "text", "<p>page</p>"},
		{"a page, and one with its images", multipartMail("alternative", section("text", plain), section("<p>old</p>", page), inner("r", "related", section("<p>new</p>", page), section("x", "Content-Type: image/png"))), "text", "<p>new</p>"},
		{"texts of one alternative", multipartMail("alternative", inner("m", "mixed", section("one", plain), section("two", plain)), section("<p>page</p>", page)), "one\ntwo", "<p>page</p>"},
		{"texts of the last alternative", multipartMail("alternative", section("old", plain), inner("m", "mixed", section("one", plain), section("two", plain))), "one\ntwo", ""},
		{"two alternatives one after the other", multipartMail("mixed", inner("i", "alternative", section("<p>a</p>", page), section("<p>b</p>", page)), inner("j", "alternative", section("<p>c</p>", page), section("<p>d</p>", page)), section("<p>e</p>", page)), "b\n\nd\n\ne", "<p>b</p>\n<p>d</p>\n<p>e</p>"},
	} {
		doc := Parse([]byte(c.mail))
		if doc.Text != c.text || doc.HTML != c.html || doc.IsDegraded {
			t.Errorf("%s: text %q, html %q, degraded %t", c.name, doc.Text, doc.HTML, doc.IsDegraded)
		}
	}
}

func TestContentTypeThatMatchesTheBody(t *testing.T) {
	body := func(boundary string) string {
		return "\n--" + boundary + "\nContent-Type: text/plain\n\ncode\n--" + boundary + "\nContent-Type: text/html\n\n<p>code</p>\n--" + boundary + "--\n"
	}
	const multi = "Content-Type: multipart/alternative; boundary="
	for _, c := range []struct {
		name, mail string
		degraded   bool
	}{
		{"empty, then declared", "Content-Type:\n" + multi + "bb\n" + body("bb"), false},
		{"declared, then empty", multi + "bb\nContent-Type:\n" + body("bb"), false},
		{"text, then declared", "Content-Type: text/plain\n" + multi + "bb\n" + body("bb"), false},
		{"declared, then text", multi + "bb\nContent-Type: text/plain\n" + body("bb"), false},
		{"two boundaries, the second occurs", multi + "aa\n" + multi + "bb\n" + body("bb"), false},
		{"three boundaries", multi + "aa\n" + multi + "bb\n" + multi + "cc\n" + body("bb"), false},
		{"behind a preamble", "Content-Type: text/html\n" + multi + "bb\n\n" + strings.Repeat("This is a message of several parts. --bb\n", 1000) + body("bb"), false},
		{"in a part", "Content-Type: multipart/mixed; boundary=o\n\n--o\nContent-Type: text/plain\n" + multi + "bb\n" + body("bb") + "--o--\n", false},
		{"never occurs", multi + "aa\n" + body("bb"), true},
		{"never occurs, behind a preamble", multi + "aa\n\nThis is a message of several parts.\n" + body("bb"), true},
		{"neither occurs", multi + "aa\n" + multi + "cc\n" + body("bb"), true},
		{"never occurs, in a part", "Content-Type: multipart/mixed; boundary=o\n\n--o\n" + multi + "aa\n" + body("bb") + "--o--\n", true},
		{"not named, behind a preamble", "Content-Type: multipart/alternative\n\nThis is a message of several parts.\n" + body("bb"), true},
	} {
		doc := Parse([]byte(c.mail))
		if strings.TrimSpace(doc.Text) != "code" || strings.TrimSpace(doc.HTML) != "<p>code</p>" || doc.IsDegraded != c.degraded {
			t.Errorf("%s: text %q, html %q, degraded %t", c.name, doc.Text, doc.HTML, doc.IsDegraded)
		}
	}
	encoding := "Content-Transfer-Encoding:\nContent-Transfer-Encoding: base64\n\nY29kZQ==\n"
	if doc := Parse([]byte(encoding)); doc.Text != "code" {
		t.Errorf("an empty encoding in front: %q", doc.Text)
	}
}
