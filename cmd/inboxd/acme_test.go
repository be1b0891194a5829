package main

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	netsmtp "net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// acmeHost is the name that certificates are for; zone resolves it.
const acmeHost = "mail.inbox.test"

// zone is a name server that resolves every name to this machine. It uses TCP, as pebble does.
func zone(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answerOne(conn)
		}
	}()
	return l.Addr().String()
}

// answerOne answers one query. A message is preceded by its length.
func answerOne(conn net.Conn) {
	defer conn.Close()
	head := make([]byte, 2)
	if _, err := io.ReadFull(conn, head); err != nil {
		return
	}
	question := make([]byte, binary.BigEndian.Uint16(head))
	var m dnsmessage.Message
	if _, err := io.ReadFull(conn, question); err != nil || m.Unpack(question) != nil || len(m.Questions) != 1 {
		return
	}
	m.Response, m.Additionals = true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	if answer, err := m.Pack(); err == nil {
		conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	}
}

// authority is a running pebble.
type authority struct {
	addr, root string
	dir        string
}

// newAuthority chooses the address at which pebble will listen, for the server's flags.
func newAuthority(t *testing.T) *authority {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	return &authority{addr: l.Addr().String(), root: writePair(t, dir, 1)[1], dir: dir}
}

func (a *authority) args() []string {
	return []string{"--acme", "--acme-hosts", acmeHost, "--acme-email", "op@inbox.test", "--acme-directory", "https://" + a.addr + "/dir", "--acme-ca", a.root}
}

// start runs pebble, which validates hosts at these ports.
func (a *authority) start(t *testing.T, s *server, httpAddr, httpsAddr string) (stop func()) {
	t.Helper()
	path := filepath.Join(a.dir, "pebble")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/letsencrypt/pebble/v2/cmd/pebble").CombinedOutput(); err != nil {
		t.Fatalf("pebble can't be built: %v %s", err, out)
	}
	port := func(addr string) int {
		_, p, _ := net.SplitHostPort(addr)
		n, _ := strconv.Atoi(p)
		return n
	}
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": a.addr, "certificate": a.root, "privateKey": filepath.Join(a.dir, "key.pem"),
		"httpPort": port(httpAddr), "tlsPort": port(httpsAddr), "retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles": map[string]any{"default": map[string]any{"description": "test", "validityPeriod": 7776000}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(a.dir, "pebble.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-config", file, "-dnsserver", zone(t))
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Log(said.String(), s.stderr)
		}
	})
	t.Cleanup(stop)
	for limit := time.Now().Add(30 * time.Second); ; {
		conn, err := net.Dial("tcp", a.addr)
		if err == nil {
			conn.Close()
			return stop
		}
		if time.Now().After(limit) {
			t.Fatal("pebble does not listen: ", said.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// issuer returns the issuer of the certificate that a listener shows for the name.
func issuer(t *testing.T, addr string) string {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 60 * time.Second}, "tcp", addr, &tls.Config{ServerName: acmeHost, InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	leaf := conn.ConnectionState().PeerCertificates[0]
	if err := leaf.VerifyHostname(acmeHost); err != nil {
		t.Error(err)
	}
	return leaf.Issuer.CommonName
}

// TestACMEOverTLS obtains a certificate by TLS-ALPN-01 and stores it. After that it needs no
// authority.
func TestACMEOverTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	dir := filepath.Join(t.TempDir(), "data")
	args := append(a.args(), "--https", "127.0.0.1:0", "--smtps", "127.0.0.1:0")
	s := launch(t, dir, args...)
	stop := a.start(t, s, "127.0.0.1:1", s.https) // nothing listens for HTTP-01 there
	if who := issuer(t, s.https); !strings.Contains(who, "Pebble") {
		t.Errorf("issued by %q", who)
	}
	if who := issuer(t, s.smtps); !strings.Contains(who, "Pebble") {
		t.Errorf("issued by %q", who)
	}
	if info, err := os.Stat(filepath.Join(dir, "acme")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of certificates: %v %v", info, err)
	}
	if _, err := tls.Dial("tcp", s.https, &tls.Config{ServerName: "other.test", InsecureSkipVerify: true}); err == nil {
		t.Error("a certificate for a name that is not ours")
	}
	if ends := time.Unix(int64(s.metric(t, "inboxd_tls_certificate_expiry_timestamp_seconds")), 0); ends.Before(time.Now().Add(24 * time.Hour)) {
		t.Errorf("the certificate of the authority ends at %v", ends)
	}
	stop()
	if code := s.terminate(t); code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr)
	}
	s = launch(t, dir, args...)
	if who := issuer(t, s.https); !strings.Contains(who, "Pebble") {
		t.Errorf("after a new start: issued by %q", who)
	}
}

// TestACMEOverHTTP obtains a certificate by HTTP-01, for a server that uses TLS only by STARTTLS
// and for a peer that sends no server name.
func TestACMEOverHTTP(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := launch(t, filepath.Join(t.TempDir(), "data"), a.args()...)
	a.start(t, s, s.http, "127.0.0.1:1")
	c, err := netsmtp.Dial(s.smtp)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.StartTLS(&tls.Config{InsecureSkipVerify: true}); err != nil {
		t.Fatal(err)
	}
	state, _ := c.TLSConnectionState()
	if leaf := state.PeerCertificates[0]; leaf.VerifyHostname(acmeHost) != nil || !strings.Contains(leaf.Issuer.CommonName, "Pebble") {
		t.Errorf("%v by %v", leaf.DNSNames, leaf.Issuer)
	}
}
