package main

import (
	"fmt"
	"log/slog"

	"inboxd/internal/intake/ingest"
	"inboxd/internal/intake/spam"
)

// edgeFlags configure how messages come in and what is encrypted.
type edgeFlags struct {
	HTTPS         string   `help:"Address of the HTTP API under TLS (default: none)." placeholder:"HOST:PORT" name:"https"`
	SMTPS         string   `help:"Address for incoming mail under TLS from the first byte (default: none)." placeholder:"HOST:PORT" name:"smtps"`
	TLSCert       string   `help:"Certificate chain in PEM, for STARTTLS, --smtps and --https; reloaded when it changes." placeholder:"FILE" name:"tls-cert"`
	TLSKey        string   `help:"Private key of --tls-cert in PEM." placeholder:"FILE" name:"tls-key"`
	ACME          bool     `help:"Get certificates by ACME, which accepts the authority's terms of service." name:"acme"`
	ACMEHosts     []string `help:"Names to get certificates for (default: the service domain and the host of --base-url)." placeholder:"NAME" name:"acme-hosts"`
	ACMEEmail     string   `help:"E-mail address for notices from the ACME authority." placeholder:"ADDRESS" name:"acme-email"`
	ACMEDirectory string   `help:"Directory of the ACME authority (default: Let's Encrypt)." placeholder:"URL" name:"acme-directory"`
	ACMECA        string   `help:"CA certificates in PEM for the connection to the ACME authority (default: those of the system)." placeholder:"FILE" name:"acme-ca"`
	ProxyProtocol []string `help:"Networks of load balancers that start each SMTP connection with a PROXY header." placeholder:"CIDR" name:"smtp-proxy-protocol"`
	Spam          string   `help:"Spam scanner: rspamd+http://HOST:PORT or spamd://HOST:PORT (default: none)." placeholder:"URL"`
}

// newScanner returns the configured spam scanner, or nil if none is set.
func (f *edgeFlags) newScanner(logger *slog.Logger) (ingest.Scanner, error) {
	if f.Spam == "" {
		return nil, nil
	}
	s, err := spam.New(f.Spam, logger)
	if err != nil {
		return nil, fmt.Errorf("--spam %w", err)
	}
	return s, nil
}
