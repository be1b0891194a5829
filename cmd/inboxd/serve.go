package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"inboxd/actors"
	"inboxd/http"
	"inboxd/http/post"
	"inboxd/internal/account"
	"inboxd/internal/address"
	"inboxd/internal/inbox"
	"inboxd/internal/resolve"
	"inboxd/persist"
	"inboxd/smtp"
	"inboxd/smtp/courier"
)

// serveCommand runs the server. Every flag is also INBOXD_<NAME> and a key of the config
// file (specification, Operating).
type serveCommand struct {
	Data    string `help:"Data folder; made when missing." default:"./data" placeholder:"DIR"`
	HTTP    string `help:"Address of the HTTP API; port 0 picks a free one." default:"127.0.0.1:8080" placeholder:"HOST:PORT" name:"http"`
	SMTP    string `help:"Address for incoming mail; port 0 picks a free one." default:"127.0.0.1:2525" placeholder:"HOST:PORT" name:"smtp"`
	BaseURL string `help:"URL under which clients reach the API (default: http:// and the HTTP address)." placeholder:"URL"`

	Domain      string `help:"Service domain: addresses are made under it." default:"inbox.localhost" placeholder:"NAME"`
	Namespace   string `help:"Where addresses without a chosen subdomain live: under a random one, or (plain) on the service domain itself." enum:"random,plain" default:"random"`
	DefaultPlan string `help:"Plan of a new account." enum:"free,paid" default:"free"`
	Signup      string `help:"Whether strangers may sign up." enum:"open,closed" default:"open"`

	DNS string `help:"DNS server for SPF, DKIM, DMARC, MX and own domains (default: those of /etc/resolv.conf)." placeholder:"HOST:PORT" name:"dns"`

	MXHost string      `help:"Host that own domains name in their MX record (default: the service domain)." placeholder:"NAME" name:"mx-host"`
	Plans  planFigures `help:"Figures of the plans; tables [plans.free] and [plans.paid] of the config file." hidden:""`

	Sending sendingFlags `embed:""`

	Webhooks webhookFlags `embed:""`

	Memory         byteSize      `help:"Memory for resident inboxes; beyond it the longest idle ones leave." default:"512MiB" placeholder:"SIZE"`
	SMTPMaxConns   int           `help:"SMTP connections at once." default:"1000" name:"smtp-max-conns"`
	SMTPMaxConnsIP int           `help:"SMTP connections at once from one address." default:"50" name:"smtp-max-conns-per-ip"`
	HTTPMaxConns   int           `help:"HTTP connections at once (default: what the file limit allows, at most 200,000)." name:"http-max-conns"`
	TrustedProxies []string      `help:"Networks whose X-Forwarded-For counts." placeholder:"CIDR"`
	Drain          time.Duration `help:"How long a stop waits for what is in flight." default:"10s"`
	AdminSocket    string        `help:"Admin socket (default DIR/admin.sock)." placeholder:"PATH"`
	Metrics        string        `help:"Who may read /metrics: loopback clients only, everybody (public), or nobody (off)." enum:"loopback,public,off" default:"loopback"`
	LogFormat      string        `help:"Form of the log lines." enum:"text,json" default:"text"`
	LogLevel       slog.Level    `help:"Least level that is logged (debug, info, warn, error)." default:"info"`

	edgeFlags `embed:""`
}

// Run implements the command.
func (c *serveCommand) Run() error {
	fitScheduler()
	logger, flush := newLogger(os.Stderr, c.LogFormat, c.LogLevel)
	defer flush()
	slog.SetDefault(logger)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	followMail := tuneMemory(int64(c.Memory))
	n, err := c.start(logger)
	if err != nil {
		return err
	}
	go followMail(ctx, func() uint64 { return n.mail.Stats().MailsAccepted })
	fmt.Println(n.readyLine())
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-n.failed:
	}
	return errors.Join(failed, n.stop(c.Drain))
}

// node is a running server. It is started from the disk outwards and stopped from the
// edges inwards, so that nothing is accepted that could not be kept.
type node struct {
	store              *persist.Store
	system             *actors.System
	web                *http.Server
	mail               *smtp.Server
	courier            *courier.Courier
	dns                *resolve.Resolver
	poster             *post.Caller
	admin              *adminSocket
	adminPath          string
	httpAddr, smtpAddr net.Addr
	httpsAddr          net.Addr // nil when not configured, as is smtpsAddr
	smtpsAddr          net.Addr
	failed             chan error
	logger             *slog.Logger
}

