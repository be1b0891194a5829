package ingest_test

import (
	"slices"
	"strings"
	"testing"

	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/message"
)

// vouched is the verdict of a message that domain signed, with these fields covered.
func vouched(domain string, signed ...string) ingest.AuthVerdict {
	return ingest.AuthVerdict{
		Auth: inbox.Auth{CheckingServer: "inbox.test", SPF: inbox.AuthResult{ResultKeyword: "pass", Domain: "b.example.com"}, DKIM: inbox.AuthResult{ResultKeyword: "pass", Domain: domain},
			DMARC: inbox.AuthResult{ResultKeyword: "none"}, Signatures: []inbox.AuthSignature{{Word: "pass", Domain: domain, Selector: "s", Algorithm: "rsa-sha256"}}},
		SignsFor: func(asked string, covered ...string) bool {
			return asked == domain && !slices.ContainsFunc(covered, func(name string) bool { return !slices.Contains(signed, name) })
		},
	}
}

// TestAuthResults checks that the headers contain our own results once, at the top, and no forged
// ones. Others' results stay, and the raw message stays as received.
func TestAuthResults(t *testing.T) {
	raw := wire("Authentication-Results: inbox.test; dkim=pass header.d=bank.example",
		"authentication-results : (a \\) comment) INBOX.test. 1; spf=pass", "Subject: hello",
		`Authentication-Results: "inbox\.test"; spf=pass`, "Authentication-Results: =?utf-8?q?inbox.test?= ; spf=pass",
		"Authentication-Results: mx.inbox.test; spf=pass", "Authentication-Results: inbox.test",
		"Authentication-Results: mx.example.net; spf=fail", "Authentication-Results: notinbox.test; spf=fail", "Authentication-Results:", "", "hello")
	const ours = "inbox.test; spf=pass smtp.mailfrom=b.example.com; dkim=pass header.d=example.com header.s=s header.a=rsa-sha256; dmarc=none"
	want := []string{ours, "mx.example.net; spf=fail", "notinbox.test; spf=fail", ""}
	m := ingest.ParseMessage(ingest.Envelope{MailFrom: "a@b.example.com", RcptTo: []string{"a@inbox.test"}, Verdict: vouched("example.com")}, raw)
	again := ingest.RereadContent(&inbox.Content{Auth: m.Content.Auth, DocumentOmitted: true}, raw)
	for name, content := range map[string]*inbox.Content{"read": m.Content, "read again": again} {
		if got := content.Doc.HeaderValues("Authentication-Results"); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
		if first := content.Doc.Headers[0]; first.Value != ours || content.DocumentOmitted {
			t.Errorf("%s: on top is %+v", name, first)
		}
		if content.Doc.HeaderValues("Subject")[0] != "hello" {
			t.Errorf("%s: the subject is lost", name)
		}
	}
	if !strings.Contains(string(m.Raw), "bank.example") {
		t.Error("the raw message was changed")
	}
}

// TestAuthResultsOfNobody checks that without a verdict the headers are those of the message.
func TestAuthResultsOfNobody(t *testing.T) {
	m := ingest.ParseMessage(envelope, wire("Authentication-Results: x; spf=pass", "", "hello"))
	if got := m.Content.Doc.Headers; !slices.Equal(got, []message.Header{{Name: "Authentication-Results", Value: "x; spf=pass"}}) {
		t.Errorf("%+v", got)
	}
}

