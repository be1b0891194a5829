package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"inboxd/cmd/inboxd/operator"
	"inboxd/internal/base/version"
)

type versionCommand struct{}

// Run implements the command.
func (versionCommand) Run() error {
	_, err := fmt.Println(version.ProgramLine("inboxd"))
	return err
}

type readyzCommand struct {
	HTTP string        `help:"Address at which the server listens." default:"127.0.0.1:8080" placeholder:"HOST:PORT" name:"http"`
	URL  string        `help:"URL of the server (default: http:// and the address of --http)." placeholder:"URL" env:"-"`
	Wait time.Duration `help:"How long to wait until the server is ready." placeholder:"DURATION" env:"-"`
}

// readyPause is the time between two requests.
const readyPause = 200 * time.Millisecond

// Run implements the command.
func (c *readyzCommand) Run() error {
	base, err := c.serverURL()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(c.Wait, 5*time.Second))
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}} // no proxy: the server is local
	for end := time.Now().Add(c.Wait); ; {
		err := askReady(ctx, client, base+"/readyz")
		if err == nil {
			return nil
		}
		if !time.Now().Add(readyPause).Before(end) {
			return err
		}
		time.Sleep(readyPause)
	}
}

// serverURL returns the server's URL. If the server listens on all addresses, the loopback address is
// used.
func (c *readyzCommand) serverURL() (string, error) {
	if c.URL != "" {
		return strings.TrimRight(c.URL, "/"), nil
	}
	host, port, err := net.SplitHostPort(c.HTTP)
	if err != nil {
		return "", fmt.Errorf("--http: invalid address %q (use HOST:PORT, such as 127.0.0.1:8080)", c.HTTP)
	}
	if isUnspecified(host) {
		host = "127.0.0.1" // [::] accepts IPv4, too
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

func askReady(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no server responds: %w", err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready (%d): %s", resp.StatusCode, strings.TrimSpace(string(text)))
	}
	return nil
}

// leastMemory is the least --memory with which a node can work properly.
const leastMemory = 16 << 20

// logWarnings logs, at the start, settings that are allowed but probably not intended.
func (c *serveCommand) logWarnings(logger *slog.Logger) {
	if c.Memory < leastMemory {
		logger.Warn("--memory is too small to keep inboxes in memory; sizes without a unit are bytes", "memory", operator.ByteText(int64(c.Memory)))
	}
	if host := nameOf(c.DNS); host != "" && !isFound(host) {
		logger.Warn("the DNS server's name cannot be resolved: SPF, DKIM and DMARC results will be temperror, and messages cannot be sent", "dns", c.DNS)
	}
	if c.signup() == "unverified" && c.isPublic() {
		logger.Warn("anybody who reaches this address can sign up and send mail; --signup open requires a verified address first, closed lets only the operator create accounts", "http", c.HTTP, "https", c.HTTPS, "base_url", c.BaseURL)
	}
	if host, _, err := net.SplitHostPort(c.HTTP); c.BaseURL == "" && err == nil && isUnspecified(host) {
		logger.Warn("without --base-url, links in responses and messages contain an address that clients cannot reach", "http", c.HTTP)
	}
	if c.Metrics == "public" && (isPublic(c.HTTP) || isPublic(c.HTTPS)) {
		logger.Warn("anybody who reaches this address can read /metrics", "http", c.HTTP, "https", c.HTTPS)
	}
	if times, err := c.Webhooks.parseSchedule(); err == nil && !slices.IsSorted(times) {
		logger.Warn("--webhook-schedule must have increasing times after the event, not delays: an attempt whose time is before that of the previous one follows at once", "schedule", c.Webhooks.WebhookSchedule)
	}
	for _, name := range unknownVariables(os.Environ()) {
		logger.Warn("unknown environment variable, it has no effect; inboxd serve --help lists the variables", "variable", name)
	}
	if info, err := os.Stat(filepath.Join(c.Data, "secret.key")); err == nil && info.Mode().Perm()&0o077 != 0 {
		logger.Warn("secret.key is readable by other users: run chmod 600 and treat its secrets as compromised", "file", filepath.Join(c.Data, "secret.key"), "mode", info.Mode().Perm().String())
	}
}

// isPublic reports whether clients on other machines may be able to reach the API.
func (c *serveCommand) isPublic() bool {
	return isPublic(c.HTTP) || isPublic(c.HTTPS) || isPublic(publicAddress(c.BaseURL))
}

// signup returns --signup or its default. By default, accounts may send without a verified address
// only if no other machine can reach the API.
func (c *serveCommand) signup() string {
	switch {
	case c.Signup != "":
		return c.Signup
	case c.isPublic():
		return "open"
	}
	return "unverified"
}

// nameOf returns the host of a server, with or without a port, if it is a name; for an IP address,
// "".
func nameOf(server string) string {
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		host = server
	}
	if net.ParseIP(host) != nil {
		return ""
	}
	return host
}

// lookupTimeout limits how long the start waits to resolve the DNS server's name.
const lookupTimeout = 2 * time.Second

// isFound reports whether the system can resolve a name.
func isFound(host string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	_, err := net.DefaultResolver.LookupHost(ctx, host)
	return err == nil
}

// isPublic reports whether an address to listen on is not limited to loopback.
func isPublic(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if addr == "" || err != nil || host == "localhost" {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

// publicAddress returns the address in a base URL, under which clients reach the API, possibly
// through a proxy. It returns "" if there is no URL.
func publicAddress(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), u.Port())
}

// isUnspecified reports whether a host to listen on means all addresses of the machine.
func isUnspecified(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// unknownVariables returns the variables INBOXD_* that set no flag of any command.
func unknownVariables(environ []string) (unknown []string) {
	known := map[string]bool{}
	if app, err := kong.New(&commandLine{}, kongOptions()...); err == nil {
		_ = kong.Visit(app.Model, func(node kong.Visitable, next kong.Next) error {
			if flag, is := node.(*kong.Flag); is {
				for _, name := range flag.Envs {
					known[name] = true
				}
			}
			return next(nil)
		})
	}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "INBOXD_") && !strings.HasPrefix(name, "INBOXD_TEST_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}
