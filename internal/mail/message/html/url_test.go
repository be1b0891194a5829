package html

import (
	"html"
	"slices"
	"strings"
	"testing"
)

func textLinks(s string) []string {
	var l Links
	l.AddText(s)
	return l.List()
}

func htmlLinks(s string) []string {
	var l Links
	RenderText(s, Options{Links: &l})
	return l.List()
}

func TestURLsInText(t *testing.T) {
	const verify = "https://x.example/verify?token=abc"
	for in, want := range map[string]string{
		"点击链接 " + verify + "完成验证，谢谢。":                verify,
		verify + "를 클릭하세요":                           verify,
		verify + "をクリック":                             verify,
		verify + "クリック":                              verify,
		verify + "คลิกที่นี่":                        verify,
		verify + "ຄລິກ " + verify + "ចុច":            verify,
		verify + "။":                                 verify,
		verify + "（點此）":                              verify,
		verify + "、次へ":                               verify,
		verify + "。":                                 verify,
		verify + "…":                                 verify,
		verify + "।":                                 verify,
		verify + "👈 here":                            verify,
		verify + "—then":                             verify,
		"https://x.example请打开":                       "https://x.example",
		"https://localhost:8080/a完成":                 "https://localhost:8080/a",
		"https://localhost完成":                        "https://localhost",
		"https://例え.テスト/verify?t=1完成":                "https://例え.テスト/verify?t=1",
		"https://例え.jp/パス/a完":                        "https://例え.jp/パス/a",
		"https://www.shop中文.example/x点":              "https://www.shop中文.example/x",
		"https://中文.example。":                        "https://中文.example",
		"https://한국.kr를":                             "https://한국.kr",
		"https://ไทย.ไทย/x":                          "https://ไทย.ไทย/x",
		"https://bücher.example/käse?x=ü.":           "https://bücher.example/käse?x=ü",
		"https://пример.рф/путь, дальше":             "https://пример.рф/путь",
		"<https://x.example/ab\ncd\r\n ef>":          "https://x.example/abcdef",
		"<URL:https://x.example/ab\ncd>":             "https://x.example/abcd",
		"> <https://x.example/ab\n> cd>":             "https://x.example/abcd",
		"<https://x.example/ab \n\tcd.>":             "https://x.example/abcd.",
		"<https://x.example/路径>":                     "https://x.example/路径",
		"<https://x.example/ab>\ncd":                 "https://x.example/ab",
		"<https://x.example/ab\n\ncd>":               "https://x.example/ab",
		"<https://x.example/ab cd>":                  "https://x.example/ab",
		"<https://x.example/ab\ncd ef>":              "https://x.example/ab",
		"<https://x.example/ab\nhttps://y.example/>": "https://x.example/ab https://y.example/",
		"<https://x.example/ab\ncd":                  "https://x.example/ab",
		"https://x.example/ab\ncd>":                  "https://x.example/ab",
		"<https://x.example/ab\n<https://y.example>": "https://x.example/ab https://y.example",
		"http://[::1]:80/x":                          "http://[::1]:80/x",
		"see (https://x.example/a_(b)), https://x.é": "https://x.example/a_(b) https://x.é",
		"[https://x.example/a](https://x.example/a)": "https://x.example/a",
		"[https://x.example](https://x.example/a).":  "https://x.example https://x.example/a",
	} {
		if got := strings.Join(textLinks(in), " "); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestURLsAcrossElements checks that a URL in the text of HTML is found as the recipient sees it.
func TestURLsAcrossElements(t *testing.T) {
	const verify = "https://x.example/verify?token=abc"
	for in, want := range map[string]string{
		"<p>Confirm: https://x.example/<wbr>verify?token=<wbr>abc</p>":       verify,
		"<b>https</b>:<i>/</i>/x.example/<span>verify</span>?token=abc.</p>": verify,
		"https://x.example/&shy;verify?&#8203;token=&zwnj;abc":               "https://x.example/verify?token=",
		"https://x.example/verify<i hidden>no</i>?token=abc<br>next":         verify,
		verify + "<p>next</p>":                              verify,
		verify + "<span style='display:block'>next</span>":  verify,
		verify + "<img alt=next>":                           verify,
		verify + "<a href='https://y.example'>next</a>":     verify + " https://y.example",
		"<td>" + verify + "<td>next":                        verify,
		"<td>https:<td>//x.example":                         "",
		"&lt;https://x.example/verify?<br>token=abc&gt;":    verify,
		"<pre>&lt;https://x.example/verify?\ntoken=abc&gt;": verify,
		"https://x.example/verify?<br>token=abc":            "https://x.example/verify",
		"a<b>b</b> https:<b>//x.example </b>/no":            "https://x.example",
		strings.Repeat("word <b>", 9) + verify + strings.Repeat("<b> word", 9) + " http://y.example": verify + " http://y.example",
	} {
		if got := strings.Join(htmlLinks(in), " "); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzLinks checks that links written back into HTML are read again unchanged.
func FuzzLinks(f *testing.F) {
	for _, s := range []string{
		"<a href='https://x.example/?a=1&copy=2&amp;b=3'>x</a> https://y.example/&quot;", "&lt;http://x\ny&gt; http://z<wbr>a", "http://例え.jp/é完",
		"<a href=' HTTPS://x/a b\n\"&#39;'>", "<a href='http://x/&nbsp;&#x3c;'>", "<a href=http://&>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		links := append(htmlLinks(s), textLinks(s)...)
		var written strings.Builder
		for _, url := range links {
			written.WriteString(`<p><a href="` + html.EscapeString(url) + `">x</a>`)
		}
		slices.Sort(links)
		links = slices.Compact(links)
		again := htmlLinks(written.String())
		slices.Sort(again)
		if !slices.Equal(again, links) {
			t.Errorf("%q of %q, then %q", links, s, again)
		}
	})
}
