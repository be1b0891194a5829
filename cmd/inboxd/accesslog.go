package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"inboxd/http"
	"inboxd/internal/sealed"
)

// openAccessLog opens what --access-log names: a file that is appended to (mode 0600), - for
// standard output, nothing for none. close writes what waits.
func (c *serveCommand) openAccessLog(log *slog.Logger) (hear func(http.Access), close func(), err error) {
	if c.AccessLog == "" {
		return nil, func() {}, nil
	}
	out, ended := io.Writer(os.Stdout), func() {}
	if c.AccessLog != "-" {
		file := &logFile{path: c.AccessLog}
		if err := file.reopen(); err != nil {
			return nil, nil, fmt.Errorf("--access-log can't be opened: %w", err)
		}
		out, ended = file, file.followHangups(log)
	}
	logger, flush := newLogger(out, c.LogFormat, slog.LevelInfo)
	return func(a http.Access) { logAccess(logger, a) }, func() {
		flush()
		ended()
	}, nil
}

// logFile is a file that is appended to. Who rotates it moves it away and sends SIGHUP: it is opened anew by its name.
type logFile struct {
	path string
	mu   sync.Mutex
	file *os.File
}

// Write implements io.Writer.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(p)
}

// reopen goes on with the old file where the name can't be opened.
func (l *logFile) reopen() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close() // what was written to it is in the kernel
	}
	l.file = file
	return nil
}

// followHangups reopens the file at each SIGHUP until it is ended, which closes it.
func (l *logFile) followHangups(log *slog.Logger) (end func()) {
	hangups, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer close(over)
		for range hangups {
			if err := l.reopen(); err != nil {
				log.Error("the access log stays where it is", "err", err)
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-over
		_ = l.file.Close() // nobody is left to tell
	}
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
