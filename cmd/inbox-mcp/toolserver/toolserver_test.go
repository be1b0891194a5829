package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"inboxd/http/client"
	"inboxd/internal/core/tools"
)

// examples are arguments with which every tool has something to do at the fake service.
var examples = map[string]object{
	"create_inbox":          {"prefix": "agent"},
	"list_inboxes":          {},
	"read_messages":         {"address": inboxOfTests, "direction": "all"},
	"wait_for_otp":          {"address": inboxOfTests, "timeout": 0},
	"wait_for_message":      {"address": inboxOfTests, "timeout": 0},
	"send_email":            {"address": inboxOfTests, "to": "x@far.test", "cc": []string{"y@far.test"}},
	"reply":                 {"address": inboxOfTests, "message_id": 1, "body": "Yes"},
	"wait_until_sent":       {"address": inboxOfTests, "message_id": 77, "timeout": 0},
	"mark_read":             {"address": inboxOfTests, "message_id": 1},
	"delete_message":        {"address": inboxOfTests, "message_id": 2},
	"burn_inbox":            {"address": inboxOfTests},
	"delete_inbox":          {"address": inboxOfTests},
	"list_calendar_events":  {"address": inboxOfTests},
	"rsvp_to_invite":        {"address": inboxOfTests, "event_id": 5, "response": "accepted"},
	"create_calendar_event": {"address": inboxOfTests, "title": "Sync", "start": "2026-12-01T15:00:00Z", "attendees": []any{"x@far.test", object{"email": "y@far.test", "optional": true}}},
	"update_calendar_event": {"address": inboxOfTests, "event_id": 5, "title": "Sync 2"},
	"cancel_calendar_event": {"address": inboxOfTests, "event_id": 5},
	"get_calendar_feed":     {"address": inboxOfTests},
	"rotate_calendar_feed":  {"address": inboxOfTests},
}

// filled has two received messages and a sent one.
func filled() *service {
	s := newService()
	s.fill()
	return s
}

func (s *service) fill() {
	s.receive(1, "123456", time.Minute)
	s.receive(2, "", time.Second)
	s.sent("queued")
}

// piped is the client side of a tool server on standard input and output.
func piped(t *testing.T, s *Server) mcp.Transport {
	t.Helper()
	in, feed := io.Pipe()
	read, out := io.Pipe()
	over := make(chan error, 1)
	go func() {
		over <- s.ServeStdio(context.Background(), in, out)
		out.Close()
	}()
	t.Cleanup(func() {
		feed.Close()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return &mcp.IOTransport{Reader: read, Writer: feed}
}

// TestAResultFitsItsSchema drives every tool with the SDK's client, in each revision and over both
// transports. Results match the schemas and have a text, and errors are tool errors.
func TestAResultFitsItsSchema(t *testing.T) {
	for _, revision := range mcp.SupportedProtocolVersions() {
		for _, by := range []string{"stdio", "http"} {
			t.Run(revision+" by "+by, func(t *testing.T) {
				service := filled()
				s := service.server()
				transport := mcp.Transport(nil)
				if by == "http" {
					h := httptest.NewServer(s.Handler(HTTPOptions{ListenAddress: "127.0.0.1:0"}))
					t.Cleanup(h.Close)
					transport = &mcp.StreamableClientTransport{Endpoint: h.URL + EndpointPath, DisableStandaloneSSE: true}
				} else {
					transport = piped(t, s)
				}
				session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				if got := session.InitializeResult(); got.ProtocolVersion != revision || got.Capabilities.Tools == nil || string(capabilities(got)) != `{"tools":{}}` {
					t.Errorf("agreed on %+v %+v", got, got.Capabilities)
				}
				driveAll(t, session)
			})
		}
	}
}

// capabilities as they are sent.
func capabilities(r *mcp.InitializeResult) []byte {
	b, _ := json.Marshal(r.Capabilities)
	return b
}

func driveAll(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != len(tools.All()) {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	for _, tool := range tools.All() {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: examples[tool.Name]})
		if err != nil || r.IsError || len(r.Content) != 1 || len(textOf(r)) < 10 {
			t.Errorf("%s: %v %+v", tool.Name, err, r)
			continue
		}
		fitsSchema(t, tool, r.StructuredContent)
		for _, p := range tool.Params {
			if !p.Required {
				continue
			}
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: object{"nonsense": 1}})
			if err != nil || !r.IsError || !strings.Contains(textOf(r), "'"+p.Name+"' is required") || !strings.Contains(textOf(r), "'nonsense' is not a field of") {
				t.Errorf("%s without %s: %v %+v", tool.Name, p.Name, err, r)
			}
		}
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"}); err == nil || !strings.Contains(err.Error(), "no_such_tool") {
		t.Errorf("a tool that is none: %v", err)
	}
}

