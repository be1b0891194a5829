package otp

import (
	"inboxd/internal/mail/otp/link"
	"inboxd/internal/mail/otp/text"
	"inboxd/internal/testutil/budget"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// typical is a message of 2 KB with plain text and HTML, as most services send it.
func typical() Input {
	body := "Hello Mara,\n\nWe received a request to sign in to your Kestrel account from a new device.\n\n" +
		"Enter the following verification code when prompted:\n\n482913\n\nThis code expires in 10 minutes and can only be used once.\n\n" +
		"If you did not request this, you can safely ignore this email. Somebody may have typed your address by mistake.\n\n" +
		"When: Tuesday, March 10, 2026 at 8:41 PM UTC\nWhere: Berlin, Germany (198.51.100.204)\nDevice: Firefox 131 on Windows 10\n\n" +
		"Need help? Visit https://help.kestrel.example/articles/4829137 or call +1 (415) 555-0132.\n\n" +
		strings.Repeat("Never share this code with anyone. Our staff will never ask for it, neither by phone nor by mail.\n", 3) +
		"\n© 2026 Kestrel Inc., 410 Terry Ave. North, Seattle, WA 98109. All rights reserved.\n"
	return Input{
		Subject:     "Your Kestrel verification code",
		Text:        body,
		VisibleText: strings.ReplaceAll(body, "\n\n", "\n"),
		Links:       []string{"https://kestrel.example/", "https://help.kestrel.example/articles/4829137", "https://kestrel.example/auth/verify?token=9f8e7d6c5b4a3928"},
	}
}

func TestTypical(t *testing.T) {
	res := FindCode(typical())
	if res.Code != "482913" || res.Source != SourceText || res.Confidence < 0.8 || res.VerificationLink == "" || len(res.Candidates) > 0 {
		t.Errorf("%+v", res)
	}
}

// TestCandidates checks that the result has the other codes of a message, best first, and nothing
// else.
func TestCandidates(t *testing.T) {
	res := FindCode(Input{Text: "Your verification code is 482913.\nYour other code is 551234.\nInvoice 771100, card ending in 4213."})
	if res.Code != "482913" || len(res.Candidates) != 1 || res.Candidates[0] != "551234" {
		t.Errorf("%+v", res)
	}
	var b strings.Builder
	for i := 100000; i < 100100; i++ {
		b.WriteString("Your login code is ")
		b.WriteString(strings.Repeat("1", i%3))
		b.WriteString(strings.TrimPrefix(time.Unix(int64(i), 0).UTC().Format("150405"), "0"))
		b.WriteString(".\n")
	}
	if res = FindCode(Input{Text: b.String()}); len(res.Candidates) > maxOthers {
		t.Errorf("%d candidates", len(res.Candidates))
	}
}

// TestResultsAreCopies checks that a CodeResult does not change while later searches reuse the memory.
func TestResultsAreCopies(t *testing.T) {
	first := FindCode(Input{Text: "Your login code is 482913. It replaces code 551234"})
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for range 200 {
				if r := FindCode(Input{Text: "Your login code is 771100"}); r.Code != "771100" {
					t.Error(r.Code)
				}
			}
		})
	}
	group.Wait()
	if first.Code != "482913" || first.Candidates[0] != "551234" {
		t.Errorf("%+v", first)
	}
}

// bombs are inputs of 64 KB that are expensive for a search with quadratic steps.
func bombs() map[string]string {
	fill := func(s string) string { return strings.Repeat(s, text.MaxScan/len(s)+1)[:text.MaxScan] }
	return map[string]string{
		"digits":        fill("7"),
		"codes":         fill("482913 "),
		"labels":        fill("verification code "),
		"label, code":   fill("code 482913 "),
		"lines":         fill("code:\n482913\n"),
		"singles":       fill("1 2 a "),
		"cells":         fill("1\n7\n"),
		"hyphens":       fill("a-"),
		"digit hyphens": fill("1-"),
		"hosts":         fill("a.b."),
		"at signs":      fill("a@"),
		"colons":        fill("1:"),
		"signs":         strings.Repeat(".", text.MaxScan/2) + fill(" 4829")[:text.MaxScan/2],
		"stars":         fill("*482913"),
		"quotes":        fill("enter \"\"\"\"\"\"482913 "),
		"empty lines":   fill("\n"),
		"spread":        fill("code\n\n\n\n"),
		"compound":      "verif" + fill("i"),
		"ideographs":    fill("验证"),
		"thai":          fill("รหัส"),
		"wrote":         fill("2026 wrote:\n>\n"),
		"dashes":        fill("--\n"),
		"forward":       fill("-- message\n"),
		"from":          fill("From: a@b.example\n"),
		"marks":         fill("\u0301"),
		"zero width":    fill("4\u200b"),
		"invalid":       fill("\xff"),
		"origin":        fill("--\n@a.b #\n"),
		"numbered":      fill("no.........482913 "),
		"spoilt":        fill("code 4829 wrong "),
		"sender":        strings.Repeat("a ", text.MaxScan/4) + fill("482913 code ")[:text.MaxScan/2],
	}
}

