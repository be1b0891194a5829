// Package testtools finds the programs that tests drive the server with: what `make deps`
// unpacked into .deps, else what the machine has. It refuses to know what they are good for.
package testtools

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Program is the path of a program. The folder comes first, then Debian's own places, for its
// python3 alone sees its modules, then the PATH. A test without it ends; see Missing.
func Program(t testing.TB, name string) string {
	t.Helper()
	bare(t, name)
	for _, dir := range []string{filepath.Join(folder(), "bin"), "/usr/bin", "/usr/sbin"} {
		if path := filepath.Join(dir, name); exists(path) {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name)
	}
	return path
}

// File is the path of a file that came with a package, given as on an installed system, such
// as /usr/share/spamassassin. A test without it ends; see Missing.
func File(t testing.TB, path string) string {
	t.Helper()
	bare(t, path)
	if unpacked := filepath.Join(folder(), "root", path); exists(unpacked) {
		return unpacked
	}
	if !exists(path) {
		Missing(t, path)
	}
	return path
}

// Missing ends a test that can't do without something. It fails, but for the quick tests: those of make
// check need nothing beside Go.
func Missing(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("%s is missing, and make check does without", what)
	}
	t.Fatalf("%s is missing: make deps", what)
}

// bare skips a quick test where nothing was unpacked: what the machine has of its own may be there by halves, as a
// python3 without the modules.
func bare(t testing.TB, what string) {
	t.Helper()
	if testing.Short() && !exists(folder()) {
		Missing(t, what)
	}
}

// folder is .deps beside go.mod: tests run in the folder of their package.
func folder() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, "go.mod")) {
			return filepath.Join(dir, ".deps")
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
