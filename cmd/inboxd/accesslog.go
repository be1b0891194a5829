package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	slashed "path"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"inboxd/http"
	"inboxd/internal/mail/sealed"
)

// openAccessLog opens the log that --access-log names: a file that is appended to (mode 0600), or -
// for standard output. Without the flag, record is nil. close writes buffered lines and closes the
// file.
func (c *serveCommand) openAccessLog(log *slog.Logger) (record func(http.AccessEntry), close func(), err error) {
	if c.AccessLog == "" {
		return nil, func() {}, nil
	}
	out, ended := io.Writer(os.Stdout), func() {}
	if c.AccessLog != "-" {
		file := &logFile{path: c.AccessLog}
		if err := file.reopenFile(); err != nil {
			return nil, nil, fmt.Errorf("--access-log cannot be opened: %w", err)
		}
		out, ended = file, file.followHangups(log)
	}
	logger, flush := newLogger(out, c.LogFormat, slog.LevelInfo)
	return func(a http.AccessEntry) { logAccess(logger, a) }, func() {
		flush()
		ended()
	}, nil
}

// logFile is a file that is appended to. To rotate it, move it away and send SIGHUP: it is then
// opened again by its name.
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

// reopenFile keeps the old file if the name cannot be opened.
func (l *logFile) reopenFile() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close() // everything written to it is in the kernel
	}
	l.file = file
	return nil
}

// followHangups reopens the file on every SIGHUP. end stops that and closes the file.
func (l *logFile) followHangups(log *slog.Logger) (end func()) {
	hangups, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer close(over)
		for range hangups {
			if err := l.reopenFile(); err != nil {
				log.Error("the access log could not be reopened, the open file is kept", "err", err)
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-over
		_ = l.file.Close() // there is nowhere to report an error
	}
}

// logAccess writes one line. Its time is when the line is written; ms is the duration of the
// response.
func logAccess(logger *slog.Logger, a http.AccessEntry) {
	logger.Info("access", "client", a.PeerAddress, "method", string(a.Method), "path", loggable(string(a.Path)),
		"status", a.StatusCode, "bytes", a.BodyBytes, "ms", float64(a.TimeTaken.Microseconds())/1000, "request", string(a.RequestID))
}

// loggable returns a path without secrets. It redacts the token of a calendar link and private
// keys, however the path is encoded, and everything else that may be a token.
func loggable(given string) string {
	plain := unescape(given)
	if sealed.IsPrivate(plain) {
		return sealed.RedactKeys(plain)
	}
	if strings.HasPrefix(slashed.Clean("/"+strings.ToLower(plain))+"/", http.FeedPath) {
		return http.FeedPath + "*"
	}
	segments := strings.Split(plain, "/")
	hidden := false
	for i, segment := range segments {
		if len(segment) >= leastToken && !strings.Contains(segment, "@") && tokenPattern.MatchString(segment) {
			segments[i], hidden = "*", true
		}
	}
	if hidden {
		return strings.Join(segments, "/")
	}
	return given
}

// leastToken is shorter than every secret: links have 46 characters, keys and sessions more. An
// inbox's address may be as long.
const leastToken = 40

var tokenPattern = regexp.MustCompile(`[A-Za-z0-9_-]{40}`)

// unescape decodes percent-encoding until none is left, because a reader of the log could decode it
// twice, too. Invalid encodings are left unchanged.
func unescape(text string) string {
	for range maxEscapes {
		before := text
		if text = escapePattern.ReplaceAllStringFunc(before, decodeOne); text == before {
			return text
		}
	}
	return text
}

// maxEscapes limits how often a path is decoded.
const maxEscapes = 8

var escapePattern = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

func decodeOne(escaped string) string {
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return escaped
	}
	return plain
}

// checkOrigins refuses origins that no browser sends: with a path, a trailing slash or a capital
// letter.
func (c *serveCommand) checkOrigins() (http.AllowedOrigins, error) {
	for _, origin := range c.CORSOrigin {
		u, err := url.Parse(origin)
		if origin == "*" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Scheme+"://"+strings.ToLower(u.Host) == origin {
			continue
		}
		return nil, fmt.Errorf("--cors-origin: invalid origin %q (use an origin such as https://app.example.com, or *)", origin)
	}
	return http.AllowedOrigins(c.CORSOrigin), nil
}
