package ingest_test

import (
	"bytes"
	"strings"
	"testing"

	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/message"
)

// wire joins the lines of a message as transmitted.
func wire(lines ...string) []byte { return []byte(strings.Join(lines, "\r\n") + "\r\n") }

var envelope = ingest.Envelope{MailFrom: "bounce@shop.test", RcptTo: []string{"a@inbox.localhost"}}

// TestRead parses one message of each kind.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		name     string
		env      ingest.Envelope
		raw      []byte
		from     message.Mailbox
		subject  string
		code     string
		source   string
		text     string // that the document's text contains
		fromHTML bool
	}{
		{
			name: "multipart with a code in both parts",
			raw: wire("From: Shop <no-reply@shop.test>", "To: a@inbox.localhost", "Subject: Sign in to Shop", "MIME-Version: 1.0",
				`Content-Type: multipart/alternative; boundary="b"`, "",
				"--b", "Content-Type: text/plain; charset=utf-8", "", "Your verification code is 482913. It expires in 10 minutes.", "",
				"--b", "Content-Type: text/html; charset=utf-8", "", "<p>Your verification code is</p><h1>482913</h1>", "", "--b--"),
			from: message.Mailbox{Email: "no-reply@shop.test", Name: "Shop"}, subject: "Sign in to Shop",
			code: "482913", source: "text", text: "482913",
		},
		{
			name: "a picture of a code",
			raw: wire("From: no-reply@shop.test", "Subject: Your code", "MIME-Version: 1.0", "Content-Type: text/html; charset=utf-8", "",
				`<p>Your verification code is:</p><p><img src="https://shop.test/c.png" alt="482 913"></p>`),
			from: message.Mailbox{Email: "no-reply@shop.test"}, subject: "Your code",
			code: "482913", source: "alt", text: "482 913", fromHTML: true,
		},
		{
			name: "HTML alone",
			raw: wire("From: no-reply@shop.test", "Subject: Your code", "MIME-Version: 1.0", "Content-Type: text/html; charset=utf-8", "",
				"<style>.c{color:#771122}</style><p>Your verification code is:</p><h1>482913</h1><p style=\"display:none\">code 999999</p>"),
			from: message.Mailbox{Email: "no-reply@shop.test"}, subject: "Your code",
			code: "482913", source: "html", text: "482913", fromHTML: true,
		},
		{
			name: "code in the subject, encoded",
			raw:  wire("From: no-reply@shop.test", "Subject: =?utf-8?Q?482913_is_your_Shop_verification_code?=", "", "Welcome."),
			from: message.Mailbox{Email: "no-reply@shop.test"}, subject: "482913 is your Shop verification code",
			code: "482913", source: "subject", text: "Welcome.",
		},
		{
			name: "numbers without a code",
			raw:  wire("From: a@shop.test", "Subject: Invoice", "", "Invoice 482913 of 2026 over 120000 EUR is paid."),
			from: message.Mailbox{Email: "a@shop.test"}, subject: "Invoice", text: "Invoice",
		},
		{
			name: "a declared code that nobody vouches for",
			raw:  wire("From: a@shop.test", `OTP-Token: "482913"; origin="https://shop.test"`, "Subject: hello", "", "hello"),
			from: message.Mailbox{Email: "a@shop.test"}, subject: "hello", text: "hello",
		},
		{
			name: "no From: the envelope's sender stands in",
			raw:  wire("Subject: hello", "", "hello"),
			from: message.Mailbox{Email: "bounce@shop.test"}, subject: "hello", text: "hello",
		},
		{
			name: "null sender",
			env:  ingest.Envelope{RcptTo: envelope.RcptTo},
			raw:  wire("From: MAILER-DAEMON@shop.test", "Subject: Undelivered", "", "It failed."),
			from: message.Mailbox{Email: "MAILER-DAEMON@shop.test"}, subject: "Undelivered", text: "It failed.",
		},
		{
			name: "null sender without From",
			env:  ingest.Envelope{RcptTo: envelope.RcptTo},
			raw:  wire("Subject: Undelivered", "", "It failed."), subject: "Undelivered", text: "It failed.",
		},
		{
			name: "no bytes of a mail at all", raw: nil, from: message.Mailbox{Email: "bounce@shop.test"},
		},
		{
			name: "envelope sender that is not UTF-8",
			env:  ingest.Envelope{MailFrom: "\xff@shop.test", RcptTo: envelope.RcptTo},
			raw:  wire("Subject: hello", "", "hello"),
			from: message.Mailbox{Email: "\uFFFD@shop.test"}, subject: "hello", text: "hello",
		},
	} {
		env := c.env
		if env.RcptTo == nil {
			env = envelope
		}
		m := ingest.ParseMessage(env, c.raw)
		if m.From != c.from || m.Subject != c.subject || m.Content.OTP.Code != c.code || m.Content.OTP.Source != c.source {
			t.Errorf("%s: from %+v, subject %q, code %+v", c.name, m.From, m.Subject, m.Content.OTP)
		}
		if !strings.Contains(m.Content.Doc.Text, c.text) || m.Content.Doc.TextFromHTML != c.fromHTML || m.Content.Doc.IsDegraded {
			t.Errorf("%s: document %+v", c.name, m.Content.Doc)
		}
		if !bytes.Equal(m.Raw, c.raw) || m.Digest != (inbox.MessageDigest{}) {
			t.Errorf("%s: the bytes changed, or a digest for one recipient: %x", c.name, m.Digest)
		}
	}
}

