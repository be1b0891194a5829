package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"sync"
	"time"

	"inboxd/actors"
	"inboxd/cmd/inboxd/operator"
	"inboxd/http"
	"inboxd/http/post"
	"inboxd/internal/base/netguard"
	"inboxd/internal/base/partition"
	"inboxd/internal/base/resolve"
	"inboxd/internal/base/version"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/mailauth"
	"inboxd/persist"
	"inboxd/smtp"
	"inboxd/smtp/courier"
)

// node is a running server. It starts from the disk outwards and stops from the edges inwards, so
// that nothing is accepted that could not be stored. start fills it before anything else can see
// it; after that it does not change.
type node struct {
	flags *serveCommand
	settings
	logger    *slog.Logger
	owner     *partition.Owner // owns all partitions: this node is the only one
	store     *persist.Store
	listeners map[string]net.Listener // by edge
	dns       *resolve.Resolver
	courier   *courier.Courier
	poster    *post.Caller
	system    *actors.System
	mail      *smtp.Server
	web       *http.Server
	admin     *operator.Socket
	heard     func(http.Access) // called for every HTTP response; nil: no access log
	unheard   func()            // closes the access log
	started   time.Time
	failed    chan error // has room for an error of every edge
}

// edges are the kinds of listeners, by the names of their flags.
var edges = []string{"http", "smtp", "https", "smtps"}

// start starts a node. After an error, nothing is left running.
func (c *serveCommand) start(logger *slog.Logger) (*node, error) {
	s, err := c.settings(logger)
	if err != nil {
		return nil, err
	}
	n := &node{started: time.Now(), flags: c, settings: s, logger: logger, owner: partition.NewOwner(partition.All()), listeners: map[string]net.Listener{}, failed: make(chan error, len(edges))}
	// Listeners come before everything that makes outgoing connections: guard must know their
	// addresses.
	for _, step := range []func() error{n.openLog, n.openStore, n.listen, n.startSystem, n.openEdges} {
		if err := step(); err != nil {
			return nil, errors.Join(err, n.closeInner())
		}
	}
	n.serve()
	n.logStart()
	return n, nil
}

func (n *node) openLog() (err error) {
	n.heard, n.unheard, err = n.flags.openAccessLog(n.logger)
	return err
}

func (n *node) openStore() (err error) {
	n.store, err = persist.Open(n.flags.Data, persist.Options{Owner: n.owner, Logger: n.logger})
	if err != nil || !n.store.Held() {
		return err
	}
	if n.flags.ResumeQueue {
		return n.store.Release()
	}
	n.logger.Warn("restored backup: outgoing messages and webhooks are held because the original server may have sent them; send them with: inboxd admin queue release")
	return nil
}

// listen opens the configured listeners.
func (n *node) listen() error {
	c := n.flags
	for i, addr := range []string{c.HTTP, c.SMTP, c.HTTPS, c.SMTPS} {
		if addr == "" {
			continue
		}
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			return fmt.Errorf("--%s: cannot listen at %s: %w", edges[i], addr, err)
		}
		n.listeners[edges[i]] = ln
	}
	return nil
}

// guard allows connections to public addresses and to allow, but never to our own listeners.
func (n *node) guard(allow []netip.Prefix) netguard.Policy {
	p := netguard.Policy{Allow: allow}
	for _, ln := range n.listeners {
		p.Own = append(p.Own, ln.Addr().(*net.TCPAddr).AddrPort())
	}
	return p
}

func (n *node) startSystem() (err error) {
	c := n.flags
	n.dns = resolve.New(n.dnsServer, resolve.Options{})
	n.smarthost.Resolver = goResolver(n.dnsServer) // the system's resolver also uses its hosts file and search list
	n.courier = courier.New(courier.Options{
		Hello: n.domain, Resolver: n.dns, MXPort: c.Sending.MXPort, Smarthost: n.smarthost, Guard: n.guard(n.mayMail), Logger: n.logger,
	})
	n.poster = post.New(n.guard(n.mayCall), goResolver(n.dnsServer))
	n.system, err = actors.Start(actors.Options{
		Store: n.store, Owner: n.owner, Namespaces: inbox.Namespaces{Domain: n.domain, Plain: c.Namespace == "plain"},
		MXHost: n.mxHost, Postmaster: n.postmaster, Resolver: freshResolver(n.dnsServer),
		NewPlan: account.PlanName(c.DefaultPlan), Plans: n.plans, Memory: int64(c.Memory), Logger: n.logger,
		Spam: n.scanner, MailReset: n.mailReset,
		MailVerification: n.mailVerification, VerifyAddresses: c.signup() != "unverified",
		Courier: route{n.courier}, Signer: sign, Judge: ingest.Judge{Server: n.domain, DNS: n.dns, Now: time.Now}, Schedule: n.retries, Smarthost: c.Sending.Smarthost,
		Held: n.store.Held(), MostHanging: hangingConnections(fileLimit()), Poster: n.poster, WebhookSchedule: n.calls,
	})
	return err
}

