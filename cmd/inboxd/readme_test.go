package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"inboxd/internal/testdeps"
)

// TestReadmeTours types the tours of README into one shell as they stand, twice against the same folder: a
// newcomer comes back the next morning.
func TestReadmeTours(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--default-plan", "free")
	var script strings.Builder
	for _, section := range []string{"The main job in five lines", "Invite, answer, subscribe", "Mail that nobody but you can read"} {
		block := regexp.MustCompile("(?s)\n## " + section + "\n.*?\n```sh\n(.*?)```").FindSubmatch(readme)
		if block == nil {
			t.Fatalf("README has no tour in %q", section)
		}
		script.WriteString("echo '## " + section + "'\n" + string(block[1]))
	}
	typed := strings.NewReplacer("smtp://localhost:2525", "smtp://"+s.smtp, "localhost:8080", s.http).Replace(script.String())
	bin, home := t.TempDir(), t.TempDir()
	for _, name := range []string{"curl", "age", "age-keygen"} {
		if err := os.Symlink(testdeps.Program(t, name), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, time := range []string{"first", "second"} {
		sh := exec.CommandContext(t.Context(), "sh")
		sh.Dir, sh.Env = home, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		sh.Stdin = strings.NewReader(typed)
		said, err := sh.Output()
		if err != nil {
			t.Errorf("the %s time: %v", time, err)
		}
		main, rest, _ := strings.Cut(strings.TrimPrefix(string(said), "## The main job in five lines\n"), "## Invite")
		calendar, mail, _ := strings.Cut(rest, "## Mail")
		if main != `{"email":{"otp_code":"482913"}}` || !strings.Contains(calendar, "PARTSTAT=ACCEPTED") || !strings.Contains(mail, "Your code is 482913") {
			t.Errorf("the %s time it prints\n%s", time, said)
		}
	}
}
