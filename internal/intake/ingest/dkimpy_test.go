package ingest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/mailauth"
	"inboxd/internal/testutil/testtools"
)

// dkimpyScript signs the messages of a JSON array, each over the header fields that it names.
const dkimpyScript = `
import base64, json, sys, dkim
order = json.load(sys.stdin)
key = order["key"].encode()
print(json.dumps([base64.b64encode(dkim.sign(base64.b64decode(o["raw"]), o["selector"].encode(), o["domain"].encode(), key,
	include_headers=[h.encode() for h in o["signed"]], length=o["length"])).decode() for o in order["mails"]]))
`

// records is a DNS with only TXT records.
type records map[string]string

func (r records) LookupTXT(_ context.Context, name string) ([]string, error) {
	if text, ok := r[strings.TrimSuffix(name, ".")]; ok {
		return []string{text}, nil
	}
	return nil, none(name)
}
func (records) LookupMX(_ context.Context, name string) ([]*net.MX, error)  { return nil, none(name) }
func (records) LookupAddr(_ context.Context, name string) ([]string, error) { return nil, none(name) }
func (records) LookupIPAddr(_ context.Context, name string) ([]net.IPAddr, error) {
	return nil, none(name)
}

type toSign struct {
	Raw      []byte   `json:"raw"`
	Domain   string   `json:"domain"`
	Selector string   `json:"selector"`
	Signed   []string `json:"signed"`
	Length   bool     `json:"length"`
}

