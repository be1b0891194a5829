package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"inboxd/internal/core/tools"
)

func toolNames() (all []string) {
	for _, tool := range tools.All() {
		all = append(all, tool.Name)
	}
	return all
}

// TestOfficialClients: the TypeScript clients of both lines use every tool over both transports,
// and the results match the API.
func TestOfficialClients(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	_, url := w.mcpHTTP(t)
	out, err := script(t, ".", []string{
		"NEAR=" + w.near.base, "NEAR_KEY=" + w.near.key, "NEAR_SMTP=" + w.near.smtp, "FAR=" + w.far.base, "FAR_KEY=" + w.far.key,
		"MCP=" + w.bin + "inbox-mcp", "MCP_URL=" + url, "TOOLS=" + strings.Join(toolNames(), ","),
	}, "drive.mjs")
	if err != nil || !strings.Contains(out, "# pass 4\n# fail 0\n# cancelled 0\n# skipped 0\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestConformance runs the protocol's own suite. A file lists what may fail, with the reason. The
// suite also fails if something in the list passes.
func TestConformance(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	_, url := w.mcpHTTP(t)
	out, err := script(t, ".", nil, "--import", "./old-node.mjs", "node_modules/@modelcontextprotocol/conformance/dist/index.js",
		"server", "--url", url, "--suite", "all", "--expected-failures", "expected-failures.yml")
	if err != nil {
		t.Errorf("%v\n%s", err, out[max(0, strings.LastIndex(out, "=== SUMMARY")):])
	}
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection"} {
		if !strings.Contains(out, "✓ "+scenario+":") {
			t.Errorf("%s does not pass", scenario)
		}
	}
	expected, err := os.ReadFile("testdata/npm/expected-failures.yml")
	if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.Lines(string(expected)) {
		if name, listed := strings.CutPrefix(entry, "  - "); listed {
			name, reason, _ := strings.Cut(name, " # ")
			if strings.TrimSpace(reason) == "" || !strings.Contains(out, " "+name+": ") {
				t.Errorf("%s has no reason, or is nothing that the suite runs", name)
			}
		}
	}
}

// TestInspector lists and calls tools over both transports.
func TestInspector(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	_, url := w.mcpHTTP(t)
	address := w.near.inbox(t)
	stdio := []string{w.bin + "inbox-mcp", "--base-url", w.near.base}
	for _, target := range [][]string{stdio, {url, "--transport", "http"}} {
		var listed struct{ Tools []struct{ Name string } }
		w.inspect(t, target, &listed, "--method", "tools/list")
		names := []string{}
		for _, tool := range listed.Tools {
			names = append(names, tool.Name)
		}
		if !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(toolNames()))) {
			t.Errorf("%v lists %v", target, names)
		}
		var called struct {
			IsError           bool
			StructuredContent struct{ Address string }
		}
		w.inspect(t, target, &called, "--method", "tools/call", "--tool-name", "read_messages", "--tool-arg", "address="+address, "direction=all")
		if called.IsError || called.StructuredContent.Address != address {
			t.Errorf("%v answers %+v", target, called)
		}
	}
}

func (w *world) inspect(t *testing.T, target []string, into any, args ...string) {
	t.Helper()
	all := slices.Concat([]string{"index.js"}, target, args)
	// It finds its own package.json only from its own folder.
	out, err := script(t, "node_modules/@modelcontextprotocol/inspector-cli/build", []string{"INBOX_API_KEY=" + w.near.key}, all...)
	if err == nil {
		err = json.Unmarshal([]byte(out), into)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("%v: %w\n%s", all, err, out))
	}
}
