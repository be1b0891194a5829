package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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

// process is a child of ours. It dies with us, even when we are killed.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when the child was reaped
	err  error         // valid after done
}

// startProcess runs a program that prints a ready line, and returns the addresses of that
// line. Everything else it prints goes to the file log, whose end becomes part of the error
// when it is not ready in time.
func startProcess(ctx context.Context, name, log, binary string, args ...string) (*process, map[string]string, error) {
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
	p, err := launch(name, cmd)
	w.Close()
	if err != nil {
		stdout.Close()
		return nil, nil, err
	}
	addrs, err := p.awaitReady(ctx, stdout)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w\n%s", err, tailOf(log)), p.kill())
	}
	return p, addrs, nil
}

// launch starts cmd and reaps it in the background.
func launch(name string, cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, done: make(chan struct{})}
	go func() { // ends with the child
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// awaitReady reads the child's standard output up to the ready line. What follows is
// drained for as long as the child lives, so that it never blocks on a full pipe.
func (p *process) awaitReady(ctx context.Context, stdout io.ReadCloser) (map[string]string, error) {
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
		return nil, fmt.Errorf("%s ended before it was ready: %v", p.name, p.err)
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

// stop asks the child to end (SIGTERM) and waits. A child that does not, or that fails while
// it ends, is an error.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only when it is gone already
	select {
	case <-p.done:
		if p.err != nil {
			return fmt.Errorf("%s stopped badly: %w", p.name, p.err)
		}
		return nil
	case <-time.After(stopWithin):
		return errors.Join(fmt.Errorf("%s did not stop within %v", p.name, stopWithin), p.kill())
	}
}

// kill ends the child without asking.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	<-p.done
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func (p *process) residentMiB() (float64, error) {
	n, err := ResidentMiB(p.cmd.Process.Pid)
	if err != nil {
		return 0, fmt.Errorf("resident memory of %s: %w", p.name, err)
	}
	return n, nil
}

// ResidentMiB is the VmRSS of a process (proc_pid_status(5)).
func ResidentMiB(pid int) (float64, error) {
	path := filepath.Join("/proc", strconv.Itoa(pid), "status")
	kib, _, _ := strings.Cut(procField(path, "VmRSS"), " ")
	n, err := strconv.ParseFloat(kib, 64)
	if err != nil {
		return 0, fmt.Errorf("no VmRSS in %s", path)
	}
	return n / 1024, nil
}

// tailOf returns the last 4 KiB of a file.
func tailOf(path string) string {
	b, _ := os.ReadFile(path)
	return string(b[max(0, len(b)-4096):])
}