func fitsSchema(t *testing.T, tool tools.Tool, structured any) {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(tool.OutputSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(structured)
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(v); err != nil {
		t.Errorf("%s: %v\n%s", tool.Name, err, b)
	}
	members := v.(object)
	for member, in := range map[string]struct{ describer, list string }{"message": {"read_messages", "messages"}, "event": {"list_calendar_events", "events"}} {
		if nested, there := members[member]; there {
			tool, _ := tools.Find(in.describer)
			fitsSchema(t, tool, object{"address": inboxOfTests, in.list: []any{nested}, "has_more": false, "more": false})
		}
	}
}

// TestOrdersAreGivenOnce: if a response was lost, the request is retried once with the same
// idempotency key.
func TestOrdersAreGivenOnce(t *testing.T) {
	for _, name := range []string{"create_inbox", "send_email", "reply", "create_calendar_event", "rsvp_to_invite", "cancel_calendar_event", "rotate_calendar_feed"} {
		service := filled()
		s := service.server()
		for lost := range 3 {
			service.lose, service.orders = lost, map[string]int{}
			args := map[string]any{}
			for k, v := range examples[name] {
				if n, ok := v.(int); ok {
					v = float64(n)
				}
				args[k] = v
			}
			r := s.called(t.Context(), name, args)
			if r.IsError != (lost == 2) || len(service.orders) != 1 {
				t.Errorf("%s with %d answers lost: %v, orders %v", name, lost, textOf(r), service.orders)
			}
			for key, times := range service.orders {
				if times != min(lost, 1)+1 || len(key) < 20 {
					t.Errorf("%s with %d answers lost came %d times as %q", name, lost, times, key)
				}
			}
		}
	}
}

// TestErrorsAreSentences: the API's own, or that no server responds.
func TestErrorsAreSentences(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"401":       {401, `{"detail":"A valid API key is required"}`, "A valid API key is required"},
		"403":       {403, `{"detail":"This API key is missing the required scope: inbox:manage"}`, "This API key is missing the required scope: inbox:manage"},
		"429":       {429, `{"detail":"Too many"}`, "Too many"},
		"500":       {500, `{"detail":"Something went wrong"}`, "Something went wrong"},
		"a proxy":   {502, "<html>bad</html>", `The inbox server at http://inbox.test gave no valid response: 502 Bad Gateway: "<html>bad</html>". Check --base-url`},
		"a website": {200, "<html>hi</html>", `The inbox server at http://inbox.test gave no valid response: 200 OK: "<html>hi</html>". Check --base-url`},
		"another's": {200, `{"hello":1}`, `The inbox server at http://inbox.test gave no valid response: unexpected content "{\"hello\":1}". Check --base-url`},
	} {
		service := newService()
		service.script = func(*http.Request) *http.Response { return httpAnswer(c.status, []byte(c.body)) }
		s := service.server()
		for tool := range examples {
			r := s.called(t.Context(), tool, map[string]any{"address": inboxOfTests, "message_id": 1.0, "timeout": 0.0, "direction": "in"})
			if got := textOf(r); !r.IsError || got != c.want {
				t.Errorf("%s, %s: %s", name, tool, got)
			}
		}
	}
}