// openEdges creates the servers of the edges and the admin socket. The edges are served only after
// that, so the socket exists when the node is reported as ready.
func (n *node) openEdges() (err error) {
	c := n.flags
	mailConns, webConns := c.connections(fileLimit())
	if mailConns < c.SMTPMaxConns {
		n.logger.Warn("the limit of open files allows fewer SMTP connections than configured", "connections", mailConns)
	}
	n.mail = smtp.New(smtp.Options{
		Domain: n.domain, MaxConns: mailConns, MaxConnsPerIP: c.SMTPMaxConnsIP, Logger: n.logger,
		TLSConfig: n.tls.mail, ProxyProtocol: n.balancers,
		Crowds: newCrowding(func() uint64 { return n.mail.Stats().MailsAccepted }, func() uint64 { return answered(n.web.Served()) }).byMail,
	}, inboxes{n.system, ingest.Judge{Server: n.domain, DNS: n.dns, Keys: n.system, Findings: mailauth.NewFindings(), Now: time.Now}})
	n.web = http.New(http.Options{
		BaseURL: n.baseURL(), SMTP: n.smtpHere(), Domain: n.domain, MaxConns: webConns, TrustedProxies: n.proxies,
		LocalOnly:      c.BaseURL == "" && !isPublic(c.HTTP) && !isPublic(c.HTTPS),
		SignupOpen:     func() bool { return c.Signup != "closed" },
		MetricsHandler: n.metricsHandler(), MetricsPublic: c.Metrics == "public",
		Owner: n.owner, Ready: n.store.Writable, Logger: n.logger, Origins: n.origins, Access: n.heard,
		ChallengeHandler: n.tls.challenge,
	}, http.Ports{
		Credentials: n.system, Views: n.system, Auth: n.system, Keys: n.system, Inboxes: n.system, Messages: n.system,
		Events: n.system, Sending: n.system, Meetings: n.system, Feeds: n.system.Feeds, Owners: n.system.Owners, Webhooks: n.system, Domains: n.system,
	})
	n.admin, err = operator.Open(cmp.Or(c.AdminSocket, filepath.Join(c.Data, "admin.sock")), operator.Node{
		System: n.system, Store: n.store, Stats: n.stats, BaseURL: n.baseURL(), Data: c.Data, Domain: n.domain, MXHost: n.mxHost, DNS: freshResolver(n.dnsServer),
	})
	return err
}

// serve serves the edges. If one fails, the server stops.
func (n *node) serve() {
	for edge, serve := range map[string]func(net.Listener) error{
		"http": n.web.Serve, "smtp": n.mail.Serve, "smtps": n.mail.ServeTLS,
		"https": func(ln net.Listener) error { return n.web.Serve(tls.NewListener(ln, n.tls.web)) },
	} {
		ln := n.listeners[edge]
		if ln == nil {
			continue
		}
		go func() {
			if err := serve(ln); err != nil {
				n.failed <- fmt.Errorf("the %s server failed: %w", edge, err)
			}
		}()
	}
}

// logStart logs which build serves which folder at which addresses.
func (n *node) logStart() {
	folder, err := filepath.Abs(n.flags.Data)
	if err != nil {
		folder = n.flags.Data
	}
	attrs := []any{"version", version.String(), "folder", folder, "domain", n.domain, "base_url", n.baseURL()}
	for _, edge := range edges {
		if ln := n.listeners[edge]; ln != nil {
			attrs = append(attrs, edge, ln.Addr().String())
		}
	}
	n.logger.Info("started", attrs...)
}

// readyLine returns the line that lists the addresses of the configured listeners.
func (n *node) readyLine() string {
	line := "inboxd ready"
	for _, edge := range edges {
		if ln := n.listeners[edge]; ln != nil {
			line += fmt.Sprintf(" %s=%s", edge, ln.Addr())
		}
	}
	return line
}

func (n *node) baseURL() string {
	if n.flags.BaseURL != "" {
		return n.flags.BaseURL
	}
	return "http://" + n.listeners["http"].Addr().String()
}

// smtpHere returns the address at which programs on this machine can submit messages over SMTP.
func (n *node) smtpHere() string {
	at := n.listeners["smtp"].Addr().(*net.TCPAddr).AddrPort()
	if at.Addr().IsUnspecified() {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
	}
	return at.String()
}

// closeShare sets the part of the drain time, a fifth, that is reserved for closing the inboxes and
// the disk if the edges use up all of theirs.
const closeShare = 5

// stop stops accepting, lets work in progress finish, and closes the disk, all within drain. If the
// disk hangs, it is left open after that: the next start finds everything that was acknowledged.
func (n *node) stop(drain time.Duration) error {
	end := time.After(drain)
	ctx, cancel := context.WithTimeout(context.Background(), drain-drain/closeShare)
	defer cancel()
	n.logger.Info("stopping", "drain", drain)
	var servers sync.WaitGroup
	servers.Go(func() { n.logStop("smtp", n.mail.Shutdown(ctx)) })
	servers.Go(func() { n.logStop("http", n.web.Shutdown(ctx)) })
	servers.Wait()
	n.unheard()
	closed := make(chan error, 1)
	go func() {
		n.admin.Close()
		closed <- n.closeInner()
	}()
	select {
	case err := <-closed:
		if err == nil {
			n.logger.Info("stopped", "up", time.Since(n.started).Round(time.Second))
		}
		return err
	case <-end:
		n.logger.Error("drain time is over, inboxes and data folder are not closed", "drain", drain, "folder", n.flags.Data)
		return errors.New("data folder not closed within --drain, the next start recovers everything acknowledged")
	}
}

// logStop logs that an edge could not finish in time. Its open requests were not acknowledged.
func (n *node) logStop(edge string, err error) {
	if err != nil {
		n.logger.Warn("connections closed at the end of the drain time", "edge", edge, "err", err)
	}
}

// closeInner closes everything except the servers of the edges.
func (n *node) closeInner() error {
	for _, ln := range n.listeners {
		_ = ln.Close() // already closed if its server ran
	}
	if n.system != nil {
		n.system.Stop()
	}
	if n.courier != nil {
		n.courier.Close()
		n.poster.Close()
	}
	if n.store != nil {
		return n.store.Close()
	}
	return nil
}
