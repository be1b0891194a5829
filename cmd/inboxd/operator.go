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
	_, err := fmt.Println(version.Line("inboxd"))
	return err
}

type readyzCommand struct {
	HTTP string        `help:"Address at which the server listens." default:"127.0.0.1:8080" placeholder:"HOST:PORT" name:"http"`
	URL  string        `help:"URL of the server (default: http:// and the address of --http)." placeholder:"URL" env:"-"`
	Wait time.Duration `help:"How long to wait until the server is ready." placeholder:"DURATION" env:"-"`
}

// readyPause is between two questions.
const readyPause = 200 * time.Millisecond

// Run implements the command.
func (c *readyzCommand) Run() error {
	base, err := c.base()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(c.Wait, 5*time.Second))
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}} // no proxy: the server is near
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

// base is the server's URL. One that listens at every address of the machine is asked at loopback's.
func (c *readyzCommand) base() (string, error) {
	if c.URL != "" {
		return strings.TrimRight(c.URL, "/"), nil
	}
	host, port, err := net.SplitHostPort(c.HTTP)
	if err != nil {
		return "", fmt.Errorf("--http: invalid address %q (use HOST:PORT, such as 127.0.0.1:8080)", c.HTTP)
	}
	if isUnspecified(host) {
		host = "127.0.0.1" // [::] takes IPv4, too
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

// leastMemory is below what a node can do anything with.
const leastMemory = 16 << 20

// warn says what is allowed and yet hardly meant, at the start and by name.
func (c *serveCommand) warn(logger *slog.Logger) {
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
	if times, err := c.Webhooks.schedule(); err == nil && !slices.IsSorted(times) {
		logger.Warn("--webhook-schedule must have increasing times after the event, not delays: an attempt whose time is before that of the previous one follows at once", "schedule", c.Webhooks.WebhookSchedule)
	}
	for _, name := range unknownVariables(os.Environ()) {
		logger.Warn("unknown environment variable, it has no effect; inboxd serve --help lists the variables", "variable", name)
	}
	if info, err := os.Stat(filepath.Join(c.Data, "secret.key")); err == nil && info.Mode().Perm()&0o077 != 0 {
		logger.Warn("secret.key is readable by other users: run chmod 600 and treat its secrets as compromised", "file", filepath.Join(c.Data, "secret.key"), "mode", info.Mode().Perm().String())
	}
}

// isPublic reports whether clients of other machines may reach the API.
func (c *serveCommand) isPublic() bool {
	return isPublic(c.HTTP) || isPublic(c.HTTPS) || isPublic(behind(c.BaseURL))
}

// signup is --signup, or its default: accounts send without a verified address only where nobody else
// reaches the API.
func (c *serveCommand) signup() string {
	switch {
	case c.Signup != "":
		return c.Signup
	case c.isPublic():
		return "open"
	}
	return "unverified"
}

// nameOf is the host of a server that is given by its name, with a port or without; else empty.
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

// lookupTimeout bounds how much longer a start takes where the DNS server has a name.
const lookupTimeout = 2 * time.Second

// isFound asks the system for the address of a name.
func isFound(host string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	_, err := net.DefaultResolver.LookupHost(ctx, host)
	return err == nil
}

// isPublic reports that an address to listen on is not of loopback alone.
func isPublic(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if addr == "" || err != nil || host == "localhost" {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

// behind is the address that clients reach by a URL, through a proxy it may be; empty without one.
func behind(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), u.Port())
}

// isUnspecified reports that a host to listen on is every address of the machine.
func isUnspecified(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// unknownVariables are those INBOXD_* that set no flag of any command.
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
