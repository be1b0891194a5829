package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"inboxd/cmd/inbox-mcp/toolserver"
	"inboxd/http/client"
	"inboxd/internal/base/version"
)

const (
	// shutdownGrace is how long requests may continue after a signal, so that the process ends within a
	// second.
	shutdownGrace = 800 * time.Millisecond
	// slowHeader limits how long the header of a request may take to arrive.
	slowHeader = 10 * time.Second
	// idleTimeout is how long a connection without requests stays open.
	idleTimeout = 2 * time.Minute
	// maxIdleConns limits the idle connections to the inbox server.
	maxIdleConns = 256
)

type serveCommand struct{}

// Run serves until the client disconnects or a signal arrives.
func (serveCommand) Run(ctx context.Context, c *commandLine) error {
	tuneMemory()
	log, err := c.newLogger()
	if err != nil {
		return err
	}
	api, err := c.newClient()
	if err != nil {
		return err
	}
	s := toolserver.New(toolserver.Options{API: api, Version: version.BuildString(), Log: log})
	if c.HTTP == "" {
		return s.ServeStdio(ctx, os.Stdin, os.Stdout)
	}
	return c.serveHTTP(ctx, s, log)
}

// newClient returns a client of the inbox server with the configured key.
func (c *commandLine) newClient() (*client.Client, error) {
	api, err := client.Open(c.BaseURL, c.APIKey)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = maxIdleConns, maxIdleConns
	api.HTTP = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return api, nil
}

// serveHTTP serves over HTTP until ctx ends.
func (c *commandLine) serveHTTP(ctx context.Context, s *toolserver.Server, log *slog.Logger) error {
	host, _, err := net.SplitHostPort(c.HTTP)
	if err != nil {
		return fmt.Errorf("--http: invalid address %q (use HOST:PORT, such as 127.0.0.1:8000)", c.HTTP)
	}
	if c.HTTPToken == "" && !toolserver.Loopback(host) {
		return fmt.Errorf("--http %s is reachable from other machines and gives access to the account. Set --http-token or INBOX_MCP_HTTP_TOKEN, or listen on 127.0.0.1", c.HTTP)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.HTTP)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           s.Handler(toolserver.HTTPOptions{ListenAddress: c.HTTP, BearerToken: c.HTTPToken}),
		ReadHeaderTimeout: slowHeader, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	fmt.Fprintf(os.Stderr, "inbox-mcp ready http=%s\n", l.Addr())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		s.Stop()
		end, cancel := context.WithTimeout(context.Background(), shutdownGrace)
		defer cancel()
		if server.Shutdown(end) != nil {
			server.Close()
		}
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return nil
}
