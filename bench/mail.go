package bench

import (
	"bytes"
	"fmt"
	"time"
)

// mailSize is the length of a generated mail on the wire, in bytes.
const mailSize = 2048

// The places in a rendered template that differ from mail to mail, of the widths that are
// put there, so that every mail has the same length.
const (
	codeMark = "@@CODE" // six digits
	idMark   = "00000000000000000000"
)

// otpMail is a sign-in mail as services send it, text and HTML, all lines ended by CRLF,
// finished by the final dot (RFC 5321 section 4.5.2; no line starts with a dot).
const otpMail = "From: Example Accounts <no-reply@accounts.example.test>\r\n" +
	"To: <you@example.test>\r\n" +
	"Subject: Confirm your sign-in to Example\r\n" +
	"Date: %s\r\n" +
	"Message-ID: <" + idMark + "@accounts.example.test>\r\n" +
	"MIME-Version: 1.0\r\n" +
	"Content-Type: multipart/alternative; boundary=\"=_part\"\r\n" +
	"\r\n" +
	"--=_part\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\n" +
	"Content-Transfer-Encoding: 7bit\r\n" +
	"\r\n" +
	"Hello,\r\n\r\nYour verification code is " + codeMark + ".\r\n\r\n" +
	"It is valid for ten minutes. If you did not try to sign in, you can ignore\r\n" +
	"this mail, or visit https://accounts.example.test/security\r\n" +
	"\r\n" +
	"--=_part\r\n" +
	"Content-Type: text/html; charset=utf-8\r\n" +
	"Content-Transfer-Encoding: 7bit\r\n" +
	"\r\n" +
	"<!doctype html>\r\n<html><head><style>\r\n" +
	"body { font-family: sans-serif; color: #202124; margin: 0; padding: 24px }\r\n" +
	"p.code { font-size: 32px; letter-spacing: 4px; font-weight: bold }\r\n" +
	"p.small { color: #5f6368; font-size: 12px }\r\n" +
	"</style></head><body>\r\n" +
	"<h1>Confirm your sign-in</h1>\r\n" +
	"<p>Your verification code is</p>\r\n" +
	"<p class=\"code\">" + codeMark + "</p>\r\n" +
	"<p>It is valid for ten minutes. If you did not try to sign in, you can ignore\r\n" +
	"this mail, or <a href=\"https://accounts.example.test/security\">tell us</a>.</p>\r\n" +
	"%s" +
	"<p class=\"small\">Example Ltd, Example Street, Exampletown</p>\r\n" +
	"</body></html>\r\n" +
	"--=_part--\r\n" +
	".\r\n"

// filler is a line of HTML; as many as fit bring a mail to its size.
const filler = "<p class=\"small\">You get this mail because somebody signs in with it.</p>\r\n"

// mailTemplate renders mails that differ in code and Message-ID only. Rendering costs one
// copy and a few small ones.
type mailTemplate struct {
	text  []byte
	codes []int // offsets of codeMark
	id    int   // offset of idMark
}

// newMailTemplate makes a template of about size bytes, at least as long as its fixed text.
func newMailTemplate(date time.Time, size int) *mailTemplate {
	stamp := date.UTC().Format(time.RFC1123Z)
	bare := len(fmt.Sprintf(otpMail, stamp, ""))
	lines := max(size-bare, 0) / len(filler)
	t := &mailTemplate{text: fmt.Appendf(nil, otpMail, stamp, bytes.Repeat([]byte(filler), lines))}
	t.id = bytes.Index(t.text, []byte(idMark))
	for at := 0; ; {
		i := bytes.Index(t.text[at:], []byte(codeMark))
		if i < 0 {
			return t
		}
		t.codes = append(t.codes, at+i)
		at += i + len(codeMark)
	}
}

// render appends the mail that carries a code; id, at most idMark's width, makes the
// Message-ID.
func (t *mailTemplate) render(buf []byte, code, id string) []byte {
	start := len(buf)
	buf = append(buf, t.text...)
	for _, at := range t.codes {
		copy(buf[start+at:], code)
	}
	copy(buf[start+t.id+len(idMark)-len(id):], id) // right-aligned, or 1 and 10 would be alike
	return buf
}

// codeOf is the n-th code of a run: six digits, none twice among the first 900,000 (the
// step has no factor in common with that number).
func codeOf(n int) string {
	return fmt.Sprintf("%06d", 100_000+(n*77_773+12_345)%900_000)
}
