package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// frozenDisk is a separate file system that can be frozen.
type frozenDisk struct {
	t   *testing.T
	dir string
}

func (d frozenDisk) freeze() {
	if out, err := exec.Command("fsfreeze", "-f", d.dir).CombinedOutput(); err != nil {
		d.t.Fatalf("%v: %s", err, out)
	}
}

func (d frozenDisk) thaw() { _ = exec.Command("fsfreeze", "-u", d.dir).Run() } // it may not be frozen

func newFrozenDisk(t *testing.T) frozenDisk {
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 128<<20); err != nil {
		t.Fatal(err)
	}
	for _, step := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(step[0], step[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no file system to freeze here: %s: %v: %s", step[0], err, out)
		}
	}
	d := frozenDisk{t, dir}
	t.Cleanup(func() {
		d.thaw()
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return d
}

// TestFrozenDisk freezes the disk under the running server: messages are refused temporarily,
// reading works, and everything continues after the thaw. A stop on a frozen disk ends within the
// drain time.
func TestFrozenDisk(t *testing.T) {
	disk := newFrozenDisk(t)
	const drain = 2 * time.Second
	s := launch(t, filepath.Join(disk.dir, "data"), "--drain", drain.String())
	t.Cleanup(disk.thaw) // before the server is killed
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}
	disk.freeze()
	began := time.Now()
	if err := s.mail(address, "111111"); err == nil || !strings.HasPrefix(err.Error(), "452") || time.Since(began) > 10*time.Second {
		t.Errorf("mail to a frozen disk: %v after %v", err, time.Since(began))
	}
	if a, err := s.call("GET", "/readyz", nil, nil); err != nil || a.status != 503 {
		t.Errorf("readyz on a frozen disk: %v %v", a.status, err)
	}
	u.do(t, 507, "POST", "/inboxes", map[string]any{"prefix": "second"})
	if got := u.latest(t, address, ""); got["otp_code"] != "482913" {
		t.Errorf("latest: %v", got)
	}
	disk.thaw()
	for began = time.Now(); s.mail(address, "222222") != nil; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("mail is not accepted again after the thaw")
		}
	}
	disk.freeze()
	began = time.Now()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	for !strings.Contains(s.stderr.String(), "not closed") {
		if time.Since(began) > drain+10*time.Second {
			t.Fatal("the stop does not end")
		}
		time.Sleep(10 * time.Millisecond)
	}
	disk.thaw() // the kernel keeps a process that waits for a frozen file system
	if s.wait(); s.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit code %d", s.cmd.ProcessState.ExitCode())
	}
	s = launch(t, filepath.Join(disk.dir, "data"))
	u.server = s
	if got := u.latest(t, address, ""); got["otp_code"] != "222222" {
		t.Errorf("after the stop: %v", got)
	}
}
