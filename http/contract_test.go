package http

import (
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
)

// TestOperationsAreNamedAlike: an id is a verb and its object, and a call has one name on both
// surfaces.
func TestOperationsAreNamedAlike(t *testing.T) {
	m, err := theMirror()
	if err != nil {
		t.Fatal(err)
	}
	const verb = `sign|log|request|confirm|get|list|create|set|update|mark|send|answer|cancel|delete|revoke|issue|burn|rotate|test|redeliver|claim|release|verify|simulate`
	named := regexp.MustCompile(`^(inside|session|compat)(?i:` + verb + `)[A-Z]|^(` + verb + `)[A-Z]`)
	byPath := map[string]string{}
	for path, item := range m.doc.Paths.Map() {
		for method, op := range item.Operations() {
			byPath[method+" "+path] = op.OperationID
			if !named.MatchString(op.OperationID) {
				t.Errorf("%s %s is called %s: a verb comes first", method, path, op.OperationID)
			}
		}
	}
	for call, id := range byPath {
		method, path, _ := strings.Cut(call, " ")
		twin, prefix := "", ""
		switch {
		case strings.HasPrefix(path, "/api/inboxes/{addr}/"):
			twin, prefix = strings.Replace(strings.Replace(path, "/api/", "/api/v1/", 1), "/emails", "/messages", 1), "inside"
		case strings.HasPrefix(path, compatPrefix):
			twin, prefix = strings.TrimPrefix(path, compatPrefix), "compat"
		case path == "/api/inboxes", strings.HasPrefix(path, "/api/suppressions"):
			twin, prefix = strings.Replace(path, "/api/", "/api/v1/", 1), "session"
		default:
			continue
		}
		if on, ok := byPath[method+" "+twin]; ok && id != prefix+strings.ToUpper(on[:1])+on[1:] {
			t.Errorf("%s is called %s, the same call on the agent surface %s", call, id, on)
		}
	}
}

// TestErrorCodesAreAClosedList: package fault, the contract and docs/specification.md have the same
// codes with the same meanings, and the service uses each of them.
func TestErrorCodesAreAClosedList(t *testing.T) {
	m, err := theMirror()
	if err != nil {
		t.Fatal(err)
	}
	declared, err := os.ReadFile("../internal/base/fault/code.go")
	if err != nil {
		t.Fatal(err)
	}
	specification, err := os.ReadFile("../docs/specification.md")
	if err != nil {
		t.Fatal(err)
	}
	var production strings.Builder
	for _, pattern := range []string{"*.go", "*/*.go", "../actors/*.go", "../actors/*/*.go", "../internal/*/*/*.go"} {
		files, _ := filepath.Glob(pattern)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			production.Write(text)
		}
	}
	schema := m.doc.Components.Schemas["ErrorCode"].Value
	meanings, _ := schema.Extensions["x-enumDescriptions"].(map[string]any)
	var codes []any
	for _, c := range regexp.MustCompile(`(?m)^\t(Code\w+) +Code = "([a-z_]+)"$`).FindAllStringSubmatch(string(declared), -1) {
		codes = append(codes, c[2])
		if !regexp.MustCompile(`fault\.` + c[1] + `\b`).MatchString(production.String()) {
			t.Errorf("no error has the code %s", c[2])
		}
		if row := fmt.Sprintf("\n| `%s` | %s |\n", c[2], meanings[c[2]]); !strings.Contains(string(specification), row) {
			t.Errorf("docs/specification.md lacks this row: %s", row)
		}
	}
	if !slices.Equal(codes, schema.Enum) || len(meanings) != len(codes) || len(codes) != strings.Count(string(declared), "Code = ") {
		t.Errorf("the code has %v, the contract %v with the meanings of %d", codes, schema.Enum, len(meanings))
	}
	rows := regexp.MustCompile("(?s)\n\\| code \\| meaning \\|\n\\|---\\|---\\|\n(.*?)\n\n").FindStringSubmatch(string(specification))
	if rows == nil || strings.Count(rows[1], "\n")+1 != len(codes) {
		t.Errorf("docs/specification.md has other rows than %v", codes)
	}
}

// TestQueryLimitsAreTheContracts: numbers and words within the contract's limits are accepted, all
// others are refused.
func TestQueryLimitsAreTheContracts(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	address := w.newInbox(alice, "own")
	w.deliver(address, inbox.Receive{Subject: "so that waits end at once"})
	m, err := theMirror()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for path, item := range m.doc.Paths.Map() {
		where := strings.ReplaceAll(path, "{addr}", address)
		op := item.Get
		if op == nil || strings.Contains(where, "{") {
			continue
		}
		for _, p := range op.Parameters {
			if p.Value.In != "query" {
				continue
			}
			good, bad := around(p.Value.Schema.Value)
			for _, v := range good {
				if r := w.call(methodGet, where+"?"+p.Value.Name+"="+v, session, ""); r.status != 200 {
					t.Errorf("%s=%s of %s: %d %s", p.Value.Name, v, path, r.status, r.body)
				}
			}
			for _, v := range bad {
				seen++
				if r := w.call(methodGet, where+"?"+p.Value.Name+"="+v, session, ""); r.status != 422 {
					t.Errorf("%s=%s of %s: %d, the contract excludes it", p.Value.Name, v, path, r.status)
				}
			}
		}
	}
	if seen < 60 {
		t.Errorf("only %d values were tried", seen)
	}
}

