package html

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// viewOf renders HTML after it is converted to valid UTF-8, as package message does.
func viewOf(in string) (v RenderedView) {
	RenderText(strings.ToValidUTF8(in, ""), Options{View: &v})
	return v
}

func visible(in string) string { return viewOf(in).VisibleText }

func TestVisibleText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Hello", "Hello"},
		{"inline elements join", "<span>48</span><b>29</b><font size=2>13</font>", "482913"},
		{"zero-width characters join", "48\u200b29&zwnj;13&shy;", "482913"},
		{"blanks collapse", " a \n\t b&nbsp;&nbsp;c ", "a b c"},
		{"blocks", "<div>a</div><div>b</div>c", "a\nb\nc"},
		{"paragraphs", "<h1>a</h1><p>b<p>c</p>", "a\n\nb\n\nc"},
		{"empty lines collapse", "a<br><br><br><p></p><div><br></div>b", "a\n\nb"},
		{"cells", "<table><tr><td>a<td>b<tr><td>c</table>", "a\nb\nc"},
		{"pre", "<pre>a\n b</pre>", "a\nb"},
		{"white-space", "<p style='white-space: pre-line'>a\nb</p><p style='white-space:pre-wrap'><span style='white-space:normal'>c\nd</span></p>", "a\nb\n\nc d"},
		{"alt", "Code<img src=x alt='4829&amp;13'>!", "Code 4829&13 !"},
		{"fields", "<input type=hidden value=1><input value=482913 readonly><input type=checkbox value=2>", "482913"},
		{"entities", "&lt;b&gt; &#52;&#x38; &eacute;", "<b> 48 é"},
		{"no tags", "a < b && c <3 d", "a < b && c <3 d"},
		{"head", "<html><head><title>no</title><style>no{}</style><script>no<b></script></head><body>yes", "yes"},
		{"missing head end", "<head><title>no</title><div>yes</div>", "yes"},
		{"template", "<template>no</template><noscript>yes</noscript>", "yes"},
		{"comments", "a<!-- no -->b<!---->c<!-->d<!--[if mso]><p>no</p><![endif]-->e<![if !mso]>f<![endif]>", "abcdef"},
		{"quoted bracket", `<a title="x>y">z</a>`, "z"},
		{"attributes twice", `<b style="" style="display:none">a</b>`, ""},
		{"unclosed tag", "a<b style='", "a"},

		{"display", "a<div style='display:none'>no<div>no</div></div>b", "ab"},
		{"display, blanks and case", "<p style=' DISPLAY : None ! important; color:red'>no</p>b", "b"},
		{"display overridden", "<p style='display:none;display:block'>yes</p>", "yes"},
		{"display important", "<p style='display:none!important;display:block'>no</p>", ""},
		{"visibility", "<p style='visibility:hidden'>no <b style='visibility:visible'>yes</b></p>", "yes"},
		{"opacity", "<p style='opacity:0'>no</p><p style='opacity:0.0'>no</p><p style='opacity:0.5'>yes</p>", "yes"},
		{"max-height", "<p style='max-height:0px;overflow:hidden'>no</p><p style='max-height:0.5em'>yes</p>", "yes"},
		{"height", "<div style='height:0;overflow:hidden'>no</div><div style='height:0'>yes</div>", "yes"},
		{"font size", "<p style='font-size:0'>no</p><p style='font-size:1px'>no</p><p style='font-size:0.9em'>yes</p>", "yes"},
		{"font size of a layout", "<td style='font-size:0px'>no<div style='font-size:14px'>yes<i style='font-size:2em'>!</i></div></td>", "yes!"},
		{"color", "<p style='color:transparent'>no<b style='color:#000'>yes</b></p>", "yes"},
		{"offscreen", "<p style='text-indent:-9999px'>no</p><p style='position:absolute;left:-5000px'>no</p><p style='margin-left:-5px'>yes</p>", "yes"},
		{"outlook", "<p style='mso-hide:all'>no</p><a style='mso-hide:all'>Button</a>", "Button"},
		{"attribute", "<p hidden>no</p><p hidden=''>no</p>b", "b"},
		{"classes", "<style>@media x{.c{display:none}} /* .c{display:none} */ .a,td.b{display:none!important}.c p{display:none}</style><p class='x a'>no</p><td class=b>no</td><p class=c>yes</p>", "yes"},
		{"class overridden", "<style>.a{display:none}.a{display:block}</style><p class=a>yes</p>", "yes"},

		{"hidden without end tag, in a cell", "<table><tr><td><div style=display:none>no</td><td>yes</td></tr></table>", "yes"},
		{"hidden row", "<table><tr style=display:none><td>no</tr><tr><td>yes</td></tr></table>", "yes"},
		{"hidden cell without end tag", "<table><tr><td style=display:none>no<td>yes</table>", "yes"},
		{"hidden paragraph without end tag", "<p hidden>no<div>yes</div>", "yes"},
		{"hidden item", "<ul><li hidden>no<li>yes</ul>", "yes"},
		{"end tags of nothing", "<div hidden>no</span></p></td>no</div>yes", "yes"},
		{"end tag outside of the cell", "<div hidden><table><tr><td>no</div>no</td></tr></table>no</div>yes", "yes"},
		{"misnested", "<b><div hidden>no</b>no</div>yes", "yes"},
		{"hidden images", "<div style=display:none><img alt=no></div>", ""},

		{"quote", "Thanks<blockquote type=cite><div>Your code: 1<br>2</div></blockquote>Bye", "Thanks\n\n> Your code: 1\n> 2\n\nBye"},
		{"indented", "<blockquote>482913</blockquote>", "482913"},
		{"inline blocks", "<div style='display:inline-block'>48</div><div style='display:inline-block'>29</div><span style='display:block'>x</span>", "48 29\nx"},
		{"links are not shown", "<a href='https://x.example/'>here</a>", "here"},
	} {
		if got := visible(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestVisibleTextIsBounded(t *testing.T) {
	got := visible(strings.Repeat("é", maxVisible))
	if len(got) > maxVisible || len(got) < maxVisible-4 || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestDeeplyNestedElements(t *testing.T) {
	deep := strings.Repeat("<div>", 500)
	if got := visible(deep + "a" + strings.Repeat("</div>", 500) + "<p hidden>no</p>b"); got != "a\nb" {
		t.Errorf("%q", got)
	}
}

func TestPreview(t *testing.T) {
	for in, want := range map[string]string{
		"<title>no</title><div style='display:none'>Your code: <b>482</b>913</div><p>Hello</p><p hidden>no</p>":    "Your code: 482913",
		"<style>.p{display:none}</style>\n<span class=p>yes&zwnj;&nbsp;&zwnj;&nbsp;</span> <i hidden>too</i>Hello": "yes too",
		"Hello<div hidden>no</div>": "",
		"":                          "",
	} {
		if got := viewOf(in).PreviewText; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestViewTellsImagesAndLinksApart(t *testing.T) {
	v := viewOf(`<img alt="482 913"><img alt=""><p hidden><img alt=no><a href=http://no.example>no</a></p>
		<a href="https://a.example/?x=1&amp;y=2"> Verify <b>it</b><img alt=logo></a><a href=mailto:a@b>mail</a><a href=http://b.example></a>`)
	want := RenderedView{VisibleText: v.VisibleText, AltTexts: []string{"482 913", "logo"}, Anchors: []Anchor{{"https://a.example/?x=1&y=2", "Verify it logo", 8}}}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("%+v", v)
	}
}

func TestLinkTexts(t *testing.T) {
	long := strings.Repeat("é", maxLinkText)
	for in, want := range map[string]string{
		"": "", "<a href=http://x>": "", "<a href=http://x> \n Verify&nbsp;<b>your</b>&amp;\u200b<br>address </a>!": "Verify your& address",
		"http://x": "", "<a href=http://other>other</a>": "", "<a href='http://other/'>http://x</a>": "",
		"<a href=http://x><img src=y alt='Sign in'></a>": "Sign in", "<a href=http://x><span style=display:none>hidden</span></a>": "",
		"<p style=display:none><a href=http://x>hidden</a></p><a href=http://x><img></a><a href=http://x>seen</a><a href=http://x>later</a>": "seen",
		"<blockquote type=cite>On Monday<p><a href=http://x>older<br>text</a></blockquote>":                                                  "older text",
		"<a href=http://x>one<a href=http://other>two</a>":                                                                                   "one", "<a href=http://x>open": "open",
		"<a href=http://x>" + long: long[:maxLinkText], "<a href=http://x>1" + long: "1" + long[:maxLinkText-2],
	} {
		got := LinkTexts(in, []string{"http://y", "http://x"})
		if want := []LinkText{{"http://y", ""}, {"http://x", want}}; !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestLongLabels checks that a label of 60 letters is read in every script, and a sentence is not.
func TestLongLabels(t *testing.T) {
	for letter, times := range map[string]int{"a": 60, "ত": 60, "𞤀": 60} {
		if v := viewOf("<a href=http://b.example>" + strings.Repeat(letter, times) + "</a>"); len(v.Anchors) != 1 {
			t.Errorf("%s: no link in %+v", letter, v)
		}
	}
	if v := viewOf("<a href=http://b.example>" + strings.Repeat("word ", 60) + "</a>"); len(v.Anchors) != 0 {
		t.Errorf("a label of 300 bytes: %+v", v)
	}
}

func FuzzVisibleText(f *testing.F) {
	for _, in := range []string{
		"<p style='display:none'>a<b>1</b>", "<table><tr><td>a<td>b</table>", "<style>.a{font-size:0}</style><i class=a>x",
		"<!--", "</", "<a href='http://x'>&amp;&#x41;</a", "<pre>a\nb</pre><title>", "<b\x00\xff>",
	} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		text := visible(in)
		if !utf8.ValidString(text) || len(text) > maxVisible {
			t.Errorf("%d bytes: %q", len(text), text)
		}
		if strings.Contains(text, "\n\n\n") || text != strings.TrimSpace(text) {
			t.Errorf("blank lines: %q", text)
		}
		if visible("<div hidden><table><tr><td>"+in) != "" && !strings.Contains(in, "</") {
			t.Errorf("%q is visible inside of a hidden element", in)
		}
	})
}
