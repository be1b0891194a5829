package compose

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inboxd/internal/base/address"
	"inboxd/internal/mail/message"
)

var update = flag.Bool("update", false, "write testdata/composed.eml anew")

var composeDate = time.Date(2026, 11, 21, 9, 8, 7, 0, time.UTC)

// Texts with edge cases: white space, dots, mbox lines, long lines, scripts, injections.
var oddTexts = []string{
	"", "a", "Hello\nworld\n", "Grüße\r\nan alle", "  lead", "trail  ", "tab\there", "two  blanks", ".", ".\n..\n", "From here\nFrom there\n", "=?utf-8?q?x?=",
	"--=_1_", "a\rb", "nul\x00nul", "\xff\xfe broken", strings.Repeat("x", 2000), strings.Repeat("long words ", 200), strings.Repeat("漢字かな", 300),
	"😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀", "x\r\nBcc: evil@x.example\r\n\r\nbody", "\u2028\u202e", "\n\n\n", "= equals == signs ===", "trailing \nblank\t\n", "a, b; \"c\" <d@e> (f)",
	strings.Repeat("ä ", 60), strings.Repeat("a", 900) + " b", "héllo " + strings.Repeat("y", 100), "\x7f\x01\x1b[0m", "\x00\ufeffmark",
}

var oddNames = []string{
	"report.pdf", "größe.txt", "../../etc/passwd", "a b.txt", `q"uo\te.txt`, "x\r\ny.txt", strings.Repeat("n", 240) + ".txt", strings.Repeat("漢", 100) + ".png",
	"100%;=*'.csv", "", ".", "plain",
}

var oddAddresses = []message.Mailbox{
	{Email: "a@b.example"}, {Email: "bücher@x.example"}, {Email: "info@bücher.example"}, {Email: `"quoted local"@x.example`}, {Email: "x_y@z-z.example"}, {Email: "us..er.@x.example"}, {Email: strings.Repeat("v", 200) + "@x.example"},
	{Email: strings.Repeat("l", 64) + "@" + strings.Repeat("d", 60) + ".example"}, {Email: "x@[192.0.2.1]"}, {Email: "用户@例子.example"},
}

