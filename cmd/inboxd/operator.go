package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"inboxd/internal/version"
)

type versionCommand struct{}

// Run implements the command.
func (versionCommand) Run() error {
	_, err := fmt.Println(version.Line("inboxd"))
	return err
}

type readyzCommand struct {
	URL  string        `help:"Where the server is." default:"http://127.0.0.1:8080" placeholder:"URL" env:"-"`
	Wait time.Duration `help:"How long to ask again until it is ready." placeholder:"DURATION" env:"-"`
}

// readyPause is between two questions.
const readyPause = 200 * time.Millisecond

// Run implements the command.
func (c *readyzCommand) Run() error {
	ctx, cancel := context.WithTimeout(context.Background(), max(c.Wait, 5*time.Second))
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}} // no proxy: the server is near
	for end := time.Now().Add(c.Wait); ; {
		err := askReady(ctx, client, strings.TrimRight(c.URL, "/")+"/readyz")
		if err == nil {
			return nil
		}
		if !time.Now().Add(readyPause).Before(end) {
			return err
		}
		time.Sleep(readyPause)
	}
}

func askReady(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no server answers: %w", err)
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
		logger.Warn("--memory is so small that hardly an inbox stays in memory; sizes without a unit are bytes", "memory", byteText(int64(c.Memory)))
	}
	if c.Signup == "open" && (isPublic(c.HTTP) || isPublic(c.HTTPS)) {
		logger.Warn("anybody who reaches this address can sign up and send mail; --signup closed leaves accounts to the operator", "http", c.HTTP, "https", c.HTTPS)
	}
	if c.Metrics == "public" && (isPublic(c.HTTP) || isPublic(c.HTTPS)) {
		logger.Warn("anybody who reaches this address can read /metrics", "http", c.HTTP, "https", c.HTTPS)
	}
	for _, name := range unknownVariables(os.Environ()) {
		logger.Warn("this variable of the environment is none of the server's flags, and does nothing", "variable", name)
	}
	if info, err := os.Stat(filepath.Join(c.Data, "secret.key")); err == nil && info.Mode().Perm()&0o077 != 0 {
		logger.Warn("secret.key can be read by others: chmod 600, and consider its secrets known", "file", filepath.Join(c.Data, "secret.key"), "mode", info.Mode().Perm().String())
	}
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

// write prints what an operator looks for first.
func (s nodeStats) write(out io.Writer, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	row("version", "%s", s.Version)
	row("up", "%s, since %s", now.Sub(s.Started).Round(time.Second), s.Started.Format(time.RFC3339))
	row("in memory", "%d inboxes (%s), %d accounts", s.Actors.Inboxes, byteText(s.Actors.InboxBytes), s.Actors.Accounts)
	row("mail in", "%d accepted (%s), %d connections open", s.SMTP.MailsAccepted, byteText(int64(s.SMTP.MailBytesAccepted)), s.SMTP.Open)
	row("mail out", "%d waiting, %d delivered, %d failed, %d bounced", s.Actors.Queue.Depth, s.Actors.Queue.Delivered, s.Actors.Queue.Permanent, s.Actors.Queue.Bounced)
	if s.Actors.Queue.Depth > 0 {
		row("oldest", "%s", s.Actors.Queue.Oldest.Round(time.Minute))
	}
	row("webhooks", "%d waiting, %d succeeded, %d failed", s.Actors.Hooks.Waiting, s.Actors.Hooks.Delivered, s.Actors.Hooks.Failed)
	for _, one := range s.HTTP {
		requests := uint64(0)
		for _, n := range one.Codes {
			requests += n
		}
		row("http "+one.Class, "%d requests, %s on average", requests, time.Duration(one.Seconds.Sum/float64(max(one.Seconds.Count, 1))*float64(time.Second)).Round(time.Microsecond))
	}
	row("disk", "%s tables, %s log, %d blobs, %s of %s free", byteText(int64(s.Persist.TableBytes)+int64(s.Persist.ValueBytes)), byteText(int64(s.Persist.WALBytes)),
		s.Persist.Blobs, byteText(int64(s.Persist.DiskFree)), byteText(int64(s.Persist.DiskTotal)))
	row("commits", "%d", s.Persist.Commits)
	if n := s.Persist.DamagedItems + s.Persist.DamagedFiles; n > 0 {
		row("damaged", "%d messages and inboxes, %d files: inboxd check", s.Persist.DamagedItems, s.Persist.DamagedFiles)
	}
	if s.Persist.Full {
		row("full", "new mail is refused for want of space")
	}
	return w.Flush()
}
