package message

import (
	"strings"
	"testing"
)

const uuHello = "begin 644 hello.txt\n+:&5L;&\\@=V]R;&0\n`\nend\n"

func TestFilesWrittenIntoATextAreAttachments(t *testing.T) {
	for _, header := range []string{"", "Content-Type: text/plain\n", "Content-Transfer-Encoding: 8bit\n"} {
		raw := []byte(header + "\nSee the file.\n\n" + uuHello + "\nRegards\n" + strings.ReplaceAll(uuHello, "hello.txt", "../two.txt"))
		doc := Parse(raw)
		if len(doc.Attachments) != 2 || doc.Attachments[0].Filename != "hello.txt" || doc.Attachments[1].Filename != "two.txt" || doc.Attachments[0].Size != 11 {
			t.Fatalf("%q: %+v", header, doc.Attachments)
		}
		if doc.Text != "See the file.\n\n\nRegards\n" || doc.IsDegraded {
			t.Errorf("%q: text %q, degraded %t", header, doc.Text, doc.IsDegraded)
		}
		for id := 1; id <= 2; id++ {
			if b, ok := AttachmentBytes(raw, id); !ok || string(b) != "hello world" {
				t.Errorf("%q: file %d is %q, %t", header, id, b, ok)
			}
		}
	}
}

func TestTextThatOnlyLooksLikeAFileStays(t *testing.T) {
	for _, body := range []string{
		"begin 644 x\nThis is a sentence of somebody.\nend\n",
		"begin with a plan\n\nend\n",
		"begin 644 x\n+:&5L;&\\@=V]R;&0\n", // no end
		"begin 999 x\n`\nend\n",
		" " + uuHello,
		"> " + strings.ReplaceAll(uuHello, "\n", "\n> "),
	} {
		if doc := Parse([]byte("\n" + body)); len(doc.Attachments) != 0 || doc.Text != body {
			t.Errorf("%q: %q, %+v", body, doc.Text, doc.Attachments)
		}
	}
}
