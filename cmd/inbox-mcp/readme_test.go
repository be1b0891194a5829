package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// launch is how a chat client starts the tool server.
type launch struct {
	Command string
	Args    []string
	Env     map[string]string
}

// forModels is the part of the page that users copy from. README shows one of its command lines.
func forModels(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/tool-server.md")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?m)^claude mcp add .*$").Find(readme)
	if shown == nil || !strings.Contains(string(page), "| `"+string(shown)+"` |") {
		t.Errorf("README shows %q, which is no command line of docs/tool-server.md", shown)
	}
	_, rest, _ := strings.Cut(string(page), "\n## Clients\n")
	part, _, found := strings.Cut(rest, "\n## ")
	if !found {
		t.Fatal("docs/tool-server.md has no part for clients")
	}
	return part
}

var fenced = regexp.MustCompile("(?s)```(json|toml)\n(.*?)```")

// TestConfigurations: each configuration in docs/tool-server.md can be read by its client, and
// starts a tool server that lists its tools.
func TestConfigurations(t *testing.T) {
	w := theWorld(t)
	members := map[string]int{}
	for _, block := range fenced.FindAllStringSubmatch(forModels(t), -1) {
		var config struct {
			MCPServers map[string]launch `json:"mcpServers"`
			Servers    map[string]launch `json:"servers"`
			Codex      map[string]launch `toml:"mcp_servers"`
		}
		var err error
		if block[1] == "toml" {
			err = toml.Unmarshal([]byte(block[2]), &config)
		} else {
			err = json.Unmarshal([]byte(block[2]), &config)
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, block[2])
		}
		for member, servers := range map[string]map[string]launch{"mcpServers": config.MCPServers, "servers": config.Servers, "mcp_servers": config.Codex} {
			for name, how := range servers {
				members[member]++
				if how.Env["INBOX_API_KEY"] == "" || name != "inbox" {
					t.Errorf("%s: %+v", name, how)
				}
				w.starts(t, how)
			}
		}
	}
	if want := map[string]int{"mcpServers": 1, "servers": 1, "mcp_servers": 1}; !maps.Equal(members, want) {
		t.Errorf("configurations: %v, want %v", members, want)
	}
}

var commandRow = regexp.MustCompile("(?m)^\\| [^|]+ \\| `(\\S+) (.*)` \\|$")

// TestCommandLines: each command line in docs/tool-server.md, run by a shell, gives the client's
// program what it needs to start a tool server that lists its tools. The programs are not installed
// here: each is replaced by one that prints its arguments.
func TestCommandLines(t *testing.T) {
	w := theWorld(t)
	bin := t.TempDir()
	seen := []string{}
	for _, row := range commandRow.FindAllStringSubmatch(forModels(t), -1) {
		program := row[1]
		seen = append(seen, program)
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", program+" "+row[2])
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KEY="+w.near.key)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", program, err)
		}
		how, err := understood(program, strings.Split(strings.TrimRight(string(out), "\n"), "\n"))
		if err != nil || how.Env["INBOX_API_KEY"] != w.near.key {
			t.Errorf("%s: %v, %+v", program, err, how)
			continue
		}
		w.starts(t, how)
	}
	if want := []string{"claude", "codex", "gemini", "code"}; !slices.Equal(seen, want) {
		t.Errorf("command lines of %v, want %v", seen, want)
	}
}

// understood returns how a client's program interprets its arguments, by its documentation.
func understood(program string, args []string) (how launch, err error) {
	if program == "code" {
		if len(args) != 2 || args[0] != "--add-mcp" {
			return how, fmt.Errorf("arguments %q", args)
		}
		return how, json.Unmarshal([]byte(args[1]), &how)
	}
	if len(args) < 2 || args[0] != "mcp" || args[1] != "add" {
		return how, fmt.Errorf("arguments %q", args)
	}
	how.Env = map[string]string{}
	var positional []string
	for rest := args[2:]; len(rest) > 0; rest = rest[1:] {
		switch arg := rest[0]; {
		case arg == "--":
			positional, rest = append(positional, rest[1:]...), rest[len(rest)-1:]
		case arg == "-e" || arg == "--env":
			if program == "codex" && arg == "-e" || len(rest) < 2 {
				return how, fmt.Errorf("%s does not know %s", program, arg)
			}
			name, value, _ := strings.Cut(rest[1], "=")
			how.Env[name], rest = value, rest[1:]
		case strings.HasPrefix(arg, "-"):
			return how, fmt.Errorf("%s: what is %s?", program, arg)
		default:
			positional = append(positional, arg)
		}
	}
	if len(positional) < 2 || positional[0] != "inbox" {
		return how, fmt.Errorf("a name and a command are needed, not %q", positional)
	}
	how.Command, how.Args = positional[1], positional[2:]
	return how, nil
}

// starts starts the program as a client would, on the near node with its key, and lists the tools.
func (w *world) starts(t *testing.T, how launch) {
	t.Helper()
	if how.Command != "inbox-mcp" {
		t.Fatalf("the command is %q", how.Command)
	}
	args := slices.Clone(how.Args)
	for i, arg := range args {
		if arg == "http://127.0.0.1:8080" {
			args[i] = w.near.base
		}
	}
	env := []string{"INBOX_BASE_URL=" + w.near.base}
	for name := range how.Env {
		env = append(env, name+"="+w.near.key)
	}
	p, err := start(w.bin+how.Command, args, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	p.ask(t, fmt.Sprintf(pythonInitialize, "2025-06-18"))
	p.say(t, pythonInitialized)
	if listed, _ := p.ask(t, pythonList).at("result", "tools").([]any); len(listed) != len(toolNames()) {
		t.Errorf("%+v lists %d tools", how, len(listed))
	}
}