// TestFor delivers one parsed message to each recipient.
func TestFor(t *testing.T) {
	env := ingest.Envelope{MailFrom: "s@shop.test", RcptTo: []string{"a@inbox.localhost", "b+tag@inbox.localhost"}}
	m := ingest.ParseMessage(env, wire("From: s@shop.test", "Subject: Your code is 482913", "", "Your code is 482913"))
	for _, rcpt := range env.RcptTo {
		cmd := m.ReceiveFor(rcpt)
		if cmd.EnvelopeTo != rcpt || cmd.Content != m.Content || cmd.From != m.From || cmd.Subject != m.Subject || &cmd.Raw[0] != &m.Raw[0] || cmd.Digest != m.Digest {
			t.Errorf("%s: %+v", rcpt, cmd)
		}
		if cmd.Digest == (inbox.MessageDigest{}) {
			t.Errorf("%s: no digest beside other recipients", rcpt)
		}
	}
}

// TestDigest checks that a repeated message has the same digest, whatever this node's own trace
// fields, and any other message has another.
func TestDigest(t *testing.T) {
	const trace, body = "Received: by inbox.localhost id 1\r\n", "Subject: x\r\n\r\nhello\r\n"
	offer := func(from string, trace, body string, rcpts ...string) inbox.MessageDigest {
		return ingest.ParseMessage(ingest.Envelope{MailFrom: from, RcptTo: rcpts, TraceLen: len(trace)}, []byte(trace+body)).Digest
	}
	first := offer("s@shop.test", trace, body, "a@x.test", "b@x.test")
	for name, again := range map[string]inbox.MessageDigest{
		"the same":             offer("s@shop.test", trace, body, "a@x.test", "b@x.test"),
		"another trace":        offer("s@shop.test", "Received: by inbox.localhost id 22\r\n", body, "a@x.test", "b@x.test"),
		"no trace":             offer("s@shop.test", "", body, "a@x.test", "b@x.test"),
		"recipients reordered": offer("s@shop.test", trace, body, "b@x.test", "a@x.test"),
	} {
		if again != first {
			t.Errorf("%s: not recognised", name)
		}
	}
	for name, other := range map[string]inbox.MessageDigest{
		"another sender":                offer("t@shop.test", trace, body, "a@x.test", "b@x.test"),
		"the null sender":               offer("", trace, body, "a@x.test", "b@x.test"),
		"another body":                  offer("s@shop.test", trace, body+"\r\n", "a@x.test", "b@x.test"),
		"another recipient":             offer("s@shop.test", trace, body, "a@x.test", "c@x.test"),
		"one recipient more":            offer("s@shop.test", trace, body, "a@x.test", "b@x.test", "c@x.test"),
		"a recipient with a tag":        offer("s@shop.test", trace, body, "a+t@x.test", "b@x.test"),
		"recipients run into the other": offer("s@shop.test", trace, body, `a@x.test" "b@x.test`, ""),
		"a trace of the sender's":       offer("s@shop.test", "", trace+body, "a@x.test", "b@x.test"),
	} {
		if other == first || other == (inbox.MessageDigest{}) {
			t.Errorf("%s: taken for the first", name)
		}
	}
}

// TestDigestKeepsTheEnvelope checks that parsing does not reorder the caller's recipients.
func TestDigestKeepsTheEnvelope(t *testing.T) {
	env := ingest.Envelope{RcptTo: []string{"b@x.test", "a@x.test"}}
	ingest.ParseMessage(env, wire("Subject: x", "", "hello"))
	if env.RcptTo[0] != "b@x.test" {
		t.Errorf("recipients are now %q", env.RcptTo)
	}
}

// TestLinkByItsText checks that the text of a link counts if its URL is a click counter's.
func TestLinkByItsText(t *testing.T) {
	const link = "https://click.shop.test/ls/c?upn=u001.9f8e7d6c5b4a39281706"
	m := ingest.ParseMessage(envelope, wire("From: a@shop.test", "Subject: Welcome", "MIME-Version: 1.0", "Content-Type: text/html", "",
		`<a href="https://shop.test/">Shop</a><p><a href="`+link+`"><b>Confirm</b> my address</a></p><a href="`+link+`2">Unsubscribe</a>`))
	if got := m.Content.OTP; got.VerificationLink != link || got.Code != "" {
		t.Errorf("%+v", got)
	}
}
