package ingest_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/icalendar"
	"inboxd/internal/testutil/budget"
)

// file is a calendar file; more are lines of its event.
func file(method, title string, more ...string) string {
	lines := []string{"BEGIN:VCALENDAR", "VERSION:2.0"}
	if method != "" {
		lines = append(lines, "METHOD:"+method)
	}
	lines = append(lines, "BEGIN:VEVENT", "UID:u1@corp.test", "DTSTART:20260410T100000Z", "SUMMARY:"+title, "ORGANIZER:mailto:ada@corp.test")
	return strings.Join(append(append(lines, more...), "END:VEVENT", "END:VCALENDAR", ""), "\r\n")
}

// leaf is a part with its header lines.
func leaf(header, body string) string { return header + "\r\n\r\n" + body }

func multi(leaves ...string) []byte {
	return []byte("From: Ada <ada@corp.test>\r\nMessage-ID: <m1@corp.test>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n" +
		strings.Join(leaves, "\r\n--b\r\n") + "\r\n--b--\r\n")
}

// first is the first thing that a message says about a meeting; nil: nothing.
func first(m *ingest.IncomingMessage) *calendar.Invitation {
	if len(m.Invitations) == 0 {
		return nil
	}
	return m.Invitations[0]
}

func encoded(b []byte) string {
	text := base64.StdEncoding.EncodeToString(b)
	var lines strings.Builder
	for len(text) > 76 {
		lines.WriteString(text[:76] + "\r\n")
		text = text[76:]
	}
	return lines.String() + text
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

const typed = "Content-Type: text/calendar; charset=utf-8; method=REQUEST"

// TestWhichPartIsTheInvitation checks that it is the first part with a METHOD.
func TestWhichPartIsTheInvitation(t *testing.T) {
	text := leaf("Content-Type: text/plain", "You are invited.")
	bigger := file("REQUEST", "a", "X-A:"+strings.Repeat("a", icalendar.MaxBytes))
	for _, c := range []struct {
		name string
		mail []byte
		want string // METHOD and title; empty: none
		cut  bool
	}{
		{"by type", multi(text, leaf(typed, file("REQUEST", "a"))), "REQUEST a", false},
		{"the other type, in capitals", multi(text, leaf("Content-Type: APPLICATION/ICS", file("Cancel", "a"))), "CANCEL a", false},
		{"by name", multi(text, leaf("Content-Type: application/octet-stream; name=\"Meeting.ICS\"", file("REQUEST", "a"))), "REQUEST a", false},
		{"by name, as an attached text", multi(text, leaf("Content-Type: text/plain\r\nContent-Disposition: attachment; filename*=utf-8''invite%2Eics", file("REQUEST", "a"))), "REQUEST a", false},
		{"another name", multi(text, leaf("Content-Type: text/plain; name=ics.txt", file("REQUEST", "a"))), "", false},
		{"the whole mail", append([]byte("From: a@b.test\r\n"+typed+"\r\n\r\n"), file("REQUEST", "a")...), "REQUEST a", false},
		{"a file without METHOD is passed over", multi(leaf("Content-Type: text/calendar", file("", "holidays")), leaf(typed, file("REQUEST", "b"))), "REQUEST b", false},
		{"nothing but files without METHOD", multi(leaf("Content-Type: text/calendar", file("", "holidays"))), "", false},
		{"however large", multi(leaf("Content-Type: text/calendar", strings.Replace(bigger, "METHOD:REQUEST\r\n", "", 1)), leaf(typed, file("REQUEST", "b"))), "REQUEST b", false},
		{"an empty METHOD is none", multi(leaf("Content-Type: text/calendar", file(" ", "a")), leaf(typed, file("PUBLISH", "b"))), "PUBLISH b", false},
		{"the first of two", multi(leaf(typed, file("REQUEST", "a")), leaf(typed, file("CANCEL", "b"))), "REQUEST a", false},
		{"the first, though it is broken", multi(leaf(typed, file("REQUEST", "a", "SEQUENCE:-1")), leaf(typed, file("REQUEST", "b"))), "REQUEST a", true},
		{"the first, though nobody can read it", multi(leaf(typed, file("REQUEST", "a", "UID:u2")[:60]), leaf(typed, file("REQUEST", "b"))), "", true},
		{"the parameter alone", multi(leaf("Content-Type: text/calendar; method=\"publish\"", file("", "a"))), "PUBLISH a", false},
		{"the property beats it", multi(leaf("Content-Type: text/calendar; method=CANCEL", file("REQUEST", "a"))), "REQUEST a", false},
		{"two METHODs", multi(leaf(typed, strings.Replace(file("REQUEST", "a"), "BEGIN:VEVENT", "METHOD:CANCEL\r\nBEGIN:VEVENT", 1))), "", true},
		{"thrice the same and another", multi(leaf(typed, strings.Replace(file("REQUEST", "a"), "BEGIN:VEVENT", strings.Repeat("method:request\r\n", 3)+"METHOD:CANCEL\r\nBEGIN:VEVENT", 1))), "", true},
		{"inside an attached message", multi(text, leaf("Content-Type: message/rfc822", "Subject: x\r\n"+typed+"\r\n\r\n"+file("REQUEST", "a"))), "", false},
		{"an attached message with such a name", multi(text, leaf("Content-Type: message/rfc822; name=a.ics", file("REQUEST", "a"))), "", false},
		{"in a digest", bytes.Replace(multi(leaf("", file("REQUEST", "a"))), []byte("multipart/mixed"), []byte("multipart/digest"), 1), "", false},
		{"deep inside", multi(leaf("Content-Type: multipart/alternative; boundary=c", "--c\r\n"+leaf(typed, file("REQUEST", "a"))+"\r\n--c--")), "REQUEST a", false},
		{"base64", multi(leaf(typed+"\r\nContent-Transfer-Encoding: base64", encoded([]byte(file("REQUEST", "Zürich"))))), "REQUEST Zürich", false},
		{"quoted-printable", multi(leaf(typed+"\r\nContent-Transfer-Encoding: quoted-printable", strings.ReplaceAll(file("REQUEST", "Z=C3=BCrich=\r\n am See"), "VERSION", "VERSI=\r\nON"))), "REQUEST Zürich am See", false},
		{"uuencoded in the text", append([]byte("From: a@b.test\r\n\r\nhello\r\n"), uuencoded("a.ics", file("REQUEST", "a"))...), "REQUEST a", false},
		{"ISO-8859-1", multi(leaf("Content-Type: text/calendar; charset=iso-8859-1", string(must(charmap.ISO8859_1.NewEncoder().Bytes([]byte(file("REQUEST", "Zürich"))))))), "REQUEST Zürich", false},
		{"no charset", multi(leaf("Content-Type: text/calendar", string(must(charmap.Windows1252.NewEncoder().Bytes([]byte(file("REQUEST", "Zürich"))))))), "REQUEST Zürich", false},
		{"a charset nobody knows", multi(leaf("Content-Type: text/calendar; charset=x-none", file("REQUEST", "Zürich"))), "REQUEST Zürich", false},
		{"UTF-16", multi(leaf("Content-Type: text/calendar; charset=utf-16\r\nContent-Transfer-Encoding: base64",
			encoded(must(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes([]byte(file("REQUEST", "家族\u200a\u200d")))))),
		), "REQUEST 家族\u200a\u200d", false},
		{"a fold inside a letter", multi(leaf(typed, file("REQUEST", "Z\xc3\r\n \xbcrich"))), "REQUEST Zürich", false},
		{"and a broken letter beside it", multi(leaf(typed, file("REQUEST", "Z\xc3\r\n \xbcrich", "LOCATION:\xc3"))), "REQUEST Zürich", false},
		{"a fold inside a letter, no charset", multi(leaf("Content-Type: text/calendar", file("REQUEST", "Z\xc3\r\n\t\xbcrich"))), "REQUEST Zürich", false},
		{"a fold inside a letter of Shift JIS", multi(leaf("Content-Type: text/calendar; charset=shift_jis", string(folded(must(japanese.ShiftJIS.NewEncoder().Bytes([]byte(file("REQUEST", "家族")))))))), "REQUEST 家族", false},
		{"a byte order mark", multi(leaf(typed, "\xef\xbb\xbf"+file("REQUEST", "a"))), "REQUEST a", false},
		{"too large", multi(leaf(typed, bigger), leaf(typed, file("REQUEST", "b"))), "", true},
		{"too many components", multi(leaf(typed, file("REQUEST", "a", strings.Repeat("BEGIN:VALARM\r\nEND:VALARM\r\n", 200)))), "", true},
		{"too deep", multi(leaf(typed, file("REQUEST", "a", strings.Repeat("BEGIN:X\r\n", 4)))), "", true},
		{"no organizer", multi(leaf(typed, strings.Replace(file("REQUEST", "a"), "ORGANIZER:mailto:ada@corp.test\r\n", "", 1))), "", false},
		{"no organizer of an answer", multi(leaf(typed, strings.Replace(file("REPLY", "a"), "ORGANIZER:mailto:ada@corp.test\r\n", "", 1))), "REPLY a", false},
		{"no organizer of a cancellation", multi(leaf(typed, strings.Replace(file("CANCEL", "a"), "ORGANIZER:mailto:ada@corp.test\r\n", "", 1))), "", false},
		{"no organizer of what is published", multi(leaf(typed, strings.Replace(file("PUBLISH", "a"), "ORGANIZER:mailto:ada@corp.test\r\n", "", 1))), "PUBLISH a", false},
		{"no UID", multi(leaf(typed, strings.Replace(file("REQUEST", "a"), "UID:u1@corp.test\r\n", "", 1))), "", true},
		{"a METHOD that nobody acts on", multi(leaf(typed, file("COUNTER", "a"))), "COUNTER a", false},
		{"a task", multi(leaf(typed, strings.ReplaceAll(file("REQUEST", "a"), "VEVENT", "VTODO"))), "", false},
		{"the eleventh file", multi(append(slices.Repeat([]string{leaf("Content-Type: text/calendar", file("", "a"))}, 10), leaf(typed, file("REQUEST", "a")))...), "", false},
	} {
		m := ingest.ParseMessage(envelope, c.mail)
		got := ""
		if inv := first(&m); inv != nil {
			got = inv.Method + " " + inv.Event.Title
		}
		if got != c.want || m.Content.Doc.IsDegraded != c.cut {
			t.Errorf("%s: %q, degraded %v", c.name, got, m.Content.Doc.IsDegraded)
		}
		if cmd := m.ReceiveFor("a@inbox.localhost"); !slices.Equal(cmd.Invitations, m.Invitations) {
			t.Errorf("%s: the command carries %v", c.name, cmd.Invitations)
		}
		if again := ingest.RereadContent(&inbox.Content{DocumentOmitted: true}, c.mail); again.Doc.IsDegraded != c.cut {
			t.Errorf("%s: read again, degraded %v", c.name, again.Doc.IsDegraded)
		}
	}
}

// TestSeveralMeetings checks that each event of a file is an invitation of its own, in order, all
// from the sender of the message. An invalid one marks the message.
func TestSeveralMeetings(t *testing.T) {
	three := file("PUBLISH", "Leg 2")
	for i, title := range []string{"Leg 3", "Leg 4"} {
		one := file("PUBLISH", title)
		one = one[strings.Index(one, "BEGIN:VEVENT"):strings.Index(one, "END:VCALENDAR")]
		three = strings.Replace(three, "END:VCALENDAR", strings.Replace(one, "u1@", string(rune('2'+i))+"@", 1)+"END:VCALENDAR", 1)
	}
	broken := strings.Replace(three, "DTSTART:20260410T100000Z\r\nSUMMARY:Leg 3", "DTSTART:soon\r\nSUMMARY:Leg 3", 1)
	for text, want := range map[string]string{three: "[Leg 2 Leg 3 Leg 4] false", broken: "[Leg 2 Leg 4] true"} {
		m := ingest.ParseMessage(ingest.Envelope{RcptTo: envelope.RcptTo, Verdict: vouched("corp.test", "From")}, multi(leaf(typed, text)))
		var titles []string
		for _, inv := range m.Invitations {
			titles = append(titles, inv.Event.Title)
			if inv.From != "ada@corp.test" || !inv.FromSigned {
				t.Errorf("%s is from %q, signed %v", inv.Event.Title, inv.From, inv.FromSigned)
			}
		}
		if got := fmt.Sprint(titles, m.Content.Doc.IsDegraded); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestJoinLinks checks that a file's links for joining a conference are added to those of the
// message, and stored with the meeting.
func TestJoinLinks(t *testing.T) {
	body := leaf("Content-Type: text/plain; charset=utf-8", "See https://a.test/1 first.")
	const html = "X-ALT-DESC;FMTTYPE=text/html:"
	for line, want := range map[string]string{
		"URL:https://meet.test/1":               "https://meet.test/1 [https://a.test/1 https://meet.test/1]",
		"CONFERENCE;VALUE=URI:https://a.test/1": "https://a.test/1 [https://a.test/1]",
		html + `<p>Dial in\, or <a href="https://meet.test/2?a=1&amp;b=2">Join</a></p>`:                "https://meet.test/2?a=1&b=2 [https://a.test/1 https://meet.test/2?a=1&b=2]",
		html + `<a href="https://x.test/help">Help</a> <a href="https://x.test/j/3">Join the call</a>`: "https://x.test/j/3 [https://a.test/1 https://x.test/help https://x.test/j/3]",
		html + `<a href="https://x.test/help">Help</a> <a href="https://x.test/about">About</a>`:       " [https://a.test/1 https://x.test/help https://x.test/about]",
		"URL:https://x.test/e\r\n" + html + `<a href="https://meet.test/4">Join</a>`:                   "https://x.test/e [https://a.test/1 https://x.test/e https://meet.test/4]",
		"URL:ftp://x.test/e": " [https://a.test/1]",
	} {
		raw := multi(body, leaf(typed, file("REQUEST", "a", line)))
		m := ingest.ParseMessage(envelope, raw)
		if got := fmt.Sprint(m.Invitations[0].Event.JoinURL, " ", m.Content.Doc.Links); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
		if again := ingest.RereadContent(&inbox.Content{DocumentOmitted: true, Calendar: &calendar.MessageEvent{}}, raw).Doc.Links; !slices.Equal(again, m.Content.Doc.Links) {
			t.Errorf("%s: read again %v", line, again)
		}
	}
}

// TestSignedTo checks that only an own address in a signed To or Cc counts as addressed.
func TestSignedTo(t *testing.T) {
	for _, row := range []struct {
		header string
		signed []string
		want   string
	}{
		{"To: A+x@inbox.localhost, b@far.test", []string{"To"}, "[A+x@inbox.localhost]"},
		{"To: a@inbox.localhost", []string{"Cc"}, "[]"},
		{"To: eve@far.test\r\nCc: \"B\" <b@inbox.localhost>", []string{"To", "Cc"}, "[b@inbox.localhost]"},
		{"To: \"a@inbox.localhost\" <eve@far.test>", []string{"To"}, "[]"},
		{"To: eve@far.test (a@inbox.localhost)", []string{"To"}, "[]"},
		{"To: other@inbox.localhost", []string{"To"}, "[]"},
	} {
		raw := bytes.Replace(multi(leaf(typed, file("REPLY", "a"))), []byte("MIME-Version"), []byte(row.header+"\r\nMIME-Version"), 1)
		env := ingest.Envelope{RcptTo: []string{"a@inbox.localhost", "b@inbox.localhost"}, Verdict: vouched("corp.test", append(row.signed, "From")...)}
		m := ingest.ParseMessage(env, raw)
		if got := fmt.Sprint(m.Invitations[0].SignedTo); got != row.want {
			t.Errorf("%s: %s, want %s", row.header, got, row.want)
		}
	}
}

// folded breaks a line inside the first character of two octets.
func folded(b []byte) []byte {
	at := bytes.IndexFunc(b, func(r rune) bool { return r >= 0x80 }) + 1
	return slices.Concat(b[:at], []byte("\r\n "), b[at:])
}

func uuencoded(name, text string) string {
	var b strings.Builder
	b.WriteString("begin 644 " + name + "\r\n")
	for rest := []byte(text); len(rest) > 0; {
		line := rest[:min(45, len(rest))]
		rest = rest[len(line):]
		b.WriteByte(byte(' ' + len(line)))
		for line = append(slices.Clone(line), 0, 0); len(line) > 2; line = line[3:] {
			for _, v := range []byte{line[0] >> 2, line[0]<<4 | line[1]>>4, line[1]<<2 | line[2]>>6, line[2]} {
				b.WriteByte(' ' + v&63)
			}
		}
		b.WriteString("\r\n")
	}
	return b.String() + "`\r\nend\r\n"
}

// TestWhoInvites checks that From and Sender are each the only mailbox of the only field. They
// count as signed if a signature authenticates the domain and covers the required fields.
func TestWhoInvites(t *testing.T) {
	body := "MIME-Version: 1.0\r\n" + typed + "\r\nMessage-ID: <m1@corp.test>\r\n\r\n" + file("REQUEST", "a")
	usual := []string{"From", "Content-Type", "MIME-Version"}
	all := append(slices.Clone(usual), "Sender")
	const from, sender = "From: Ada <ada@corp.test>\r\n", "Sender: notify@cal.test\r\n"
	for _, c := range []struct {
		name   string
		header string
		signed ingest.AuthVerdict
		want   string // From and Sender, in brackets if signed
	}{
		{"signed", from, vouched("corp.test", usual...), "[ada@corp.test] "},
		{"nobody asked", from, ingest.AuthVerdict{}, "ada@corp.test "},
		{"another domain", from, vouched("evil.test", usual...), "ada@corp.test "},
		{"From not covered", from, vouched("corp.test", "Content-Type", "MIME-Version"), "ada@corp.test "},
		{"Content-Type not covered", from, vouched("corp.test", "From", "MIME-Version"), "ada@corp.test "},
		{"MIME-Version not covered", from, vouched("corp.test", "From", "Content-Type"), "[ada@corp.test] "},
		{"Sender signed", from + sender, vouched("cal.test", all...), "ada@corp.test [notify@cal.test]"},
		{"Sender not covered", from + sender, vouched("cal.test", usual...), "ada@corp.test notify@cal.test"},
		{"both, one domain", from + "Sender: x@corp.test\r\n", vouched("corp.test", all...), "[ada@corp.test] [x@corp.test]"},
		{"two From", from + "From: eve@evil.test\r\n", vouched("corp.test", all...), " "},
		{"two From, the same", from + from, vouched("corp.test", all...), " "},
		{"two in one From", "From: ada@corp.test, eve@evil.test\r\n", vouched("corp.test", all...), " "},
		{"two Sender", from + sender + sender, vouched("cal.test", all...), "ada@corp.test "},
		{"a group", "From: Staff: ada@corp.test;\r\n", vouched("corp.test", all...), " "},
		{"a group without members", "From: ada@corp.test:;\r\n", vouched("corp.test", all...), "ada@corp.test: "},
		{"a group beside it", "From: ada@corp.test, Staff:;\r\n", vouched("corp.test", all...), " "},
		{"an address as the name", "From: \"ada@corp.test\" <eve@evil.test>\r\n", vouched("corp.test", all...), "eve@evil.test "},
		{"an address in a comment", "From: eve@evil.test (ada@corp.test)\r\n", vouched("evil.test", all...), "[eve@evil.test] "},
		{"an encoded address", "From: =?utf-8?q?ada=40corp.test?=\r\n", vouched("corp.test", all...), " "},
		{"a homograph", "From: ada@c\u043erp.test\r\n", vouched("corp.test", all...), "ada@c\u043erp.test "},
		{"no From", "", vouched("corp.test", all...), " "},
		{"a name alone", "From: ada\r\n", vouched("", all...), "ada "},
		{"a line that is no field", from + "garbage\r\n", vouched("corp.test", all...), "ada@corp.test "},
		{"a header beyond what is read", from + "X-A: " + strings.Repeat("a ", 130<<10) + "\r\n", vouched("corp.test", all...), "ada@corp.test "},
		{"made a file by a field that is not signed", from + "Content-Disposition: inline; filename=a.ics\r\n", vouched("corp.test", usual...), "ada@corp.test "},
		{"by one that is", from + "Content-Disposition: inline; filename=a.ics\r\n", vouched("corp.test", append(usual, "Content-Disposition")...), "[ada@corp.test] "},
		{"made readable by a field that is not signed", from + "Content-Transfer-Encoding: 8bit\r\n", vouched("corp.test", usual...), "ada@corp.test "},
	} {
		m := ingest.ParseMessage(ingest.Envelope{RcptTo: envelope.RcptTo, Verdict: c.signed}, []byte(c.header+body))
		inv := first(&m)
		if inv == nil {
			if c.name != "a header beyond what is read" { // whose type is also beyond the limit
				t.Errorf("%s: no invitation", c.name)
			}
			continue
		}
		bracket := func(s string, signed bool) string {
			if signed {
				return "[" + s + "]"
			}
			return s
		}
		if got := bracket(inv.From, inv.FromSigned) + " " + bracket(inv.Sender, inv.SenderSigned); got != c.want || inv.MessageID != "m1@corp.test" {
			t.Errorf("%s: %q of %q", c.name, got, inv.MessageID)
		}
	}
}

// TestOwnLinesStay checks that the message's recipients are kept beyond 500 attendees.
func TestOwnLinesStay(t *testing.T) {
	var lines []string
	for i := range 600 {
		lines = append(lines, "ATTENDEE:mailto:guest"+string(rune('a'+i%26))+"@x.test")
	}
	lines = append(lines, "ATTENDEE:MAILTO:A+tag@INBOX.localhost", "ATTENDEE:mailto:b@inbox.localhost", "ATTENDEE:mailto:c@inbox.localhost")
	env := ingest.Envelope{RcptTo: []string{"a@inbox.localhost", "b+other@inbox.localhost"}}
	got := ingest.ParseMessage(env, multi(leaf(typed, file("REQUEST", "a", lines...)))).Invitations[0].Event.Attendees
	if len(got) != 502 || got[500].Email != "A+tag@INBOX.localhost" || got[501].Email != "b@inbox.localhost" {
		t.Errorf("%d attendees, the last %+v", len(got), got[len(got)-1])
	}
}

// TestLittleIsHeld checks that the discarded part of a file does not stay in memory.
func TestLittleIsHeld(t *testing.T) {
	pad := strings.Repeat(" ", 250<<10)
	raw := multi(leaf(typed, file("REQUEST", strings.Repeat("a", 250<<10), "LOCATION:"+strings.Repeat("b", 250<<10), "RRULE:FREQ=DAILY"+pad)))
	held := make([]*ingest.IncomingMessage, 64)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range held {
		m := ingest.ParseMessage(envelope, raw)
		if m.Invitations[0].Event.Recurrence.Rule != "FREQ=DAILY" {
			t.Fatalf("%+v", m.Invitations[0].Event.Recurrence)
		}
		held[i] = &ingest.IncomingMessage{Invitations: m.Invitations}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := int64(after.HeapAlloc-before.HeapAlloc) / int64(len(held)); each > 16<<10 {
		t.Errorf("%d octets for each", each)
	}
	runtime.KeepAlive(held)
}

// TestHostileFilesInMails checks that they are parsed within 100 ms of CPU and 32 MB, as in
// internal/mail/icalendar. Here the hostile part is around the file.
func TestHostileFilesInMails(t *testing.T) {
	full := func(head, unit, tail string) string {
		return head + strings.Repeat(unit, (icalendar.MaxBytes-len(head)-len(tail))/len(unit)) + tail
	}
	event := file("REQUEST", "a")
	head, tail := event[:strings.Index(event, "END:")], event[strings.Index(event, "END:"):]
	none := full("BEGIN:VCALENDAR\r\n", "A:\r\n", "")
	for name, raw := range map[string][]byte{
		"attendees":              multi(leaf(typed, full(head, "ATTENDEE:a\n", tail))),
		"broken letters":         multi(leaf(typed, full(head, "A:\xc3\n \xbc\xff\n", tail))),
		"Shift JIS":              multi(leaf("Content-Type: text/calendar; charset=shift_jis", full(head, "A:\x83\n \x5c\n", tail))),
		"ISO-2022-JP":            multi(leaf("Content-Type: text/calendar; charset=iso-2022-jp", full(head, "\x1b$B\x1b(B", tail))),
		"UTF-7":                  multi(leaf("Content-Type: text/calendar; charset=utf-7", full(head, "+AOk-", tail))),
		"quoted-printable":       multi(leaf(typed+"\r\nContent-Transfer-Encoding: quoted-printable", full(head, "=41:=0A", tail))),
		"base64":                 multi(leaf(typed+"\r\nContent-Transfer-Encoding: base64", full("", "QTo=", ""))),
		"three without a METHOD": multi(slices.Repeat([]string{leaf("Content-Type: text/calendar", none)}, 3)...),
	} {
		t.Run(name, func(t *testing.T) {
			took := budget.AtMost(t, budget.Of{CPU: 100 * time.Millisecond, Bytes: 32 << 20}, func() { ingest.ParseMessage(envelope, raw) })
			t.Logf("%v, %d KiB", took.CPU, took.Bytes>>10)
		})
	}
}

// FuzzInvitation parses arbitrary messages. Nothing panics, the results are within the limits, and
// a second parse gives the same document.
func FuzzInvitation(f *testing.F) {
	for _, raw := range [][]byte{
		multi(leaf(typed, file("REQUEST", "a"))),
		multi(leaf("Content-Type: text/calendar", file("", "a")), leaf("Content-Type: a/b; name=a.ics\r\nContent-Transfer-Encoding: base64", encoded([]byte(file("REPLY", "é"))))),
		append([]byte("From: a@b.test\r\nSender: c@d.test\r\nContent-Type: text/calendar; charset=utf-16; method=CANCEL\r\n\r\n"), file("", "a")...),
		multi(leaf("Content-Type: text/calendar; charset=iso-2022-jp", "BEGIN:VCALENDAR\nMETHOD:X\n")),
	} {
		f.Add(raw)
	}
	env := ingest.Envelope{RcptTo: []string{"a@inbox.localhost"}, Verdict: ingest.AuthVerdict{SignsFor: func(string, ...string) bool { return true }}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := ingest.ParseMessage(env, raw)
		if again := ingest.RereadContent(&inbox.Content{}, raw).Doc.IsDegraded; again != m.Content.Doc.IsDegraded {
			t.Errorf("degraded: %v, read again %v", !again, again)
		}
		inv := first(&m)
		if inv == nil {
			return
		}
		if inv.Method == "" || len(inv.Method) > 64 || inv.Event.UID == "" || inv.Event.Start.IsZero() || len(inv.Event.Title) > 4*icalendar.MaxTitle {
			t.Errorf("%+v", inv)
		}
		if inv.FromSigned && inv.From == "" || inv.SenderSigned && inv.Sender == "" {
			t.Errorf("nobody is vouched for: %+v", inv)
		}
	})
}

// BenchmarkReadInvitation compares a message with an invitation of 2 KB and a plain one of the same
// size.
func BenchmarkReadInvitation(b *testing.B) {
	body := file("REQUEST", "Quarterly review", "DESCRIPTION:"+strings.Repeat("What we said\\, and why. \r\n ", 55), "ATTENDEE;CN=Agent;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:a@inbox.localhost")
	raw := multi(leaf("Content-Type: text/plain; charset=utf-8", "You are invited."), leaf(typed, body))
	for name, raw := range map[string][]byte{"invitation": raw, "plain": bytes.ReplaceAll(raw, []byte("text/calendar"), []byte("text/plaintext")),
		"text": multi(leaf("Content-Type: text/plain; charset=utf-8", "You are invited."+body))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				ingest.ParseMessage(envelope, raw)
			}
		})
	}
}

// TestLocalMails checks that only a message without an SMTP session counts as sent by an inbox of
// this node.
func TestLocalMails(t *testing.T) {
	for helo, want := range map[string]bool{"": true, "unknown": false, "mx.corp.test": false} {
		got := ingest.ParseMessage(ingest.Envelope{Helo: helo}, multi(leaf(typed, file("REPLY", "a")))).Invitations[0]
		if got.IsLocal != want {
			t.Errorf("HELO %q: local %v", helo, got.IsLocal)
		}
	}
}