func TestComposeRoundTrip(t *testing.T) {
	text := rapid.OneOf(rapid.SampledFrom(oddTexts), rapid.String())
	mailbox := rapid.Custom(func(t *rapid.T) message.Mailbox {
		m := rapid.SampledFrom(oddAddresses).Draw(t, "address")
		m.Name = text.Draw(t, "name")
		return m
	})
	file := rapid.Custom(func(t *rapid.T) File {
		return File{
			Filename:    rapid.OneOf(rapid.SampledFrom(oddNames), rapid.String()).Draw(t, "filename"),
			ContentType: rapid.SampledFrom([]string{"", "text/plain", "TEXT/CSV; charset=latin1", "application/pdf", "message/rfc822", "multipart/mixed", "bad\r\nX: y", "a/b; c=d"}).Draw(t, "type"),
			Bytes:       rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bytes"),
		}
	})
	id := rapid.SampledFrom([]string{"", "1@x.example", "2@x.example", "bad id", "x\r\ny@z", strings.Repeat("i", 200) + "@x", "<a@b>"})
	rapid.Check(t, func(t *rapid.T) {
		d := Draft{
			From: mailbox.Draw(t, "from"), To: rapid.SliceOfN(mailbox, 1, 5).Draw(t, "to"), Cc: rapid.SliceOfN(mailbox, 0, 5).Draw(t, "cc"),
			Subject: text.Draw(t, "subject"), Text: text.Draw(t, "text"), HTML: text.Draw(t, "html"),
			Attachments: rapid.SliceOfN(file, 0, 4).Draw(t, "files"),
			MessageID:   id.Draw(t, "id"), InReplyTo: id.Draw(t, "answered"), References: rapid.SliceOfN(id, 0, 80).Draw(t, "references"),
			Date: composeDate, Auto: rapid.Bool().Draw(t, "auto"), Seed: [16]byte{1, 2},
		}
		if rapid.Bool().Draw(t, "calendar") {
			d.Calendar = &CalendarPart{Method: "request", Text: text.Draw(t, "ics")}
		}
		raw, err := Write(d)
		if err != nil {
			t.Fatal(err)
		}
		checkWire(t, raw, needsUTF8(d))
		checkParsed(t, d, raw)
		if again, _ := Write(d); !bytes.Equal(raw, again) {
			t.Fatal("not the same bytes")
		}
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// needsUTF8 reports whether the local part of an address is not ASCII (RFC 6531).
func needsUTF8(d Draft) bool {
	return slices.ContainsFunc(slices.Concat([]message.Mailbox{d.From}, d.To, d.Cc), func(m message.Mailbox) bool {
		local, _ := address.Split(m.Email)
		return !isPlainASCII(local)
	})
}

func checkWire(t fataler, raw []byte, utf8Header bool) {
	t.Helper()
	if !bytes.HasSuffix(raw, []byte("\r\n")) {
		t.Fatalf("no line end at the end: %q", raw)
	}
	for _, line := range bytes.Split(bytes.TrimSuffix(raw, []byte("\r\n")), []byte("\r\n")) {
		if len(line) > 998 || bytes.ContainsAny(line, "\r\n\x00") || bytes.HasPrefix(line, []byte(".")) {
			t.Fatalf("line %q", line)
		}
		if !utf8Header && bytes.ContainsFunc(line, func(r rune) bool { return r >= 0x7f }) {
			t.Fatalf("8-bit line %q", line)
		}
		words := line // the first word stays on the line of the field's name
		if name, rest, ok := bytes.Cut(line, []byte(": ")); ok && !bytes.ContainsRune(name, ' ') {
			words = rest
		}
		if len(line) > softLine && bytes.ContainsRune(bytes.TrimSpace(words), ' ') && !bytes.Contains(line, []byte("@")) {
			t.Fatalf("%d octets could be folded: %q", len(line), line)
		}
	}
}

// checkParsed compares the draft with what Parse returns.
func checkParsed(t fataler, d Draft, raw []byte) {
	t.Helper()
	doc := message.Parse(raw)
	same := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %q, want %q\n%s", what, got, want, raw)
		}
	}
	same("degraded", doc.Degraded, false)
	same("subject", doc.Subject, oneLine(d.Subject))
	same("from", []message.Mailbox{doc.From}, asWritten([]message.Mailbox{d.From}))
	same("to", doc.To, asWritten(d.To))
	same("cc", doc.Cc, asWritten(d.Cc))
	same("date", doc.Date, d.Date)
	same("auto", doc.HeaderValues("Auto-Submitted") != nil, d.Auto)
	if isMessageID(d.MessageID) {
		same("id", doc.MessageID, d.MessageID)
	}
	refs := slices.DeleteFunc(chain(d.References, d.InReplyTo), func(id string) bool { return !isMessageID(id) })
	same("references", append([]string{}, doc.References...), append([]string{}, refs...))
	if d.HTML == "" || len(bytes.TrimSpace(sendable(d.Text))) > 0 {
		same("text", doc.Text, string(sendable(d.Text)))
	}
	same("html", doc.HTML, string(sendable(d.HTML)))
	files := doc.Attachments
	if d.Calendar != nil {
		same("calendar", files[0].ContentType, "text/calendar")
		ics, _ := message.AttachmentBytes(raw, 1)
		same("ics", string(ics), strings.ReplaceAll(string(sendable(d.Calendar.Text)), "\n", "\r\n"))
		files = files[1:]
	}
	same("number of files", len(files), len(d.Attachments))
	for i, f := range d.Attachments {
		content, _ := message.AttachmentBytes(raw, files[i].ID)
		same("file", string(content), string(f.Bytes))
		if name := oneLine(message.CleanFilename(f.Filename)); name != "" {
			same("filename", files[i].Filename, name)
		}
	}
}

// asWritten returns a list of addresses as Parse returns it: clean names, A-labels, quotes if
// needed.
func asWritten(list []message.Mailbox) (out []message.Mailbox) {
	for _, m := range list {
		email, _ := address.Sender(m.Email)
		out = append(out, message.Mailbox{Email: address.Written(email), Name: oneLine(m.Name)})
	}
	return out
}

func TestComposeAddresses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a@b.example", "a@b.example"},
		{"info@bücher.example", "info@xn--bcher-kva.example"},
		{"info@Bücher.example", "info@xn--bcher-kva.example"},
		{"bücher@bücher.example", "bücher@xn--bcher-kva.example"},
		{"a b@x.example", ""},
		{`"a b"@x.example`, `"a b"@x.example`},
		{"a..b@x.example", `"a..b"@x.example`},
		{"user.@x.example", `"user."@x.example`},
		{`"joe"@x.example`, "joe@x.example"},
		{"a@x_y.example", "a@x_y.example"},
		{"a@[IPv6:2001:db8::1]", "a@[IPv6:2001:db8::1]"},
		{"a@b@x.example", ""},
		{"", ""}, {"a", ""}, {"a@", ""}, {"@b", ""}, {"a@b c", ""}, {"a@b\r\nBcc: x", ""}, {"a\x00@b", ""}, {"a@b>", ""}, {"a@b,c", ""}, {`"a"b@c`, ""}, {strings.Repeat("a", 253) + "@b", ""}, {"a\u202eb@c", ""},
		{"a@\xff", ""}, {"a@b..c", ""}, {strings.Repeat("a", 400) + "@b", ""},
	} {
		raw, err := Write(Draft{From: message.Mailbox{Email: c.in}, Date: composeDate})
		if written := "\nFrom: " + c.want + "\r\n"; (err != nil) != (c.want == "") || err == nil && !strings.Contains(string(raw), written) {
			t.Errorf("%q: %q %v, want %q", c.in, raw, err, c.want)
		}
	}
	if _, err := Write(Draft{From: message.Mailbox{Email: "x"}}); err == nil {
		t.Error("composed from nobody")
	}
}