func (c *serveCommand) start(logger *slog.Logger) (_ *node, err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	proxies, err := parseCIDRs("--trusted-proxies", c.TrustedProxies)
	if err != nil {
		return nil, err
	}
	dns, err := dnsServer(c.DNS)
	if err != nil {
		return nil, err
	}
	domain, ok := address.Domain(c.Domain)
	if !ok {
		return nil, fmt.Errorf("--domain %q is not a domain name", c.Domain)
	}
	mxHost := domain
	if c.MXHost != "" {
		if mxHost, ok = address.Domain(c.MXHost); !ok {
			return nil, fmt.Errorf("--mx-host %q is not a host name", c.MXHost)
		}
	}
	plans, err := account.DefaultPlans().With(c.Plans)
	if err != nil {
		return nil, fmt.Errorf("the config file: %w", err)
	}
	balancers, err := parseCIDRs("--smtp-proxy-protocol", c.ProxyProtocol)
	if err != nil {
		return nil, err
	}
	scanner, err := c.scanner(logger)
	if err != nil {
		return nil, err
	}
	secret, err := c.encryption(domain, logger)
	if err != nil {
		return nil, err
	}
	schedule, err := c.Sending.schedule()
	if err != nil {
		return nil, err
	}
	hooks, err := c.Webhooks.schedule()
	if err != nil {
		return nil, err
	}
	n := &node{failed: make(chan error, 4), logger: logger, dns: resolve.New(dns, resolve.Options{})}
	if n.courier, err = c.Sending.courier(domain, n.dns, []string{c.HTTP, c.SMTP, c.HTTPS, c.SMTPS}, logger); err != nil {
		return nil, err
	}
	if n.store, err = persist.Open(c.Data, persist.Options{Logger: logger}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.closeInner())
		}
	}()
	// Before anything that calls out: webhooks must know our own listeners.
	listeners, err := openListeners([]string{"--http", "--smtp", "--https", "--smtps"}, []string{c.HTTP, c.SMTP, c.HTTPS, c.SMTPS})
	if err != nil {
		return nil, err
	}
	n.noteAddresses(listeners)
	mailConns, webConns := c.connections(fileLimit())
	if mailConns < c.SMTPMaxConns {
		logger.Warn("the limit of open files allows fewer SMTP connections than asked for", "connections", mailConns)
	}
	defer func() {
		if err != nil {
			closeAll(listeners)
		}
	}()
	if n.poster, err = c.Webhooks.poster(dns, n.httpAddr, n.smtpAddr, n.httpsAddr, n.smtpsAddr); err != nil {
		return nil, err
	}
	if n.system, err = actors.Start(actors.Options{
		Store: n.store, Namespaces: inbox.Namespaces{Domain: domain, Plain: c.Namespace == "plain"},
		MXHost: mxHost, Resolver: freshResolver(dns),
		NewPlan: account.PlanName(c.DefaultPlan), Plans: plans, Memory: int64(c.Memory), Logger: logger,
		Spam: scanner, MailReset: c.mailReset(n),
		Courier: route{n.courier}, Signer: sign, Judge: judgeLocal(domain, n.dns), Schedule: schedule, Smarthost: c.Sending.Smarthost,
		MostHanging: hangingConnections(fileLimit()), Poster: n.poster, WebhookSchedule: hooks,
	}); err != nil {
		return nil, err
	}
	n.mail = smtp.New(smtp.Options{
		Domain: domain, MaxConns: mailConns, MaxConnsPerIP: c.SMTPMaxConnsIP, Logger: logger,
		TLSConfig: secret.mail, ProxyProtocol: balancers,
	}, mailroom{n.system, newJudge(domain, n.dns, n.system).judge})
	n.web = http.New(http.Options{
		BaseURL: c.baseURL(n.httpAddr), MaxConns: webConns, TrustedProxies: proxies,
		SignupOpen:     func() bool { return c.Signup == "open" },
		MetricsHandler: c.metricsHandler(n), MetricsPublic: c.Metrics == "public",
		Ready: n.store.Writable, Logger: logger,
		ChallengeHandler: secret.challenge,
	}, n.system, n.system)
	n.adminPath = c.AdminSocket
	if n.adminPath == "" {
		n.adminPath = filepath.Join(c.Data, "admin.sock")
	}
	if n.admin, err = openAdminSocket(n.adminPath, n.system, n.stats, c.baseURL(n.httpAddr)); err != nil {
		return nil, err
	}
	n.run("http", func() error { return n.web.Serve(listeners[0]) })
	n.run("smtp", func() error { return n.mail.Serve(listeners[1]) })
	if https := listeners[2]; https != nil {
		n.run("https", func() error { return n.web.Serve(tls.NewListener(https, secret.web)) })
	}
	if smtps := listeners[3]; smtps != nil {
		n.run("smtps", func() error { return n.mail.ServeTLS(smtps) })
	}
	return n, nil
}

// run serves one edge; an edge that ends by itself ends the server.
func (n *node) run(edge string, serve func() error) {
	go func() {
		if err := serve(); err != nil {
			n.failed <- fmt.Errorf("the %s server failed: %w", edge, err)
		}
	}()
}

// stop stops accepting, lets what is in flight finish within drain, and closes the disk.
func (n *node) stop(drain time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	n.logger.Info("stopping", "drain", drain)
	var edges sync.WaitGroup
	edges.Go(func() { n.logStop("smtp", n.mail.Shutdown(ctx)) })
	edges.Go(func() { n.logStop("http", n.web.Shutdown(ctx)) })
	edges.Wait()
	n.admin.close(n.adminPath)
	return n.closeInner()
}

// logStop notes an edge that could not finish in time: its clients were not acknowledged.
func (n *node) logStop(edge string, err error) {
	if err != nil {
		n.logger.Warn("connections were cut at the end of the drain", "edge", edge, "err", err)
	}
}

func (n *node) closeInner() error {
	if n.system != nil {
		n.system.Stop()
	}
	n.courier.Close()
	if n.poster != nil {
		n.poster.Close()
	}
	return n.store.Close()
}

func (c *serveCommand) baseURL(addr net.Addr) string {
	if c.BaseURL != "" {
		return c.BaseURL
	}
	return "http://" + addr.String()
}

func listen(flag, addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s %s can't be opened: %w", flag, addr, err)
	}
	return ln, nil
}

func parseCIDRs(flag string, list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("%s %q is not a network such as 10.0.0.0/8", flag, s)
		}
		out = append(out, p)
	}
	return out, nil
}
