package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	netsmtp "net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"inboxd/internal/testutil/testtools"
)

// world is shared by the tests of this package: both programs as built, a server with an account,
// and another server that receives its messages to others.
type world struct {
	bin       string
	near, far *node
}

// node is a real inboxd process with one account.
type node struct {
	process    *process
	base, smtp string
	session    string
	key        string // of the account, with all permissions
}

var (
	shared    = sync.OnceValues(newWorld)
	sharedDir string
	started   struct {
		sync.Mutex
		all []*process
	}
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "inbox-mcp")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sharedDir = dir
	code := m.Run()
	for _, p := range started.all {
		p.kill()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// theWorld is started by the first test that uses it.
func theWorld(t testing.TB) *world {
	t.Helper()
	w, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newWorld() (*world, error) {
	w := &world{bin: filepath.Join(sharedDir, "bin") + string(filepath.Separator)}
	build := exec.Command("go", "build", "-o", w.bin, "inboxd/cmd/inboxd", "inboxd/cmd/inbox-mcp")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	var err error
	if w.far, err = w.node("far", "--domain", "far.test"); err != nil {
		return nil, err
	}
	w.near, err = w.node("near", "--smarthost", w.far.smtp)
	return w, err
}

var readyLine = regexp.MustCompile(`^inboxd ready http=(\S+) smtp=(\S+)`)

func (w *world) node(name string, args ...string) (*node, error) {
	p, err := start(w.bin+"inboxd", append([]string{"serve", "--data", filepath.Join(sharedDir, name), "--http", "127.0.0.1:0", "--smtp", "127.0.0.1:0",
		"--namespace", "plain", "--default-plan", "paid", "--log-level", "warn"}, args...), nil)
	if err != nil {
		return nil, err
	}
	m := readyLine.FindStringSubmatch(p.line())
	if m == nil {
		return nil, fmt.Errorf("%s is not ready: %s", name, p.stderr)
	}
	n := &node{process: p, base: "http://" + m[1], smtp: m[2]}
	if n.session, err = n.signUp("me@" + name + ".test"); err != nil {
		return nil, err
	}
	n.key, err = n.keyWith("full")
	return n, err
}

func (n *node) signUp(email string) (session string, err error) {
	var in struct {
		SessionToken string `json:"session_token"`
	}
	err = n.ask("POST", "/api/auth/signup", "", map[string]any{"email": email, "password": "correct horse"}, &in)
	return in.SessionToken, err
}

// keyWith creates a key of the node's account.
func (n *node) keyWith(scopes ...string) (string, error) { return n.keyOf(n.session, scopes...) }

// keyOf creates a key of the account of a session.
func (n *node) keyOf(session string, scopes ...string) (string, error) {
	var out struct{ Key string }
	err := n.ask("POST", "/api/keys", session, map[string]any{"label": "test", "scopes": scopes}, &out)
	return out.Key, err
}

// anotherAccount returns a full key of a new account.
func (n *node) anotherAccount(email string) (string, error) {
	session, err := n.signUp(email)
	if err != nil {
		return "", err
	}
	return n.keyOf(session, "full")
}

// closing is how long the tool server may take to end on a busy machine, see TestItEndsAtOnce.
const closing = 5 * time.Second

var errStatus = errors.New("not the status of a success")

// ask makes a call with a key or a session. A response other than 2xx is an error.
func (n *node) ask(method, path, credential string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, n.base+path, body)
	if err != nil {
		return err
	}
	if credential != "" {
		req.Header.Set("Authorization", "Bearer "+credential)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("%s %s: %w: %d %s", method, path, errStatus, resp.StatusCode, b)
	case out == nil:
		return nil
	}
	return json.Unmarshal(b, out)
}

// api is ask with the account's key, for a response that must succeed.
func (n *node) api(t testing.TB, method, path string, in any) (out map[string]any) {
	t.Helper()
	if err := n.ask(method, "/api/v1"+path, n.key, in, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// inbox creates an inbox and returns its address.
func (n *node) inbox(t testing.TB) string {
	t.Helper()
	return n.api(t, "POST", "/inboxes", nil)["address"].(string)
}

// mail sends a message by SMTP.
func (n *node) mail(t testing.TB, to, subject, body string) {
	t.Helper()
	text := "From: Shop <no-reply@shop.test>\r\nTo: " + to + "\r\nSubject: " + subject + "\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + body + "\r\n"
	if err := netsmtp.SendMail(n.smtp, nil, "no-reply@shop.test", []string{to}, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// process is a running program.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *lockedText
	asked  atomic.Int64  // requests by tests
	ended  chan struct{} // closed when it has ended
}

// lockedText is the output of a process, readable while the process runs.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
	more *sync.Cond // on mu
	over bool       // no more output will follow
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.more.Broadcast()
	return l.text.Write(p)
}

// until returns the match of a pattern as soon as it is printed, or nil if the output ends without
// one.
func (l *lockedText) until(pattern *regexp.Regexp) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if found := pattern.FindStringSubmatch(l.text.String()); found != nil || l.over {
			return found
		}
		l.more.Wait()
	}
}

func (l *lockedText) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.more.Broadcast()
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start runs a program until it is killed, at the latest when the tests end.
func start(name string, args, env []string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), stderr: &lockedText{}, ended: make(chan struct{})}
	p.stderr.more = sync.NewCond(&p.stderr.mu)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, out2, err := os.Pipe() // not StdoutPipe, which Wait would close before everything is read
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.out = out2, bufio.NewReaderSize(out, 1<<20)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	out2.Close()
	go func() {
		_ = p.cmd.Wait()
		p.stderr.end()
		close(p.ended)
	}()
	started.Lock()
	defer started.Unlock()
	started.all = append(started.all, p)
	return p, nil
}

// line returns the next line of stdout, or "" at its end.
func (p *process) line() string {
	s, _ := p.out.ReadString('\n')
	return strings.TrimSpace(s)
}

func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.ended
}

// exits waits for the end and returns the exit code.
func (p *process) exits(t testing.TB, within time.Duration) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(within):
		t.Fatalf("it has not ended within %s; %s", within, p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// mcp starts the tool server for the near node.
func (w *world) mcp(t testing.TB, args ...string) *process {
	t.Helper()
	p, err := start(w.bin+"inbox-mcp", append([]string{"--base-url", w.near.base}, args...), []string{"INBOX_API_KEY=" + w.near.key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

var httpLine = regexp.MustCompile(`(?m)^inbox-mcp ready http=(\S+)$`)

// mcpHTTP starts the tool server on HTTP and returns the URL for its clients.
func (w *world) mcpHTTP(t testing.TB, args ...string) (p *process, url string) {
	t.Helper()
	p = w.mcp(t, append([]string{"--http", "127.0.0.1:0"}, args...)...)
	m := p.stderr.until(httpLine)
	if m == nil {
		t.Fatalf("it is not ready; %s", p.stderr)
	}
	return p, "http://" + m[1] + "/mcp"
}

// script runs node in a folder of testdata/npm, whose packages are installed by the lock file, and
// returns its output.
func script(t *testing.T, folder string, env []string, args ...string) (out string, err error) {
	t.Helper()
	if _, err := os.Stat(filepath.Join("testdata", "npm", "node_modules")); err != nil {
		t.Fatal("the clients are missing: make deps")
	}
	cmd := exec.Command(testtools.ProgramPath(t, "node"), args...)
	cmd.Dir = filepath.Join("testdata", "npm", folder)
	cmd.Env = append(os.Environ(), env...)
	b, err := cmd.CombinedOutput()
	return string(b), err
}
