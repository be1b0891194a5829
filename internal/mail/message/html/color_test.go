package html

import (
	"strings"
	"testing"
)

func hiddenIn(s string) bool {
	_, _, disguised := RenderText(strings.ToValidUTF8(s, ""), Options{})
	return disguised
}

// TestTextInTheColourOfItsBackground checks that text in the color of its background is not
// visible, and that RenderText reports it as disguised.
func TestTextInTheColourOfItsBackground(t *testing.T) {
	for _, in := range []string{
		"<body bgcolor='#FFFFFF'><p style='color:#FFFFFF;background:#FFFFFF'>no</p><p>yes</p>",
		"<table><tr><td bgcolor='#FFFFFF'><font color='#FFFFFF'>no</font></td></tr><tr><td>yes</td></tr></table>",
		"<style>.pre { color: #FFFFFF; background: #FFFFFF }</style><p class=pre>no</p><p>yes</p>",
		"<style><!-- .pre{color:white} --></style><p class=pre>no</p>yes",
		"<style>h6{color:#fff}</style><h6>no</h6>yes",
		"<p style='color:white'>no</p>yes",
		"<p style='color:#fefefe'>no</p><p style='color:#eee'>no</p><p style='color:ivory'>no</p>yes",
		"<p style='color:rgb(255, 255, 255)'>no</p><p style='color:rgb(100% 100% 99%)'>no</p><p style='color:hsl(0,0%,100%)'>no</p><p style='color:HSL(120deg 100% 99%)'>no</p>yes",
		"<p style='color:#fff!important;color:#000'>no</p>yes",
		"<p style='color:rgba(0,0,0,0)'>no</p><p style='color:rgb(0 0 0 / 0%)'>no</p><p style='color:#0000'>no</p><p style='color:#00000005'>no</p><p style='color:hsla(0,0%,0%,.02)'>no</p>yes",
		"<p style='color:rgba(0,0,0,.05);background:url(x)'>no</p>yes",
		"<p style='color:rgba(0,0,0,.11);background:#222'>no</p>yes",
		"<p style='color:transparent'>no</p>yes",
		"<div style='background:#000'><p>no</p><p style='color:#111'>no</p><p style='color:#fff'>yes</p></div>",
		"<div style='background:#000'><div style='background:none'><div style='background:rgba(255,0,0,0)'>no</div></div></div>yes",
		"<table bgcolor=navy><tr><td><span style='color:#000080'>no</span><td bgcolor=ffffff><font color=ffffff>no</font><font color=000>yes</font></table>",
		"<body text=white bgcolor=white>no<p style='color:#000'>yes</p></body>",
		"<td style='background:#00f url() none'><p style='color:blue;background:#0000ff'>no</p></td><td>yes</td>",
		"<div style='background-image:url(x);background-color:#000'><p style='background:#fff;color:#fff'>no</p></div>yes",
		"<style media='(prefers-color-scheme: dark)'>p{color:#000}</style><p style='color:#fff'>no</p>yes",
		"<style>@media (prefers-color-scheme: dark){.d{background:#000}}</style><p class=d style='color:#fff'>no</p>yes",
		"<style>.a:hover{color:red}</style><p class=a style='color:#fff'>no</p>yes",
		"<button style='background:#fff;color:#fff'>no</button>yes",

		"<p style='opacity:0'>no</p><p style='opacity:.01'>no</p><p style='opacity:2%'>no</p><p style='filter:opacity(0)'>no</p>yes",
		"<p style='font-size:0'>no</p><p style='font-size:.1px'>no</p><p style='font-size:.01em'>no</p><p style='font:0/0 a'>no</p>yes",
		"<p style='position:absolute;clip:rect(0,0,0,0)'>no</p><p style='clip:rect(1px 1px 1px 1px)'>no</p>yes",
		"<p style='clip-path:inset(50%)'>no</p><p style='clip-path:inset(0 100% 0 0)'>no</p><p style='clip-path:circle(0)'>no</p><p style='clip-path:polygon(0 0, 0 0, 0 0)'>no</p>yes",
		"<p style='transform:scale(0)'>no</p><p style='transform:translateX(3px) scaleY(0.0)'>no</p><p style='scale:0 1'>no</p><p style='zoom:0'>no</p><p style='transform:translate(-9999px, 0)'>no</p>yes",
		"<p style='left:-9999px;top:0;position:absolute'>no</p>yes",
		"<p style='visibility:hidden'>no</p>yes",
	} {
		if got := strings.Join(strings.Fields(visible(in)), " "); got != "yes" || !hiddenIn(in) {
			t.Errorf("%s: %q, %v", in, got, hiddenIn(in))
		}
	}
}

