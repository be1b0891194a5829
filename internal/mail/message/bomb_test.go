package message

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"inboxd/internal/testutil/budget"
)

// allowed is the limit for a hostile message.
var allowed = budget.Of{CPU: 250 * time.Millisecond, Bytes: 64 << 20}

// openElements is how many open elements package html tracks.
const openElements = 128

var maxMail = 25 << 20 // the SMTP limit

// fill repeats s up to size bytes.
func fill(s string, size int) string { return strings.Repeat(s, size/len(s)) }

func mail(header, body string) string {
	return "From: a@b.example\r\nSubject: bomb\r\nMIME-Version: 1.0\r\n" + header + "\r\n\r\n" + body
}

func htmlMail(html string) string { return mail("Content-Type: text/html; charset=utf-8", html) }

func nested(depth int, boundary func(int) string) string {
	var b strings.Builder
	for i := range depth {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=\"%s\"\r\n\r\n--%s\r\n", boundary(i), boundary(i))
	}
	return b.String()
}

func mixed(parts string) string { return mail(`Content-Type: multipart/mixed; boundary="b"`, parts) }

var bombs = []struct {
	name string
	mail func() string
}{
	{"nesting", func() string {
		return nested(maxMail/70, func(i int) string { return fmt.Sprint("b", i) })
	}},
	{"nesting, one boundary", func() string {
		return nested(maxMail/70, func(int) string { return "b" }) + fill("--b\r\n\r\n", maxMail/50)
	}},
	{"nesting, delimiters everywhere", func() string {
		return nested(maxDepth, func(i int) string { return string(rune('a' + i)) }) + "\r\n" + fill("\r\n--zz", maxMail-8192)
	}},
	{"nesting, long delimiters of the outermost", func() string {
		long := fill("x", 990)
		return nested(maxDepth, func(i int) string { return long + fmt.Sprint(i) }) + "\r\n" + fill("\r\n--"+long, maxMail-(1<<20))
	}},
	{"nested boundaries that begin alike", func() string {
		return nested(500, func(i int) string { return fill("=_", 2*i+2) }) + fill("text\r\n", 1<<20)
	}},
	{"messages in messages", func() string { return fill("Content-Type: message/rfc822\r\n\r\n", maxMail) }},
	{"parts", func() string { return mixed(fill("--b\r\n\r\nx\r\n", maxMail-512)) }},
	{"empty parts", func() string { return mixed(fill("--b\n", maxMail-512)) }},
	{"types of one header", func() string {
		return fill("Content-Type: multipart/mixed; boundary=a\n", 200<<10) + "\n" + fill("-", maxMail-(256<<10))
	}},
	{"types of many headers", func() string {
		return mixed(fill("--b\n"+fill("Content-Type: multipart/mixed; boundary=a\n", 1000)+"\n--z\nContent-A: b\n", maxMail-512))
	}},
	{"alternatives", func() string {
		return mail(`Content-Type: multipart/alternative; boundary="b"`, fill("--b\r\nContent-Type: text/html\r\n\r\n"+fill("<p>x", 20<<10)+"\r\n", maxMail-512))
	}},
	{"base64 in pieces", func() string { return mail("Content-Transfer-Encoding: base64", fill("QQ==", maxMail)) }},
	{"base64 in pieces, one long", func() string {
		return mail("Content-Type: a/b\r\nContent-Transfer-Encoding: base64", "QQ=="+fill("Q", maxMail-1023))
	}},
	{"parts of many fields", func() string { return mixed(fill("--b\n"+fill("a:\n", 25<<10), maxMail-512)) }},
	{"parts of many lines", func() string { return mixed(fill("--b\n"+fill("-\n", 25<<10), maxMail-512)) }},
	{"texts", func() string { return mixed(fill("--b\r\n\r\n"+fill("x\r\n", 20<<10), maxMail-512)) }},
	{"files", func() string {
		return mixed(fill("--b\r\nContent-Type: a/b\r\nContent-Transfer-Encoding: base64\r\n\r\n"+fill("QUJD", 2<<20)+"\r\n", maxMail-512))
	}},
	{"fields", func() string { return fill("A: b\r\n", maxMail) }},
	{"empty fields", func() string { return fill("a:\n", maxMail) }},
	{"malformed fields", func() string { return fill("nothing\n", maxMail) }},
	{"one folded field", func() string { return "Subject: x" + fill("\r\n y", maxMail) }},
	{"one long line", func() string { return "Subject: " + fill("x", maxMail) }},
	{"text and fields", func() string { return fill("text\r\na: b\r\n", 250<<10) }},
	{"parts without a blank line", func() string { return mixed(fill("--b\r\ntext\r\na: b\r\ntext\r\n\r\nx\r\n", maxMail-512)) }},
	{"half names", func() string { return "To: " + fill("a,b <c@d>,", 250<<10) + "\r\n\r\n" }},
	{"addresses", func() string { return "To: " + fill("a@b,", 250<<10) + "\r\n\r\n" }},
	{"opened brackets", func() string { return "To: " + fill("<,", 250<<10) + "\r\n\r\n" }},
	{"opened comments", func() string { return "To: " + fill("(,", 250<<10) + "\r\n\r\n" }},
	{"quotes", func() string { return "To: " + fill(`"a" `, 250<<10) + "\r\n\r\n" }},
	{"groups", func() string { return "To: " + fill("x", 120<<10) + "@" + fill(":", 120<<10) + "\r\n\r\n" }},
	{"brackets around an address", func() string { return "From: " + fill("[", 120<<10) + "a@b" + fill("]", 120<<10) + "\r\n\r\n" }},
	{"schemes in front of an address", func() string { return "From: " + fill("mailto:", 120<<10) + "a@b" + fill("?a@b", 120<<10) + "\r\n\r\n" }},
	{"names in front of an address", func() string { return "From: " + fill("a,", 240<<10) + "b <c@d>\r\n\r\n" }},
	{"halves of addresses", func() string { return "From: " + fill("(a@", 240<<10) + "\r\n\r\n" }},
	{"colons behind schemes", func() string { return "From: " + fill("mailto:x", 240<<10) + "\r\n\r\n" }},
	{"address fields", func() string { return fill("To: a,b,c,<,(,\r\n", 250<<10) + "\r\n" }},
	{"references", func() string { return "References: " + fill("<a>", 250<<10) + "\r\n\r\n" }},
	{"continuations", func() string {
		var b strings.Builder
		for i := range 20000 {
			fmt.Fprintf(&b, ";\r\n filename*%d*=%%41", 20000-i)
		}
		return mail("Content-Disposition: attachment"+b.String(), "x")
	}},
	{"continuations of one number", func() string {
		return mail("Content-Disposition: attachment"+fill(";\r\n filename*0*=''%41%41", 250<<10), "x")
	}},
	{"parameters", func() string { return mail("Content-Type: text/plain"+fill(";a=b", 250<<10), "x") }},
	{"encoded words", func() string { return "Subject: " + fill("=?utf-8?q?=41?=\r\n ", 250<<10) + "\r\n\r\n" }},
	{"opened words", func() string { return "Subject: " + fill("=?a?q?x", 250<<10) + "\r\n\r\n" }},
	{"word marks", func() string { return "Subject: " + fill("=?", 250<<10) + "\r\n\r\n" }},
	{"charsets in words", func() string {
		var b strings.Builder
		for i := 0; b.Len() < 250<<10; i++ {
			fmt.Fprintf(&b, "=?%s?b?gYKDhIWGh4g=?= ", []string{"gb18030", "iso-2022-jp", "big5", "x-unknown-" + fmt.Sprint(i), "utf-16", "utf-7", "koi8-r"}[i%7])
		}
		return "Subject: " + b.String() + "\r\n\r\n"
	}},
	{"gb18030", func() string {
		return mail("Content-Type: text/plain; charset=gb18030", fill("\x81\x30\x81\x30", maxMail))
	}},
	{"iso-2022-jp", func() string {
		return mail("Content-Type: text/plain; charset=iso-2022-jp", fill("\x1b$B\x1b(B", maxMail))
	}},
	{"utf-7", func() string { return mail("Content-Type: text/plain; charset=utf-7", fill("+A", maxMail)) }},
	{"windows-1252", func() string { return mail("Content-Type: text/plain; charset=windows-1252", fill("\x80", maxMail)) }},
	{"base64", func() string {
		return mail("Content-Type: a/b\r\nContent-Transfer-Encoding: base64", fill("QUJD\r\n", maxMail))
	}},
	{"base64 of noise", func() string {
		return mail("Content-Type: a/b\r\nContent-Transfer-Encoding: base64", fill("Q\x00QQ-", maxMail))
	}},
	{"quoted-printable", func() string {
		return mail("Content-Type: a/b\r\nContent-Transfer-Encoding: quoted-printable", fill("=41=", maxMail))
	}},
	{"quoted-printable of soft breaks", func() string {
		return mail("Content-Transfer-Encoding: quoted-printable", fill("=\r\n", maxMail))
	}},
	{"base64 that is none", func() string { return mail("Content-Transfer-Encoding: base64", fill("abc ", maxMail)) }},
	{"flowed lines", func() string {
		return mail("Content-Type: text/plain; format=flowed; delsp=yes", fill("> \r\n", maxMail))
	}},
	{"flowed quotes", func() string {
		return mail("Content-Type: text/plain; format=flowed", fill(fill(">", 900)+" \r\n", maxMail))
	}},
	{"nearly UTF-8", func() string { return mail("", fill("\xc3\xbc\xff", maxMail)) }},
	{"utf-32", func() string { return mail("Content-Type: text/plain; charset=utf-32", fill("\x00\x00\x00A", maxMail)) }},
	{"hz", func() string { return mail("Content-Type: text/plain; charset=hz", fill("~{~}", maxMail)) }},
	{"quoted-printable of blanks", func() string {
		return mail("Content-Type: a/b\r\nContent-Transfer-Encoding: quoted-printable", fill("="+fill(" ", 4000)+"x", maxMail))
	}},
	{"quoted-printable, one run of blanks", func() string {
		return mail("Content-Type: a/b\r\nContent-Transfer-Encoding: quoted-printable", fill(" ", maxMail-8192)+"x")
	}},
	{"uuencode", func() string {
		return mail("Content-Type: a/b\r\nContent-Transfer-Encoding: x-uuencode", "begin 644 x\n"+fill("!a\n", maxMail))
	}},
	{"files in a text", func() string { return mail("", fill("begin 644 x\n#86)C\n`\nend\n", maxMail)) }},
	{"begins of files", func() string { return mail("", fill("begin 644 x\n", maxMail)) }},
	{"begun files", func() string { return mail("", fill("begin 644 x\n"+fill("#86)C\n", 4000), maxMail)) }},
	{"urls", func() string { return mail("", fill("http://x ", maxMail)) }},
	{"many urls", func() string {
		var b strings.Builder
		for i := 0; b.Len() < 2<<20; i++ {
			fmt.Fprintf(&b, "https://x.example/%d ", i)
		}
		return mail("", b.String())
	}},
	{"url of urls", func() string { return mail("", fill("http://", maxMail)) }},
	{"url of brackets", func() string { return mail("", fill("http://("+fill(")", 900)+" ", maxMail)) }},
	{"urls that go on", func() string { return mail("", fill("<http://x\ny", maxMail)) }},
	{"one url that goes on", func() string { return mail("", "<http://x"+fill("\nx", maxMail)) }},
	{"urls of labels", func() string { return mail("Content-Type: text/plain; charset=utf-8", fill("http://a例.", maxMail)) }},
	{"urls in pieces", func() string { return htmlMail(fill("<b>http://x", maxMail)) }},
	{"url in pieces", func() string { return htmlMail("http://x" + fill("<wbr>x", maxMail)) }},
	{"no urls", func() string { return mail("", fill("://", maxMail)) }},
	{"links", func() string { return htmlMail(fill("<a href=http://x>y</a>", maxMail)) }},
	{"opened links", func() string { return htmlMail(fill("<a href=http://x>", maxMail)) }},
	{"elements", func() string { return htmlMail(fill("<b>", maxMail)) }},
	{"paragraphs in elements", func() string { return htmlMail(fill("<b>", 3*openElements-9) + fill("<p>", maxMail)) }},
	{"end tags of nothing", func() string { return htmlMail(fill("<b>", 3*openElements-9) + fill("</i>", maxMail)) }},
	{"end tags in a cell", func() string {
		return htmlMail("<div><td>" + fill("<b>", 3*openElements-20) + fill("</div>", maxMail))
	}},
	{"items in elements", func() string { return htmlMail(fill("<b>", 3*openElements-9) + fill("<li></li>", maxMail)) }},
	{"tables", func() string { return htmlMail(fill("<table><tr><td>", maxMail)) }},
	{"tags", func() string { return htmlMail(fill("<", maxMail)) }},
	{"end tags of names", func() string { return htmlMail(fill("</", maxMail)) }},
	{"style sheets", func() string {
		return htmlMail("<style>" + fill(".a{display:none}", 1<<20) + "</style>" + fill("<b class=a>", 1<<20))
	}},
	{"style braces", func() string { return htmlMail("<style>" + fill("{", maxMail)) }},
	{"classes", func() string {
		return htmlMail("<style>.a{color:red}.b{opacity:0}</style><b class='" + fill("b ", maxMail))
	}},
	{"styles", func() string { return htmlMail("<b style='" + fill("display:none;", 2<<20-20) + "'>") }},
	{"colours", func() string {
		return htmlMail(fill("<b style='color:rgb(1,2,3);background:rgba(1 2 3 / 4%)'>", maxMail))
	}},
	{"rules of many selectors", func() string {
		return htmlMail("<style>" + fill(".a b,c:hover,#d,", 2<<20-40) + ".e{color:#fff;background:#fff}</style>x")
	}},
	{"rules for many classes", func() string {
		var b strings.Builder
		for i := 0; b.Len() < 2<<20-40; i++ {
			fmt.Fprintf(&b, ".c%d{color:red}", i)
		}
		return htmlMail("<style>" + b.String() + "</style>x")
	}},
	{"style elements", func() string { return htmlMail(fill("<style></style>", maxMail)) }},
	{"comments", func() string { return htmlMail(fill("<!-->", maxMail)) }},
	{"opened comments in html", func() string { return htmlMail(fill("<!--", maxMail)) }},
	{"scripts", func() string { return htmlMail(fill("<script></", maxMail)) }},
	{"attributes", func() string { return htmlMail("<b " + fill("a=b ", maxMail)) }},
	{"entities", func() string { return htmlMail(fill("&amp;", maxMail)) }},
	{"references in an attribute", func() string { return htmlMail("<img alt='" + fill("&copy;", 2<<20-20) + "'>") }},
	{"half entities", func() string { return htmlMail(fill("&a", maxMail)) }},
	{"content ids", func() string {
		return mixed("--b\r\nContent-Type: text/html\r\n\r\n" + fill("cid:a cid:b&amp", 4<<20) + "\r\n" + fill("--b\r\nContent-Type: image/png\r\nContent-ID: <a>\r\n\r\nx\r\n", 1<<20))
	}},
	{"pieces of a signature", func() string {
		return smime(pkcs7, envelope(tlv, plainData, tlv(berExplicit, tlv(berOctetPieces, fill(tlv(berOctets), maxMail/2)))))
	}},
	{"pieces in pieces of a signature", func() string {
		return smime(pkcs7, envelope(tlv, plainData, tlv(berExplicit, "\x24\x80"+fill(open(berOctetPieces, open(berOctetPieces, tlv(berOctets, "a"))), maxMail/2))))
	}},
	{"signatures", func() string {
		one := "--b\r\nContent-Type: application/pkcs7-mime\r\n\r\n" + opaque(tlv, "\r\n"+fill("x", 20<<10)) + "\r\n"
		return mixed(fill(one, maxMail-512))
	}},
	{"signatures in signatures", func() string {
		deep := fill("x", maxMail/2)
		for range maxSignatures + 1 {
			deep = "Content-Type: application/pkcs7-mime\r\n\r\n" + opaque(tlv, deep)
		}
		return deep
	}},
	{"digits", func() string { return mail("", fill("123456 ", maxMail)) }},
	{"zeros", func() string { return fill("\x00", maxMail) }},
	{"noise", func() string {
		b := make([]byte, maxMail/6)
		rand.NewChaCha8([32]byte{1}).Read(b)
		return string(b)
	}},
}

func TestBombsAreCheap(t *testing.T) {
	for _, bomb := range bombs {
		t.Run(bomb.name, func(t *testing.T) {
			raw := []byte(bomb.mail())
			if len(raw) > maxMail+4096 {
				t.Fatalf("%d bytes are more than SMTP lets through", len(raw))
			}
			var doc *ParsedMessage
			took := budget.AtMost(t, allowed, func() {
				doc = new(ParsedMessage)
				ParseView(doc, raw)
			})
			t.Logf("%v, %.1f MB, degraded %t", took.CPU, float64(took.Bytes)/(1<<20), doc.IsDegraded)
			checkDocument(t, raw, doc)
		})
	}
}
