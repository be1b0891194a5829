package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestStrangeServers: a response that is not from the service is reported to the model with the URL
// of the request, and the tool server continues.
func TestStrangeServers(t *testing.T) {
	w := theWorld(t)
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		want   string // after the URL
	}{
		"a page":     {func(out http.ResponseWriter) { fmt.Fprint(out, "<html>Welcome to nginx") }, "gave no valid response: "},
		"other JSON": {func(out http.ResponseWriter) { fmt.Fprint(out, `{"hello":"world"}`) }, "gave no valid response: "},
		"half of it": {func(out http.ResponseWriter) {
			out.Header().Set("Content-Length", "900")
			fmt.Fprint(out, `{"inboxes":[`)
		}, "gave no valid response: "},
		"502 of proxy": {func(out http.ResponseWriter) { out.WriteHeader(502); fmt.Fprint(out, "<h1>Bad Gateway") }, "gave no valid response: "},
		"500 of ours": {func(out http.ResponseWriter) {
			out.WriteHeader(500)
			fmt.Fprint(out, `{"detail":"Something went wrong on our side."}`)
		}, "Something went wrong on our side."},
		"hangs up": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "gave no valid response: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strange := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", "application/json")
				c.answer(out)
			}))
			defer strange.Close()
			// A path and a trailing slash are part of the base URL.
			base := strange.URL + "/mail/"
			p, err := start(w.bin+"inbox-mcp", []string{"--base-url", base, "--api-key", "svc_live_x"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.kill)
			p.ask(t, fmt.Sprintf(pythonInitialize, "2025-11-25"))
			p.say(t, pythonInitialized)
			for range 2 { // the second call finds a working tool server
				said := p.ask(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_inboxes","arguments":{}}}`, p.id()))
				content, _ := said.at("result", "content").([]any)
				if said.at("result", "isError") != true || len(content) != 1 {
					t.Fatalf("%v", said)
				}
				text := content[0].(map[string]any)["text"].(string)
				want := c.want
				if strings.HasPrefix(want, "gave") {
					want = "The inbox server at " + strings.TrimRight(base, "/") + " " + want
				}
				if !strings.HasPrefix(text, want) || strings.HasPrefix(c.want, "gave") && !strings.HasSuffix(text, "Check --base-url") {
					t.Errorf("%q, want %q", text, want)
				}
			}
		})
	}
}