// TestBombs checks that the work is linear for every input: four times the bytes take about four
// times as long. A quadratic search would take sixteen times as long.
func TestBombs(t *testing.T) {
	for name, s := range bombs() {
		t.Run(name, func(t *testing.T) {
			quarter := len(s) / 4 // from the beginning or from the middle, where some bombs change
			small, large := max(best(s[:quarter]), best(s[len(s)/2-quarter/2:][:quarter])), best(s)
			if large > 12*small && large > 60*time.Millisecond {
				t.Errorf("%d bytes took %v, %d bytes %v", len(s)/4, small, len(s), large)
			}
		})
	}
}

// best returns the shortest time of a few runs.
func best(s string) time.Duration {
	shortest := time.Hour
	for range 3 {
		took := budget.MeasureOnce(func() {
			FindCode(Input{Subject: s, Text: s, VisibleText: s, Links: []string{s}, Anchors: []link.Anchor{{URL: s, Text: s}}, DeclaredCodes: []string{s}, AltTexts: []string{s}})
		})
		shortest = min(shortest, took.CPU)
	}
	return shortest
}

// FuzzFind checks that Find does not panic, and that the message contains every code it returns.
func FuzzFind(f *testing.F) {
	in := typical()
	f.Add(in.Subject, in.Text, in.VisibleText, in.Links[2], `"123456"; origin="https://example.com"`)
	for _, s := range []string{"Your code: 4-8-2-9-1-3", "G-482913 is your code\n@example.com #482913", "रमज ४८२९१३ कोड", "验证码４８２９１３，5分钟", "code\n4\n8\n2\n9",
		"On 2 Mar 2026 a@b wrote:\n> code 1234", "OTP482913 K7QX2M XKJ-BVT 482 913 10 minutes"} {
		f.Add(s, s, s, "https://a.example/verify?token="+s, s)
	}
	f.Fuzz(func(t *testing.T, subject, text, visible, link, header string) {
		in := Input{Subject: subject, Text: text, VisibleText: visible, Links: []string{link, link + "x"}, DeclaredCodes: []string{header}}
		start := time.Now()
		res := FindCode(in)
		if took := time.Since(start); took > time.Second { // it takes a few milliseconds on a loaded machine
			t.Fatalf("took %v", took)
		}
		if n := len(res.Code); n > maxDeclared || res.Source != SourceHeader && res.Code != "" && (n < minCode || n > maxDeclared) {
			t.Fatalf("code %q", res.Code)
		}
		if (res.Code == "") != (res.Source == "") || res.Confidence < 0 || res.Confidence > 1 || res.Code != "" && res.Confidence < 0.5 {
			t.Fatalf("%+v", res)
		}
		if len(res.Candidates) > maxOthers || !utf8.ValidString(res.Code+res.Origin) {
			t.Fatalf("%+v", res)
		}
		squeezed := squeeze(subject, text, visible, header)
		for _, code := range append(res.Candidates, res.Code) {
			if !strings.Contains(squeezed, squeeze(code)) {
				t.Fatalf("code %q does not stand in the mail", code)
			}
		}
		if l := res.VerificationLink; l != "" && l != in.Links[0] && l != in.Links[1] {
			t.Fatalf("link %q", l)
		}
	})
}

// squeeze returns the folded letters and digits of all texts.
func squeeze(texts ...string) string {
	var b strings.Builder
	for _, s := range texts {
		var f text.Folded
		f.Fold(s)
		for _, c := range f.Plain {
			if text.IsDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}

func BenchmarkFind(b *testing.B) {
	in := typical()
	b.SetBytes(int64(len(in.Text) + len(in.VisibleText)))
	b.ReportAllocs()
	for b.Loop() {
		FindCode(in)
	}
}

func BenchmarkFindText(b *testing.B) {
	in := typical()
	in.VisibleText, in.Links = "", nil
	in.Text = strings.Repeat(in.Text, 3)[:2048]
	b.SetBytes(int64(len(in.Text)))
	b.ReportAllocs()
	for b.Loop() {
		FindCode(in)
	}
}

func BenchmarkFindChinese(b *testing.B) {
	in := Input{Subject: "验证码", Text: strings.Repeat("您好，请在登录页面输入以下验证码，不要告诉任何人。如果不是您本人操作，请忽略此邮件。\n", 16) + "您的验证码：482913\n"}
	b.SetBytes(int64(len(in.Text)))
	b.ReportAllocs()
	for b.Loop() {
		FindCode(in)
	}
}

func BenchmarkBomb(b *testing.B) {
	s := bombs()["label, code"]
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		FindCode(Input{Text: s})
	}
}

// TestSameWords checks that a text and a visible text with the same words are searched once, and
// that the HTML is searched, too, if the text alone has no code.
func TestSameWords(t *testing.T) {
	in := Input{Subject: "Here's your code", Text: "Hello Kim account 905118 expires in 10 minutes", VisibleText: "Hello Kim account\n905118\nexpires in 10 minutes"}
	if !sameWords(in.Text, in.VisibleText) || sameWords(in.Text, in.VisibleText+".") || sameWords("", "a") {
		t.Error("same words are not told")
	}
	if res := FindCode(in); res.Code != "905118" || res.Source != SourceHTML {
		t.Errorf("%+v", res)
	}
	in = Input{Text: "Your code is 905118", VisibleText: "Your code is\n905118"}
	if res := FindCode(in); res.Code != "905118" || res.Source != SourceText {
		t.Errorf("%+v", res)
	}
}
