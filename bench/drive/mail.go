package drive

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// MailSize is the length of a generated mail on the wire, in bytes.
const MailSize = 2048

// The places in a rendered template that differ from mail to mail, of the widths that are
// put there, so that every message has the same length.
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

// filler is a line of HTML; as many as fit bring a message to its size.
const filler = "<p class=\"small\">You get this mail because somebody signs in with it.</p>\r\n"

// Template renders messages that differ in code and Message-ID only. Rendering costs one
// copy and a few small ones.
type Template struct {
	text  []byte
	codes []int // offsets of codeMark
	ids   []int // offsets of idMark
}

// SignInMail makes a template of about size bytes, at least as long as its fixed text.
func SignInMail(date time.Time, size int) *Template {
	stamp := date.UTC().Format(time.RFC1123Z)
	bare := len(fmt.Sprintf(otpMail, stamp, ""))
	lines := max(size-bare, 0) / len(filler)
	return templateOf(fmt.Appendf(nil, otpMail, stamp, bytes.Repeat([]byte(filler), lines)))
}

func templateOf(text []byte) *Template {
	return &Template{text: text, codes: allOf(text, codeMark), ids: allOf(text, idMark)}
}

// allOf are the offsets of a mark.
func allOf(text []byte, mark string) (offsets []int) {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(mark))
		if i < 0 {
			return offsets
		}
		offsets = append(offsets, at+i)
		at += i + len(mark)
	}
}

// render appends the message that carries a code; id, at most idMark's width, makes the
// Message-ID.
func (t *Template) Render(buf []byte, code, id string) []byte {
	start := len(buf)
	buf = append(buf, t.text...)
	for _, at := range t.codes {
		copy(buf[start+at:], code)
	}
	for _, at := range t.ids {
		copy(buf[start+at+len(idMark)-len(id):], id) // right-aligned, or 1 and 10 would be alike
	}
	return buf
}

// Codes is how many messages of a run have a code of their own: 100000 to 999999.
const Codes = 900_000

// CodeOf is the n-th code of a run: six digits, none twice among the first Codes (the step has no
// factor in common with that number).
func CodeOf(n int) string {
	return fmt.Sprintf("%06d", 100_000+(n*77_773+12_345)%Codes)
}

// mailHead is a message around a short text and what comes behind it.
const mailHead = "From: Ada <ada@corp.example.test>\r\nTo: <you@example.test>\r\nSubject: Invitation: Quarterly review\r\nDate: %s\r\n" +
	"Message-ID: <" + idMark + "@corp.example.test>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=\"=_part\"\r\n\r\n" +
	"--=_part\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nYou are invited to the quarterly review.\r\n%s--=_part--\r\n.\r\n"

// invitationHead and invitationTail are around the description of a meeting.
const invitationHead = "--=_part\r\nContent-Type: text/calendar; charset=utf-8; method=REQUEST\r\n\r\n" +
	"BEGIN:VCALENDAR\r\nPRODID:-//Example//Calendar//EN\r\nVERSION:2.0\r\nMETHOD:REQUEST\r\nBEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\n" +
	"BEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r\nEND:STANDARD\r\n" +
	"BEGIN:DAYLIGHT\r\nDTSTART:19700329T020000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\nEND:DAYLIGHT\r\nEND:VTIMEZONE\r\n" +
	"BEGIN:VEVENT\r\nUID:" + idMark + "@corp.example.test\r\nDTSTAMP:%s\r\nSEQUENCE:0\r\nDTSTART;TZID=Europe/Berlin:%sT100000\r\nDTEND;TZID=Europe/Berlin:%[2]sT110000\r\n" +
	"SUMMARY:Quarterly review\r\nLOCATION:Room 4.021\\, Berlin\r\nORGANIZER;CN=Ada:mailto:ada@corp.example.test\r\n" +
	"ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE;CN=You:mailto:\r\n you@example.test\r\nATTENDEE;PARTSTAT=ACCEPTED:mailto:jonas@fjord.example.test\r\n"

const invitationTail = "END:VEVENT\r\nEND:VCALENDAR\r\n"

// Invitation makes messages that each invite to a meeting in a month, by a file of about size
// bytes.
func Invitation(date time.Time, size int) *Template {
	const line = " What we said\\, and why we said it\\; what is to be done\\, and by whom.\r\n"
	head := invitationFor(date)
	lines := max(size-len(head)-len(invitationTail), 0) / len(line)
	return templateOf(fmt.Appendf(nil, mailHead, date.UTC().Format(time.RFC1123Z), head+"DESCRIPTION:\r\n"+strings.Repeat(line, lines)+invitationTail))
}

func invitationFor(date time.Time) string {
	return fmt.Sprintf(invitationHead, date.UTC().Format("20060102T150405Z"), date.AddDate(0, 1, 0).UTC().Format("20060102"))
}

// HostileInvitation makes invitations of 1 MiB that are all attendees with long names.
func HostileInvitation(date time.Time) *Template {
	line := "ATTENDEE;CN=\"" + strings.Repeat("^n", 100) + "\":mailto:a@b.example.test\r\n"
	head := invitationFor(date)
	return templateOf(fmt.Appendf(nil, mailHead, date.UTC().Format(time.RFC1123Z), head+strings.Repeat(line, (1<<20-len(head)-len(invitationTail))/len(line))+invitationTail))
}

// PlainText makes messages of about size bytes that are nothing but text.
func PlainText(date time.Time, size int) *Template {
	const line = "A line of a message that says nothing of a meeting, of ordinary length.\r\n"
	text := fmt.Appendf(nil, mailHead, date.UTC().Format(time.RFC1123Z), "")
	lines := max(size-len(text), 0) / len(line)
	return templateOf(fmt.Appendf(nil, mailHead, date.UTC().Format(time.RFC1123Z), strings.Repeat(line, lines)))
}

// Len is the length of a message on the wire, in bytes.
func (t *Template) Len() int { return len(t.text) }
