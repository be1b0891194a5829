package message

import (
	"html"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLinksAreReadAgain checks that the links of a message are found again after they are written
// into HTML.
func TestLinksAreReadAgain(t *testing.T) {
	raws := [][]byte{
		[]byte("\n点击 https://x.example/verify?token=abc完成, <https://y.example/a\nb> http://例え.jp/é?x=\"y\" https://z.example/?a=1&copy=2&lt;"),
		[]byte("Content-Type: text/html\n\n<a href='https://x.example/?a=1&copy=2&amp;lt;=&quot;'>x</a> https://y.example/<wbr>a&amp;b=&#39;c"),
	}
	for _, folder := range []string{"mime", "otp"} {
		if dir, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "shared", "corpora", folder, "*.eml")); err == nil {
			for _, name := range dir {
				raws = append(raws, readFile(t, name))
			}
		}
	}
	for _, raw := range raws {
		links := Parse(raw).Links
		var written strings.Builder
		for _, url := range links {
			written.WriteString(`<p><a href="` + html.EscapeString(url) + "\">x</a></p>\n")
		}
		if again := Parse([]byte(htmlMail(written.String()))).Links; !slices.Equal(again, links) {
			t.Errorf("%q, then %q", links, again)
		}
	}
}
