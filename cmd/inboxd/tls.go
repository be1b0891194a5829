package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/net/publicsuffix"
)

// tlsSettings is the TLS configuration of the edges. Without certificates all configurations are
// nil.
type tlsSettings struct {
	mailTLS          *tls.Config             // STARTTLS and implicit TLS
	webTLS           *tls.Config             // HTTPS
	challengeHandler fasthttp.RequestHandler // responds to HTTP-01 challenges of ACME
	firstExpiry      func() time.Time        // when the first certificate expires; zero if none is known
}

func (c *serveCommand) configureTLS(domain string, logger *slog.Logger) (*tlsSettings, error) {
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return nil, errors.New("--tls-cert and --tls-key must be set together")
	case c.TLSCert != "" && c.ACME:
		return nil, errors.New("--tls-cert and --acme cannot be combined. Use certificate files or ACME")
	case c.TLSCert != "":
		pair, err := newKeyPair(c.TLSCert, c.TLSKey, logger)
		if err != nil {
			return nil, err
		}
		return &tlsSettings{mailTLS: tlsConfig(pair.getCertificate), webTLS: tlsConfig(pair.getCertificate, "http/1.1"), firstExpiry: pair.certificateExpiry}, nil
	case c.ACME:
		return c.configureACME(domain, logger)
	case c.HTTPS != "" || c.SMTPS != "":
		return nil, errors.New("--https and --smtps need a certificate: --tls-cert with --tls-key, or --acme")
	}
	return &tlsSettings{firstExpiry: func() time.Time { return time.Time{} }}, nil
}

type certificateFor = func(*tls.ClientHelloInfo) (*tls.Certificate, error)

func tlsConfig(certificate certificateFor, protocols ...string) *tls.Config {
	return &tls.Config{GetCertificate: certificate, NextProtos: protocols, MinVersion: tls.VersionTLS12}
}

// configureACME obtains certificates for the hosts on the first handshake, and renews them before they
// expire.
func (c *serveCommand) configureACME(domain string, logger *slog.Logger) (*tlsSettings, error) {
	hosts := c.ACMEHosts
	if len(hosts) == 0 {
		hosts = []string{domain}
		if u, err := url.Parse(c.BaseURL); err == nil && u.Hostname() != "" && !slices.Contains(hosts, u.Hostname()) {
			hosts = append(hosts, u.Hostname())
		}
	}
	if err := c.checkACME(hosts); err != nil {
		return nil, err
	}
	client := &acme.Client{DirectoryURL: c.ACMEDirectory, UserAgent: "inboxd"}
	if c.ACMECA != "" {
		roots, err := readRoots(c.ACMECA)
		if err != nil {
			return nil, fmt.Errorf("--acme-ca: %w", err)
		}
		client.HTTPClient = &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		}, Timeout: time.Minute}
	}
	manager := &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(filepath.Join(c.Data, "acme")), // created with mode 0700
		HostPolicy: autocert.HostWhitelist(hosts...), Client: client, Email: c.ACMEEmail,
	}
	var ends expiries
	logged := ends.recordExpiry(logFailures(manager.GetCertificate, hosts, logger))
	// Mail servers often send no server name, or that of an MX host that has no certificate.
	named := func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if !slices.Contains(hosts, hello.ServerName) {
			hello.ServerName = hosts[0]
		}
		return logged(hello)
	}
	return &tlsSettings{
		mailTLS: tlsConfig(named), webTLS: tlsConfig(logged, "http/1.1", acme.ALPNProto),
		challengeHandler: fasthttpadaptor.NewFastHTTPHandler(withoutPort(manager.HTTPHandler(http.NotFoundHandler()))),
		firstExpiry:      ends.earliestExpiry,
	}, nil
}

// checkACME refuses settings with which the default authority cannot issue a certificate. Another
// authority may know private names, and be reached by other ports.
func (c *serveCommand) checkACME(hosts []string) error {
	if c.ACMEDirectory != "" {
		return nil
	}
	for _, host := range hosts {
		suffix, known := publicsuffix.PublicSuffix(host)
		if _, err := netip.ParseAddr(host); err == nil || host == suffix || !known && !strings.Contains(suffix, ".") {
			return fmt.Errorf("--acme: %s is not a public domain name, so no certificate can be issued for it. Set --domain and --base-url, or --acme-hosts, to names that point to this server", host)
		}
	}
	for addr, port := range map[string]string{c.HTTP: "80", c.HTTPS: "443"} {
		if _, at, _ := net.SplitHostPort(addr); at == port && isPublic(addr) {
			return nil
		}
	}
	return errors.New("--acme: the authority connects to port 443 or 80 of this server, which listens at neither. Use --https 0.0.0.0:443, or --http 0.0.0.0:80. If these ports are forwarded to others here, name the authority by --acme-directory https://acme-v02.api.letsencrypt.org/directory")
}

// expiries holds the expiry times, by host, of the certificates used since the start. A renewal is
// seen when it is first used.
type expiries struct{ by sync.Map }