// TestTextThatIsSeen checks that text stays, and is not reported as disguised, if it is or may be
// visible.
func TestTextThatIsSeen(t *testing.T) {
	for _, in := range []string{
		"yes",
		"<a style='background:#00a;color:#fff'>yes</a>",
		"<td bgcolor=#1a73e8><table><tr><td><a style='color:#ffffff'>yes</a></td></tr></table></td>",
		"<style>.b{background-color:#111}.b a{color:#fff}</style><td class=b><a>yes</a></td>",
		"<style>.header td{background:#000}</style><td style='color:#fff'>yes</td>",
		"<style>#top{background:#000}</style><div id=top style='color:#fff'>yes</div>",
		"<style>*{color:#eee}</style><td bgcolor=#000000>yes</td>",
		"<style>.k p{color:#fff}</style><div class=k style='background:#000'><p>yes</p></div>",
		"<td background='sky.png' style='color:#fff'>yes</td>",
		"<p style='background:url(a.png) no-repeat #fff;color:#fff'>yes</p>",
		"<p style='background:linear-gradient(#000, #111);color:#fff'>yes</p>",
		"<p style='background-image:url(data:image/png;base64,xx);color:#fff'>yes</p>",
		"<p style='background:var(--x);color:#fff'>yes</p><p style='color:var(--y);background:#000'></p>",
		"<p style='color:#fff;text-shadow:0 0 2px #000'>yes</p>",
		"<p style='background:linear-gradient(red,blue);-webkit-background-clip:text;color:transparent'>yes</p>",
		"<p style='color:lightgray'>yes</p>", "<p style='color:yellow'>yes</p>", "<p style='color:#999'>yes</p>",
		"<p style='color:rgba(0,0,0,.6)'>yes</p>",
		"<p style='background:#fff;color:oklch(1 0 0)'>yes</p>",
		"<mark style='color:#ff0'>yes</mark>", "<p style='color:#fff'><button>yes</button></p>",
		"<td style='background:#000'><a href='https://x.example'>yes</a></td>",
		"<div style='color:#fff'><div style='background:#222'>yes</div></div>",
		"<div style='background:#fff;color:#fff'><p style='color:inherit;background:#000'>yes</p></div>",
		"<p style='opacity:.2'>yes</p>", "<p style='clip:auto'>yes</p>", "<p style='clip-path:inset(5px)'>yes</p>", "<p style='transform:scale(.9)'>yes</p>",
		"<td style='font-size:0'><p style='font:bold 14px Arial'>yes</p></td>", "<td style='font-size:0'>&nbsp;</td>yes", "<td style='font:600 13px/1.5 x'>yes",
		"<p style='clip:rect(0,9px,9px,0)'>yes</p>", "<p style='margin-left:-9px;left:-1px'>yes</p>",
		"<div style='background:#fff;color:#fff'><img alt=yes></div>",
		// Previews, and what is for other screens.
		"<div style='display:none;font-size:1px;color:#fff;opacity:0'>preview</div>yes",
		"<div style='display:none'>no</div>yes", "<div hidden>no</div>yes", "<div style='max-height:0;overflow:hidden;mso-hide:all'>no</div>yes",
		"<style>.m{display:none}</style>yes<p class=m style='color:#fff'>mobile</p>",
	} {
		if got := strings.Join(strings.Fields(visible(in)), " "); got != "yes" || hiddenIn(in) {
			t.Errorf("%s: %q, %v", in, got, hiddenIn(in))
		}
	}
}

// TestNoPreviewOfDisguisedText checks that the preview has text that layouts hide, but not
// disguised text.
func TestNoPreviewOfDisguisedText(t *testing.T) {
	for in, want := range map[string]string{
		"<p style='color:#fff'>Your code is 111111</p>Hello":                        "",
		"<p style='opacity:0'>Your code is 111111</p>Hello":                         "",
		"<p style='display:none;color:#fff;opacity:0'>Your code is 482913</p>Hello": "Your code is 482913",
	} {
		if got := viewOf(in).PreviewText; got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// FuzzHiddenText adds visible and invisible text to arbitrary HTML.
func FuzzHiddenText(f *testing.F) {
	for _, s := range []string{
		"color:#fff;background:#fff", "background:url(a) #000", "color:rgba(0,0,0,.1)", "font:0/0 a", "clip-path:inset(0 50%)", "transform:scale(0", "color:hsl(1,,2",
		"<td bgcolor=#0>", "<style>.a,b{color:#fff}#c{background:#000}", "opacity:1e999", "background:,,", "scale:,",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		if strings.ContainsAny(s, `"&`) {
			return
		}
		viewOf(s)
		parseStyle(s)
		const seen, unseen = `<p style="color:#000 !important;background:#fff !important;opacity:1">seen</p>`, `<p style="display:none">unseen</p>`
		if v := viewOf(seen + unseen + `<div style="` + s + `">x</div>`); !strings.Contains(v.VisibleText, "seen") || strings.Contains(v.VisibleText, "unseen") {
			t.Errorf("%q: %q", s, v.VisibleText)
		}
	})
}
