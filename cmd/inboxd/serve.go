package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// serveCommand runs the server. Every flag is also INBOXD_<NAME> and a key of the config
// file (specification, Operating).
type serveCommand struct {
	Data    string `help:"Data folder; created if it does not exist." default:"./data" placeholder:"DIR"`
	HTTP    string `help:"Address of the HTTP API; port 0 picks a free one." default:"127.0.0.1:8080" placeholder:"HOST:PORT" name:"http"`
	SMTP    string `help:"Address for incoming mail; port 0 picks a free one." default:"127.0.0.1:2525" placeholder:"HOST:PORT" name:"smtp"`
	BaseURL string `help:"URL under which clients reach the API (default: http:// and the HTTP address)." placeholder:"URL"`

	Domain      string `help:"Service domain: new addresses are created under it." default:"inbox.localhost" placeholder:"NAME"`
	Postmaster  string `help:"Inbox that receives mail for postmaster and abuse at the service domain (default: none, such mail is refused)." placeholder:"ADDR"`
	Namespace   string `help:"Namespace of addresses without a chosen subdomain: a random subdomain, or (plain) the service domain itself." enum:"random,plain" default:"random"`
	DefaultPlan string `help:"Plan of new accounts. free is for services that are open to the public." enum:"free,paid" default:"paid"`
	Signup      string `help:"Who can sign up: open (anybody; an account sends to others once its address is verified), unverified (anybody; sends at once), or closed (nobody). Default: unverified if only this machine can reach the server, otherwise open." enum:",open,unverified,closed" default:""`

	DNS string `help:"DNS server for SPF, DKIM, DMARC, MX and own domains (default: those of /etc/resolv.conf)." placeholder:"HOST:PORT" name:"dns"`

	MXHost string      `help:"Host name for the MX records of own domains (default: the service domain)." placeholder:"NAME" name:"mx-host"`
	Plans  planFigures `help:"Limits of the plans; tables [plans.free] and [plans.paid] of the config file." hidden:""`

	Sending sendingFlags `embed:""`

	Webhooks webhookFlags `embed:""`

	Simulate bool `help:"For tests: let clients simulate incoming messages (POST .../messages) and send to bounced@, deferred@, slow@ and rejected@simulate.DOMAIN."`

	ResumeQueue bool `help:"Send the messages and webhooks that a restored backup holds, like inboxd admin queue release."`

	Memory         byteSize      `help:"Memory for resident inboxes; above it, the inboxes idle longest are evicted." default:"512MiB" placeholder:"SIZE"`
	SMTPMaxConns   int           `help:"Maximum number of concurrent SMTP connections." default:"1000" name:"smtp-max-conns"`
	SMTPMaxConnsIP int           `help:"Maximum number of concurrent SMTP connections from one address." default:"50" name:"smtp-max-conns-per-ip"`
	HTTPMaxConns   int           `help:"Maximum number of concurrent HTTP connections (default: as the limit of open files allows, at most 200,000)." name:"http-max-conns"`
	TrustedProxies []string      `help:"Networks of proxies whose X-Forwarded-For is trusted." placeholder:"CIDR"`
	Drain          time.Duration `help:"How long a shutdown waits for requests and messages in progress." default:"10s"`
	AdminSocket    string        `help:"Admin socket (default DIR/admin.sock)." placeholder:"PATH"`
	Metrics        string        `help:"Who can read /metrics: loopback clients only, everybody (public), or nobody (off)." enum:"loopback,public,off" default:"loopback"`
	CORSOrigin     []string      `help:"Web origins whose pages may call the API, or * (default: none)." placeholder:"ORIGIN" name:"cors-origin"`
	AccessLog      string        `help:"Access log with one line for each HTTP response: a file, or - for standard output (default: none)." placeholder:"FILE"`
	LogFormat      string        `help:"Format of the log lines." enum:"text,json" default:"text"`
	LogLevel       logLevel      `help:"Minimum level that is logged (debug, info, warn, error)." default:"info"`

	edgeFlags `embed:""`
}

// Run implements the command.
func (c *serveCommand) Run() error {
	syscall.Umask(0o077) // files are accessible to this user only
	// A core dump would contain messages and keys in plain text.
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("core dumps cannot be disabled: %w", err)
	}
	fitThreads()
	logger, flush := newLogger(os.Stderr, c.LogFormat, slog.Level(c.LogLevel))
	defer flush()
	slog.SetDefault(logger)
	c.logWarnings(logger)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	limitMemory(int64(c.Memory))
	n, err := c.startNode(logger)
	if err != nil {
		return err
	}
	fmt.Println(n.readyLine())
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-n.edgeErrors:
	}
	return errors.Join(failed, n.stopNode(c.Drain))
}