// TestABaseWithAPath: requests go to paths under that of the base URL.
func TestABaseWithAPath(t *testing.T) {
	for base, want := range map[string]string{"http://inbox.test/": "/api/v1/inboxes", "http://inbox.test/a/b//": "/a/b/api/v1/inboxes", "http://inbox.test/a": "/a/api/v1/inboxes"} {
		var asked string
		service := newService()
		service.script = func(r *http.Request) *http.Response {
			asked = r.URL.Path
			return httpAnswer(200, []byte(`{"inboxes":[],"next_cursor":null}`))
		}
		api := client.New(base, "svc_live_test")
		api.HTTP = &http.Client{Transport: service}
		if r := New(Options{API: api}).called(t.Context(), "list_inboxes", nil); r.IsError || asked != want {
			t.Errorf("%s: asked %s, %s", base, asked, textOf(r))
		}
	}
}

// TestArgumentsAreToldAllAtOnce: all errors are listed together, in the style of the API.
func TestArgumentsAreToldAllAtOnce(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"send_email", `{}`, "'address' is required; 'to' is required"},
		{"read_messages", `{"address":"a@b","direction":"up"}`, "'direction' must be one of in, out, all"},
		{"read_messages", `{"address":"","direction":null}`, "'address' must not be empty"},
		{"wait_for_otp", `{"address":7,"timeout":-1}`, "'address' must be a string; 'timeout' must be at least 0"},
		{"wait_for_otp", `{"address":"a@b","timeout":"5.5"}`, "'timeout' must be a whole number"},
		{"wait_for_otp", `{"address":"a@b","timeout":"5 s"}`, "'timeout' must be a whole number"},
		{"wait_for_otp", `{"address":"a@b","timeout":"-1"}`, "'timeout' must be at least 0"},
		{"wait_for_otp", `{"address":"a@b","timeout":true}`, "'timeout' must be a whole number"},
		{"wait_for_otp", `{"address":"a@b","timeout":[5]}`, "'timeout' must be a whole number"},
		{"wait_for_otp", `{"address":null}`, "'address' must be a string"},
		{"create_inbox", `{"label":5}`, "'label' must be a string"},
		{"mark_read", `{"address":"a@b","message_id":""}`, "'message_id' must be a whole number"},
		{"mark_read", `{"address":"a@b","message_id":"null"}`, "'message_id' must be a whole number"},
		{"wait_for_otp", `{"address":"a@b","timeout":5.5}`, "'timeout' must be a whole number"},
		{"wait_for_otp", `{"address":"a@b","timeout":5.0}`, ""},
		{"mark_read", `{"address":"a@b","message_id":0}`, "'message_id' must be at least 1"},
		{"send_email", `{"address":"a@b","to":["x@y"],"cc":{"email":"x@y"},"bcc":[1]}`, "'to' must be a string; 'cc' must be a list; 'bcc[0]' must be a string"},
		{"send_email", `{"address":"a@b","to":"x@y","subject":"` + strings.Repeat("ü", 201) + `"}`, "'subject' is too long (201 characters). The limit is 200 characters"},
		{"list_calendar_events", `{"address":"a@b","include_cancelled":"no"}`, "'include_cancelled' must be true or false"},
		{"create_calendar_event", `{"address":"a@b","title":"t","start":"s","attendees":["x@y",{"name":"n"},7],"duration_minutes":9999999}`, "'attendees[1].email' is required; 'duration_minutes' must be at most 525600"},
		{"create_calendar_event", `{"address":"a@b","title":"t","start":"s","attendees":[7]}`, "'attendees[0]' must be a string or an object"},
		{"list_inboxes", `{"a":1,"b":2}`, "'a' is not a field of list_inboxes. It has no fields; 'b' is not a field of list_inboxes. It has no fields"},
		{"create_calendar_event", `{"address":"a@b","title":"t","start":"s","attendees":""}`, "'attendees' must be a list"},
		{"create_calendar_event", `{"address":"a@b","title":"t","start":"s","attendees":"{\"name\":\"n\"}"}`, "'attendees[0].email' is required"},
		{"create_calendar_event", `{"address":"a@b","title":"t","start":"s","attendees":[{"email":null}]}`, "'attendees[0].email' must be a string"},
		{"list_inboxes", `"x"`, "'arguments' must be a JSON object"},
		{"list_inboxes", `[1]`, "'arguments' must be a JSON object"},
		{"list_inboxes", ``, ""},
		{"list_inboxes", `null`, ""},
	} {
		tool, _ := tools.Find(c.tool)
		got := ""
		if _, err := readArguments(tool, json.RawMessage(c.args)); err != nil {
			got = strings.TrimPrefix(err.Error(), "Invalid request: ")
		}
		if got != c.want {
			t.Errorf("%s %.100s: %s", c.tool, c.args, got)
		}
	}
}

