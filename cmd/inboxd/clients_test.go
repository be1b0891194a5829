package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inboxd/internal/testutil/testtools"
)

// The folders of the client packages, relative to this one.
const (
	typescriptClient = "../../clients/typescript"
	pythonClient     = "../../clients/python"
)

// program returns a command in another language, to be run in dir against the server.
func (u *user) program(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(os.Environ(), "INBOX_BASE_URL=http://"+u.server.http, "INBOXD_SMTP="+u.server.smtp, "INBOX_API_KEY="+u.key,
		"INBOXD_BIN="+os.Args[0], "INBOXD_TEST_MAIN=1", "npm_config_update_notifier=false", "PYTHONDONTWRITEBYTECODE=1",
		"PYTHONPATH=src", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", "CHROMIUM="+testtools.ProgramPath(t, "chromium"))
	cmd.Env = append(cmd.Env, u.more...)
	return cmd
}

// outside runs a program and returns its output. If the program fails, the test fails with its
// output.
func (u *user) outside(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := u.program(t, dir, name, args...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, said, complaint.String())
	}
	return string(said)
}

// TestClientsOfOtherLanguages builds each client from the contract, runs its tests and its example
// of a test suite, and installs the package from the server, all against one server.
func TestClientsOfOtherLanguages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the clients")
	}
	// One server for each: both sign up and log in, which one server allows a few times a minute.
	run := func(t *testing.T) *user {
		t.Parallel()
		return launch(t, filepath.Join(t.TempDir(), "data"), append(allowLoopback, "--simulate")...).signUp(t, "me@example.test")
	}
	t.Run("typescript", func(t *testing.T) {
		u := run(t)
		npmFolder(t, typescriptClient)
		packed := u.servedPackage(t, "typescript", "npm install") // builds what the next lines use
		u.outside(t, typescriptClient, "npm", "run", "--silent", "reference", "--", "--out", t.TempDir())
		u.outside(t, typescriptClient, "node", "--test", "dist/test/")
		u.outside(t, typescriptClient, "npx", "playwright", "test", "-c", "examples")
		u.installTypescript(t, packed)
	})
	t.Run("python", func(t *testing.T) {
		u := run(t)
		python := testtools.ProgramPath(t, "python3")
		wheel := u.servedPackage(t, "python", "pip install") // generates what the next lines use
		u.outside(t, pythonClient, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "inboxd.pytest_plugin", "tests", "examples")
		samples := filepath.Join(t.TempDir(), "samples.py")
		write(t, samples, "from inboxd import Inbox, Inboxd\n\n"+contractSamples(t, "Python", "def %s(client: Inboxd, inbox: Inbox, id: int, aid: int, email: str) -> None:\n", "    ", "\n"))
		u.outside(t, pythonClient, python, "-m", "mypy", "--cache-dir", t.TempDir(), "src/inboxd", samples)
		u.installPython(t, wheel)
	})
}
