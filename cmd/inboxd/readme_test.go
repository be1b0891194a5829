package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"inboxd/internal/testutil/testtools"
)

// tours are the sections with commands for newcomers, in order, and what the output of each must
// contain.
var tours = []struct {
	file, section string
	prints        []string
}{
	{"README.md", "First code", []string{"\n482913\n{\"address\":\"hello@tour.inbox.localhost\"", "\n{\"email\":{\"otp_code\":\"482913\"}}\n"}},
	{"docs/tour.md", "Invite, answer, subscribe", []string{"PARTSTAT=ACCEPTED"}},
	{"docs/tour.md", "Encrypted inboxes", []string{"Your code is 482913"}},
}

// TestReadmeTours runs the commands of README and the tour in one shell as printed, twice with the
// same folder: a newcomer continues the next morning.
func TestReadmeTours(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	s := launch(t, folder)
	var script strings.Builder
	for _, tour := range tours {
		_, rest, _ := strings.Cut(document(t, tour.file), "\n## "+tour.section+"\n")
		section, _, _ := strings.Cut(rest, "\n## ")
		script.WriteString("echo '## " + tour.section + "'\n")
		blocks := regexp.MustCompile("(?s)\n```sh\n(.*?)```").FindAllStringSubmatch(section, -1)
		if len(blocks) == 0 {
			t.Fatalf("%s has no commands under %q", tour.file, tour.section)
		}
		for _, block := range blocks {
			script.WriteString(block[1])
		}
	}
	typed := strings.NewReplacer("smtp://localhost:2525", "smtp://"+s.smtp, "localhost:8080", s.http).Replace(script.String())
	bin, home := t.TempDir(), t.TempDir()
	for _, name := range []string{"curl", "age", "age-keygen"} {
		if err := os.Symlink(testtools.ProgramPath(t, name), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	inboxd := command()
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"bin/inboxd": inboxd.Path, "bin/inbox": inboxProgram(t), "data": folder} {
		if err := os.Symlink(target, filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, time := range []string{"first", "second"} {
		sh := exec.CommandContext(t.Context(), "sh")
		sh.Dir, sh.Env = home, append(inboxd.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "INBOX_BASE_URL=http://"+s.http)
		sh.Stdin = strings.NewReader(typed)
		output, err := sh.Output()
		if err != nil {
			t.Errorf("the %s time: %v", time, err)
		}
		sections := strings.Split(string(output), "## ")[1:]
		if len(sections) != len(tours) {
			t.Fatalf("the %s time %d sections print\n%s", time, len(sections), output)
		}
		for i, tour := range tours {
			for _, part := range tour.prints {
				if !strings.Contains(sections[i], part) {
					t.Errorf("the %s time %q prints no %q but\n%s", time, tour.section, part, sections[i])
				}
			}
		}
	}
}

// TestEveryBlockOfReadmesIsRun: a command block of README or of a client's README is in a tour, or
// another test runs it. Blocks of other languages are run or compiled by the tests of the packages.
func TestEveryBlockOfReadmesIsRun(t *testing.T) {
	elsewhere := map[string]string{
		"make":   "TestMain: the tests run what they build",
		"claude": "TestCommandLines of cmd/inbox-mcp",
		"pip":    "TestClientsOfOtherLanguages",
		"npm":    "TestClientsOfOtherLanguages",
	}
	for _, name := range []string{"README.md", "clients/README.md", "clients/python/README.md", "clients/typescript/README.md"} {
		text := document(t, name)
		for _, tour := range tours {
			if before, rest, found := strings.Cut(text, "\n## "+tour.section+"\n"); found && tour.file == name {
				_, after, _ := strings.Cut(rest, "\n## ")
				text = before + "\n## " + after
			}
		}
		for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
			if word, _, _ := strings.Cut(block[1], " "); elsewhere[word] == "" {
				t.Errorf("%s: no test runs\n%s", name, block[1])
			}
		}
	}
}

// TestKeyCreatePrintsTheKey: scripts use standard output as the key, so it contains only the key.
func TestKeyCreatePrintsTheKey(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	launch(t, folder)
	admin(t, folder, "account", "create", "me@example.test")
	key, err := command("admin", "--data", folder, "key", "create", "me@example.test").Output()
	if err != nil || !regexp.MustCompile(`^svc_live_[0-9A-Za-z]+\n$`).Match(key) {
		t.Errorf("it prints %q: %v", key, err)
	}
}

// TestConfigurationListsEveryFlag: the tables of docs/operate/configuration.md have exactly the
// flags of serve.
func TestConfigurationListsEveryFlag(t *testing.T) {
	listed := []string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`--.*?`) \\| ").FindAllStringSubmatch(document(t, "docs/operate/configuration.md"), -1) {
		for _, flag := range regexp.MustCompile("`--([a-z-]+)").FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, flag[1])
		}
	}
	app, err := kong.New(&commandLine{}, kongOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"config"}
	for _, command := range app.Model.Children {
		if command.Name != "serve" {
			continue
		}
		for _, flag := range command.Flags {
			if !flag.Hidden {
				flags = append(flags, flag.Name)
			}
		}
	}
	slices.Sort(listed)
	slices.Sort(flags)
	if !slices.Equal(listed, flags) {
		t.Errorf("listed are\n%v\nflags are\n%v", listed, flags)
	}
}

// document returns a file of the repository, named from its root.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
