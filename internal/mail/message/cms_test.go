package message

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
)

// tlv is one BER encoding of definite length, open one of indefinite length.
func tlv(tag byte, content ...string) string {
	joined := strings.Join(content, "")
	if len(joined) < 0x80 {
		return string([]byte{tag, byte(len(joined))}) + joined
	}
	return string(binary.BigEndian.AppendUint32([]byte{tag, 0x84}, uint32(len(joined)))) + joined
}

func open(tag byte, content ...string) string {
	return string([]byte{tag, 0x80}) + strings.Join(content, "") + "\x00\x00"
}

type encode func(tag byte, content ...string) string

// envelope is a SignedData around an encoded content.
func envelope(e encode, kind []byte, content string) string {
	return e(berSequence, string(signedData), e(berExplicit, e(berSequence, "\x02\x01\x01", e(0x31, tlv(berSequence, "\x06\x01\x2a")),
		e(berSequence, string(kind), content), e(0xa0, tlv(berSequence, "certificate")), tlv(0x31))))
}

func opaque(e encode, content string) string {
	return envelope(e, plainData, e(berExplicit, tlv(berOctets, content)))
}

func smime(header, cms string) string {
	return "Subject: s\n" + header + "\nContent-Disposition: attachment; filename=smime.p7m\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(cms))
}

const pkcs7 = "Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m"

func TestOpaqueSignatureIsRead(t *testing.T) {
	const text = "Content-Type: text/plain; charset=utf-8\r\n\r\nYour code is 482913"
	pieces := tlv(berOctets, text[:20]) + tlv(berOctetPieces, tlv(berOctets, text[20:40]), tlv(berOctets)) + tlv(berOctets, text[40:])
	for _, c := range []struct{ name, mail string }{
		{"DER", smime(pkcs7, opaque(tlv, text))},
		{"indefinite lengths", smime(pkcs7, opaque(open, text))},
		{"in pieces", smime(pkcs7, envelope(open, plainData, open(berExplicit, open(berOctetPieces, pieces))))},
		{"in pieces of definite length", smime(pkcs7, envelope(tlv, plainData, tlv(berExplicit, tlv(berOctetPieces, pieces))))},
		{"an old type", smime("Content-Type: application/x-pkcs7-mime", opaque(tlv, text))},
		{"no smime-type", smime("Content-Type: application/pkcs7-mime", opaque(tlv, text))},
		{"by its name", smime("Content-Type: application/octet-stream", opaque(tlv, text))},
		{"signed twice", smime(pkcs7, opaque(open, smime(pkcs7, opaque(tlv, text))))},
		{"in a multipart", multipartMail("mixed", section(base64.StdEncoding.EncodeToString([]byte(opaque(tlv, text))), pkcs7, "Content-Transfer-Encoding: base64"))},
		{"a page", smime(pkcs7, opaque(tlv, "Content-Type: text/html\n\n<p>Your code is <b>482913</b></p>"))},
	} {
		raw := []byte(c.mail)
		doc := Parse(raw)
		if doc.Text != "Your code is 482913" || doc.IsDegraded {
			t.Errorf("%s: text %q, degraded %t", c.name, doc.Text, doc.IsDegraded)
		}
		if doc.Attachments[0].Filename != "smime.p7m" {
			t.Errorf("%s: %+v", c.name, doc.Attachments)
		}
		checkDocument(t, raw, doc)
	}
}

