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

// serverSettings are the values of the flags in the form that the packages need. They do not change.
type serverSettings struct {
	domain, mxHost     string
	postmasterInbox    string // inbox; empty: none
	dnsServer          string // empty: the system's
	proxies, balancers []netip.Prefix
	origins            http.AllowedOrigins
	plans              account.Plans
	scanner            ingest.Scanner // nil: none
	tls                *tlsSettings
	mayMail, mayCall   []netip.Prefix // allowed besides public networks: for outgoing messages, for webhooks
	smarthost          courier.Smarthost
	retrySchedule      delivery.RetrySchedule
	webhookSchedule    webhook.Schedule
}

// configurePlans returns the plans with the figures of the config file. On a server that only this
// machine reaches, or where nobody can sign up, refusals of the free plan name the operator's command.
func (c *serveCommand) configurePlans() (account.Plans, error) {
	plans, err := account.DefaultPlans().WithOverrides(c.Plans)
	if err == nil && (!c.isPublic() || c.signup() == "closed") {
		free := plans[account.PlanFree]
		free.RaiseHint = "The operator of this server can raise it: inboxd admin account set-plan EMAIL paid"
		plans[account.PlanFree] = free
	}
	return plans, err
}

// serverSettings parses the flags and returns the first error.
func (c *serveCommand) parseSettings(logger *slog.Logger) (s serverSettings, _ error) {
	var errs [15]error
	errs[0] = c.validateFlags()
	s.proxies, errs[1] = parseCIDRs("--trusted-proxies", c.TrustedProxies)
	s.dnsServer, errs[2] = dnsServer(c.DNS)
	s.domain, s.mxHost, errs[3] = c.serviceNames()
	s.plans, errs[4] = c.configurePlans()
	s.balancers, errs[5] = parseCIDRs("--smtp-proxy-protocol", c.ProxyProtocol)
	s.scanner, errs[6] = c.newScanner(logger)
	s.tls, errs[7] = c.configureTLS(s.domain, logger)
	s.retrySchedule, errs[8] = c.Sending.retrySchedule()
	s.webhookSchedule, errs[9] = c.Webhooks.parseSchedule()
	s.mayMail, errs[10] = parseCIDRs("--delivery-allow", c.Sending.DeliveryAllow)
	s.smarthost, errs[11] = c.Sending.smarthost()
	s.mayCall, errs[12] = parseCIDRs("--webhook-allow", c.Webhooks.WebhookAllow)
	s.postmasterInbox, errs[13] = c.parsePostmaster()
	s.origins, errs[14] = c.checkOrigins()
	if errs[4] != nil {
		errs[4] = fmt.Errorf("the config file: %w", errs[4])
	}
	return s, cmp.Or(errs[:]...)
}

// serviceNames returns the service domain and the host name of its mail server.
func (c *serveCommand) serviceNames() (domain, mxHost string, err error) {
	domain, ok := address.CanonicalDomain(c.Domain)
	if !ok {
		return "", "", fmt.Errorf("--domain: invalid domain name %q (use a name such as mail.example.com)", c.Domain)
	}
	if c.MXHost == "" {
		return domain, domain, nil
	}
	if mxHost, ok = address.CanonicalDomain(c.MXHost); !ok {
		return "", "", fmt.Errorf("--mx-host: invalid host name %q (use a name such as mx.example.com)", c.MXHost)
	}
	return domain, mxHost, nil
}

// parsePostmaster returns the inbox of the operator of the service, or "" if none is set.
func (c *serveCommand) parsePostmaster() (string, error) {
	if c.Postmaster == "" {
		return "", nil
	}
	inbox, ok := address.CanonicalInbox(c.Postmaster)
	if !ok || address.WithoutTag(inbox) != inbox {
		return "", fmt.Errorf("--postmaster: invalid address %q (use the address of an inbox, such as me@example.org)", c.Postmaster)
	}
	return inbox, nil
}

// validateFlags refuses values that the types of the flags allow.
func (c *serveCommand) validateFlags() error {
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
