package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary also be the server, so that tests run exactly the code they were
// built with.
func TestMain(m *testing.M) {
	if os.Getenv("INBOXD_TEST_MAIN") == "1" {
		limitFiles(os.Getenv("INBOXD_TEST_NOFILE"))
		main()
		return
	}
	os.Exit(m.Run())
}

// server is a real inboxd process.
type server struct {
	cmd        *exec.Cmd
	http, smtp string
	https      string // empty if not configured, like smtps
	smtps      string
	stderr     *lockedText
	ended      chan error
}

// lockedText is the output of a process, readable while the process runs.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

var readyLine = regexp.MustCompile(`^inboxd ready http=(\S+) smtp=(\S+?)(?: https=(\S+?))?(?: smtps=(\S+))?$`)

// command returns the test binary as inboxd.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "INBOXD_TEST_MAIN=1")
	return cmd
}

// launch starts a server on dir and waits for its ready line.
func launch(t testing.TB, dir string, args ...string) *server {
	t.Helper()
	s, err := tryLaunch(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.kill() })
	return s
}

func tryLaunch(dir string, args ...string) (*server, error) {
	args = append([]string{"serve", "--data", dir, "--http", "127.0.0.1:0", "--smtp", "127.0.0.1:0", "--namespace", "plain", "--default-plan", "paid", "--log-level", "warn"}, args...)
	s := &server{cmd: command(args...), stderr: &lockedText{}, ended: make(chan error, 1)}
	s.cmd.Stderr = s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	go func() { s.ended <- s.cmd.Wait() }()
	m := readyLine.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		<-s.ended
		return nil, fmt.Errorf("no ready line but %q; %s", line, s.stderr)
	}
	s.http, s.smtp, s.https, s.smtps = m[1], m[2], m[3], m[4]
	return s, nil
}

// kill ends the process as a crash does.
func (s *server) kill() {
	_ = s.cmd.Process.Signal(syscall.SIGKILL)
	s.wait()
}

// terminate asks the process to stop and returns its exit code.
func (s *server) terminate(t testing.TB) int {
	t.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	s.wait()
	return s.cmd.ProcessState.ExitCode()
}

func (s *server) wait() {
	select {
	case err := <-s.ended:
		s.ended <- err // for the next caller
	case <-time.After(30 * time.Second):
		panic("the server does not end")
	}
}
