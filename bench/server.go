package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"inboxd/bench/peer"
)

// ServerOptions say which server carries the load. The tags are for the command line; all
// addresses must be on loopback.
type ServerOptions struct {
	Inboxd    string   `help:"The inboxd binary to start. Default: ./bin/inboxd, else it is built from ./cmd/inboxd." type:"path"`
	ServeArgs []string `name:"serve-arg" help:"One more argument for inboxd serve; repeatable." sep:"none"`
	BaseURL   string   `help:"Attach to a running server instead, http://127.0.0.1:8080."`
	SMTP      string   `name:"smtp" help:"SMTP address of the running server, 127.0.0.1:2525."`
	Accounts  int      `help:"Accounts to sign up, at most 10; inboxes are dealt out among them." default:"1"`
	Dir       string   `help:"Folder for the temporary data folder; its file system is what is measured. Default: the system's." type:"path"`
	Commit    string   `help:"Commit to report. Default: the one stamped into the binary."`
}

// Server is a running server: ours, or one we were pointed to.
type Server struct {
	HTTP, SMTP string // host:port on loopback
	Data       string // data folder; empty when attached

	proc   *process         // nil when attached
	names  *peer.NameServer // nil when attached, or when the arguments name another
	binary string
	plan   []string // arguments of serve that shape what is measured
	log    string
}

// StartServer starts inboxd with an empty data folder under dir, or attaches.
func StartServer(ctx context.Context, opts ServerOptions, dir string) (*Server, error) {
	if opts.BaseURL != "" || opts.SMTP != "" {
		return attach(opts)
	}
	binary, err := findProgram(ctx, "inboxd", opts.Inboxd, dir)
	if err != nil {
		return nil, err
	}
	s := &Server{binary: binary, Data: filepath.Join(dir, "data"), log: filepath.Join(dir, "inboxd.log")}
	s.plan = append([]string{"--default-plan", "paid", "--namespace", "plain", "--signup", "open",
		"--smtp-max-conns-per-ip", "1000"}, opts.ServeArgs...) // all sessions come from one address
	if slices.ContainsFunc(s.plan, func(arg string) bool { return strings.HasPrefix(arg, "--dns") }) {
		return s, s.start(ctx)
	}
	if s.names, err = peer.StartNameServer(); err != nil {
		return nil, err
	}
	s.plan = append(s.plan, "--dns", s.names.Addr)
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// start runs the binary on the data folder until its ready line.
func (s *Server) start(ctx context.Context) error {
	args := append([]string{"serve", "--data", s.Data, "--http", "127.0.0.1:0", "--smtp", "127.0.0.1:0"}, s.plan...)
	proc, ready, err := startProcess(ctx, "inboxd", s.log, s.binary, args...)
	if err != nil {
		return err
	}
	s.proc, s.HTTP, s.SMTP = proc, ready["http"], ready["smtp"]
	if err := errors.Join(peer.OnLoopback(s.HTTP), peer.OnLoopback(s.SMTP)); err != nil {
		return errors.Join(err, s.Stop())
	}
	return nil
}

// Stop ends a server of ours and leaves any other alone.
func (s *Server) Stop() error {
	if s.proc == nil {
		return nil
	}
	err := s.proc.stop()
	s.proc = nil
	return err
}

// close is Stop for good.
func (s *Server) close() error {
	err := errors.Join(s.Stop(), s.names.Stop())
	s.names = nil
	return err
}

// kill ends a server of ours at once, as a crash would.
func (s *Server) kill() error {
	err := s.proc.kill()
	s.proc = nil
	return err
}

func (s *Server) describe() string {
	if s.proc == nil {
		return "attached"
	}
	return fmt.Sprintf("%s %v", filepath.Base(s.binary), s.plan)
}

func attach(opts ServerOptions) (*Server, error) {
	if opts.BaseURL == "" || opts.SMTP == "" {
		return nil, errors.New("--base-url and --smtp go together: both surfaces of the running server are needed")
	}
	u, err := url.Parse(opts.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("--base-url: %w", err)
	}
	if u.Scheme != "http" {
		return nil, fmt.Errorf("--base-url %s: only http is measured", opts.BaseURL)
	}
	s := &Server{HTTP: u.Host, SMTP: opts.SMTP}
	return s, errors.Join(peer.OnLoopback(s.HTTP), peer.OnLoopback(s.SMTP))
}

// findProgram looks where the build puts a binary, and builds it when it is not there.
func findProgram(ctx context.Context, name, said, dir string) (string, error) {
	if said != "" {
		return said, nil
	}
	if path, err := filepath.Abs(filepath.Join("bin", name)); err == nil && isFile(path) {
		return path, nil
	}
	if !isFile(filepath.Join("cmd", name, "main.go")) {
		return "", fmt.Errorf("no ./bin/%s and no ./cmd/%s to build it from: say --%s PATH", name, name, name)
	}
	path := filepath.Join(dir, name)
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/"+name).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build ./cmd/%s: %w\n%s", name, err, out)
	}
	return path, nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
