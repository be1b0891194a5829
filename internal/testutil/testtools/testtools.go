// Package testtools finds the programs that tests use: those that `make deps` unpacked into .deps,
// else those of the machine. It does not know what they are used for.
package testtools

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// ProgramPath is the path of a program. The folder comes first, then Debian's own directories, because
// only its python3 finds its modules, then the PATH. If it is missing, the test ends; see FailMissing.
func ProgramPath(t testing.TB, name string) string {
	t.Helper()
	skipUnpacked(t, name)
	for _, dir := range []string{filepath.Join(depsFolder(), "bin"), "/usr/bin", "/usr/sbin"} {
		if path := filepath.Join(dir, name); fileExists(path) {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		FailMissing(t, name)
	}
	return path
}

// FilePath is the path of a file that came with a package, given as on an installed system, such as
// /usr/share/spamassassin. If it is missing, the test ends; see FailMissing.
func FilePath(t testing.TB, path string) string {
	t.Helper()
	skipUnpacked(t, path)
	if unpacked := filepath.Join(depsFolder(), "root", path); fileExists(unpacked) {
		return unpacked
	}
	if !fileExists(path) {
		FailMissing(t, path)
	}
	return path
}

// FailMissing ends a test without a required program or file. The test fails, except for the quick
// tests of make check, which need only Go.
func FailMissing(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("%s is missing, and make check does without", what)
	}
	t.Fatalf("%s is missing: make deps", what)
}

// skipUnpacked skips a quick test if nothing was unpacked, because the machine's own programs may be
// incomplete, such as a python3 without the modules.
func skipUnpacked(t testing.TB, what string) {
	t.Helper()
	if testing.Short() && !fileExists(depsFolder()) {
		FailMissing(t, what)
	}
}

// depsFolder is the folder .deps next to go.mod. Tests run in the folder of their package.
func depsFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if fileExists(filepath.Join(dir, "go.mod")) {
			return filepath.Join(dir, ".deps")
		}
	}
	return ""
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
