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
	serverSettings
	logger         *slog.Logger
	owner          *partition.OwnershipState // owns all partitions: this node is the only one
	store          *persist.Store
	listeners      map[string]net.Listener // by edge
	dns            *resolve.Resolver
	courier        *courier.Courier
	poster         *post.WebhookCaller
	system         *actors.System
	mail           *smtp.Server
	web            *http.Server
	admin          *operator.Socket
	onResponse     func(http.AccessEntry) // called for every HTTP response; nil: no access log
	closeAccessLog func()                 // closes the access log
	startedAt      time.Time
	edgeErrors     chan error // has room for an error of every edge
}

// edgeNames are the kinds of listeners, by the names of their flags.
var edgeNames = []string{"http", "smtp", "https", "smtps"}

// startNode starts a node. After an error, nothing is left running.
func (c *serveCommand) startNode(logger *slog.Logger) (*node, error) {
	s, err := c.parseSettings(logger)
	if err != nil {
		return nil, err
	}
	n := &node{startedAt: time.Now(), flags: c, serverSettings: s, logger: logger, owner: partition.NewOwner(partition.AllGroups()), listeners: map[string]net.Listener{}, edgeErrors: make(chan error, len(edgeNames))}
	// Listeners come before everything that makes outgoing connections: guard must know their
	// addresses.
	for _, step := range []func() error{n.openLog, n.openStore, n.openListeners, n.startSystem, n.openEdges} {
		if err := step(); err != nil {
			return nil, errors.Join(err, n.closeInner())
		}
	}
	n.serveEdges()
	n.logStart()
	return n, nil
}

func (n *node) openLog() (err error) {
	n.onResponse, n.closeAccessLog, err = n.flags.openAccessLog(n.logger)
	return err
}

func (n *node) openStore() (err error) {
	n.store, err = persist.Open(n.flags.Data, persist.Options{Owner: n.owner, Logger: n.logger})
	if err != nil || !n.store.IsHeld() {
		return err
	}
	if n.flags.ResumeQueue {
		return n.store.ReleaseHold()
	}
	n.logger.Warn("restored backup: outgoing messages and webhooks are held because the original server may have sent them; send them with: inboxd admin queue release")
	return nil
}

// openListeners opens the configured listeners.
func (n *node) openListeners() error {
	c := n.flags
	for i, addr := range []string{c.HTTP, c.SMTP, c.HTTPS, c.SMTPS} {
		if addr == "" {
			continue
		}
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			return fmt.Errorf("--%s: cannot listen at %s: %w", edgeNames[i], addr, err)
		}
		n.listeners[edgeNames[i]] = ln
	}
	return nil
}

// egressPolicy allows connections to public addresses and to allow, but never to our own listeners.
func (n *node) egressPolicy(allow []netip.Prefix) netguard.AddressPolicy {
	p := netguard.AddressPolicy{AllowedPrefixes: allow}
	for _, ln := range n.listeners {
		p.OwnListeners = append(p.OwnListeners, ln.Addr().(*net.TCPAddr).AddrPort())
	}
	return p
}

func (n *node) startSystem() (err error) {
	c := n.flags
	n.dns = resolve.New(n.dnsServer, resolve.Options{})
	n.smarthost.Resolver = goResolver(n.dnsServer) // the system's resolver also uses its hosts file and search list
	n.courier = courier.New(courier.Options{
		HelloName: n.domain, Resolver: n.dns, MXPort: c.Sending.MXPort, Smarthost: n.smarthost, AddressPolicy: n.egressPolicy(n.mayMail), Logger: n.logger,
	})
	n.poster = post.New(n.egressPolicy(n.mayCall), goResolver(n.dnsServer))
	n.system, err = actors.Start(actors.Options{
		Store: n.store, Owner: n.owner, Namespaces: inbox.Namespaces{ServiceDomain: n.domain, PlainAddresses: c.Namespace == "plain"},
		MXHost: n.mxHost, Postmaster: n.postmasterInbox, Resolver: freshResolver(n.dnsServer),
		NewPlan: account.PlanName(c.DefaultPlan), Plans: n.plans, MaxResidentBytes: int64(c.Memory), Logger: n.logger,
		SpamScanner: n.scanner, MailReset: n.mailReset,
		MailVerification: n.mailVerification, VerifyAddresses: c.signup() != "unverified",
		Courier: courierAdapter{n.courier}, Signer: signMessage, SenderJudge: ingest.MessageAuthenticator{AuthServID: n.domain, DNS: n.dns, Now: time.Now}, RetrySchedule: n.retrySchedule, Smarthost: c.Sending.Smarthost,
		SimulateRecipients: c.Simulate, HoldOutgoing: n.store.IsHeld(), MostHanging: hangingConnections(fileLimit()), Poster: n.poster, WebhookSchedule: n.webhookSchedule,
	})
	return err
}

