package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The requests of the official Python client as it writes them: members of a request before those of
// JSON-RPC, nulls left out, params left out where there are none, ids that count from 0, and the id
// of a call as its progress token.
const (
	pythonInitialize  = `{"method":"initialize","params":{"protocolVersion":"%s","capabilities":%s,"clientInfo":{"name":"mcp","version":"0.1.0"}},"jsonrpc":"2.0","id":0}`
	pythonInitialized = `{"method":"notifications/initialized","jsonrpc":"2.0"}`
	pythonList        = `{"method":"tools/list","jsonrpc":"2.0","id":1}`
	pythonCall        = `{"method":"tools/call","params":{"_meta":{"progressToken":2},"name":"wait_for_message","arguments":{"address":"%s","timeout":30}},"jsonrpc":"2.0","id":2}`
	pythonPing        = `{"method":"ping","jsonrpc":"2.0","id":3}`
)

// TestPythonClient plays them by stdio. Its transport needs each answer on a line of its own.
func TestPythonClient(t *testing.T) {
	w := theWorld(t)
	for revision, capabilities := range map[string]string{
		"2025-06-18": `{"sampling":{},"elicitation":{},"roots":{"listChanged":true}}`,
		"2025-11-25": `{}`,
	} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			address := w.near.inbox(t)
			p := w.mcp(t)
			said := p.ask(t, fmt.Sprintf(pythonInitialize, revision, capabilities))
			if got := said.at("result", "protocolVersion"); said["id"] != 0.0 || got != revision {
				t.Fatalf("initialize: %v", said)
			}
			if capabilities := said.at("result", "capabilities").(map[string]any); len(capabilities) != 1 || capabilities["tools"] == nil {
				t.Errorf("capabilities: %v", capabilities)
			}
			if words := len(strings.Fields(said.at("result", "instructions").(string))); words == 0 || words >= 200 {
				t.Errorf("the instructions have %d words", words)
			}
			p.say(t, pythonInitialized)
			if listed := p.ask(t, pythonList); len(listed.at("result", "tools").([]any)) != len(toolNames()) {
				t.Errorf("tools/list: %v", listed)
			}
			p.say(t, fmt.Sprintf(pythonCall, address))
			progress := p.hear(t)
			if progress["method"] != "notifications/progress" || progress.at("params", "progressToken") != 2.0 || progress.at("params", "message") == "" {
				t.Errorf("progress: %v", progress)
			}
			if pong := p.ask(t, pythonPing); pong["id"] != 3.0 || len(pong["result"].(map[string]any)) != 0 {
				t.Errorf("a ping while a call waits: %v", pong)
			}
			w.near.mail(t, address, "Hello", "World")
			answer := p.hear(t)
			for answer["method"] == "notifications/progress" {
				answer = p.hear(t)
			}
			if answer["id"] != 2.0 || answer.at("result", "structuredContent", "message", "subject") != "Hello" {
				t.Errorf("tools/call: %v", answer)
			}
			p.in.Close()
			if code := p.exits(t, closing); code != 0 {
				t.Errorf("exit code %d: %s", code, p.stderr)
			}
		})
	}
}

// said is a message of the tool server.
type said map[string]any

// at follows members; nil when one isn't there.
func (s said) at(path ...string) any {
	var v any = map[string]any(s)
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// id of a request, after those that are written out.
func (p *process) id() int64 { return 100 + p.asked.Add(1) }

func (p *process) say(t testing.TB, line string) {
	t.Helper()
	if _, err := p.in.Write([]byte(line + "\n")); err != nil {
		t.Fatal(err)
	}
}

func (p *process) hear(t testing.TB) (s said) {
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
	return p.hear(t)
}
