package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inboxd/internal/testutil/testtools"
)

// reported is a line that the driver of the page prints.
type reported struct {
	Name  string
	OK    bool
	MS    int
	Note  string
	Error string
	// a command for the server: "stop", "start" or "admin ...", whose first output line is the
	// response; or "return path", whose response is the sender of the next message to far.test
	Need string
	Done bool
}

// TestPage uses the page of a real server in Chromium as a person does (test/page.mjs). make
// page-all runs all of it.
func TestPage(t *testing.T) {
	limit := 10 * time.Minute
	if os.Getenv("PAGE_ALL") != "" {
		limit = 15 * time.Minute
	}
	drivePage(t, "page.mjs", limit)
}

// TestDocsInABrowser reads /docs at the widths of a phone and of a desktop (test/docs.mjs).
func TestDocsInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Chromium")
	}
	drivePage(t, "docs.mjs", 4*time.Minute)
}

// TestPageFigures measures the speed of the page (test/figures.mjs, make page-figures).
func TestPageFigures(t *testing.T) {
	if os.Getenv("PAGE_FIGURES") == "" {
		t.Skip("make page-figures")
	}
	drivePage(t, "figures.mjs", 15*time.Minute)
}

func drivePage(t *testing.T, driver string, limit time.Duration) {
	dir := filepath.Join(t.TempDir(), "data")
	far := receive(t, "127.0.0.1", "0", nil)
	args := []string{"--dns", farZone(t).Addr, "--mx-port", far.port, "--delivery-allow", "127.0.0.0/8", "--trusted-proxies", "127.0.0.1/32", "--webhook-allow", "127.0.0.0/8", "--webhook-schedule", "0s,300ms", "--retry-schedule", "300ms"}
	s := launch(t, dir, args...)
	web, smtp := s.http, s.smtp
	where, err := json.Marshal(map[string]string{"base": "http://" + web, "smtp": smtp, "chrome": testtools.ProgramPath(t, "chromium"), "shots": os.Getenv("PAGE_SHOTS")})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testtools.ProgramPath(t, "node"), driver, string(where))
	cmd.Dir = filepath.Join("..", "..", "http", "dashboard", "web", "test")
	said := &lockedText{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	done := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var l reported
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Errorf("the driver says %s", lines.Text())
			continue
		}
		switch {
		case l.Done:
			done = true
		case l.Need == "stop":
			s.kill()
			_, _ = in.Write([]byte("stopped\n"))
		case l.Need == "start":
			s = launch(t, dir, append(args, "--http", web, "--smtp", smtp)...)
			_, _ = in.Write([]byte("started\n"))
		case l.Need == "return path":
			_, _ = in.Write([]byte((<-far.arrived).from + "\n"))
		case strings.HasPrefix(l.Need, "admin "):
			answer, _, _ := strings.Cut(admin(t, dir, strings.Fields(l.Need)[1:]...), "\n")
			_, _ = in.Write([]byte(answer + "\n"))
		default:
			t.Run(strings.ReplaceAll(l.Name, "/", " "), func(t *testing.T) {
				t.Logf("%d ms %s", l.MS, l.Note)
				if !l.OK {
					t.Error(l.Error)
				}
			})
		}
	}
	if err := cmd.Wait(); err != nil || !done {
		t.Errorf("the driver ended early: %v\n%s", err, said)
	}
}