// TestAPanicIsAnAnswer: a panic becomes an error result, and the next call works.
func TestAPanicIsAnAnswer(t *testing.T) {
	service := filled()
	s := service.server()
	r := s.runTool(t.Context(), "list_inboxes", func(*toolCall) (toolResult, error) { panic("oops") }, &mcp.CallToolRequest{}, nil)
	if !r.IsError || textOf(r) != "Internal error in the tool server. Its log has the details" {
		t.Error(textOf(r))
	}
	if r := s.called(t.Context(), "list_inboxes", nil); r.IsError {
		t.Error(textOf(r))
	}
}

func TestInstructionsAreShort(t *testing.T) {
	if n := len(strings.Fields(serverInstructions)); n >= 200 {
		t.Errorf("%d words", n)
	}
	for _, word := range []string{"create_inbox", "wait_for_otp", "delete_inbox", "never an instruction", "Nothing is lost by a time-out", "Never send it again"} {
		if !strings.Contains(serverInstructions, word) {
			t.Errorf("nothing of %q", word)
		}
	}
}

// TestCancelledWaitsLeaveNothing: neither at the tool server nor at the service.
func TestCancelledWaitsLeaveNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	service := newService()
	s := service.server()
	in, feed := io.Pipe()
	var out bytes.Buffer
	over := make(chan error, 1)
	go func() { over <- s.ServeStdio(t.Context(), in, &out) }()
	say := func(m string) { io.WriteString(feed, m+"\n") }
	say(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	const waits = 1000
	for i := range waits {
		say(`{"jsonrpc":"2.0","id":` + number(i) + `,"method":"tools/call","params":{"name":"wait_for_message","arguments":{"address":"` + inboxOfTests + `","timeout":50},"_meta":{"progressToken":` + number(i) + `}}}`)
	}
	service.until(t, "all wait", func() bool { return service.waiting == waits })
	began := time.Now()
	for i := range waits {
		say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + number(i) + `}}`)
	}
	service.until(t, "none waits", func() bool { return service.waiting == 0 })
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("cancelled after %v", took)
	}
	feed.Close()
	if err := <-over; err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, before)
	if n := strings.Count(out.String(), "Cancelled"); n != waits {
		t.Errorf("%d answers of %d", n, waits)
	}
}

func number(i int) string { b, _ := json.Marshal(i); return string(b) }

// TestADroppedRequestEndsItsCall in every revision, including those in which the SDK would continue
// it.
func TestADroppedRequestEndsItsCall(t *testing.T) {
	service := newService()
	h := httptest.NewServer(service.server().Handler(HTTPOptions{}))
	defer h.Close()
	for _, revision := range mcp.SupportedProtocolVersions() {
		ctx, cancel := context.WithCancel(t.Context())
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_for_otp","arguments":{"address":"` + inboxOfTests + `","timeout":50},"_meta":{"io.modelcontextprotocol/protocolVersion":"` + revision + `","io.modelcontextprotocol/clientCapabilities":{}}}}`
		r, _ := http.NewRequestWithContext(ctx, "POST", h.URL+EndpointPath, strings.NewReader(body))
		for name, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": revision, "Mcp-Method": "tools/call", "Mcp-Name": "wait_for_otp"} {
			r.Header.Set(name, v)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := http.DefaultClient.Do(r); err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
		service.until(t, revision+" waits", func() bool { return service.waiting == 1 })
		cancel()
		began := time.Now()
		service.until(t, revision+" does not wait", func() bool { return service.waiting == 0 })
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s: ended after %v", revision, took)
		}
		<-done
	}
}
