package http

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// TestBodyLimitsAreTheContracts: a body with a member outside the contract's limits has no effect,
// and the error names that member. A member just inside the limits is not the reason for an error.
// The rest of the body is the contract's own example.
func TestBodyLimitsAreTheContracts(t *testing.T) {
	m, err := theMirror()
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, withSimulation)
	w.unbound = true // all that is asked comes from the contract
	session := w.signUp(alice)
	address := w.newInbox(alice, "own")
	w.deliver(address, inbox.Receive{Subject: "to be marked"})
	tried := 0
	for path, item := range m.doc.Paths.Map() {
		where := strings.NewReplacer("{addr}", address, "{id}", "1", "{domain}", "a.test").Replace(path)
		for method, op := range item.Operations() {
			if op.RequestBody == nil {
				continue
			}
			media := op.RequestBody.Value.Content["application/json"]
			example, _ := media.Example.(map[string]any)
			ask := func(change map[string]any) reply {
				w.advance(tryTime) // attempts are rate limited
				body := maps.Clone(example)
				if body == nil {
					body = map[string]any{}
				}
				maps.Copy(body, change)
				sent, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				return w.call(method, where, session, string(sent))
			}
			if r := ask(map[string]any{"nonsense": 1}); r.status != 422 || !strings.Contains(r.body, "nonsense") {
				t.Errorf("%s %s takes a member that the contract does not know: %d %s", method, path, r.status, r.body)
			}
			for name, property := range media.Schema.Value.Properties {
				good, bad := within(property.Value), beyond(property.Value)
				for _, v := range bad {
					tried++
					if r := ask(map[string]any{name: v}); r.status != 422 || !strings.Contains(r.detail(), name) && !ofEntry(v) {
						t.Errorf("%s %s: %s %.80v is excluded by the contract: %d %s", method, path, name, v, r.status, r.body)
					}
				}
				for _, v := range good {
					if r := ask(map[string]any{name: v}); r.status == 422 && strings.HasPrefix(r.detail(), "Invalid request: '"+name) {
						t.Errorf("%s %s: %s %.80v is allowed by the contract: %s", method, path, name, v, r.body)
					}
				}
			}
		}
	}
	if tried < 250 {
		t.Errorf("only %d values were tried", tried)
	}
}

// ofEntry reports whether v is a list of objects: an error then names the member of an entry.
func ofEntry(v any) bool {
	list, _ := v.([]any)
	if len(list) == 0 {
		return false
	}
	_, object := list[0].(map[string]any)
	return object
}

// within returns values just inside the limits of a schema.
func within(s *openapi3.Schema) (good []any) {
	for _, one := range s.AnyOf {
		good = append(good, within(one.Value)...)
	}
	switch {
	case len(s.Enum) > 0:
		return append(good, s.Enum...)
	case s.Type.Is("boolean"):
		return append(good, true, false)
	case s.Type.Is("null"):
		return append(good, nil)
	case s.Type.Is("string") && s.Pattern == "" && s.MaxLength != nil:
		return append(good, strings.Repeat("é", int(*s.MaxLength)))
	case s.Type.Is("integer") && s.Min != nil:
		good = append(good, *s.Min)
		if s.Max != nil {
			good = append(good, *s.Max)
		}
	}
	return good
}

// beyond returns values just outside the limits.
func beyond(s *openapi3.Schema) (bad []any) {
	for i, one := range s.AnyOf {
		for _, v := range beyond(one.Value) {
			if _, object := v.(map[string]any); i == 0 || object {
				bad = append(bad, v)
			}
		}
	}
	switch {
	case s.Type.Is("string"):
		bad = append(bad, 7, []any{})
		if s.MaxLength != nil {
			bad = append(bad, strings.Repeat("a", int(*s.MaxLength)+1))
		}
		if s.MinLength > 0 {
			bad = append(bad, strings.Repeat("a", int(s.MinLength)-1))
		}
		if s.Pattern != "" || len(s.Enum) > 0 {
			bad = append(bad, "!", "..")
		}
	case s.Type.Is("boolean"):
		bad = append(bad, "true", 1)
	case s.Type.Is("integer"):
		bad = append(bad, "1", 1.5)
		if s.Min != nil {
			bad = append(bad, *s.Min-1)
		}
		if s.Max != nil {
			bad = append(bad, *s.Max+1)
		}
		if len(s.Enum) > 0 {
			bad = append(bad, 31)
		}
	case s.Type.Is("array"):
		bad = append(bad, "a", map[string]any{})
		if s.MinItems > 0 {
			bad = append(bad, []any{})
		}
		if s.MaxItems != nil {
			bad = append(bad, many(example(s.Items.Value), int(*s.MaxItems)+1))
		}
		for _, v := range beyond(s.Items.Value) {
			bad = append(bad, []any{v})
		}
	case s.Type.Is("object"):
		bad = append(bad, "a", 7)
		for name, property := range s.Properties {
			for _, v := range beyond(property.Value) {
				one := example(s).(map[string]any)
				one[name] = v
				bad = append(bad, one)
			}
		}
		one := example(s).(map[string]any)
		one["nonsense"] = 1
		bad = append(bad, one)
	}
	return bad
}

