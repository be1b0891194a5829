package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Requests of the official Python client, as its releases 1 write them.
const (
	pythonInitialize  = `{"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"mcp","version":"0.1.0"}},"jsonrpc":"2.0","id":0}`
	pythonInitialized = `{"method":"notifications/initialized","jsonrpc":"2.0"}`
	pythonList        = `{"method":"tools/list","jsonrpc":"2.0","id":1}`
)

// pythonSaid is what each release of the Python client sent, recorded in
// testdata/python/RELEASE.jsonl, and the revision that it uses. To record one again, let a
// ClientSession (2.0.0-auto: a Client) of that release start "tee -a FILE | inbox-mcp". It
// initializes, lists the tools, calls one with a progress callback, pings meanwhile, sends a
// message there, makes another call and gives up, and lists the tools again. Then write {address}
// for the address.
var pythonSaid = map[string]string{
	"1.22.0": "2025-06-18", "1.28.1": "2025-11-25", "2.0.0": "2025-11-25", "2.0.0-auto": "2026-07-28",
}

// TestPythonClient replays the recordings over stdio. The client's transport needs each response on
// its own line.
func TestPythonClient(t *testing.T) {
	w := theWorld(t)
	for release, revision := range pythonSaid {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", "python", release+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			r := &replayed{process: w.mcp(t), w: w, t: t, address: w.near.inbox(t), revision: revision}
			for line := range strings.Lines(strings.ReplaceAll(string(text), "{address}", r.address)) {
				r.play(strings.TrimSpace(line))
			}
			if want := []string{"initialize", "tools/list", "progress", "answer", "cancelled", "tools/list"}; !slices.Equal(r.passed, want) {
				t.Errorf("%s passed %q, want %q", release, r.passed, want)
			}
			r.in.Close()
			if code := r.exits(t, closing); code != 0 {
				t.Errorf("exit code %d: %s", code, r.stderr)
			}
		})
	}
}

// replayed is a client that sends what was recorded. The test's goroutine owns it.
type replayed struct {
	*process
	w                 *world
	t                 *testing.T
	address, revision string

	waits  any // id of the call that waits for a message; nil: none
	passed []string
}

// play sends one line and reads what must follow it.
func (r *replayed) play(line string) {
	var asked said
	if err := json.Unmarshal([]byte(line), &asked); err != nil {
		r.t.Fatalf("%q: %v", line, err)
	}
	if r.waits != nil && asked["method"] != "ping" && asked["method"] != "notifications/cancelled" {
		r.mailComes()
	}
	r.say(r.t, line)
	switch asked["method"] {
	case "initialize", "server/discover":
		r.begins(asked, r.receive(r.t))
	case "tools/list":
		if listed, _ := r.receive(r.t).at("result", "tools").([]any); len(listed) != len(toolNames()) {
			r.t.Errorf("%d tools", len(listed))
		}
		r.passed = append(r.passed, "tools/list")
	case "tools/call":
		r.waits = asked["id"]
		if token := asked.at("params", "_meta", "progressToken"); token != nil {
			progress := r.receive(r.t)
			if progress["method"] != "notifications/progress" || progress.at("params", "progressToken") != token || progress.at("params", "message") == "" {
				r.t.Fatalf("progress: %v", progress)
			}
			r.passed = append(r.passed, "progress")
		}
	case "ping":
		if pong := r.receive(r.t); pong["id"] != asked["id"] || pong.at("result") == nil {
			r.t.Errorf("a ping while a call waits: %v", pong)
		}
	case "notifications/cancelled":
		answer := r.answer() // an error if the call had not begun
		if answer["id"] != asked.at("params", "requestId") || answer["error"] == nil && answer.at("result", "isError") != true {
			r.t.Errorf("the cancelled call: %v", answer)
		}
		r.passed = append(r.passed, "cancelled")
	}
}

// begins checks the tool server's description of itself.
func (r *replayed) begins(asked, answer said) {
	versions, _ := answer.at("result", "supportedVersions").([]any)
	if answer["id"] != asked["id"] || answer.at("result", "protocolVersion") != r.revision && !slices.Contains(versions, any(r.revision)) {
		r.t.Fatalf("%s: %v", asked["method"], answer)
	}
	if capabilities, _ := answer.at("result", "capabilities").(map[string]any); len(capabilities) != 1 || capabilities["tools"] == nil {
		r.t.Errorf("capabilities: %v", capabilities)
	}
	instructions, _ := answer.at("result", "instructions").(string)
	if words := len(strings.Fields(instructions)); words == 0 || words >= 200 {
		r.t.Errorf("the instructions have %d words", words)
	}
	r.passed = append(r.passed, "initialize")
}

// mailComes sends a message to the waiting call.
func (r *replayed) mailComes() {
	id := r.waits
	r.w.near.mail(r.t, r.address, "Hello", "Your code is 660113")
	if answer := r.answer(); answer["id"] != id || answer.at("result", "structuredContent", "message", "subject") != "Hello" {
		r.t.Errorf("tools/call: %v", answer)
	}
	r.passed = append(r.passed, "answer")
}

// answer returns the response to the waiting call.
func (r *replayed) answer() said {
	r.waits = nil
	answer := r.receive(r.t)
	for answer["method"] == "notifications/progress" {
		answer = r.receive(r.t)
	}
	return answer
}

// said is a message of the tool server.
type said map[string]any

// at follows a path of fields; nil if one is missing.
func (s said) at(path ...string) any {
	var v any = map[string]any(s)
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// id returns the id of a request, after those that are written literally.
func (p *process) id() int64 { return 100 + p.asked.Add(1) }

func (p *process) say(t testing.TB, line string) {
	t.Helper()
	if _, err := p.in.Write([]byte(line + "\n")); err != nil {
		t.Fatal(err)
	}
}

func (p *process) receive(t testing.TB) (s said) {
	t.Helper()
	line := p.line()
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		t.Fatalf("%q: %v; %s", line, err, p.stderr)
	}
	return s
}

func (p *process) ask(t testing.TB, line string) said {
	t.Helper()
	p.say(t, line)
	return p.receive(t)
}
