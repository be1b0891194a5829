package operator

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shortDir returns a folder with a short path; t.TempDir includes the name of the test.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func mustOpen(t *testing.T, path string) *Socket {
	t.Helper()
	s, err := OpenSocket(path, AdminTarget{ReadStats: func() Stats { return Stats{Version: "v1"} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// answers requests the stats from the server at a socket.
func answers(t *testing.T, path string) {
	t.Helper()
	var stats Stats
	if err := (&Command{AdminSocket: path}).callServer("/stats", struct{}{}, &stats); err != nil || stats.Version != "v1" {
		t.Errorf("%s: %v, version %q", path, err, stats.Version)
	}
}

// TestOpenLeavesWhatIsNotOurs: only a socket that nobody listens at is replaced.
func TestOpenLeavesWhatIsNotOurs(t *testing.T) {
	listen := func(network string) func(path string) error {
		return func(path string) error {
			if network == "unixgram" {
				conn, err := net.ListenUnixgram(network, &net.UnixAddr{Name: path, Net: network})
				t.Cleanup(func() { _ = conn.Close() })
				return err
			}
			ln, err := net.Listen(network, path)
			t.Cleanup(func() { _ = ln.Close() })
			return err
		}
	}
	for name, c := range map[string]struct {
		put  func(path string) error
		says string
	}{
		"file":     {func(path string) error { return os.WriteFile(path, []byte("precious"), 0o600) }, "is not a socket"},
		"folder":   {func(path string) error { return os.Mkdir(path, 0o700) }, "is not a socket"},
		"symlink":  {func(path string) error { return os.Symlink("nowhere", path) }, "is not a socket"},
		"stream":   {listen("unix"), "another program listens at"},
		"datagram": {listen("unixgram"), "another program listens at"},
	} {
		path := filepath.Join(shortDir(t), "a.sock")
		if err := c.put(path); err != nil {
			t.Fatal(err)
		}
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := OpenSocket(path, AdminTarget{})
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "--admin-socket") {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() || before.Size() != after.Size() {
			t.Errorf("%s is not what it was: %v", name, err)
		}
	}
}

func TestOpenReplacesWhatACrashLeft(t *testing.T) {
	path := filepath.Join(shortDir(t), "a.sock")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	_ = ln.Close()
	if err := os.WriteFile(path+".new", []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path)
	answers(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the socket: %v %v", info, err)
	}
	if text, err := os.ReadFile(path + ".new"); err != nil || string(text) != "precious" {
		t.Errorf("a file beside the socket is %q, %v", text, err)
	}
}

// TestCloseLeavesTheNextServer: the folder is cleared and a server started there while another is
// still stopping.
func TestCloseLeavesTheNextServer(t *testing.T) {
	path := filepath.Join(shortDir(t), "a.sock")
	old := mustOpen(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	next := mustOpen(t, path)
	old.Close()
	answers(t, path)
	next.Close()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is there after its server closed it")
	}
}

// TestLengthOfThePath: every path that the system allows can be used, and a longer one is reported
// on both sides.
func TestLengthOfThePath(t *testing.T) {
	dir := shortDir(t)
	longest := filepath.Join(dir, strings.Repeat("s", longestPath-len(dir)-1))
	mustOpen(t, longest)
	answers(t, longest)
	_, err := OpenSocket(longest+"s", AdminTarget{})
	for side, err := range map[string]error{"server": err, "command": (&Command{AdminSocket: longest + "s"}).callServer("/stats", nil, nil)} {
		if err == nil {
			t.Errorf("the %s takes what is too long", side)
			continue
		}
		for _, want := range []string{fmt.Sprint(longestPath + 1), fmt.Sprint(longestPath), "--admin-socket"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the %s does not say %s: %v", side, want, err)
			}
		}
	}
}