func (e *expiries) recordExpiry(get certificateFor) certificateFor {
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		cert, err := get(hello)
		// Certificates of ALPNProto respond to a challenge.
		if err == nil && cert.Leaf != nil && !slices.Contains(hello.SupportedProtos, acme.ALPNProto) {
			e.by.Store(hello.ServerName, cert.Leaf.NotAfter)
		}
		return cert, err
	}
}

func (e *expiries) earliestExpiry() (first time.Time) {
	e.by.Range(func(_, ends any) bool {
		if at := ends.(time.Time); first.IsZero() || at.Before(first) {
			first = at
		}
		return true
	})
	return first
}

// withoutPort removes the port from the Host field, because autocert compares the whole field with
// its names.
func withoutPort(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, _, err := net.SplitHostPort(r.Host); err == nil {
			r.Host = host
		}
		next.ServeHTTP(w, r)
	})
}

// logFailures logs, at most once a minute, that a host gets no certificate. Other names come from
// strangers and are not logged.
func logFailures(get certificateFor, hosts []string, logger *slog.Logger) certificateFor {
	var last atomic.Int64 // Unix second of the last line
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		name := hello.ServerName
		cert, err := get(hello)
		if err != nil && slices.Contains(hosts, name) {
			if was, now := last.Load(), time.Now().Unix(); now-was >= 60 && last.CompareAndSwap(was, now) {
				logger.Error("no certificate", "host", name, "err", err)
			}
		}
		return cert, err
	}
}

func readRoots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s contains no PEM certificate", file)
	}
	return roots, nil
}

// keyPair is a certificate in two files, which are read again when they change. After newKeyPair,
// mu guards the fields below it.
type keyPair struct {
	certFile, keyFile string
	certLog           *slog.Logger

	mu                 sync.Mutex
	currentCertificate *tls.Certificate
	seenMarks          [2]fileMark // of the files when they were last read, with or without success
	checkedAt          time.Time
}

// checkEvery is how often a handshake checks whether the files have changed.
const checkEvery = time.Second

// fileMark identifies a state of a file.
type fileMark struct {
	modifiedAt time.Time
	size       int64
}

func newKeyPair(certFile, keyFile string, logger *slog.Logger) (*keyPair, error) {
	p := &keyPair{certFile: certFile, keyFile: keyFile, certLog: logger}
	p.seenMarks = p.fileMarks()
	if err := p.readFiles(); err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key cannot be used: %w", err)
	}
	return p, nil
}

func (p *keyPair) readFiles() error {
	pair, err := tls.LoadX509KeyPair(p.certFile, p.keyFile)
	if err == nil {
		p.currentCertificate = &pair
		p.warnOfDates(time.Now())
		p.warnOfReaders()
	}
	return err
}

// warnOfDates warns that clients will refuse the certificate. It is served nevertheless: mail
// servers accept it, and it may be our clock that is wrong.
func (p *keyPair) warnOfDates(now time.Time) {
	switch leaf := p.currentCertificate.Leaf; {
	case leaf == nil:
	case now.After(leaf.NotAfter):
		p.certLog.Warn("the certificate has expired, and clients will refuse it", "cert", p.certFile, "ended", leaf.NotAfter)
	case now.Before(leaf.NotBefore):
		p.certLog.Warn("the certificate is not valid yet, and clients will refuse it", "cert", p.certFile, "begins", leaf.NotBefore)
	}
}

// warnOfReaders warns that other users of this machine can read or replace the private key.
func (p *keyPair) warnOfReaders() {
	if info, err := os.Stat(p.keyFile); err == nil && info.Mode().Perm()&0o077 != 0 {
		p.certLog.Warn("the private key of --tls-key is readable by other users: run chmod 600", "file", p.keyFile, "mode", info.Mode().Perm().String())
	}
}

func (p *keyPair) fileMarks() (marks [2]fileMark) {
	for i, name := range []string{p.certFile, p.keyFile} {
		if info, err := os.Stat(name); err == nil {
			marks[i] = fileMark{info.ModTime(), info.Size()}
		}
	}
	return marks
}

// getCertificate returns the current certificate. If new files cannot be used, the old certificate
// stays in use, and the files are read again when they change.
func (p *keyPair) getCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.checkedAt) >= checkEvery {
		p.checkedAt = now
		p.refreshIfChanged()
	}
	return p.currentCertificate, nil
}

func (p *keyPair) certificateExpiry() time.Time {
	current, err := p.getCertificate(nil)
	if err != nil || current.Leaf == nil {
		return time.Time{}
	}
	return current.Leaf.NotAfter
}

func (p *keyPair) refreshIfChanged() {
	marks := p.fileMarks()
	if marks == p.seenMarks {
		return
	}
	p.seenMarks = marks
	if err := p.readFiles(); err != nil {
		p.certLog.Error("new certificate cannot be used, the old one stays in use", "cert", p.certFile, "err", err)
		return
	}
	p.certLog.Info("certificate reloaded", "cert", p.certFile)
}
