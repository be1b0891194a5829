package message

import (
	"encoding/base64"
	"fmt"
	"inboxd/internal/mail/message/html"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestOTPMail(t *testing.T) {
	raw := readFile(t, "testdata/otp.eml")
	doc := Parse(raw)
	if doc.Subject != "Dein Code: 482913" || doc.From != (Mailbox{"no-reply@shop.example", "Café Shop"}) {
		t.Errorf("subject %q, from %+v", doc.Subject, doc.From)
	}
	if !doc.Date.Equal(time.Date(2026, 11, 21, 6, 7, 0, 0, time.UTC)) || doc.Date.Location() != time.UTC {
		t.Errorf("date %v", doc.Date)
	}
	if !strings.HasPrefix(doc.Text, "Hallo,\n\ndein Bestätigungscode lautet:\n\n482913\n") || doc.TextFromHTML {
		t.Errorf("text %q", doc.Text)
	}
	if want := "https://shop.example/verify?token=k3jd82hf&user=7"; !reflect.DeepEqual(doc.Links, []string{want}) {
		t.Errorf("links %q", doc.Links)
	}
	visible := viewOf(doc.HTML).VisibleText
	if !strings.Contains(visible, "\n482913\n") || strings.Contains(visible, "771200") {
		t.Errorf("visible text %q", visible)
	}
	if doc.IsDegraded || !doc.HasHTML || doc.Attachments != nil {
		t.Errorf("degraded %t, HTML %t, attachments %v", doc.IsDegraded, doc.HasHTML, doc.Attachments)
	}
	checkDocument(t, raw, doc)
}

// viewOf is what a person would see of HTML.
func viewOf(in string) (v html.RenderedView) {
	html.RenderText(strings.ToValidUTF8(in, ""), html.Options{View: &v})
	return v
}

// section is a part of a multipart: header lines and a body.
func section(body string, header ...string) string {
	return "--b\n" + strings.Join(append(header, "", body), "\n") + "\n"
}

func multipartMail(subtype string, parts ...string) string {
	return "Content-Type: multipart/" + subtype + "; boundary=b\n\npreamble\n" + strings.Join(parts, "") + "--b--\nepilogue\n"
}

func TestBodies(t *testing.T) {
	const (
		plain, html = "Content-Type: text/plain; charset=utf-8", "Content-Type: text/html; charset=utf-8"
		qp          = "Content-Transfer-Encoding: Quoted-Printable"
	)
	for _, c := range []struct {
		name, mail, text, html string
		degraded               bool
	}{
		{name: "no header", mail: "\nJust text\n", text: "Just text\n"},
		{name: "no header, no empty line", mail: "Just text, no header", text: "Just text, no header", degraded: true},
		{name: "header only", mail: "Subject: x\n"},
		{name: "empty", mail: ""},
		{name: "base64 that is none", mail: "Content-Transfer-Encoding: base64\n\nYour code is 482913, thanks\n", text: "Your code is 482913, thanks\n", degraded: true},
		{name: "base64 with remarks", mail: "Content-Transfer-Encoding: BASE64 (yes)\n\naGkg dGhl cmU=\n", text: "hi there"},
		{name: "boundary not named", mail: "Content-Type: multipart/mixed\n\n--b\nContent-Type: text/plain\n\nx\n--b\n\ny\n--b--\n", text: "x\ny", degraded: true},
		{name: "boundary not named, nor there", mail: multipartMail("mixed", section("", "Content-Type: multipart/mixed"), section("x", "Content-Type: text/plain")), text: "\nx", degraded: true},
		{name: "no boundary at all", mail: "Content-Type: multipart/mixed\n\n-- \nname\n", text: "-- \nname\n", degraded: true},
		{name: "boundary in pieces", mail: "Content-Type: multipart/mixed; boundary*0=a; boundary*1=b\n\n--ab\n\nx\n--ab--\n", text: "x"},
		{name: "byte order mark", mail: "\ufeffSubject: x\n\n\ufefftext", text: "text"},
		{name: "CRLF", mail: "A: b\r\n\r\na\r\nb\r\n", text: "a\nb\n"},
		{name: "CR", mail: "A: b\r\ra\rb", text: "a\nb"},
		{name: "NUL", mail: "A: b\n\na\x00b", text: "ab"},
		{name: "latin-1", mail: "Content-Type: text/plain; charset=ISO-8859-1\n\ncaf\xe9 \x80", text: "café €"},
		{name: "utf-16", mail: "Content-Type: text/plain; charset=utf-16\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte("\xfe\xff\x00a\x20\xac")), text: "a€"},
		{name: "no charset", mail: "A: b\n\ncaf\xe9", text: "café"},
		{name: "wrong charset", mail: "Content-Type: text/plain; charset=utf-8\n\ncaf\xe9", text: "café"},
		{name: "broken utf-8", mail: "Content-Type: text/plain; charset=utf-8\n\ncaf\xe9 caf\u00e9", text: "caf\ufffd café"},
		{name: "unknown charset", mail: "Content-Type: text/plain; charset=klingon\n\ncaf\xe9", text: "café", degraded: true},
		{name: "charset in HTML", mail: "Content-Type: text/html\n\n<meta charset=\"koi8-r\">\xc1", text: "а", html: "<meta charset=\"koi8-r\">а"},
		{name: "quoted-printable", mail: qp + "\n\na=3D=E2=82=AC =\nb \t\nc=\n", text: "a=€ b\nc"},
		{name: "quoted-printable, broken", mail: qp + "\n\na=ZZ=4 = b=", text: "a=ZZ=4 = b"},
		{name: "base64, broken", mail: "Content-Transfer-Encoding: base64\n\naGF!s\nbG8=\n-- \nfooter", text: "hallo"},

		{name: "alternative", mail: multipartMail("alternative", section("text", plain), section("<b>html</b>", html)), text: "text", html: "<b>html</b>"},
		{name: "alternative of three", mail: multipartMail("alternative", section("text", plain), section("AMP", "Content-Type: text/x-amp-html"), section("again", plain), section("<b>html</b>", html)), text: "again", html: "<b>html</b>"},
		{name: "texts", mail: multipartMail("mixed", section("one", plain), section("two", plain)), text: "one\ntwo"},
		{name: "HTML only", mail: multipartMail("mixed", section("<p>a<p>b", html)), text: "a\n\nb", html: "<p>a<p>b"},
		{name: "empty text", mail: multipartMail("alternative", section(" ", plain), section("<b>html</b>", html)), text: "html", html: "<b>html</b>"},
		{name: "named first text", mail: multipartMail("mixed", section("text", plain+"; name=a.txt")), text: "text"},
		{name: "part without a header", mail: multipartMail("mixed", "--b\n\ntext\n"), text: "text"},
		{name: "part without an empty line", mail: multipartMail("mixed", "--b\nContent-Type: text/plain\n")},
		{name: "blanks behind the delimiter", mail: "Content-Type: multipart/mixed; boundary=\"b \"\n\n--b \t\n\ntext\n--b-- \n", text: "text"},
		{name: "no close delimiter", mail: "Content-Type: multipart/mixed; boundary=b\n\n--b\n\ntext", text: "text", degraded: true},
		{name: "no delimiter", mail: "Content-Type: multipart/mixed; boundary=b\n\ntext", text: "text", degraded: true},
		{name: "no boundary", mail: "Content-Type: multipart/mixed\n\ntext", text: "text", degraded: true},
		{name: "inner one unclosed", mail: multipartMail("mixed", section("--i\n\ninner", "Content-Type: multipart/mixed; boundary=i"), section("outer")), text: "inner\nouter", degraded: true},
		{name: "one boundary twice", mail: multipartMail("mixed", section("--b\n\ninner\n--b--", "Content-Type: multipart/mixed; boundary=b"), section("outer")), text: "inner\nouter"},
		{name: "boundary with hyphens", mail: "Content-Type: multipart/mixed; boundary=b--\n\n--b--\n\ntext\n--b----\n", text: "text"},
		{name: "longer boundary", mail: multipartMail("mixed", section("text\n--bb\n--b-- x")), text: "text\n--bb\n--b-- x"},
		{name: "enriched", mail: "Content-Type: text/enriched\n\n<bold>a</bold>", text: "<bold>a</bold>"},
	} {
		doc := Parse([]byte(c.mail))
		if doc.Text != c.text || doc.HTML != c.html || doc.IsDegraded != c.degraded || doc.Attachments != nil {
			t.Errorf("%s: text %q, html %q, degraded %t, attachments %v", c.name, doc.Text, doc.HTML, doc.IsDegraded, doc.Attachments)
		}
		checkDocument(t, []byte(c.mail), doc)
	}
}

func TestTextIsCut(t *testing.T) {
	whole := Parse([]byte("A: b\n\n" + strings.Repeat("x", MaxText)))
	if len(whole.Text) != MaxText || whole.TextCut {
		t.Errorf("%d bytes, cut %t", len(whole.Text), whole.TextCut)
	}
	cut := Parse([]byte("A: b\n\n" + strings.Repeat("é", MaxText/2) + "x"))
	if len(cut.Text) != MaxText || !cut.TextCut || cut.IsDegraded {
		t.Errorf("%d bytes, cut %t, degraded %t", len(cut.Text), cut.TextCut, cut.IsDegraded)
	}
	joined := Parse([]byte(multipartMail("mixed", section(strings.Repeat("é", MaxText/2-1)), section("more"), section("even more"))))
	if len(joined.Text) != MaxText || !joined.TextCut || !strings.HasSuffix(joined.Text, "\nm") {
		t.Errorf("%d bytes, cut %t", len(joined.Text), joined.TextCut)
	}
	guessed := Parse([]byte("A: b\n\nx" + strings.Repeat("é", 2*MaxText)))
	if len(guessed.Text) != MaxText-1 || !strings.HasPrefix(guessed.Text, "xéé") {
		t.Errorf("%d bytes, %.10q", len(guessed.Text), guessed.Text)
	}
	html := Parse([]byte("Content-Type: text/html\n\n" + strings.Repeat("y", maxHTML+1)))
	if len(html.HTML) != maxHTML || len(html.Text) != MaxText || !html.TextCut || !html.IsDegraded {
		t.Errorf("%d and %d bytes, cut %t, degraded %t", len(html.HTML), len(html.Text), html.TextCut, html.IsDegraded)
	}
}

func TestDepthAndParts(t *testing.T) {
	deep := func(levels int) string {
		return nested(levels, func(i int) string { return fmt.Sprint("b", i) }) + "Content-Type: text/plain\r\n\r\ndeep\r\n"
	}
	if doc := Parse([]byte(deep(maxDepth))); doc.Text != "deep\n" {
		t.Errorf("depth %d: %q", maxDepth, doc.Text)
	}
	if doc := Parse([]byte(deep(maxDepth + 1))); doc.Text != "" || !doc.IsDegraded {
		t.Errorf("depth %d: %q, degraded %t", maxDepth+1, doc.Text, doc.IsDegraded)
	}
	// The multipart itself is a part too.
	many := Parse([]byte(multipartMail("mixed", strings.Repeat(section("x"), maxParts))))
	if n := strings.Count(many.Text, "x"); n != maxParts-1 || !many.IsDegraded {
		t.Errorf("%d parts, degraded %t", n, many.IsDegraded)
	}
}

func TestAttachments(t *testing.T) {
	mail := multipartMail("mixed",
		section("the text"),
		section("a,b", "Content-Type: text/csv; name=a.csv"),
		section("second text", "Content-Type: text/plain; name=\"notes.txt\""),
		section("aGFsbG8=", "Content-Type: Image/PNG", "Content-ID: <1@x>", "Content-Disposition: inline", "Content-Transfer-Encoding: base64"),
		section("<p>page</p>", "Content-Type: text/html", "Content-Disposition: attachment; filename*=utf-8''..%2F..%2Fp%C3%A4ge.html"),
		section("Subject: inner\n\ninner text", "Content-Type: message/rfc822"),
		section("x=9F=3E", "Content-Type: application/ms-tnef; name=winmail.dat", "Content-Transfer-Encoding: quoted-printable"),
		section("BEGIN:VCALENDAR", "Content-Type: text/calendar; method=REQUEST"),
		section("begin 644 a\n%:&%L;&\\\n`\nend", "Content-Type: application/octet-stream", "Content-Transfer-Encoding: x-uuencode"),
	)
	doc := Parse([]byte(mail))
	want := []Attachment{
		{1, "a.csv", "text/csv", 3, false, ""},
		{2, "notes.txt", "text/plain", 11, false, ""},
		{3, "attachment-3.png", "image/png", 5, false, "1@x"},
		{4, "päge.html", "text/html", 11, false, ""},
		{5, "attachment-5.eml", "message/rfc822", 26, false, ""},
		{6, "winmail.dat", "application/ms-tnef", 3, false, ""},
		{7, "attachment-7.ics", "text/calendar", 15, false, ""},
		{8, "attachment-8.bin", "application/octet-stream", 5, false, ""},
	}
	if !reflect.DeepEqual(doc.Attachments, want) {
		t.Errorf("attachments %+v", doc.Attachments)
	}
	if doc.Text != "the text" || doc.HasHTML || doc.IsDegraded || doc.Subject != "" {
		t.Errorf("text %q, HTML %t, degraded %t, subject %q", doc.Text, doc.HasHTML, doc.IsDegraded, doc.Subject)
	}
	for id, content := range map[int]string{3: "hallo", 5: "Subject: inner\n\ninner text", 6: "x\x9f>", 8: "hallo"} {
		if got, ok := AttachmentBytes([]byte(mail), id); !ok || string(got) != content {
			t.Errorf("attachment %d: %q, %t", id, got, ok)
		}
	}
	for _, id := range []int{-1, 0, 9, 1 << 40} {
		if _, ok := AttachmentBytes([]byte(mail), id); ok {
			t.Errorf("there is an attachment %d", id)
		}
	}
	checkDocument(t, []byte(mail), doc)
}

func TestWholeMailIsAnAttachment(t *testing.T) {
	doc := Parse([]byte("Content-Type: application/pdf\nContent-Transfer-Encoding: base64\n\naGFsbG8="))
	if want := []Attachment{{1, "attachment-1.pdf", "application/pdf", 5, false, ""}}; !reflect.DeepEqual(doc.Attachments, want) || doc.Text != "" {
		t.Errorf("%+v, text %q", doc.Attachments, doc.Text)
	}
}

func TestDigest(t *testing.T) {
	doc := Parse([]byte(multipartMail("digest", section("Subject: a\n\nb"))))
	if len(doc.Attachments) != 1 || doc.Attachments[0].ContentType != "message/rfc822" || doc.Text != "" {
		t.Errorf("%+v, text %q", doc.Attachments, doc.Text)
	}
}

// file is a part of size decoded bytes.
func file(size int) string {
	return section(base64.StdEncoding.EncodeToString(make([]byte, size)), "Content-Type: a/b", "Content-Transfer-Encoding: base64")
}

func TestReceivingLimits(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name      string
		sizes     []int
		truncated []bool
	}{
		{"one file at its limit", []int{5 * mb}, []bool{false}},
		{"one file over its limit", []int{5*mb + 1, 1}, []bool{true, false}},
		{"all files at their limit", []int{5 * mb, 5 * mb}, []bool{false, false}},
		{"the sum, and a smaller one that fits", []int{5 * mb, 4 * mb, mb + 1, mb, 1}, []bool{false, false, true, false, true}},
		{"too large ones take no room", []int{6 * mb, 5 * mb, 5 * mb}, []bool{true, false, false}},
		{"eleven files", []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, make([]bool, 10)},
	} {
		var parts []string
		for _, size := range c.sizes {
			parts = append(parts, file(size))
		}
		raw := []byte(multipartMail("mixed", parts...))
		doc := Parse(raw)
		var truncated []bool
		for i, a := range doc.Attachments {
			truncated = append(truncated, a.Truncated)
			if a.Size != int64(c.sizes[i]) {
				t.Errorf("%s: file %d has %d bytes", c.name, a.ID, a.Size)
			}
		}
		if !reflect.DeepEqual(truncated, c.truncated) || doc.IsDegraded {
			t.Errorf("%s: truncated %v, degraded %t", c.name, truncated, doc.IsDegraded)
		}
		checkDocument(t, raw, doc)
	}
}

func TestSanitizeFilename(t *testing.T) {
	long := strings.Repeat("ä", 300)
	for in, want := range map[string]string{
		"a.txt":                "a.txt",
		"/etc/passwd":          "passwd",
		`C:\x\..\a.txt`:        "a.txt",
		"..":                   "",
		"a/":                   "",
		" . ":                  "",
		"a\r\n\x00b\u0085.txt": "ab.txt",
		"exe\u202etxt.pdf":     "exetxt.pdf",
		"a\xffb":               "a\ufffdb",
		long + ".tar":          strings.Repeat("ä", 251) + ".tar",
		long:                   strings.Repeat("ä", 255),
		"." + long:             "." + strings.Repeat("ä", 254),
	} {
		if got := CleanFilename(in); got != want {
			t.Errorf("%.40q: %q, want %q", in, got, want)
		}
	}
}

func TestReadableText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"link", "Click <a href='https://x.example/?a=1&amp;b=2'>here</a>.", "Click here (https://x.example/?a=1&b=2)."},
		{"shown link", "<a href=https://x.example/>https://x.example</a> <a href=https://y.example>y.example</a>", "https://x.example y.example"},
		{"image link", "<a href=https://x.example><img src=y></a>", "(https://x.example)"},
		{"button", "<a href=https://x.example><table><tr><td>Go</td></tr></table></a>End", "Go (https://x.example)\nEnd"},
		{"open links", "<a href=https://x.example>a<a href=https://y.example>b", "a (https://x.example)b (https://y.example)"},
		{"other schemes", "<a href=mailto:a@b>a</a> <a href='javascript:x'>b</a> <a href=#top>c</a>", "a b c"},
		{"hidden link", "<a href=https://x.example style=display:none>no</a>yes", "yes"},
		{"emoji", "👩\u200d👧", "👩\u200d👧"},
	} {
		doc := Parse([]byte(htmlMail(c.in)))
		if doc.Text != c.want || !doc.TextFromHTML || !doc.HasHTML {
			t.Errorf("%s: %q, want %q", c.name, doc.Text, c.want)
		}
	}
}

