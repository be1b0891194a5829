package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"inboxd/internal/core/tools"
)

// says runs the program to its end.
func (w *world) says(t *testing.T, env []string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(w.bin+"inbox-mcp", args...)
	cmd.Env = append(cmd.Environ(), env...)
	b, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// TestDoctor explains a wrong key, a missing permission and a wrong URL, and reports which tools
// can be used.
func TestDoctor(t *testing.T) {
	w := theWorld(t)
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	reader, err := w.near.keyWith("inbox:read")
	if err != nil {
		t.Fatal(err)
	}
	eraser, err := w.near.keyWith("message:write")
	if err != nil {
		t.Fatal(err)
	}
	var inboxKey struct {
		Key string `json:"api_key"`
	}
	if err := w.near.ask("POST", "/api/inboxes/"+w.near.inbox(t)+"/key", w.near.session, map[string]any{"scopes": []string{"full"}}, &inboxKey); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		base, key string
		code      int
		says      []string
		tools     int // that can be used
	}{
		"all is well":     {w.near.base + "/", w.near.key, 0, []string{"responds: Inbox Service API, version 1", "agrees with the server's", "valid, account key: it has access to all inboxes of the account"}, 19},
		"a reader":        {w.near.base, reader, 0, []string{"send_email             no: the key is missing the scope email:send", "create_inbox           no: the key is missing the scope inbox:manage"}, 8},
		"one permission":  {w.near.base, eraser, 0, []string{"delete_message         yes", "read_messages          no: the key is missing the scope inbox:read"}, 1},
		"one inbox":       {w.near.base, inboxKey.Key, 0, []string{"valid, inbox key: it has access to this inbox only", "create_inbox           no: it requires an account key"}, 18},
		"a wrong key":     {w.near.base, w.near.key + "x", 1, []string{"A valid API key is required", "mistyped, expired, revoked, or belong to another server", "--api-key"}, 0},
		"nobody there":    {"http://127.0.0.1:1", w.near.key, 1, []string{"The inbox server at http://127.0.0.1:1 gave no valid response: connection refused. Check --base-url"}, 0},
		"somebody else":   {stranger.URL, w.near.key, 1, []string{"gave no valid response: 404 Not Found", "Check --base-url"}, 0},
		"a path too many": {w.near.base + "/api", w.near.key, 1, []string{"gave no valid response", "Check --base-url"}, 0},
		"no URL":          {"inbox.test", w.near.key, 1, []string{"invalid base URL \"inbox.test\": use a URL such as http://"}, 0},
		"no key":          {w.near.base, "", 1, []string{"the API key is missing: set INBOX_API_KEY"}, 0},
	} {
		out, code := w.says(t, []string{"INBOX_BASE_URL=" + c.base, "INBOX_API_KEY=" + c.key}, "doctor")
		if code != c.code || strings.Count(out, " yes\n") != c.tools || c.key != "" && strings.Contains(out, c.key) {
			t.Errorf("%s: exit %d\n%s", name, code, out)
		}
		for _, want := range c.says {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
	}
}

// TestSchemaPrintsWhatTheRouteAnswers, byte for byte.
func TestSchemaPrintsWhatTheRouteAnswers(t *testing.T) {
	w := theWorld(t)
	for _, format := range tools.FormatNames() {
		out, code := w.says(t, nil, "schema", "--format", format)
		resp, err := http.Get(w.near.base + "/api/v1/tools?format=" + format)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got := textIn(t, resp.Body); code != 0 || out != got || len(out) < 1000 {
			t.Errorf("%s: exit %d, %d bytes, by the route %d", format, code, len(out), len(got))
		}
	}
	for _, args := range [][]string{{"schema"}, {"schema", "--format", "other"}} {
		if out, code := w.says(t, nil, args...); code != 1 || out != "inbox-mcp: --format: invalid or missing format. Valid formats: openai, anthropic, gemini\n" {
			t.Errorf("%v: exit %d %s", args, code, out)
		}
	}
}

// TestRefusalsToStart are one sentence on standard error, with exit code 1.
func TestRefusalsToStart(t *testing.T) {
	w := theWorld(t)
	key := "INBOX_API_KEY=" + w.near.key
	for name, c := range map[string]struct {
		env  string
		args []string
		says string
	}{
		"no key":               {"INBOX_API_KEY=", nil, "the API key is missing: set INBOX_API_KEY"},
		"no key, by HTTP":      {"INBOX_API_KEY=", []string{"--http", "127.0.0.1:0"}, "the API key is missing"},
		"open to all":          {key, []string{"--http", "0.0.0.0:0"}, "Set --http-token or INBOX_MCP_HTTP_TOKEN"},
		"open to all, unnamed": {key, []string{"--http", ":0"}, "Set --http-token"},
		"no port":              {key, []string{"--http", "127.0.0.1"}, "--http: invalid address \"127.0.0.1\" (use HOST:PORT"},
		"a level of none":      {key, []string{"--log-level", "loud"}, "--log-level: invalid level \"loud\" (debug, info, warn or error)"},
		"a key with a blank":   {"INBOX_API_KEY=svc live", nil, "the API key contains characters"},
		"an unknown flag":      {key, []string{"--htp", "x"}, "unknown flag --htp"},
	} {
		out, code := w.says(t, []string{c.env}, c.args...)
		if code != 1 || !strings.Contains(out, c.says) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: exit %d %s", name, code, out)
		}
	}
}

// TestSecretsInArgumentsAreSaid: a warning names arguments that the process list shows, and nothing
// else.
func TestSecretsInArgumentsAreSaid(t *testing.T) {
	w := theWorld(t)
	for name, c := range map[string]struct {
		env, args []string
		warned    []string
	}{
		"in the environment":   {[]string{"INBOX_API_KEY=" + w.near.key, "INBOX_MCP_HTTP_TOKEN=t"}, nil, nil},
		"the key":              {nil, []string{"--api-key", w.near.key}, []string{"--api-key"}},
		"the key, in one word": {[]string{"INBOX_API_KEY=" + w.near.key}, []string{"--api-key=" + w.near.key}, []string{"--api-key"}},
		"both":                 {nil, []string{"--http-token", "t", "--api-key", w.near.key}, []string{"--api-key", "--http-token"}},
	} {
		out, code := w.says(t, c.env, append([]string{"doctor", "--base-url", w.near.base}, c.args...)...)
		if code != 0 || strings.Count(out, "is visible in the process list") != len(c.warned) || strings.Contains(out, w.near.key) {
			t.Errorf("%s: exit %d %s", name, code, out)
		}
		for _, flag := range c.warned {
			if !strings.Contains(out, "warning: "+flag+" is visible") {
				t.Errorf("%s: %s", name, out)
			}
		}
	}
	if out, _ := w.says(t, nil, "--help"); !strings.Contains(strings.Join(strings.Fields(out), " "), "Prefer INBOX_API_KEY") {
		t.Error(out)
	}
}

func textIn(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