func many(v any, n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// example returns a value that is valid for the schema of an entry.
func example(s *openapi3.Schema) any {
	switch {
	case len(s.AnyOf) > 0:
		return example(s.AnyOf[0].Value)
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type.Is("object"):
		one := map[string]any{}
		for _, name := range s.Required {
			one[name] = example(s.Properties[name].Value)
		}
		return one
	case s.Type.Is("string") && s.ContentEncoding != "":
		return "aGk="
	case s.Type.Is("string"):
		return "a@b.test"
	}
	return map[string]any{}
}

// TestContentCodings: every route with a body refuses content codings, after the checks that come
// before the body's shape. The response lists the accepted codings: only identity. Requests without
// a coding or a body are unaffected.
func TestContentCodings(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	address := w.newInbox(alice, "own")
	for i := range w.server.routes {
		rt := &w.server.routes[i]
		if rt.bodyShape == nil {
			continue
		}
		path := strings.NewReplacer("{addr}", address, "{id}", "1", "{domain}", "a.test").Replace(rt.pathPattern)
		r := w.call(rt.method, path, session, "\x1f\x8b\x08", "Content-Encoding", "gzip")
		if r.status != 415 || r.header.Get("Accept-Encoding") != "identity" || r.detail() != `The content coding "gzip" is not supported. Send the body without Content-Encoding` {
			t.Errorf("%s: %d %v %s", rt.routeName(), r.status, r.header, r.body)
		}
	}
	path := "/api/v1/inboxes/" + address
	for coding, want := range map[string]int{
		"identity": 200, "Identity": 200, "": 200, " , identity": 200,
		"x-gzip": 415, "br": 415, "identity, gzip": 415, "aws-chunked": 415, strings.Repeat("x", 4000): 415, "\xff": 415,
	} {
		r := w.call(methodPatch, path, session, `{"retention_hours":24.0}`, "Content-Encoding", coding)
		if r.status != want || len(r.body) > 1000 {
			t.Errorf("%.20q: %d %s", coding, r.status, r.body)
		}
		if want == 415 && !strings.Contains(r.detail(), strings.Trim(fmt.Sprintf("%.20q", strings.TrimPrefix(coding, "identity, ")), `"`)) {
			t.Errorf("%.20q is not named: %s", coding, r.body)
		}
	}
	w.expect(200, w.call(methodPatch, path, session, "", "Content-Encoding", "gzip"))
	w.expect(401, w.call(methodPatch, path, "svc_live_nobody", "x", "Content-Encoding", "gzip"))
	w.expect(403, w.call(methodPatch, path, w.key(alice, account.ScopeRead), "x", "Content-Encoding", "gzip"))
	w.expect(415, w.call(methodPost, path+"/send", session, strings.Repeat("x", 100_000), "Content-Encoding", "gzip"))
}

// TestBodyLimitIsTheRoutes: a query does not change the limit, and a send has its limit under every
// spelling of its path.
func TestBodyLimitIsTheRoutes(t *testing.T) {
	w := start(t, func(o *Options) { o.MaxBodyBytes = 4 << 20 })
	session := w.signUp(alice)
	address := w.newInbox(alice, "own")
	body := `{"to":"a@b.test","subject":"s","body":"` + strings.Repeat("x", 3<<20) + `"}`
	inbox := "/api/v1/inboxes/" + address
	for path, large := range map[string]bool{
		inbox + "/send": true, inbox + "/send?x=1": true, inbox + "/send?": true, "/api/inboxes/" + address + "/send?a=/b": true,
		strings.ReplaceAll(inbox, "@", "%40") + "/send#/x": true, "/api/v1/inboxes/" + strings.ToUpper(address) + "/send": true,
		inbox + "/burn?x=/send": false, "/api/v1/inboxes?x=/send": false, "/api/v1/inboxes?/send": false, inbox + "/messages/1/read?/send": false,
		"/api/keys?to=/send": false, inbox + "/latest?/send": false, inbox + "/x/send": false, "/send": false,
	} {
		for _, sent := range []string{body, strings.Repeat(" ", 3<<20)} {
			r := w.call(methodPost, path, session, sent)
			if refused := r.status == 413 || r.status == 404 || r.status == 405; refused == large {
				t.Errorf("%s with %d octets: %d %s", path, len(sent), r.status, r.detail())
			}
		}
	}
	w.expect(413, w.call(methodPost, inbox+"/send?x=1", session, strings.Repeat(" ", 4<<20+1)))
	w.expect(413, w.call(methodPatch, inbox+"?x=/send", session, body))
}