func TestLinks(t *testing.T) {
	for _, c := range []struct {
		name, mail string
		want       []string
	}{
		{"text", "A: b\n\nSee https://x.example/a?b=1#c, (http://y.example/(z)) and <HTTPS://z.example>. Not ftp://x or http:// or xhttp.", []string{"https://x.example/a?b=1#c", "http://y.example/(z)", "HTTPS://z.example"}},
		{"punctuation", "A: b\n\nhttp://a.example... http://b.example/). http://c.example/?! \"http://d.example\" *http://e.example* [http://f.example]", []string{"http://a.example", "http://b.example/", "http://c.example/", "http://d.example", "http://e.example", "http://f.example"}},
		{"international", "Content-Type: text/plain; charset=utf-8\n\n「https://例え.jp/あ」。http://a.example…", []string{"https://例え.jp/あ", "http://a.example"}},
		{"doubles", "A: b\n\nhttp://b.example http://a.example http://b.example", []string{"http://b.example", "http://a.example"}},
		{"HTML", "Content-Type: text/html\n\n<a href=' https://x.example/?a=1&amp;b=\n2 '>https://x.example/...</a> http://t.example/?a&amp;b <area href=http://m.example><a href='http://s.example/a b'>s</a><img src=http://no.example><!-- http://no.example --><a href=mailto:a@b>", []string{"https://x.example/?a=1&b=2", "http://t.example/?a&b", "http://m.example", "http://s.example/a%20b"}},
		{"hidden links count", "Content-Type: text/html\n\n<a style=display:none href=http://x.example>", []string{"http://x.example"}},
		{"text first", multipartMail("alternative", section("http://t.example http://both.example"), section("<a href=http://both.example>b</a><a href=http://h.example>", "Content-Type: text/html")), []string{"http://t.example", "http://both.example", "http://h.example"}},
		{"none", "A: b\n\n://x http://. https://)", nil},
	} {
		if got := Parse([]byte(c.mail)).Links; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAtMostAThousandLinks(t *testing.T) {
	var b strings.Builder
	for i := range 2 * html.MaxLinks {
		fmt.Fprintf(&b, "http://x.example/%d ", i)
	}
	many := b.String()
	exactly, _, _ := strings.Cut(many, "http://x.example/1000 ")
	for _, c := range []struct {
		name, head, body string
		cut              bool
	}{
		{"as many as there may be, some twice", "A: b", exactly + exactly, false},
		{"more", "A: b", many, true},
		{"of HTML", "Content-Type: text/html", "<p>" + exactly + `<a href="http://x.example/more">more</a>`, true},
		{"of HTML, not more", "Content-Type: text/html", "<p>" + exactly + `<a href="http://x.example/1">one</a>`, false},
	} {
		doc := Parse([]byte(c.head + "\n\n" + c.body))
		if got := doc.Links; len(got) != html.MaxLinks || got[html.MaxLinks-1] != "http://x.example/999" || doc.LinksCut != c.cut {
			t.Errorf("%s: %d links, cut %v", c.name, len(got), doc.LinksCut)
		}
	}
}

// TestDocumentKeepsNothingOfTheInput checks that the document does not change if the caller reuses
// its buffer.
func TestDocumentKeepsNothingOfTheInput(t *testing.T) {
	raw := readFile(t, "testdata/otp.eml")
	doc, same := Parse(raw), Parse(raw)
	content, _ := AttachmentBytes([]byte(multipartMail("mixed", section("x", "Content-Type: a/b"))), 1)
	for i := range raw {
		raw[i] = '#'
	}
	if !reflect.DeepEqual(doc, same) || !strings.Contains(doc.Text, "482913") || string(content) != "x" {
		t.Error("the document changed with the buffer")
	}
}
