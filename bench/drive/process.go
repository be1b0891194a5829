package drive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bounds of a child's life.
const (
	readyWithin = 2 * time.Minute // exec to ready line
	stopWithin  = 30 * time.Second
)

// Process is a child of ours. It dies with us, even when we are killed.
type Process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when the child was reaped
	err  error         // valid after done
}

// StartProcess runs a program that prints a ready line, and returns the addresses of that
// line. Everything else it prints goes to the file log, whose end becomes part of the error
// when it is not ready in time.
func StartProcess(ctx context.Context, name, log, binary string, args ...string) (*Process, map[string]string, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer out.Close() // the child has its own descriptor
	cmd := exec.Command(binary, args...)
	cmd.Stderr = out
	stdout, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdout = w
	p, err := Launch(name, cmd)
	w.Close()
	if err != nil {
		stdout.Close()
		return nil, nil, err
	}
	addrs, err := p.awaitReady(ctx, stdout)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w\n%s", err, tailOf(log)), p.Kill())
	}
	return p, addrs, nil
}

// Launch starts cmd and reaps it in the background.
func Launch(name string, cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{name: name, cmd: cmd, done: make(chan struct{})}
	go func() { // ends with the child
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// awaitReady reads the child's standard output up to the ready line. What follows is
// drained for as long as the child lives, so that it never blocks on a full pipe.
func (p *Process) awaitReady(ctx context.Context, stdout io.ReadCloser) (map[string]string, error) {
	ready := make(chan map[string]string, 1)
	go func() { // ends with the child, which holds the other end
		defer stdout.Close()
		r := bufio.NewReader(stdout)
		for {
			line, err := r.ReadString('\n')
			if addrs, ok := ParseReady(p.name, line); ok && len(ready) == 0 {
				ready <- addrs
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case addrs := <-ready:
		return addrs, nil
	case <-p.done:
		return nil, fmt.Errorf("%s ended before it was ready: %s", p.name, p.ending())
	case <-time.After(readyWithin):
		return nil, fmt.Errorf("%s was not ready within %v", p.name, readyWithin)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ParseReady reads "inboxd ready http=127.0.0.1:8080 smtp=127.0.0.1:2525" (specification,
// Operating) into its addresses by surface.
func ParseReady(name, line string) (map[string]string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), name+" ready ")
	if !ok {
		return nil, false
	}
	addrs := make(map[string]string)
	for _, field := range strings.Fields(rest) {
		if surface, addr, ok := strings.Cut(field, "="); ok {
			addrs[surface] = addr
		}
	}
	return addrs, len(addrs) > 0
}

// Stop asks the child to end (SIGTERM) and waits. A child that does not, or that fails while
// it ends, is an error.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only when it is gone already
	select {
	case <-p.done:
		if p.err != nil {
			return fmt.Errorf("%s stopped badly: %w", p.name, p.err)
		}
		return nil
	case <-time.After(stopWithin):
		return errors.Join(fmt.Errorf("%s did not stop within %v", p.name, stopWithin), p.Kill())
	}
}

// Kill ends the child without asking.
func (p *Process) Kill() error {
	err := p.cmd.Process.Kill()
	<-p.done
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// ResidentMiB is the VmRSS of the child (proc_pid_status(5)).
func (p *Process) ResidentMiB() (float64, error) {
	path := filepath.Join("/proc", strconv.Itoa(p.PID()), "status")
	kib, _, _ := strings.Cut(ProcField(path, "VmRSS"), " ")
	n, err := strconv.ParseFloat(kib, 64)
	if err != nil {
		return 0, fmt.Errorf("resident memory of %s: no VmRSS in %s", p.name, path)
	}
	return n / 1024, nil
}

// tailOf returns the last 4 KiB of a file.
func tailOf(path string) string {
	b, _ := os.ReadFile(path)
	return string(b[max(0, len(b)-4096):])
}

// ProcField returns the value of the first "name : value" line, as proc(5) files have them.
func ProcField(path, name string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// ReadLine is a small file without the blanks around it; empty when it cannot be read.
func ReadLine(path string) string {
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}

// AwaitPorts waits until all addresses take connections, for a program that does not say when it is
// ready.
func (p *Process) AwaitPorts(ctx context.Context, addrs ...string) error {
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	late := time.After(readyWithin)
	for len(addrs) > 0 {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addrs[0])
		if err == nil {
			nc.Close()
			addrs = addrs[1:]
			continue
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s has ended: %s", p.name, p.ending())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return fmt.Errorf("%s was not ready within %v: %w", p.name, readyWithin, err)
		case <-retry.C:
		}
	}
	return nil
}

// ending is how a child ended that was to go on; valid after done. A program that means something
// else by its arguments may end well.
func (p *Process) ending() string {
	if p.err != nil {
		return p.err.Error()
	}
	program, _, _ := strings.Cut(p.name, ",")
	return fmt.Sprintf("exit code 0; %s may be no %s", p.cmd.Path, program)
}

// PID is the child's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// FreePort finds a port for a program that can neither choose one nor say which it took. Somebody
// else may take it in between; the program then ends, which is reported.
func FreePort() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

// FindProgram looks where the build puts a program of this project, and builds it in dir when it is
// not there.
func FindProgram(ctx context.Context, name, given, dir string) (string, error) {
	if given != "" {
		return given, nil
	}
	if path, err := exec.LookPath("./bin/" + name); err == nil {
		return filepath.Abs(path)
	}
	if _, err := os.Stat("cmd/" + name + "/main.go"); err != nil {
		return "", fmt.Errorf("no ./bin/%s and no ./cmd/%[1]s to build it from; use --%[1]s PATH", name)
	}
	path := filepath.Join(dir, name)
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/"+name).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build ./cmd/%s: %w\n%s", name, err, out)
	}
	return path, nil
}