// around returns values just inside and just outside the limits of a schema.
func around(s *openapi3.Schema) (good, bad []string) {
	switch {
	case s.Type.Is("boolean"):
		return []string{"true", "false"}, []string{"maybe"}
	case len(s.Enum) > 0:
		for _, v := range s.Enum {
			good = append(good, fmt.Sprint(v))
		}
		return good, []string{"nonsense"}
	case s.Type.Is("integer"):
		bad = append(bad, "x", "1.5", "1.", ".0", "1.0e0", "1.0.0", "1,0")
		for _, form := range []string{"%d", "%d.0", "%d.000"} {
			if s.Min != nil {
				good, bad = append(good, fmt.Sprintf(form, int64(*s.Min))), append(bad, fmt.Sprintf(form, int64(*s.Min)-1))
			}
			if s.Max != nil {
				good, bad = append(good, fmt.Sprintf(form, int64(*s.Max))), append(bad, fmt.Sprintf(form, int64(*s.Max)+1))
			}
		}
	case s.MaxLength != nil:
		most := int(*s.MaxLength)
		return []string{strings.Repeat("x", most)}, []string{strings.Repeat("x", most+1)}
	}
	return good, bad
}

// TestNoBodyIsEndless: every route with a body refuses one that is too large, before reading it.
func TestNoBodyIsEndless(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	address := w.newInbox(alice, "own")
	for i := range w.server.routes {
		rt := &w.server.routes[i]
		if len(rt.bodyShape) == 0 {
			continue
		}
		path := strings.NewReplacer("{addr}", address, "{id}", "1", "{domain}", "a.test").Replace(rt.pathPattern)
		req, err := nethttp.NewRequest(rt.method, "http://"+w.addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", rt.method, path, session, 32<<20+1)
		resp := w.ask(head).answer()
		if resp.StatusCode != 413 {
			t.Errorf("%s: %s", rt.routeName(), resp.Status)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		w.mirror(req, "", reply{resp.StatusCode, resp.Header, string(body)})
	}
}

// TestWebhookBodiesConform: every webhook body matches the schema of its event in the contract.
func TestWebhookBodiesConform(t *testing.T) {
	m, err := theMirror()
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../internal/core/webhook/testdata/golden/*.json")
	reported := map[string]bool{}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var body map[string]any
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(err)
		}
		event := body["event"].(string)
		if !webhook.IsSubscription(event) {
			continue
		}
		reported[event] = true
		item := m.doc.Webhooks[event]
		if item == nil || item.Post == nil {
			t.Errorf("%s is not among the webhooks of the contract", event)
			continue
		}
		schema := item.Post.RequestBody.Value.Content["application/json"].Schema.Value
		if err := schema.VisitJSON(body, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
	}
	for name := range m.doc.Webhooks {
		if !reported[name] {
			t.Errorf("no test has a body of %s", name)
		}
	}
	var subscriptions []string
	for _, v := range m.doc.Components.Schemas["Subscription"].Value.Enum {
		subscriptions = append(subscriptions, v.(string))
	}
	if !slices.Equal(subscriptions, webhook.Subscriptions()) {
		t.Errorf("a webhook may subscribe to %v, the contract says %v", webhook.Subscriptions(), subscriptions)
	}
}

// TestClientsHaveEveryCall: the table of clients/README.md lists every call that a key can make and
// every call about keys and the account, and each name in the table is a method there.
func TestClientsHaveEveryCall(t *testing.T) {
	m, err := theMirror()
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("../clients/README.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for language, pattern := range map[string]string{"Python": "../clients/python/src/inboxd/_aio/*.py", "TypeScript": "../clients/typescript/src/*.ts", "Go": "client/*.go"} {
		files, _ := filepath.Glob(pattern)
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources[language] += string(text)
		}
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `\\w+\\.(\\w+)` \\| `\\w+\\.(\\w+)` \\| (?:`(?:\\w+\\.)?(\\w+)`|none) \\|$").FindAllStringSubmatch(string(table), -1) {
		listed[row[1]] = true
		for language, method := range map[string]string{"Python": "def " + row[2] + "(", "TypeScript": " " + row[3] + "(", "Go": ") " + row[4] + "("} {
			if !strings.Contains(sources[language], method) {
				t.Errorf("%s is not in the client for %s: %q", row[1], language, method)
			}
		}
	}
	for path, item := range m.doc.Paths.Map() {
		for method, op := range item.Operations() {
			wanted := slices.ContainsFunc([]string{"Sign-in", "Account", "Keys"}, func(tag string) bool { return slices.Contains(op.Tags, tag) })
			for _, s := range *op.Security {
				wanted = wanted || (s["accountKey"] != nil || s["inboxKey"] != nil) && !strings.HasPrefix(op.OperationID, "inside") && !strings.HasPrefix(op.OperationID, "compat")
			}
			if wanted && !listed[op.OperationID] {
				t.Errorf("%s %s (%s) is not in the table of clients", method, path, op.OperationID)
			}
		}
	}
}
