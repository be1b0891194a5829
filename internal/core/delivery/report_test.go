package delivery

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// dsn wraps a status part in a report as RFC 3464 requires.
func dsn(status string) string {
	return "From: MAILER-DAEMON@mx.example\r\nSubject: Undelivered Mail\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n" +
		"--b\r\nContent-Type: text/plain\r\n\r\nSorry.\r\n" +
		"--b\r\nContent-Type: message/delivery-status\r\n\r\n" + status +
		"\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nMessage-ID: <m1@inbox.example>\r\nSubject: s\r\n\r\nbody\r\n--b--\r\n"
}

const postfixStatus = "Reporting-MTA: dns; mx.example\r\nX-Postfix-Queue-ID: 1\r\n\r\n" +
	"Final-Recipient: rfc822; bob@y.example\r\nOriginal-Recipient: rfc822;Bob@x.example\r\nAction: failed\r\nStatus: 5.1.1\r\n" +
	"Remote-MTA: dns; mx.y.example\r\nDiagnostic-Code: smtp; 550 5.1.1 <bob@y.example>: Recipient address\r\n    rejected: User unknown\r\n"

func TestReadReport(t *testing.T) {
	bob := RecipientReport{
		Recipient: "Bob@x.example", FinalRecipient: "bob@y.example", Action: ActionFailed, Status: "5.1.1",
		Diagnostic: "550 5.1.1 <bob@y.example>: Recipient address rejected: User unknown", RemoteMTA: "mx.y.example",
	}
	for _, c := range []struct {
		name, raw string
		want      StatusReport
	}{
		{"postfix", dsn(postfixStatus), StatusReport{"mx.example", "m1@inbox.example", true, []RecipientReport{bob}}},
		{"LF and lower case", strings.ReplaceAll(strings.Replace(dsn(postfixStatus), "Action: failed", "ACTION:Failed (really)", 1), "\r\n", "\n"),
			StatusReport{"mx.example", "m1@inbox.example", true, []RecipientReport{bob}}},
		{"without blank lines", dsn("Reporting-MTA: dns; mx.example\r\nFinal-Recipient: rfc822; <a@x>\r\nStatus: 4.2.2 (full)\r\nFinal-Recipient: b@x\r\nAction: relayed\r\nDiagnostic-Code: smtp; 250 2.1.5 ok"),
			StatusReport{"mx.example", "m1@inbox.example", true, []RecipientReport{
				{Recipient: "a@x", FinalRecipient: "a@x", Action: ActionDelayed, Status: "4.2.2"},
				{Recipient: "b@x", FinalRecipient: "b@x", Action: ActionRelayed, Status: "2.1.5", Diagnostic: "250 2.1.5 ok"},
			}}},
		{"code only in the diagnostic", dsn("\r\nFinal-Recipient: rfc822; a@x\r\nDiagnostic-Code: X-Notes; 550 5.7.1 from 10.5.1.1\x01\r\n"),
			StatusReport{"", "m1@inbox.example", true, []RecipientReport{{Recipient: "a@x", FinalRecipient: "a@x", Action: ActionFailed, Status: "5.7.1", Diagnostic: "550 5.7.1 from 10.5.1.1"}}}},
		{"exim", "From: Mail Delivery System <Mailer-Daemon@x.example>\nSubject: Mail delivery failed: returning message to sender\nX-Failed-Recipients: a@y.example, b@y.example\n\n" +
			"A message that you sent could not be delivered.\n\n  a@y.example\n    host mx.y.example [1.5.1.2]: 550 5.7.1 rejected\n",
			StatusReport{"", "", false, []RecipientReport{
				{Recipient: "a@y.example", FinalRecipient: "a@y.example", Action: ActionFailed, Status: "5.7.1", Diagnostic: "host mx.y.example [1.5.1.2]: 550 5.7.1 rejected"},
				{Recipient: "b@y.example", FinalRecipient: "b@y.example", Action: ActionFailed, Status: "5.7.1", Diagnostic: "host mx.y.example [1.5.1.2]: 550 5.7.1 rejected"},
			}}},
		{"qmail", "From: MAILER-DAEMON@q.example\nSubject: failure notice\n\nHi. This is the qmail-send program at q.example.\n\n<a@y.example>:\n1.2.3.4 does not like recipient.\nRemote host said: 550 no such user\n\n" +
			"<b@y.example>:\nThis address no longer accepts mail. (#5.2.1)\n\n--- Below this line is a copy of the message.\n\nTo: <z@y.example>\n",
			StatusReport{"", "", false, []RecipientReport{
				{Recipient: "a@y.example", FinalRecipient: "a@y.example", Action: ActionFailed, Diagnostic: "1.2.3.4 does not like recipient. Remote host said: 550 no such user"},
				{Recipient: "b@y.example", FinalRecipient: "b@y.example", Action: ActionFailed, Status: "5.2.1", Diagnostic: "This address no longer accepts mail. (#5.2.1)"},
			}}},
		{"two in a list", "From: Mailer-Daemon@x.example\nSubject: Mail delivery failed\n\n  a@y.example\n  b@y.example\n    Unrouteable address\n",
			StatusReport{"", "", false, []RecipientReport{
				{Recipient: "a@y.example", FinalRecipient: "a@y.example", Action: ActionFailed},
				{Recipient: "b@y.example", FinalRecipient: "b@y.example", Action: ActionFailed, Diagnostic: "Unrouteable address"},
			}}},
		{"a reply that names the recipient again", "From: MAILER-DAEMON@y.example\nSubject: Failure Notice\n\n<a@y.example>:\n554: delivery error: no such account (a@y.example)\n",
			StatusReport{"", "", false, []RecipientReport{{Recipient: "a@y.example", FinalRecipient: "a@y.example", Action: ActionFailed, Diagnostic: "554: delivery error: no such account (a@y.example)"}}}},
		{"on the recipient's own line", "From: <>\nSubject: Undelivered Mail\n\n<a@y.example>: host mx.y.example said: 550 5.1.1 no\n",
			StatusReport{"", "", false, []RecipientReport{{Recipient: "a@y.example", FinalRecipient: "a@y.example", Action: ActionFailed, Status: "5.1.1", Diagnostic: "host mx.y.example said: 550 5.1.1 no"}}}},
		{"delay in prose", "From: postmaster@q.example\nSubject: Warning: message 1 delayed 24 hours\n\nstill trying\n",
			StatusReport{"", "", false, []RecipientReport{{Action: ActionDelayed}}}},
	} {
		got, ok := ReadReport([]byte(c.raw))
		if !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", c.name, ok, got, c.want)
		}
	}
}

