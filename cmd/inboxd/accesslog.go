package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"inboxd/http"
	"inboxd/internal/sealed"
)

// openAccessLog opens what --access-log names: a file that is appended to (mode 0600), - for
// standard output, nothing for none. close writes what waits.
func (c *serveCommand) openAccessLog() (hear func(http.Access), close func(), err error) {
	if c.AccessLog == "" {
		return nil, func() {}, nil
	}
	out := os.Stdout
	if c.AccessLog != "-" {
		if out, err = os.OpenFile(c.AccessLog, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			return nil, nil, fmt.Errorf("--access-log can't be opened: %w", err)
		}
	}
	logger, flush := newLogger(out, c.LogFormat, slog.LevelInfo)
	return func(a http.Access) { logAccess(logger, a) }, func() {
		flush()
		if out != os.Stdout {
			_ = out.Close() // nobody is left to tell
		}
	}, nil
}

// logAccess writes a line. Its time is when the line is written; ms is how long the answer took.
func logAccess(logger *slog.Logger, a http.Access) {
	logger.Info("access", "client", a.Peer, "method", string(a.Method), "path", loggable(string(a.Path)),
		"status", a.Status, "bytes", a.Bytes, "ms", float64(a.Took.Microseconds())/1000, "request", string(a.Request))
}

// loggable is a path without the token of a link to a calendar, which opens it, and without a private key,
// however that is escaped.
func loggable(path string) string {
	if plain, err := url.PathUnescape(path); err == nil && sealed.IsPrivate(plain) {
		return sealed.Veil(plain)
	}
	if rest, is := strings.CutPrefix(path, http.FeedPath); is && rest != "" {
		return http.FeedPath + "*"
	}
	return path
}

// checkOrigins refuses what no browser sends as an Origin: a path, a slash at the end, a capital.
func (c *serveCommand) checkOrigins() (http.Origins, error) {
	for _, origin := range c.CORSOrigin {
		u, err := url.Parse(origin)
		if origin == "*" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Scheme+"://"+strings.ToLower(u.Host) == origin {
			continue
		}
		return nil, fmt.Errorf("--cors-origin %q is not an origin such as https://app.example.com, or *", origin)
	}
	return http.Origins(c.CORSOrigin), nil
}
