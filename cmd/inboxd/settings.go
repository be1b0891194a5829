package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"

	"inboxd/http"
	"inboxd/internal/base/address"
	"inboxd/internal/core/account"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/webhook"
	"inboxd/internal/intake/ingest"
	"inboxd/smtp/courier"
)

// settings are the values of the flags in the form that the packages need. They do not change.
type settings struct {
	domain, mxHost     string
	postmaster         string // inbox; empty: none
	dnsServer          string // empty: the system's
	proxies, balancers []netip.Prefix
	origins            http.Origins
	plans              account.Plans
	scanner            ingest.Scanner // nil: none
	tls                *encryption
	mayMail, mayCall   []netip.Prefix // allowed besides public networks: for outgoing messages, for webhooks
	smarthost          courier.Smarthost
	retries            delivery.Schedule
	calls              webhook.Schedule
}

// settings parses the flags and returns the first error.
func (c *serveCommand) settings(logger *slog.Logger) (s settings, _ error) {
	var errs [15]error
	errs[0] = c.check()
	s.proxies, errs[1] = parseCIDRs("--trusted-proxies", c.TrustedProxies)
	s.dnsServer, errs[2] = dnsServer(c.DNS)
	s.domain, s.mxHost, errs[3] = c.names()
	s.plans, errs[4] = account.DefaultPlans().With(c.Plans)
	s.balancers, errs[5] = parseCIDRs("--smtp-proxy-protocol", c.ProxyProtocol)
	s.scanner, errs[6] = c.scanner(logger)
	s.tls, errs[7] = c.encryption(s.domain, logger)
	s.retries, errs[8] = c.Sending.schedule()
	s.calls, errs[9] = c.Webhooks.schedule()
	s.mayMail, errs[10] = parseCIDRs("--delivery-allow", c.Sending.DeliveryAllow)
	s.smarthost, errs[11] = c.Sending.smarthost()
	s.mayCall, errs[12] = parseCIDRs("--webhook-allow", c.Webhooks.WebhookAllow)
	s.postmaster, errs[13] = c.postmaster()
	s.origins, errs[14] = c.checkOrigins()
	if errs[4] != nil {
		errs[4] = fmt.Errorf("the config file: %w", errs[4])
	}
	return s, cmp.Or(errs[:]...)
}

// names returns the service domain and the host name of its mail server.
func (c *serveCommand) names() (domain, mxHost string, err error) {
	domain, ok := address.Domain(c.Domain)
	if !ok {
		return "", "", fmt.Errorf("--domain: invalid domain name %q (use a name such as mail.example.com)", c.Domain)
	}
	if c.MXHost == "" {
		return domain, domain, nil
	}
	if mxHost, ok = address.Domain(c.MXHost); !ok {
		return "", "", fmt.Errorf("--mx-host: invalid host name %q (use a name such as mx.example.com)", c.MXHost)
	}
	return domain, mxHost, nil
}

// postmaster returns the inbox of the operator of the service, or "" if none is set.
func (c *serveCommand) postmaster() (string, error) {
	if c.Postmaster == "" {
		return "", nil
	}
	inbox, ok := address.Inbox(c.Postmaster)
	if !ok || address.WithoutTag(inbox) != inbox {
		return "", fmt.Errorf("--postmaster: invalid address %q (use the address of an inbox, such as me@example.org)", c.Postmaster)
	}
	return inbox, nil
}

// check refuses values that the types of the flags allow.
func (c *serveCommand) check() error {
	if c.HTTP == "" {
		return errors.New("--http must not be empty: the API needs an address, such as 127.0.0.1:8080")
	}
	if c.SMTP == "" {
		return errors.New("--smtp must not be empty: incoming mail needs an address, such as 127.0.0.1:2525")
	}
	for flag, n := range map[string]int{"--smtp-max-conns": c.SMTPMaxConns, "--smtp-max-conns-per-ip": c.SMTPMaxConnsIP} {
		if n < 1 {
			return fmt.Errorf("%s: invalid number %d (must be at least 1)", flag, n)
		}
	}
	if c.HTTPMaxConns < 0 {
		return fmt.Errorf("--http-max-conns: invalid number %d (must be at least 1; omit the flag for the default)", c.HTTPMaxConns)
	}
	if c.Drain < 0 {
		return fmt.Errorf("--drain: invalid duration %s (must not be negative)", c.Drain)
	}
	return c.checkBaseURL()
}

// checkBaseURL also removes a final slash, because paths are appended to the URL.
func (c *serveCommand) checkBaseURL() error {
	if c.BaseURL == "" {
		return nil
	}
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil:
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
	case u.RawQuery != "", u.Fragment != "", u.User != nil:
	default:
		c.BaseURL = strings.TrimRight(c.BaseURL, "/")
		return nil
	}
	return fmt.Errorf("--base-url: invalid URL %q (use a URL such as https://mail.example.com)", c.BaseURL)
}

func parseCIDRs(flag string, list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("%s: invalid network %q (use CIDR, such as 10.0.0.0/8)", flag, s)
		}
		out = append(out, p)
	}
	return out, nil
}
