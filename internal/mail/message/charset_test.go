package message

import (
	"encoding/base64"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// TestCharsetLabels contains labels that programs write, each with a text in the charset that they
// mean.
func TestCharsetLabels(t *testing.T) {
	for _, c := range []struct {
		labels string
		enc    encoding.Encoding
		text   string
	}{
		{"utf-8 UTF8 utf_8 utf8mb4 unicode-1-1-utf-8 'utf-8'", encoding.Nop, "Grüße, 验证码, код"},
		{"iso-8859-1 latin1 ISO_8859-1:1987 us-ascii cp1252 win-1252 8859_1 windows-1252;", charmap.Windows1252, "“Grüße” €"},
		{"windows-1251 cp1251 win-1251 ansi_1251 x-cp1251", charmap.Windows1251, "Ваш код"},
		{"koi8-r koi8", charmap.KOI8R, "Ваш код"},
		{"koi8-u koi8-ru", charmap.KOI8U, "Їжак і ґудзик"},
		{"ibm866 cp866 dos-866", charmap.CodePage866, "Ваш код"},
		{"iso-8859-15 latin9", charmap.ISO8859_15, "œuvre €"},
		{"gb2312 gbk cp936 ms936 euc_cn EUC-CN gb_2312 gb18030", simplifiedchinese.GBK, "您的验证码"},
		{"hz-gb-2312 hz HZ", simplifiedchinese.HZGB2312, "您的验证码是482913"},
		{"big5 cp950 ms950 cn-big5 big5-hkscs", traditionalchinese.Big5, "您的驗證碼"},
		{"shift_jis sjis ms932 cp932 windows-31j x-sjis", japanese.ShiftJIS, "①確認コード"},
		{"euc-jp eucjp x-euc-jp cp51932", japanese.EUCJP, "確認コード"},
		{"iso-2022-jp iso-2022-jp-1 iso-2022-jp-2 ISO-2022-JP-3 iso-2022-jp-ms cp50220 cp50221 cp50222 csISO2022JP", japanese.ISO2022JP, "確認コードは482913"},
		{"euc-kr ks_c_5601-1987 cp949 ms949 uhc windows-949", korean.EUCKR, "똠방각하"},
		{"utf-16", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "Ваш код"},
		{"utf-16le", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "Ваш код"},
		{"utf-32 ucs-4", utf32.UTF32(utf32.LittleEndian, utf32.UseBOM), "Ваш код"},
		{"utf-32le", utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "Ваш код"},
		{"utf-32be", utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), "Ваш код"},
		{"utf-8 us-ascii iso-8859-1", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "Ваш код"}, // its byte order mark decides
		{"iso-8859-1 us-ascii windows-1252", encoding.Nop, "Grüße, 验证码"},                              // UTF-8, whatever the labels
	} {
		b, err := c.enc.NewEncoder().String(c.text)
		if err != nil {
			t.Fatal(c.labels, err)
		}
		for label := range strings.FieldsSeq(c.labels) {
			doc := Parse([]byte("Content-Type: text/plain; charset=\"" + label + "\"\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(b))))
			if doc.Text != c.text || doc.IsDegraded {
				t.Errorf("%s: %q, degraded %v, want %q", label, doc.Text, doc.IsDegraded, c.text)
			}
		}
	}
	for _, label := range []string{"x-nobody", "iso-8859-1 (Latin 1)", "macgreek"} {
		want := label != "iso-8859-1 (Latin 1)"
		if doc := Parse([]byte("Content-Type: text/plain; charset=\"" + label + "\"\n\ncaf\xe9")); doc.Text != "café" || doc.IsDegraded != want {
			t.Errorf("%s: %q, degraded %v", label, doc.Text, doc.IsDegraded)
		}
	}
}

func TestMarksInHTML(t *testing.T) {
	for _, c := range []struct{ html, want string }{
		{"<meta charset=windows-1251><p>\xca\xee\xe4", "Код"},
		{"<meta http-equiv='Content-Type' content='text/html; charset=koi8-r'>\xeb\xcf\xc4", "Код"},
		{"<meta charset=utf-16><p>Код", "Код"}, // impossible
		{"<meta charset=utf-16le><p>Код", "Код"},
	} {
		if doc := Parse([]byte("Content-Type: text/html\n\n" + c.html)); doc.Text != c.want {
			t.Errorf("%q: %q, want %q", c.html, doc.Text, c.want)
		}
	}
}

// TestCharsetOfAPage checks that a page's own charset is used if the header's cannot be right.
func TestCharsetOfAPage(t *testing.T) {
	encoded := func(enc encoding.Encoding, text string) string {
		b, err := enc.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	meta := func(name string) string { return `<meta charset="` + name + `">` }
	const old = `<meta http-equiv="Content-Type" content="text/html; charset=`
	for _, c := range []struct{ header, page, text string }{
		{"; charset=us-ascii", meta("gbk") + encoded(simplifiedchinese.GBK, "您的验证码"), "您的验证码"},
		{"; charset=\"US-ASCII\"", old + `gb2312">` + encoded(simplifiedchinese.GBK, "您的验证码"), "您的验证码"},
		{"; charset=ANSI_X3.4-1968", meta("koi8-r") + encoded(charmap.KOI8R, "код"), "код"},
		{"; charset=us-ascii", meta("iso-2022-jp") + encoded(japanese.ISO2022JP, "確認コード"), "確認コード"},
		{"", meta("shift_jis") + encoded(japanese.ShiftJIS, "確認コード"), "確認コード"},
		{"; charset=utf-8", meta("windows-1251") + encoded(charmap.Windows1251, "Ваш код"), "Ваш код"},
		{"; charset=us-ascii", meta("gbk") + "您的验证码", "您的验证码"}, // was converted
		{"; charset=utf-8", meta("gbk") + "您的验证码", "您的验证码"},
		{"; charset=us-ascii", "caf\xe9", "café"}, // no meta
		{"; charset=us-ascii", meta("gbk") + "code", "code"},
		{"; charset=koi8-r", meta("gbk") + encoded(charmap.KOI8R, "код"), "код"}, // may be right
	} {
		if doc := Parse([]byte("Content-Type: text/html" + c.header + "\n\n" + c.page)); doc.Text != c.text {
			t.Errorf("%q: %q, want %q", c.header, doc.Text, c.text)
		}
	}
}