// TestAuthResultsText writes what RFC 8601 section 2.2 requires, for every shape of verdict.
func TestAuthResultsText(t *testing.T) {
	for want, auth := range map[string]inbox.Auth{
		"x.test; spf=none; dkim=none; dmarc=none": {
			SPF: inbox.AuthResult{ResultKeyword: "none"}, DKIM: inbox.AuthResult{ResultKeyword: "none"}, DMARC: inbox.AuthResult{ResultKeyword: "none"}},
		"x.test; spf=fail smtp.helo=mx.example; dkim=permerror; dkim=fail header.d=a.example header.s=s; dmarc=fail header.from=a.example": {
			SPF: inbox.AuthResult{ResultKeyword: "fail", Domain: "mx.example"}, HELO: true, DKIM: inbox.AuthResult{ResultKeyword: "permerror"}, DMARC: inbox.AuthResult{ResultKeyword: "fail", Domain: "a.example"},
			Signatures: []inbox.AuthSignature{{Word: "permerror"}, {Word: "fail", Domain: "a.example", Selector: "s"}}},
	} {
		auth.CheckingServer = "x.test"
		if got := ingest.RereadContent(&inbox.Content{Auth: auth}, nil).Doc.Headers[0].Value; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestDeclaredCodes counts a field only if it occurs once, in the top header, and under a signature
// of the named origin.
func TestDeclaredCodes(t *testing.T) {
	const token = `OTP-Token: "123456"; origin="https://example.com"`
	const code = `One-Time-Code: code=654321; origin=https://example.com`
	signed := vouched("example.com", "From", "Content-Type", "OTP-Token", "One-Time-Code")
	for _, c := range []struct {
		name    string
		verdict ingest.AuthVerdict
		header  []string
		want    string
		source  string
	}{
		{"a token", signed, []string{token}, "123456", "header"},
		{"a code", signed, []string{code}, "654321", "header"},
		{"both", signed, []string{code, token}, "123456", "header"},
		{"two tokens", signed, []string{token, token}, "777777", "text"},
		{"two tokens, one code", signed, []string{token, strings.ToLower(token), code}, "654321", "header"},
		{"nobody vouches", ingest.AuthVerdict{}, []string{token}, "777777", "text"},
		{"somebody else vouches", vouched("evil.example", "OTP-Token"), []string{token}, "777777", "text"},
		{"not under the signature", vouched("example.com", "From", "Content-Type", "Subject"), []string{token}, "777777", "text"},
		{"From not under the signature", vouched("example.com", "Content-Type", "OTP-Token"), []string{token}, "777777", "text"},
		{"Content-Type not under the signature", vouched("example.com", "From", "OTP-Token"), []string{token}, "777777", "text"},
		{"no origin", signed, []string{`OTP-Token: "123456"`}, "777777", "text"},
		{"not readable", signed, []string{`OTP-Token: ; origin="https://example.com"`}, "777777", "text"},
	} {
		lines := append(append([]string{"From: a@example.com"}, c.header...), "Subject: hello", "", "Your code is 777777")
		m := ingest.ParseMessage(ingest.Envelope{RcptTo: envelope.RcptTo, Verdict: c.verdict}, wire(lines...))
		if o := m.Content.OTP; o.Code != c.want || o.Source != c.source {
			t.Errorf("%s: %+v", c.name, o)
		}
	}
	inner := wire("From: a@example.com", "Content-Type: multipart/mixed; boundary=b", "", "--b", token, "", "hello", "--b--")
	if m := ingest.ParseMessage(ingest.Envelope{RcptTo: envelope.RcptTo, Verdict: signed}, inner); m.Content.OTP.Code != "" {
		t.Errorf("inside a part: %+v", m.Content.OTP)
	}
}

// FuzzAuthResults checks that no spelling of our name remains that a simple parser of the field
// would accept.
func FuzzAuthResults(f *testing.F) {
	for _, seed := range []string{"inbox.test; spf=pass", "(c(c)) inbox.test", `"inbox.test" 1; x`, `"in\box.test"`, "INBOX.TEST/1", "((", `\`, "=?utf-8?q?inbox.test?=", "x.inbox.test.", `"inbox.test;`, `" inbox.test"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		auth := vouched("example.com").Auth
		doc := ingest.RereadContent(&inbox.Content{Auth: auth}, []byte("Authentication-Results: "+value+"\r\n\r\nx")).Doc
		values := doc.HeaderValues("Authentication-Results")
		if len(values) == 0 || !strings.HasPrefix(values[0], "inbox.test; spf=pass smtp.mailfrom=b.example.com; dkim=pass") {
			t.Fatalf("ours is missing: %q", values)
		}
		for _, other := range values[1:] {
			if id, _, _ := strings.Cut(strings.ToLower(strings.Trim(other, " \t\"")), ";"); strings.TrimSpace(id) == "inbox.test" {
				t.Errorf("forged: %q", other)
			}
		}
	})
}
