package bench

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
)

// A test binary has no commit stamped into it, so what is left is the repository that one stands in.
func TestTheCommitIsOfThisModule(t *testing.T) {
	own, ok := debug.ReadBuildInfo()
	if _, err := exec.LookPath("git"); err != nil || !ok || revision(own) != "" {
		t.Skip("no git, or a stamped test binary")
	}
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.test", "commit", "-q", "--allow-empty", "-m", "a"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	for mod, ours := range map[string]bool{"module example.test/other\n": false, "module " + own.Main.Path + "\n\ngo 1.26\n": true} {
		if err := os.WriteFile("go.mod", []byte(mod), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := new(Server).commit(""); strings.HasSuffix(got, " (working folder)") != ours || !ours && got != "unknown" {
			t.Errorf("in a repository with %q: %s", mod, got)
		}
	}
	if got := new(Server).commit("abc"); got != "abc" {
		t.Errorf("said is abc, reported %s", got)
	}
}