func TestComposeThread(t *testing.T) {
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf("%d@x", i))
	}
	for _, c := range []struct {
		references []string
		answered   string
		want       []string
	}{
		{nil, "", []string{}},
		{nil, "b@x", []string{"b@x"}},
		{[]string{"a@x"}, "b@x", []string{"a@x", "b@x"}},
		{[]string{"a@x", "b@x"}, "b@x", []string{"a@x", "b@x"}},
		{[]string{"b@x", "a@x", "a@x"}, "b@x", []string{"a@x", "b@x"}},
		{many, "z@x", append(append([]string{"0@x"}, many[12:]...), "z@x")},
	} {
		if got := chain(c.references, c.answered); !slices.Equal(got, c.want) {
			t.Errorf("%v and %s: %v, want %v", c.references, c.answered, got, c.want)
		}
	}
	if got := ReplyReferences(nil, "p@x"); !slices.Equal(got, []string{"p@x"}) {
		t.Error(got)
	}
}

// TestComposeLongMessageID checks that an id of the maximum length for a line is in both fields.
func TestComposeLongMessageID(t *testing.T) {
	longest := strings.Repeat("i", maxMessageID-len("@x")) + "@x"
	for id, fields := range map[string]int{longest: 2, "i" + longest: 0} {
		raw, err := Write(Draft{From: message.Mailbox{Email: "a@x.example"}, InReplyTo: id, Date: composeDate})
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(raw, []byte(":\r\n <"+id+">\r\n")); got != fields {
			t.Errorf("an id of %d octets is in %d fields, want %d:\n%s", len(id), got, fields, raw)
		}
		checkWire(t, raw, false)
	}
}

// TestComposeGolden pins the bytes, because queued messages are composed again after an upgrade.
func TestComposeGolden(t *testing.T) {
	raw, err := Write(Draft{
		From: message.Mailbox{Email: "agent@inbox.example", Name: "Amber Falcon"}, To: []message.Mailbox{{Email: "bob@x.example", Name: "Bøb, Jr."}, {Email: "info@bücher.example", Name: "a, b"}},
		Subject: "Grüße aus dem Süden, und noch viel mehr Worte als auf eine Zeile passen", Text: "Hallo Welt — schön\n", HTML: "<p>Hallo</p>",
		Attachments: []File{{"naïve plan.txt", "text/plain", []byte("abc")}},
		Calendar:    &CalendarPart{"REQUEST", "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"},
		MessageID:   "m1@inbox.example", InReplyTo: "p@x.example", References: []string{"o@x.example"},
		Date: composeDate, Auto: true, Seed: [16]byte{0xab},
	})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		os.WriteFile("testdata/composed.eml", raw, 0o644)
	}
	want, err := os.ReadFile("testdata/composed.eml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, want) {
		t.Errorf("got\n%s\nwant\n%s", raw, want)
	}
}

func FuzzCompose(f *testing.F) {
	for _, text := range oddTexts {
		f.Add(text, text, text, text, "plan.pdf", "m@x.example")
	}
	f.Add("a", "b", "c", "", "größe.txt", "a b")
	f.Fuzz(func(t *testing.T, name, subject, text, html, filename, id string) {
		d := Draft{
			From: message.Mailbox{Email: "a@b.example", Name: name}, To: []message.Mailbox{{Email: "c@d.example", Name: subject}, {Email: "e@f.example", Name: name}},
			Subject: subject, Text: text, HTML: html, Attachments: []File{{filename, name, []byte(text)}}, Date: composeDate,
			MessageID: id, InReplyTo: name, References: []string{subject, id}, Calendar: &CalendarPart{"REPLY", html},
		}
		raw, err := Write(d)
		if err != nil {
			t.Fatal(err)
		}
		checkWire(t, raw, false)
		checkParsed(t, d, raw)
	})
}

func TestFilenameParams(t *testing.T) {
	long := strings.Repeat("n", 100)
	for name, want := range map[string]string{
		"plain.pdf":              `filename="plain.pdf"`,
		"Büro.pdf":               `filename*=utf-8''B%C3%BCro.pdf; filename="B_ro.pdf"`,
		"請求書.pdf":                `filename*=utf-8''%E8%AB%8B%E6%B1%82%E6%9B%B8.pdf; filename="___.pdf"`,
		"50% \"ü\".txt":          `filename*=utf-8''50%25%20%22%C3%BC%22.txt; filename="50_ ___.txt"`,
		"=?x?q?ü?=.txt":          `filename*=utf-8''%3D%3Fx%3Fq%3F%C3%BC%3F%3D.txt; filename="=_x_q___=.txt"`,
		long + ".tar":            `filename*0*=utf-8''` + long[:48] + `; filename*1*=` + long[:52] + `.ta; filename*2*=r; filename="` + long[:56] + `.tar"`,
		long + "." + long:        "",
		strings.Repeat("ü", 255): "",
	} {
		params := filenameParams(name)
		if got := strings.Join(params, "; "); want != "" && got != want {
			t.Errorf("%q: %s", name, got)
		}
		if last := params[len(params)-1]; len(last) > len(`filename=""`)+shortName || !strings.HasPrefix(last, "filename=") {
			t.Errorf("%q: %s", name, last)
		}
	}
}