// openEdges creates the servers of the edges and the admin socket. The edges are served only after
// that, so the socket exists when the node is reported as ready.
func (n *node) openEdges() (err error) {
	c := n.flags
	mailConns, webConns := c.divideDescriptors(fileLimit())
	if mailConns < c.SMTPMaxConns {
		n.logger.Warn("the limit of open files allows fewer SMTP connections than configured", "connections", mailConns)
	}
	n.mail = smtp.New(smtp.Options{
		Domain: n.domain, MaxConns: mailConns, MaxConnsPerIP: c.SMTPMaxConnsIP, Logger: n.logger,
		TLSConfig: n.tls.mailTLS, ProxyProtocol: n.balancers,
		MailDominates: newCrowding(func() uint64 { return n.mail.Stats().MailsAccepted }, func() uint64 { return totalResponses(n.web.ServedClasses()) }).byMail,
	}, inboxReceiver{n.system, ingest.MessageAuthenticator{AuthServID: n.domain, DNS: n.dns, LocalKeys: n.system, CachedFindings: mailauth.NewFindings(), Now: time.Now}})
	n.web = http.New(http.Options{
		BaseURL: n.baseURL(), SMTP: n.smtpHere(), ServiceDomain: n.domain, MaxConns: webConns, TrustedProxies: n.proxies,
		Simulate:       c.Simulate,
		LocalOnly:      c.BaseURL == "" && !isPublic(c.HTTP) && !isPublic(c.HTTPS),
		SignupOpen:     func() bool { return c.Signup != "closed" },
		MetricsHandler: n.metricsHandler(), MetricsPublic: c.Metrics == "public",
		PartitionOwner: n.owner, CheckReady: n.store.CheckWritable, Logger: n.logger, AllowedOrigins: n.origins, LogAccess: n.onResponse,
		ChallengeHandler: n.tls.challengeHandler,
	}, http.Ports{
		Credentials: n.system, Views: n.system, Auth: n.system, Keys: n.system, Inboxes: n.system, Messages: n.system,
		Events: n.system, Sending: n.system, Meetings: n.system, Feeds: n.system.Feeds, Owners: n.system.OwnerSettings, Webhooks: n.system, Domains: n.system, Simulation: actors.SimulatedReceiver{ReceivingService: n.system.ReceivingService},
	})
	n.admin, err = operator.OpenSocket(cmp.Or(c.AdminSocket, filepath.Join(c.Data, "admin.sock")), operator.AdminTarget{
		System: n.system, Store: n.store, ReadStats: n.collectStats, BaseURL: n.baseURL(), DataFolder: c.Data, ServiceDomain: n.domain, MXHost: n.mxHost, DNS: freshResolver(n.dnsServer),
	})
	return err
}

// serveEdges serves the edges. If one fails, the server stops.
func (n *node) serveEdges() {
	for edge, serve := range map[string]func(net.Listener) error{
		"http": n.web.Serve, "smtp": n.mail.Serve, "smtps": n.mail.ServeTLS,
		"https": func(ln net.Listener) error { return n.web.Serve(tls.NewListener(ln, n.tls.webTLS)) },
	} {
		ln := n.listeners[edge]
		if ln == nil {
			continue
		}
		go func() {
			if err := serve(ln); err != nil {
				n.edgeErrors <- fmt.Errorf("the %s server failed: %w", edge, err)
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
	attrs := []any{"version", version.BuildString(), "folder", folder, "domain", n.domain, "base_url", n.baseURL()}
	for _, edge := range edgeNames {
		if ln := n.listeners[edge]; ln != nil {
			attrs = append(attrs, edge, ln.Addr().String())
		}
	}
	n.logger.Info("started", attrs...)
}

// readyLine returns the line that lists the addresses of the configured listeners.
func (n *node) readyLine() string {
	line := "inboxd ready"
	for _, edge := range edgeNames {
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

// stopNode stops accepting, lets work in progress finish, and closes the disk, all within drain. If the
// disk hangs, it is left open after that: the next start finds everything that was acknowledged.
func (n *node) stopNode(drain time.Duration) error {
	end := time.After(drain)
	ctx, cancel := context.WithTimeout(context.Background(), drain-drain/closeShare)
	defer cancel()
	n.logger.Info("stopping", "drain", drain)
	var servers sync.WaitGroup
	servers.Go(func() { n.logStop("smtp", n.mail.Shutdown(ctx)) })
	servers.Go(func() { n.logStop("http", n.web.Shutdown(ctx)) })
	servers.Wait()
	n.closeAccessLog()
	closed := make(chan error, 1)
	go func() {
		n.admin.Close()
		closed <- n.closeInner()
	}()
	select {
	case err := <-closed:
		if err == nil {
			n.logger.Info("stopped", "up", time.Since(n.startedAt).Round(time.Second))
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
