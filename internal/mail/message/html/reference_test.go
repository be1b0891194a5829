package html

import (
	"html"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"
)

func TestReferencesInAttributes(t *testing.T) {
	for in, want := range map[string]string{
		"https://x.example/?token=abc&timestamp=1&region=eu&currency=EUR&notify=1&section=2&copy=3": "https://x.example/?token=abc&timestamp=1&region=eu&currency=EUR&notify=1&section=2&copy=3",
		"?a=1&amp;copy=2&amp;amp;=3":        "?a=1&copy=2&amp;=3",
		"?lt=1&lt=2&ltx&gt3&para.&para;&":   "?lt=1&lt=2&ltx&gt3¶.¶&",
		"&copy":                             "©",
		"&copy;&copy&reg,":                  "©©®,",
		"&notit;&notin;&not;&noti":          "&notit;∉¬&noti",
		"&nosuchname;&nosuchname=":          "&nosuchname;&nosuchname=",
		"&semi;&NotEqualTilde;&amp&ampx":    ";≂̸&&ampx",
		"&#65;&#x42;&#X43&#68x&#x&#;&#=&#9": "ABCDx&#x&#;&#=\t",
		"&#128;&#0;&#xD800;&#99999999999;":  "€\uFFFD\uFFFD\uFFFD",
		"&CounterClockwiseContourIntegral;": "∳",
		"&" + strings.Repeat("a", 99) + ";": "&" + strings.Repeat("a", 99) + ";",
	} {
		if got := unescapeAttribute(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestWhereReferencesAreRead checks that references in all attributes follow the rules for
// attributes, and those in text the rules for text.
func TestWhereReferencesAreRead(t *testing.T) {
	v := viewOf(`<a href='https://x.example/?a=1&region=2'>1 &copy=2</a><img alt='a&para=b &copy;'><input value='c&reg=d'>` +
		`<p style='display&colon;none'>no</p><p style='color:red&semi;display:none'>no</p><style>.q1{display:none}</style><p class='q&#49;'>no</p>`)
	if v.VisibleText != "1 ©=2 a&para=b © c&reg=d" {
		t.Errorf("%q", v.VisibleText)
	}
	if len(v.Anchors) != 1 || v.Anchors[0].URL != "https://x.example/?a=1&region=2" {
		t.Errorf("%+v", v.Anchors)
	}
}

// FuzzReferences compares the result with that of package golang.org/x/net/html.
func FuzzReferences(f *testing.F) {
	for _, s := range []string{"&copy=1", "&amp;&#x41;&notit;", "&#99999999999999", "a&b;&;&&", "&lt&gt3&eacute;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		got := unescapeAttribute(s)
		if unescapeAttribute(html.EscapeString(s)) != s {
			t.Errorf("%q does not survive", s)
		}
		if strings.ContainsAny(s, "\"\r\x00") || strings.Contains(s, "&#") {
			return // the other tokenizer lets large numbers overflow
		}
		z := nethtml.NewTokenizer(strings.NewReader(`<a href="` + s + `">`))
		z.Next()
		if _, value, _ := z.TagAttr(); string(value) != got {
			t.Errorf("%q: %q, want %q", s, got, value)
		}
	})
}