// TestSignedByDkimpy checks that an invitation signed by another program counts as signed, and not
// if one of the conditions is violated.
func TestSignedByDkimpy(t *testing.T) {
	if testing.Short() {
		t.Skip("a process of python")
	}
	const header = "From: Ada <ada@corp.test>\r\nSender: notify@cal.test\r\nMIME-Version: 1.0\r\nContent-Type: text/calendar; charset=utf-8; method=REQUEST\r\nMessage-ID: <m1@corp.test>\r\n"
	raw := []byte(header + "\r\n" + file("REQUEST", "a"))
	usual := []string{"From", "Content-Type", "MIME-Version", "Message-ID"}
	with := func(more ...string) []string { return append(append([]string(nil), usual...), more...) }
	add := func(line string) func([]byte) []byte {
		return func(b []byte) []byte { return append([]byte(line+"\r\n"), b...) }
	}
	replace := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
	}
	usually := toSign{raw, "corp.test", "s", usual, false}
	// Google covers neither Content-Type nor the fields after it.
	gmail := []string{"To", "Subject", "Message-ID", "Date", "From", "MIME-Version"}
	parts := []byte("From: Ada <ada@corp.test>\r\nTo: a@inbox.localhost\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed;\r\n boundary=b\r\nMessage-ID: <m1@corp.test>\r\n\r\n" +
		"--b\r\nContent-Type: multipart/alternative; boundary=inner\r\n\r\n--inner\r\n" + leaf(typed, file("REQUEST", "a")) + "\r\n--inner--\r\n--b--\r\n")
	byGmail := toSign{parts, "corp.test", "s", gmail, false}
	rows := []struct {
		name string
		sign toSign
		then func([]byte) []byte
		want string // which of From and Sender are signed
	}{
		{"signed", usually, nil, "from"},
		{"by a subdomain", toSign{raw, "mail.corp.test", "s", usual, false}, nil, ""},
		{"by the domain above", toSign{replace("@corp.test>", "@mail.corp.test>")(raw), "corp.test", "s", usual, false}, nil, "from"},
		{"by the Sender's domain, the Sender too", toSign{raw, "cal.test", "s", with("Sender"), false}, nil, "sender"},
		{"by the Sender's domain, the Sender not", toSign{raw, "cal.test", "s", usual, false}, nil, ""},
		{"by another domain", toSign{raw, "evil.test", "s", with("Sender"), false}, nil, ""},
		{"by a domain whose name ends in it", toSign{raw, "evilcorp.test", "s", usual, false}, nil, ""},
		{"without Content-Type", toSign{raw, "corp.test", "s", []string{"From", "MIME-Version"}, false}, nil, ""},
		{"without MIME-Version", toSign{raw, "corp.test", "s", []string{"From", "Content-Type"}, false}, nil, "from"},
		{"parts, as Gmail signs", byGmail, nil, "from"},
		{"parts, as Yahoo signs", toSign{parts, "corp.test", "s", []string{"To", "From", "Subject", "Date", "References"}, false}, nil, "from"},
		{"parts, another of the same boundary", byGmail, replace("multipart/mixed", "multipart/alternative"), "from"},
		{"parts, a second Content-Type", byGmail, add("Content-Type: multipart/mixed; boundary=b"), ""},
		{"parts, the boundary of the parts within", byGmail, replace("boundary=b", "boundary=inner"), ""},
		{"parts, read as a digest", byGmail, replace("multipart/mixed", "multipart/digest"), ""},
		{"parts, an encoding that is not signed", byGmail, add("Content-Transfer-Encoding: base64"), ""},
		{"parts, a blank put into the body", byGmail, replace("--b\r\n", "--b \r\n"), ""},
		{"parts behind a preamble", toSign{replace("\r\n\r\n--b", "\r\n\r\nSee:\r\n--b")(parts), "corp.test", "s", gmail, false}, nil, ""},
		{"with l=", toSign{raw, "corp.test", "s", usual, true}, nil, ""},
		{"by a key in testing mode", toSign{raw, "corp.test", "testing", usual, false}, nil, ""},
		{"by a key that is not there", toSign{raw, "corp.test", "absent", usual, false}, nil, ""},
		{"a second Content-Type", usually, add("Content-Type: text/calendar; charset=iso-8859-1"), ""},
		{"a second MIME-Version", usually, add("MIME-Version: 1.0"), "from"},
		{"a second From", usually, add("From: ada@corp.test"), ""},
		{"another From", usually, replace("Ada <", "Bob <"), ""},
		{"another body", usually, replace("SUMMARY:a", "SUMMARY:b"), ""},
		{"more of a body", usually, func(b []byte) []byte { return append(b, "BEGIN:VCALENDAR\r\n"...) }, ""},
		{"a name for the file that is not signed", usually, add("Content-Disposition: attachment; filename=a.ics"), ""},
		{"a name that is", toSign{add("Content-Disposition: attachment; filename=a.ics")(raw), "corp.test", "s", with("Content-Disposition"), false}, nil, "from"},
		{"text in the header", usually, add("no field"), ""},
		{"a field that means nothing", usually, add("X-Scanned: yes"), "from"},
		{"in Punycode, as From has it", toSign{replace("corp.test", "xn--bcher-kva.test")(raw), "xn--bcher-kva.test", "s", usual, false}, nil, "from"},
		{"in Punycode, From in letters", toSign{replace("corp.test", "b\u00fccher.test")(raw), "xn--bcher-kva.test", "s", usual, false}, nil, "from"},
		{"a homograph of the signer", toSign{replace("corp.test", "c\u043erp.test")(raw), "corp.test", "s", usual, false}, nil, ""},
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	record, err := mailauth.KeyRecord(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	dns := records{mailauth.RecordName("corp.test", "testing"): record + "; t=y"}
	order := struct {
		Key   string   `json:"key"`
		Mails []toSign `json:"mails"`
	}{Key: string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))}
	for _, row := range rows {
		order.Mails = append(order.Mails, row.sign)
		if row.sign.Selector == "s" {
			dns[mailauth.RecordName(row.sign.Domain, "s")] = record
		}
	}
	in, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), testtools.ProgramPath(t, "python3"), "-c", dkimpyScript)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("dkimpy: %v (make deps)", err)
	}
	var signatures [][]byte
	if err := json.Unmarshal(out, &signatures); err != nil || len(signatures) != len(rows) {
		t.Fatalf("%v: %s", err, out)
	}
	judge := ingest.MessageAuthenticator{AuthServID: "inbox.test", DNS: dns, Now: time.Now}
	for i, row := range rows {
		mail := append(signatures[i], row.sign.Raw...)
		if row.then != nil {
			mail = row.then(mail)
		}
		env := ingest.Envelope{RcptTo: envelope.RcptTo, Helo: "mx.corp.test", MailFrom: "ada@corp.test", DetermineVerdict: judge.VerdictFor}
		m := ingest.ReadScanned(t.Context(), nil, env, mail)
		inv := first(&m)
		if inv == nil {
			t.Errorf("%s: no invitation", row.name)
			continue
		}
		got := ""
		if inv.FromSigned {
			got = "from"
		}
		if inv.SenderSigned {
			got += "sender"
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
