package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"inboxd/bench/drive"
	"inboxd/bench/fakes"
)

// ServerOptions say which server carries the load. The tags are for the command line.
type ServerOptions struct {
	Inboxd    string   `help:"The inboxd binary to start. Default: ./bin/inboxd, else it is built from ./cmd/inboxd." type:"path"`
	ServeArgs []string `name:"serve-arg" help:"One more argument for inboxd serve; repeatable." sep:"none"`
	Self      bool     `help:"Start a server with an empty data folder. This is the default." xor:"web,mail"` // kong alone reads it
	BaseURL   string   `help:"Attach to a running server instead, http://127.0.0.1:8080." xor:"web"`
	SMTP      string   `name:"smtp" help:"SMTP address of the running server, 127.0.0.1:2525." xor:"mail"`
	APIKey    []string `name:"api-key" env:"INBOX_API_KEY" help:"Keys with scope full of the running server, one for each account." placeholder:"KEY"`
	YesRemote bool     `help:"The running server may be on another machine. A load can stop a service that others use."`
	Accounts  int      `help:"Accounts to sign up, at most 10; inboxes are dealt out among them." default:"1" least:"1" most:"10"`
	Dir       string   `help:"Folder for the temporary data folder; its file system is what is measured. Default: the system's." type:"path"`
	Own       bool     `kong:"-"` // the load stops its server, or reads its folder
}

// Server is a running server: ours, or one we were pointed to.
type Server struct {
	HTTP string // host:port, or https://host:port
	SMTP string // host:port
	data string // folder; empty when attached

	Proc *drive.Process // nil when attached
	Sink *fakes.Sink    // takes what the server sends; nil when attached

	names  *fakes.NameServer // nil when attached, or when the arguments name another
	binary string
	plan   []string // arguments of serve that shape what is measured
	log    string
}

// StartServer starts inboxd with an empty data folder under dir, or attaches.
func StartServer(ctx context.Context, opts ServerOptions, dir string) (*Server, error) {
	switch {
	case opts.attached() && opts.Own:
		return nil, errors.New("this load needs a server of its own; leave --base-url and --smtp out")
	case opts.attached():
		return attach(opts)
	}
	binary, err := drive.FindProgram(ctx, "inboxd", opts.Inboxd, dir)
	if err != nil {
		return nil, err
	}
	s := &Server{binary: binary, data: filepath.Join(dir, "data"), log: filepath.Join(dir, "inboxd.log")}
	if s.Sink, err = fakes.StartSink(); err != nil {
		return nil, err
	}
	s.plan = append([]string{"--default-plan", "paid", "--namespace", "plain",
		"--smtp-max-conns-per-ip", "1000"}, opts.ServeArgs...) // all sessions come from one address
	named := slices.ContainsFunc(s.plan, func(arg string) bool { return strings.HasPrefix(arg, "--dns") })
	if !named {
		s.names, err = fakes.StartNameServer()
	}
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// Attached reports whether it was started by somebody else.
func (s *Server) Attached() bool { return s.data == "" }

// webhookPlan lets an account have as many webhooks as a load has receivers.
const webhookPlan = "[paid]\nmax_webhooks = 1000\n"

// Start runs the binary on the data folder until its ready line. A server that has ended starts at
// the addresses that it had.
func (s *Server) Start(ctx context.Context) error {
	args := append([]string{"serve", "--data", s.data, "--http", cmp.Or(s.HTTP, "127.0.0.1:0"), "--smtp", cmp.Or(s.SMTP, "127.0.0.1:0"),
		"--smarthost", s.Sink.Addr, "--webhook-allow", "127.0.0.0/8", "--plans", webhookPlan}, s.plan...)
	if s.names != nil {
		args = append(args, "--dns", s.names.Addr)
	}
	proc, ready, err := drive.StartProcess(ctx, "inboxd", s.log, s.binary, args...)
	if err != nil {
		return err
	}
	s.Proc, s.HTTP, s.SMTP = proc, ready["http"], ready["smtp"]
	return nil
}

// Stop ends a server of ours and leaves any other alone.
func (s *Server) Stop() error {
	if s.Proc == nil {
		return nil
	}
	err := s.Proc.Stop()
	s.Proc = nil
	return err
}

// close is Stop for good.
func (s *Server) close() error {
	err := errors.Join(s.Stop(), s.names.Stop(), s.Sink.Close())
	s.names, s.Sink = nil, nil
	return err
}

// Kill ends a server of ours at once, as a crash would.
func (s *Server) Kill() error {
	err := s.Proc.Kill()
	s.Proc = nil
	return err
}

func (s *Server) describe() string {
	if s.Proc == nil {
		return "attached"
	}
	return fmt.Sprintf("%s %v", filepath.Base(s.binary), s.plan)
}

func (o ServerOptions) attached() bool { return o.BaseURL != "" || o.SMTP != "" }

// attach refuses a server on another machine unless --yes-remote allows it, and one without a key:
// the loads leave no accounts behind.
func attach(opts ServerOptions) (*Server, error) {
	if opts.BaseURL == "" || opts.SMTP == "" || len(opts.APIKey) == 0 {
		return nil, errors.New("a running server needs --base-url, --smtp and --api-key")
	}
	u, err := url.Parse(opts.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("--base-url: %w", err)
	}
	s := &Server{HTTP: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")), SMTP: opts.SMTP}
	switch u.Scheme {
	case "http":
	case "https":
		s.HTTP = "https://" + net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443"))
	default:
		return nil, fmt.Errorf("--base-url %s: only http and https are supported", opts.BaseURL)
	}
	if _, _, err := net.SplitHostPort(s.SMTP); err != nil {
		return nil, fmt.Errorf("--smtp: %w", err)
	}
	remote := errors.Join(fakes.OnLoopback(strings.TrimPrefix(s.HTTP, "https://")), fakes.OnLoopback(s.SMTP))
	if remote != nil && !opts.YesRemote {
		return nil, fmt.Errorf("%w. A load can stop a service that others use; --yes-remote allows it", remote)
	}
	return s, nil
}
