package message

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

// TestBase64ContinuesAfterPadding covers programs that encode a text in pieces and join them, and
// lists that append footers without encoding.
func TestBase64ContinuesAfterPadding(t *testing.T) {
	one, two := "SGVsbG8sCg==", "WW91ciBjb2RlIGlzIDQ4MjkxMwo="
	const both = "Hello,\nYour code is 482913\n"
	for _, c := range []struct{ body, want string }{
		{one + "\r\n" + two, both},
		{one + two, both},
		{one + "\n\n  " + two + "\n", both},
		{one + "\n" + strings.TrimRight(two, "="), both}, // the last piece lacks its padding
		{one + " " + two + "\n" + one, both + "Hello,\n"},
		{"SGVsbG8s=Cg==\n" + two, both}, // padding in the wrong place
		{one + "\n" + two[:24] + "\n" + two[24:], both},
		{one + "\n" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("long ", 60))), "Hello,\n" + strings.Repeat("long ", 60)},
		{one + "\n-- \nfooter", "Hello,\n"},
		{one + "\nfooter\n", "Hello,\n"},
		{one + "\n_______________________________________________\nlist mailing list\n", "Hello,\n"},
		{one + "\nSent from my phone\n", "Hello,\n"},
		{one + "\nhttps://list.example/unsubscribe\n", "Hello,\n"},
		{one + "\n" + two + "\nThis list is closed.\n" + two, both},
	} {
		for _, header := range []string{"Content-Type: text/plain", "Content-Type: application/pdf\nContent-Disposition: attachment"} {
			raw := []byte("From: a@b.example\n" + header + "\nContent-Transfer-Encoding: base64\n\n" + c.body)
			doc := Parse(raw)
			got := doc.Text
			if len(doc.Attachments) > 0 {
				content, _ := AttachmentBytes(raw, 1)
				got = string(content)
			}
			if got != c.want {
				t.Errorf("%q: %q, want %q", c.body, got, c.want)
			}
			checkDocument(t, raw, doc)
		}
	}
}

func TestEncodedWordsInPieces(t *testing.T) {
	for in, want := range map[string]string{
		"=?utf-8?B?5Lit5?= =?utf-8?B?paH?=":                      "中文", // a group split between two words
		"=?utf-8?B?5L?= =?utf-8?B?it5paH?=":                      "中文",
		"=?utf-8?B?5Lit5paH5L?= =?utf-8?B?it?= =?utf-8?B?5paH?=": "中文中文",
		"=?utf-8?B?5?= =?utf-8?B?Lit5paH?=":                      "中文",
		"=?utf-8?B?SGk?= =?utf-8?B?SGk?=":                        "HiHi", // each complete except for its padding
		"=?utf-8?B?SGVsbG8?= =?UTF-8?b?IQ?=":                     "Hello!",
		"=?utf-8?B?SGk=SGk=?=":                                   "HiHi",
		"=?utf-8?B?SGk=_SGk=?=":                                  "Hi", // no base64 follows
		"=?utf-8?B?5Lit5?= x =?utf-8?B?SGk?=":                    "中 x Hi",
		"=?utf-8?B?5Lit5?= =?utf-8?Q?!?=":                        "中!",
		"=?iso-2022-jp?B?GyRCJUY?= =?iso-2022-jp?B?lOSVIGyhC?=":  "テスト",
		"=?utf-8?B?5Lit5?= =?iso-8859-1?B?6Q?=":                  "中é",
	} {
		if got := decodeWords(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestUuencodedFilesOneAfterTheOther(t *testing.T) {
	raw := []byte("Content-Type: a/b\nContent-Transfer-Encoding: x-uuencode\n\n" + uuHello + "Regards, Ann\n" + uuHello + "bye\n")
	if got, ok := AttachmentBytes(raw, 1); !ok || string(got) != "hello worldhello world" {
		t.Errorf("%q, %t", got, ok)
	}
}

// FuzzBase64 checks that a file read in pieces equals the file read as a whole, and that pieces
// with padding between them lose nothing.
func FuzzBase64(f *testing.F) {
	f.Add([]byte("hello"), []byte("world!"))
	f.Add([]byte{0, 1, 2}, []byte{255})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		body := base64.StdEncoding.EncodeToString(one) + "\n" + base64.StdEncoding.EncodeToString(two)
		d := decoder{src: []byte(body), encoding: base64Encoding}
		if got := d.appendTo(nil, len(body)); !bytes.Equal(got, append(bytes.Clone(one), two...)) {
			t.Errorf("%q: %q", body, got)
		}
		raw := []byte("Content-Type: a/b\nContent-Transfer-Encoding: base64\n\n" + string(one) + "=" + string(two))
		checkDocument(t, raw, Parse(raw))
	})
}
