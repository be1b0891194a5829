// Package testdeps finds the programs that tests drive the server with: what `make deps`
// unpacked into .deps, else what the machine has. It refuses to know what they are good for.
package testdeps

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Program is the path of a program. The folder comes first, then Debian's own places, for its
// python3 alone sees its modules, then the PATH. A test without it fails.
func Program(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{filepath.Join(folder(), "bin"), "/usr/bin", "/usr/sbin"} {
		if path := filepath.Join(dir, name); exists(path) {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: make deps", name)
	}
	return path
}

// File is the path of a file that came with a package, given as on an installed system, such
// as /usr/share/spamassassin. A test without it fails.
func File(t testing.TB, path string) string {
	t.Helper()
	if unpacked := filepath.Join(folder(), "root", path); exists(unpacked) {
		return unpacked
	}
	if !exists(path) {
		t.Fatalf("%s is missing: make deps", path)
	}
	return path
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