// TestReadReportOfPostfix reads a report by Postfix 3.7 about two of three recipients.
func TestReadReportOfPostfix(t *testing.T) {
	raw, err := os.ReadFile("testdata/postfix.eml")
	if err != nil {
		t.Fatal(err)
	}
	r, ok := ReadReport(raw)
	if !ok || !r.IsStandard || r.MessageID != "m1@inbox.example" || r.ReportingMTA != "pf.dest.test" || len(r.Recipients) != 2 {
		t.Fatalf("%v %+v", ok, r)
	}
	for i, want := range []string{
		"bad@dest.test failed hard 550 5.1.1 <bad@dest.test>: Recipient address rejected: User unknown",
		"full@dest.test failed soft 552 5.2.2 Mailbox full",
	} {
		p := r.Recipients[i]
		got := p.Recipient + map[bool]string{true: " failed", false: " other"}[p.Action == ActionFailed] + map[bool]string{true: " hard ", false: " soft "}[p.IsHard()] + p.Reason()
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestReasons(t *testing.T) {
	for _, c := range []struct {
		status, diagnostic, reason string
		hard                       bool
	}{
		{"", "", "The message bounced without a reason", false},
		{"5.1.1", "", "The mailbox does not exist (5.1.1)", true},
		{"5.1.1", "550 no such user", "5.1.1 550 no such user", true},
		{"5.1.1", "550 5.1.1 no such user", "550 5.1.1 no such user", true},
		{"", "Unrouteable address", "Unrouteable address", true},
		{"5.2.2", "full", "5.2.2 full", false},
		{"5.3.4", "", "The message is too large for the server (5.3.4)", false},
		{"5.6.1", "", "The content of the message was refused (5.6.1)", false},
		{"4.4.7", "expired", "4.4.7 expired", false},
	} {
		p := RecipientReport{Status: c.status, Diagnostic: c.diagnostic}
		if p.Reason() != c.reason || p.IsHard() != c.hard {
			t.Errorf("%+v: %q %v", c, p.Reason(), p.IsHard())
		}
	}
}

func TestNoReport(t *testing.T) {
	for name, raw := range map[string]string{
		"empty":           "",
		"a person":        "From: a@x\nSubject: Undeliverable offers\n\n<b@y> 550 5.1.1\n",
		"a holiday":       "From: postmaster@x\nSubject: Automatic reply\nAuto-Submitted: auto-replied\n\naway\n",
		"empty status":    strings.Replace(dsn(""), "Subject: Undelivered Mail", "Subject: x", 1),
		"a forwarded one": "From: a@x\nSubject: Fwd: Undelivered Mail\n\n<b@y>: 550\n",
		"a read receipt":  strings.NewReplacer("delivery-status", "disposition-notification", "Undelivered Mail", "Read").Replace(dsn(postfixStatus)),
	} {
		if r, ok := ReadReport([]byte(raw)); ok {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestReportStorms would take minutes with a quadratic reader.
func TestReportStorms(t *testing.T) {
	for name, raw := range map[string]string{
		"recipients": dsn(strings.Repeat("Final-Recipient: rfc822; a@x\r\nAction: failed\r\n\r\n", 100_000)),
		"folds":      dsn("Final-Recipient: rfc822; a@x\r\nDiagnostic-Code: smtp;" + strings.Repeat("\r\n x", 300_000)),
		"blanks":     dsn(strings.Repeat("a: b\r\n  \r\n", 300_000)),
		"brackets":   "From: mailer-daemon@x\nSubject: failure notice\n\n" + strings.Repeat("<", 1<<20),
		"colons":     dsn(strings.Repeat(":", 1<<20)),
		"reasons":    reported(strings.Repeat("a@x (generated from b@x)\n", 50_000), strings.Repeat("Final-Recipient: rfc822; c@x\nStatus: 5.0.0\n\n", 200)),
		"mentions":   reported(strings.Repeat(" c@x (\n", 1<<20), strings.Repeat("Final-Recipient: rfc822; c@x\nStatus: 5.0.0\n\n", 200)),
		"lines":      reported(strings.Repeat("\n", 1<<20), strings.Repeat("Final-Recipient: rfc822; c@x\nStatus: 5.0.0\n\n", 200)),
	} {
		r, _ := ReadReport([]byte(raw))
		if len(r.Recipients) > maxReportRecipients {
			t.Errorf("%s: %d recipients", name, len(r.Recipients))
		}
	}
}

func FuzzReadReport(f *testing.F) {
	f.Add([]byte(dsn(postfixStatus)))
	f.Add([]byte(dsn("Final-Recipient: a@x\n b\n \nStatus: 5")))
	f.Add([]byte(reported("  a@x\n    (generated from b@x)\n    mailbox is full\n", "Final-Recipient: rfc822;b@x\nAction: delayed\nStatus: 4.4.7\nDiagnostic-Code: x-unix; 5")))
	f.Add([]byte("From: MAILER-DAEMON\nSubject: failure notice\n\n<a@b>:\n550 5.1.1\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, ok := ReadReport(raw)
		if ok != (len(r.Recipients) > 0) || len(r.Recipients) > maxReportRecipients {
			t.Fatalf("%v %d", ok, len(r.Recipients))
		}
		for _, p := range r.Recipients {
			for _, s := range []string{p.Recipient, p.FinalRecipient, p.Diagnostic, p.RemoteMTA, p.Status} {
				if !utf8.ValidString(s) || len(s) > maxDiagnostic || strings.ContainsAny(s, "\r\n\x00") {
					t.Fatalf("%q", s)
				}
			}
			if why := p.Reason(); !hasWords(why) || strings.ContainsAny(why, "\r\n") {
				t.Fatalf("%+v is told as %q", p, why)
			}
			p.IsHard()
			if p.Status != "" && (enhancedCode(p.Status) != p.Status || p.Action == ActionUnknown && r.IsStandard) {
				t.Fatalf("%+v", p)
			}
		}
	})
}