func TestWhatIsNoOpaqueSignature(t *testing.T) {
	const text = "Content-Type: text/plain\n\nsecret"
	enveloped := strings.Replace(opaque(tlv, text), "\x07\x02", "\x07\x03", 1)
	whole := opaque(open, text)
	for name, cms := range map[string]string{
		"encrypted":          enveloped,
		"detached":           envelope(tlv, plainData, ""),
		"detached, BER":      envelope(open, plainData, ""),
		"a receipt":          envelope(tlv, []byte("\x06\x01\x2a"), tlv(berExplicit, tlv(berOctets, text))),
		"no octets":          envelope(tlv, plainData, tlv(berExplicit, tlv(berSequence, text))),
		"nothing":            "",
		"empty":              envelope(tlv, plainData, tlv(berExplicit, tlv(berOctets))),
		"cut in the front":   whole[:30],
		"without its front":  whole[2:],
		"pieces too deep":    envelope(tlv, plainData, tlv(berExplicit, strings.Repeat("\x24\x80", 100))),
		"sets too deep":      string(signedData) + strings.Repeat("\x31\x80", 1000),
		"a primitive, open":  envelope(tlv, plainData, tlv(berExplicit, "\x04\x80"+text)),
		"a length of 9 more": envelope(tlv, plainData, tlv(berExplicit, "\x04\x89"+text)),
	} {
		raw := []byte(smime(pkcs7, cms))
		if doc := Parse(raw); doc.Text != "" || len(doc.Attachments) != 1 {
			t.Errorf("%s: text %q, %+v", name, doc.Text, doc.Attachments)
		}
	}
	if doc := Parse([]byte(smime(pkcs7, whole[:strings.Index(whole, "secret")+3]))); doc.Text != "sec" || !doc.IsDegraded {
		t.Errorf("cut: %q, degraded %t", doc.Text, doc.IsDegraded)
	}
	deep := text
	for range maxSignatures + 1 {
		deep = smime(pkcs7, opaque(tlv, deep))
	}
	if doc := Parse([]byte(deep)); doc.Text != "" {
		t.Errorf("signed too often: %q", doc.Text)
	}
}

// TestFilesInsideASignature checks that files inside a signature are attachments with ids after
// those of the message, and that a calendar file inside is not used.
func TestFilesInsideASignature(t *testing.T) {
	inner := multipartMail("mixed", section("text"), section("aGFsbG8=", "Content-Type: application/pdf; name=a.pdf", "Content-Transfer-Encoding: base64"),
		section("BEGIN:VCALENDAR\nMETHOD:REQUEST\nEND:VCALENDAR", "Content-Type: text/calendar; method=REQUEST; name=b.ics"))
	raw := []byte(multipartMail("mixed",
		section(base64.StdEncoding.EncodeToString([]byte(opaque(tlv, inner))), pkcs7, "Content-Transfer-Encoding: base64"),
		section("x", "Content-Type: a/b; name=c.bin")))
	doc := new(ParsedMessage)
	_, calendars := ParseView(doc, raw)
	var names []string
	for _, a := range doc.Attachments {
		names = append(names, a.Filename)
	}
	if got := strings.Join(names, " "); got != "smime.p7m c.bin a.pdf b.ics" || doc.Text != "text" || len(calendars) != 0 {
		t.Errorf("%s, text %q, %d calendars", got, doc.Text, len(calendars))
	}
	if b, ok := AttachmentBytes(raw, 3); !ok || string(b) != "hallo" {
		t.Errorf("%q, %t", b, ok)
	}
	checkDocument(t, raw, doc)
}

func FuzzCMS(f *testing.F) {
	f.Add([]byte(opaque(tlv, "text")))
	f.Add([]byte(opaque(open, "\ntext")))
	f.Add([]byte(envelope(open, plainData, open(berExplicit, open(berOctetPieces, tlv(berOctets, "a"), tlv(berOctetPieces, tlv(berOctets, "b")))))))
	f.Fuzz(func(t *testing.T, cms []byte) {
		content, _, ok := signedContent(cms)
		if ok && len(content) == 0 || len(content) > len(cms) || len(content) > 0 && !bytes.Contains(cms, content[:1]) {
			t.Errorf("%d of %d octets, %t", len(content), len(cms), ok)
		}
		raw := []byte(smime(pkcs7, string(cms)))
		checkDocument(t, raw, Parse(raw))
	})
}
