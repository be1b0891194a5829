package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inboxd/internal/testutil/testtools"
)

// writePair writes a self-signed certificate for localhost with its key, and returns the arguments
// that name them.
func writePair(t *testing.T, dir string, serial int64) []string {
	t.Helper()
	return writePairValid(t, dir, serial, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
}

func writePairValid(t *testing.T, dir string, serial int64, from, until time.Time) []string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: from, NotAfter: until,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"--tls-cert", cert, "--tls-key", keyFile}
}

// launchTLS starts a server with every listener and also returns the certificate's file.
func launchTLS(t *testing.T) (s *server, u *user, cert string) {
	t.Helper()
	dir := t.TempDir()
	pair := writePair(t, dir, 1)
	s = launch(t, filepath.Join(dir, "data"), append(pair, "--https", "127.0.0.1:0", "--smtps", "127.0.0.1:0")...)
	if s.https == "" || s.smtps == "" {
		t.Fatalf("ready line without https or smtps: %+v", s)
	}
	return s, s.signUp(t, "me@example.test"), pair[1]
}

// trusting returns a client configuration that trusts only the certificate in a file.
func trusting(t *testing.T, cert string) *tls.Config {
	t.Helper()
	roots, err := readRoots(cert)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{RootCAs: roots, ServerName: "localhost"}
}

