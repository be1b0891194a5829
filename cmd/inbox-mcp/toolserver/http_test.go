package toolserver

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTheGate: who may call, and the responses to others.
func TestTheGate(t *testing.T) {
	s := filled().server()
	own, open := HTTPOptions{ListenAddress: "127.0.0.1:8000"}, HTTPOptions{ListenAddress: "0.0.0.0:8000", BearerToken: "secret"}
	named := HTTPOptions{ListenAddress: "tools.test:8000", BearerToken: "secret"}
	bearer := http.Header{"Authorization": {"Bearer secret"}}
	for name, c := range map[string]struct {
		options HTTPOptions
		method  string
		host    string
		path    string
		header  http.Header
		body    string
		status  int
		says    string
	}{
		"loopback":                      {own, "POST", "127.0.0.1:8000", EndpointPath, nil, ping, 200, `"id":9,"result":{}`},
		"localhost, another port":       {own, "POST", "localhost:1", EndpointPath, nil, ping, 200, `"result"`},
		"IPv6":                          {own, "POST", "[::1]:8000", EndpointPath, nil, ping, 200, `"result"`},
		"another host":                  {own, "POST", "evil.test", EndpointPath, nil, ping, 403, "evil.test"},
		"a host that looks like it":     {own, "POST", "127.0.0.1.evil.test", EndpointPath, nil, ping, 403, "evil.test"},
		"a page of another":             {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Origin": {"https://evil.test"}}, ping, 403, "evil.test"},
		"a page of nobody":              {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Origin": {"null"}}, ping, 403, "null"},
		"a page of this machine":        {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Origin": {"http://localhost:6274"}}, ping, 200, `"result"`},
		"another path":                  {own, "POST", "127.0.0.1", "/", nil, ping, 404, "/mcp"},
		"GET":                           {own, "GET", "127.0.0.1", EndpointPath, nil, "", 405, "POST"},
		"DELETE":                        {own, "DELETE", "127.0.0.1", EndpointPath, nil, "", 405, "POST"},
		"a coded body":                  {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Content-Encoding": {"gzip"}}, "\x1f\x8b", 415, `The content coding \"gzip\" is not supported`},
		"two codings":                   {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Content-Encoding": {"identity", "br"}}, "\x1f\x8b", 415, `identity, br`},
		"no coding":                     {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Content-Encoding": {"Identity"}}, ping, 200, `"result"`},
		"no JSON":                       {own, "POST", "127.0.0.1", EndpointPath, nil, "hello", 400, `"id":null,"error":{"code":-32700`},
		"too much":                      {own, "POST", "127.0.0.1", EndpointPath, nil, `"` + strings.Repeat("x", 1<<20) + `"`, 413, "1048576"},
		"a batch where there is none":   {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Mcp-Protocol-Version": {"2025-06-18"}}, "[" + ping + "]", 400, `"error":{"code":-32600`},
		"a batch where there are":       {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Mcp-Protocol-Version": {"2025-03-26"}}, "[" + ping + "]", 200, `"result"`},
		"a revision of no one":          {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Mcp-Protocol-Version": {"2025-01-01"}}, ping, 400, `"id":9,"error":{"code":-32022`},
		"a method that isn't":           {own, "POST", "127.0.0.1", EndpointPath, nil, `{"jsonrpc":"2.0","id":3,"method":"no/such"}`, 400, `"id":3,"error":{"code":-32601`},
		"another method in the header":  {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}}, newList, 400, `"id":3,"error":{"code":-32020`},
		"another revision in the body":  {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Mcp-Protocol-Version": {"2025-11-25"}, "Mcp-Method": {"tools/list"}}, newList, 400, `"id":3,"error":{"code":-32020`},
		"without a handshake":           {own, "POST", "127.0.0.1", EndpointPath, http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/list"}}, newList, 200, `"create_inbox"`},
		"without the token":             {open, "POST", "127.0.0.1", EndpointPath, nil, ping, 401, "bearer token"},
		"with another token":            {open, "POST", "127.0.0.1", EndpointPath, http.Header{"Authorization": {"Bearer secret2"}}, ping, 401, "bearer token"},
		"with the token, otherwise":     {open, "POST", "127.0.0.1", EndpointPath, http.Header{"Authorization": {"Basic secret"}}, ping, 401, "bearer token"},
		"with the token":                {open, "POST", "192.0.2.7:8000", EndpointPath, bearer, ping, 200, `"result"`},
		"a name for all addresses":      {open, "POST", "evil.test:8000", EndpointPath, bearer, ping, 403, "evil.test"},
		"the name it listens on":        {named, "POST", "TOOLS.test:8000", EndpointPath, bearer, ping, 200, `"result"`},
		"an address it does not listen": {named, "POST", "192.0.2.7:8000", EndpointPath, bearer, ping, 403, "192.0.2.7"},
	} {
		r := httptest.NewRequest(c.method, "http://"+c.host+c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for field, v := range c.header {
			r.Header[field] = v
		}
		w := httptest.NewRecorder()
		s.Handler(c.options).ServeHTTP(w, r)
		body, _ := io.ReadAll(w.Body)
		if w.Code != c.status || !strings.Contains(string(body), c.says) {
			t.Errorf("%s: %d %.300s", name, w.Code, body)
		}
		if (w.Header().Get("WWW-Authenticate") != "") != (c.status == 401) || (w.Header().Get("Allow") == "POST") != (c.status == 405) || (w.Header().Get("Accept-Encoding") == "identity") != (c.status == 415) {
			t.Errorf("%s: %v", name, w.Header())
		}
	}
}

const newList = `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
