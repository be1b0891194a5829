package message

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParse(f *testing.F) {
	f.Add(readFile(f, "testdata/otp.eml"))
	for _, mail := range []string{
		"", "\n", "A", "From x\nSubject: =?utf-8?q?=C3?= =?utf-8?q?=A9?=\n\nbody",
		multipartMail("mixed", section("a"), section("QUJD", "Content-Type: a/b; name*0*=utf-8''%41; name*1=b", "Content-Transfer-Encoding: base64")),
		multipartMail("alternative", section("=4=\n =41", "Content-Transfer-Encoding: quoted-printable"), section("<p hidden>a<a href='http://x'>b", "Content-Type: text/html")),
		multipartMail("digest", section("--b\n\nx\n--b--", "Content-Type: multipart/mixed; boundary=b")),
		"Content-Type: a/b\nContent-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n%:&%L;&\\\n`\nend",
		"Content-Type: text/plain; charset=utf-7\n\n+AGE-+", "\na\n" + uuHello + "b",
	} {
		f.Add([]byte(mail))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		doc := new(ParsedMessage)
		view, _ := ParseView(doc, raw)
		checkDocument(t, raw, doc)
		view.HiddenLinks = nil // depends on the links of the other parts
		if !reflect.DeepEqual(doc, Parse(raw)) || !reflect.DeepEqual(view, viewOf(doc.HTML)) {
			t.Errorf("one walk and two differ: %+v, %+v", doc, view)
		}
	})
}

func FuzzHeaders(f *testing.F) {
	for _, header := range []string{
		"Subject: =?utf-8?B?Q2Fmw6k=?= =?iso-8859-1?Q?=E9?=", "To: \"a, b\" <c@d>, G: <e@f>; (x(y)z)", "Date: 21 Nov 2026 1:2 +0100",
		"Content-Disposition: attachment; filename*1=b; filename*0*=utf-8''%C3%A9", "References: <a> <b", "a\xff: \x00\r\n b",
	} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		raw := []byte(header + "\r\n\r\nbody")
		doc := Parse(raw)
		checkDocument(t, raw, doc)
		for _, h := range doc.Headers {
			if len(doc.HeaderValues(strings.ToUpper(h.Name))) == 0 {
				t.Errorf("header %q is lost", h.Name)
			}
			for _, name := range []string{"filename", "charset"} {
				if v := decodedParam(h.Value, name); !utf8.ValidString(v) {
					t.Errorf("parameter %q", v)
				}
			}
			appendMailboxes(nil, h.Value)
			if d, ok := parseDate(h.Value); ok && (d.Year() < 1 || d.Year() > 9999) {
				t.Errorf("date %v", d)
			}
		}
	})
}