// TestClientsDeliver tests the server with common mail clients.
func TestClientsDeliver(t *testing.T) {
	s, u, cert := launchTLS(t)
	port := func(addr string) string {
		_, port, _ := net.SplitHostPort(addr)
		return port
	}
	mail := filepath.Join(t.TempDir(), "mail.eml")
	text := "From: a@shop.test\nSubject: Your code\n\nYour verification code is 482913.\n"
	if err := os.WriteFile(mail, []byte(strings.ReplaceAll(text, "\n", "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	const python = `
import smtplib, ssl, sys
kind, port, cert, to = sys.argv[1:]
context = ssl.create_default_context(cafile=cert)
c = smtplib.SMTP_SSL("localhost", int(port), context=context) if kind == "ssl" else smtplib.SMTP("localhost", int(port))
if kind == "starttls":
    c.starttls(context=context)
c.sendmail("a@shop.test", [to], "From: a@shop.test\nSubject: Your code\n\nYour verification code is 482913.\n")
c.quit()
`
	dialogue := func(to string) string {
		return "EHLO c.test\nMAIL FROM:<a@shop.test>\nRCPT TO:<" + to + ">\nDATA\n" + text + ".\nQUIT\n"
	}
	for _, c := range []struct {
		name  string
		args  func(to string) []string
		input func(to string) string
		tls   bool
	}{
		{name: "swaks-starttls", tls: true, args: func(to string) []string {
			return []string{"swaks", "--server", s.smtp, "--from", "a@shop.test", "--to", to, "--tls", "--header", "Subject: Your code", "--body", "Your verification code is 482913."}
		}},
		{name: "swaks-smtps", tls: true, args: func(to string) []string {
			return []string{"swaks", "--server", s.smtps, "--from", "a@shop.test", "--to", to, "--tls-on-connect", "--header", "Subject: Your code", "--body", "Your verification code is 482913."}
		}},
		{name: "curl", args: func(to string) []string {
			return []string{"curl", "-sS", "smtp://" + s.smtp, "--mail-from", "a@shop.test", "--mail-rcpt", to, "-T", mail}
		}},
		{name: "curl-starttls", tls: true, args: func(to string) []string {
			return []string{"curl", "-sS", "--ssl-reqd", "--cacert", cert, "smtp://localhost:" + port(s.smtp), "--mail-from", "a@shop.test", "--mail-rcpt", to, "-T", mail}
		}},
		{name: "curl-smtps", tls: true, args: func(to string) []string {
			return []string{"curl", "-sS", "--cacert", cert, "smtps://localhost:" + port(s.smtps), "--mail-from", "a@shop.test", "--mail-rcpt", to, "-T", mail}
		}},
		{name: "smtplib", args: func(to string) []string {
			return []string{"python3", "-c", python, "plain", port(s.smtp), cert, to}
		}},
		{name: "smtplib-starttls", tls: true, args: func(to string) []string {
			return []string{"python3", "-c", python, "starttls", port(s.smtp), cert, to}
		}},
		{name: "smtplib-smtps", tls: true, args: func(to string) []string {
			return []string{"python3", "-c", python, "ssl", port(s.smtps), cert, to}
		}},
		{name: "openssl-starttls", tls: true, input: dialogue, args: func(string) []string {
			return []string{"openssl", "s_client", "-quiet", "-crlf", "-starttls", "smtp", "-verify_return_error", "-CAfile", cert, "-connect", s.smtp}
		}},
		{name: "openssl-smtps", tls: true, input: dialogue, args: func(string) []string {
			return []string{"openssl", "s_client", "-quiet", "-crlf", "-verify_return_error", "-CAfile", cert, "-connect", s.smtps}
		}},
		{name: "smtp-source", args: func(to string) []string {
			return []string{"smtp-source", "-m", "1", "-f", "a@shop.test", "-t", to, "-S", "Your code is 482913", s.smtp}
		}},
	} {
		to := u.inbox(t, c.name)
		args := c.args(to)
		cmd := exec.CommandContext(t.Context(), testtools.ProgramPath(t, args[0]), args[1:]...)
		if c.input != nil {
			cmd.Stdin = &patient{text: c.input(to), done: func() { u.latest(t, to, "?wait=20") }}
		}
		out, err := cmd.CombinedOutput()
		got := u.latest(t, to, "?wait=10")
		if err != nil || got == nil || got["otp_code"] != "482913" {
			t.Errorf("%s: %v\n%s\nlatest: %v", c.name, err, out, got)
			continue
		}
		received, _ := got["headers"].(map[string]any)["Received"].(string)
		if strings.Contains(received, "SMTPS ") != c.tls {
			t.Errorf("%s: trace %q, under TLS %v", c.name, received, c.tls)
		}
	}
}

// patient gives its text and keeps the input open until it is done with, as somebody at a terminal
// does: s_client hangs up at the end of its input, perhaps before the replies came.
type patient struct {
	text string
	done func()
}

func (p *patient) Read(b []byte) (int, error) {
	if p.text == "" {
		p.done()
		return 0, io.EOF
	}
	n := copy(b, p.text)
	p.text = p.text[n:]
	return n, nil
}

// TestHTTPS polls over TLS, by the fast path and by the others.
func TestHTTPS(t *testing.T) {
	s, u, cert := launchTLS(t)
	address := u.inbox(t, "agent")
	converse(t, s.smtp, address, "Subject: Your code is 482913\r\n\r\nYour code is 482913\r\n") // SendMail would require a trusted certificate for STARTTLS
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusting(t, cert), MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	for i, path := range []string{"/latest", "/latest", "/latest?wait=5&fields=otp_code", "/messages", "/latest"} {
		req, err := http.NewRequest("GET", "https://"+s.https+"/api/v1/inboxes/"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", u.key)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), "482913") || resp.ProtoMajor != 1 {
			t.Errorf("%d %s: %v %s %s", i, path, err, resp.Status, body)
		}
	}
	if code := s.terminate(t); code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr)
	}
}

// serial returns the serial number of the certificate that a listener shows now.
func serial(t *testing.T, addr string) int64 {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// TestCertificateIsReadAgain changes the files under a running server.
func TestCertificateIsReadAgain(t *testing.T) {
	s, _, cert := launchTLS(t)
	for _, addr := range []string{s.https, s.smtps} {
		if n := serial(t, addr); n != 1 {
			t.Errorf("serial %d", n)
		}
	}
	writePair(t, filepath.Dir(cert), 2)
	for limit := time.Now().Add(20 * time.Second); serial(t, s.https) != 2; {
		if time.Now().After(limit) {
			t.Fatal("the new certificate is not used")
		}
	}
	if n := serial(t, s.smtps); n != 2 {
		t.Errorf("smtps: serial %d", n)
	}
}

// TestBadCertificateKeepsTheOld: if the new files are unusable, the old pair stays in use, with one
// line in the log for each change.
func TestBadCertificateKeepsTheOld(t *testing.T) {
	dir := t.TempDir()
	files := writePair(t, dir, 1)
	said := &lockedText{}
	p, err := newKeyPair(files[1], files[3], slog.New(slog.NewTextHandler(said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() string {
		p.checkedAt = time.Time{} // as if a second had passed
		c, err := p.getCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.SerialNumber.String()
	}
	lines := func() int { return strings.Count(said.String(), "\n") }
	if serial() != "1" || lines() != 0 {
		t.Error("read again without a change:", said)
	}
	if err := os.WriteFile(files[1], []byte("half a certif"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if serial() != "1" || lines() != 1 {
			t.Errorf("serial %s, log %s", serial(), said)
		}
	}
	if err := os.Remove(files[3]); err != nil {
		t.Fatal(err)
	}
	if serial() != "1" || lines() != 2 {
		t.Error(said)
	}
	writePair(t, dir, 77)
	if serial() != "77" || lines() != 3 {
		t.Error(said)
	}
	if _, err := newKeyPair(files[1], filepath.Join(dir, "none"), slog.Default()); err == nil || !strings.Contains(err.Error(), "--tls-key") {
		t.Error(err)
	}
}

// TestDatesOfTheCertificateAreSaid: a certificate that clients will refuse is served, with one line
// in the log.
func TestDatesOfTheCertificateAreSaid(t *testing.T) {
	for _, c := range []struct {
		from, until time.Duration // relative to now
		want        string
	}{
		{-time.Hour, time.Hour, ""},
		{-2 * time.Hour, -time.Hour, "has expired"},
		{time.Hour, 2 * time.Hour, "is not valid yet"},
	} {
		now, said := time.Now(), &lockedText{}
		files := writePairValid(t, t.TempDir(), 1, now.Add(c.from), now.Add(c.until))
		if _, err := newKeyPair(files[1], files[3], slog.New(slog.NewTextHandler(said, nil))); err != nil {
			t.Fatal(err)
		}
		if log := said.String(); c.want == "" && log != "" || c.want != "" && (strings.Count(log, "\n") != 1 || !strings.Contains(log, c.want) || !strings.Contains(log, files[1])) {
			t.Errorf("of one from %v to %v: %q", c.from, c.until, log)
		}
	}
}

// TestReadersOfTheKeyAreSaid: a private key that others can read is used, with one line in the log.
func TestReadersOfTheKeyAreSaid(t *testing.T) {
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o644: true, 0o604: true, 0o602: true} {
		said := &lockedText{}
		files := writePairValid(t, t.TempDir(), 1, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
		if err := os.Chmod(files[3], mode); err != nil {
			t.Fatal(err)
		}
		if _, err := newKeyPair(files[1], files[3], slog.New(slog.NewTextHandler(said, nil))); err != nil {
			t.Fatal(err)
		}
		if log := said.String(); warned != (strings.Count(log, "\n") == 1 && strings.Contains(log, "is readable by other users") && strings.Contains(log, files[3])) {
			t.Errorf("%v: %q", mode, log)
		}
	}
}

func TestTLSFlagsAreChecked(t *testing.T) {
	for _, args := range [][]string{
		{"--tls-cert", "x"}, {"--https", "127.0.0.1:0"}, {"--smtps", "127.0.0.1:0"}, {"--tls-cert", "x", "--tls-key", "y"},
		{"--tls-cert", "x", "--tls-key", "y", "--acme"}, {"--acme", "--acme-ca", "none.pem"}, {"--smtp-proxy-protocol", "x"},
	} {
		if s, err := tryLaunch(filepath.Join(t.TempDir(), "data"), args...); err == nil {
			s.kill()
			t.Errorf("%v was taken", args)
		} else if !strings.Contains(err.Error(), "--") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestProxyProtocolFlag: behind a trusted load balancer the trace names the client.
func TestProxyProtocolFlag(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--smtp-proxy-protocol", "127.0.0.0/8")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	converse(t, s.smtp, address, "Subject: x\r\n\r\nx\r\n", "PROXY TCP4 192.0.2.7 198.51.100.1 1 25\r\n")
	if received := u.latest(t, address, "")["headers"].(map[string]any)["Received"].(string); !strings.Contains(received, "[192.0.2.7]") {
		t.Error(received)
	}
}

// converse delivers a message without TLS, in a single write, after some preceding bytes.
func converse(t *testing.T, addr, to, mail string, before ...string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%sEHLO c.test\r\nMAIL FROM:<a@shop.test>\r\nRCPT TO:<%s>\r\nDATA\r\n%s.\r\nQUIT\r\n", strings.Join(before, ""), to, mail)
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(answer), "stored as") {
		t.Fatalf("%v %s", err, answer)
	}
}
