package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"inboxd/internal/core/tools"
)

// variant is JSON that a client sends as an argument, and its meaning: also JSON, or nothing if the
// argument counts as omitted.
type variant struct{ sent, means string }

// Where an optional zero or an empty text has a meaning. All other empty values count as omitted.
var (
	zeroCounts  = []string{"wait_for_otp.timeout", "wait_for_message.timeout", "wait_until_sent.timeout"}
	emptyClears = []string{"update_calendar_event.location", "update_calendar_event.description"}
)

// variantsOf returns the variants of an argument by its schema. A kind that is not handled here
// fails.
func variantsOf(t *testing.T, at string, p tools.Param, example any) (all []variant) {
	t.Helper()
	if p.EmptyClears != slices.Contains(emptyClears, at) {
		t.Errorf("%s: an empty text clears: %v", at, p.EmptyClears)
	}
	if !p.Required {
		all = append(all, variant{`null`, ``}, variant{`[]`, ``})
		if !p.EmptyClears {
			all = append(all, variant{`""`, ``})
		}
		if p.Type[0] != "string" {
			all = append(all, variant{`"null"`, ``})
		}
	}
	switch p.Type[0] {
	case "string":
		return append(all, textVariants(p)...)
	case "integer":
		return append(all, numberVariants(t, at, p, example)...)
	case "boolean":
		for _, sent := range []string{`true`, `"true"`, `"True"`, `" TRUE "`} {
			all = append(all, variant{sent, `true`})
		}
		return append(all, variant{`false`, `false`}, variant{`"false"`, `false`}, variant{`"False"`, `false`})
	case "array":
		return append(all, listVariants(t, at, p)...)
	}
	t.Fatalf("%s: no variants of a value of type %v", at, p.Type)
	return nil
}

// textVariants: a text stays unchanged, whatever else it could be.
func textVariants(p tools.Param) (all []variant) {
	texts := p.Enum
	if texts == nil {
		texts = []string{"x", "30", "true", "null", "[]", `{"a":1}`, "a@b.test, c@d.test", " "}
	}
	if p.EmptyClears {
		texts = append(texts, "")
	}
	for _, text := range texts {
		b, _ := json.Marshal(text)
		all = append(all, variant{string(b), string(b)})
	}
	return all
}

func numberVariants(t *testing.T, at string, p tools.Param, example any) (all []variant) {
	n := 30
	if given, ok := example.(int); ok && given > 0 {
		n = given
	}
	for _, form := range []string{`%d`, `%d.0`, `"%d"`, `"%d.0"`, `" %d "`} {
		all = append(all, variant{fmt.Sprintf(form, n), fmt.Sprint(n)})
		switch {
		case p.Required:
		case p.Minimum == nil || *p.Minimum < 0:
			t.Errorf("%s: what zero means is not known", at)
		case *p.Minimum == 0 && !slices.Contains(zeroCounts, at):
			t.Errorf("%s: say in zeroCounts that zero means something, or let the least be one", at)
		case *p.Minimum == 0:
			all = append(all, variant{fmt.Sprintf(form, 0), `0`})
		default:
			all = append(all, variant{fmt.Sprintf(form, 0), ``})
		}
	}
	return all
}

func listVariants(t *testing.T, at string, p tools.Param) []variant {
	one, two := `["a@b.test"]`, `["a@b.test","c+d@e.test"]`
	all := []variant{
		{one, one}, {`"a@b.test"`, one}, {`" a@b.test "`, one}, {`"[\"a@b.test\"]"`, one},
		{two, two}, {`"a@b.test, c+d@e.test"`, two}, {`"[\"a@b.test\", \"c+d@e.test\"]"`, two},
	}
	if !p.Required {
		all = append(all, variant{`"[]"`, ``})
	}
	if len(p.Items.AnyOf) == 0 {
		return all
	}
	named := `[{"email":"a@b.test","name":"A, B"}]`
	text, _ := json.Marshal(named)
	object, _ := json.Marshal(named[1 : len(named)-1])
	all = append(all, variant{named, named}, variant{string(text), named}, variant{named[1 : len(named)-1], named}, variant{string(object), named}, variant{"[" + string(object) + "]", named})
	for _, form := range p.Items.AnyOf {
		for _, member := range form.Properties {
			if member.Name == "email" {
				continue
			}
			for _, v := range variantsOf(t, at+"[]."+member.Name, member, nil) {
				guest := `{"email":"a@b.test"}`
				if v.means != "" {
					guest = fmt.Sprintf(`{"email":"a@b.test",%q:%s}`, member.Name, v.means)
				}
				all = append(all, variant{fmt.Sprintf(`[{"email":"a@b.test",%q:%s}]`, member.Name, v.sent), "[" + guest + "]"})
			}
		}
	}
	return all
}

// withArgument returns the arguments of an example with one of them as JSON; nothing: without it.
func withArgument(t *testing.T, example object, name, value string) json.RawMessage {
	t.Helper()
	given := maps.Clone(example)
	if delete(given, name); value != "" {
		given[name] = json.RawMessage(value)
	}
	b, err := encodeJSON(given)
	if err != nil {
		t.Fatalf("%s: %s: %v", name, value, err)
	}
	return b
}

// TestEveryArgumentAsClientsSendIt: each argument of each tool, omitted in each way, written as a
// string, and as a single value where a list is expected, has the meant value. The variants are
// generated from the schemas.
func TestEveryArgumentAsClientsSendIt(t *testing.T) {
	tried := 0
	for _, tool := range tools.All() {
		for _, p := range tool.Params {
			for _, v := range variantsOf(t, tool.Name+"."+p.Name, p, examples[tool.Name][p.Name]) {
				tried++
				got, err := readArguments(tool, withArgument(t, examples[tool.Name], p.Name, v.sent))
				want := withArgument(t, examples[tool.Name], p.Name, v.means)
				if err != nil || !sameJSON(t, got, want) {
					t.Errorf("%s.%s = %s: %s, %v; want %s", tool.Name, p.Name, v.sent, got, err, want)
				}
			}
		}
	}
	t.Logf("%d arguments", tried)
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		return false
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

// TestRawLinesAsClientsSendThem sends the same as lines of JSON-RPC, without the SDK's encoder but
// with its validation: the requests to the service are those of the meant arguments.
func TestRawLinesAsClientsSendThem(t *testing.T) {
	c := speakRaw(t)
	for _, tool := range tools.All() {
		example := examples[tool.Name]
		for _, p := range tool.Params {
			if p.Name == "address" {
				continue // the service has only this inbox
			}
			meant := map[string]string{}
			for _, v := range variantsOf(t, tool.Name+"."+p.Name, p, example[p.Name]) {
				if _, known := meant[v.means]; !known {
					meant[v.means] = c.asksFor(t, tool.Name, withArgument(t, example, p.Name, v.means))
				}
				if got := c.asksFor(t, tool.Name, withArgument(t, example, p.Name, v.sent)); got != meant[v.means] {
					t.Errorf("%s.%s = %s asks the service\n%s\nwant\n%s", tool.Name, p.Name, v.sent, got, meant[v.means])
				}
			}
		}
		plain := withArgument(t, example, "", "")
		text, _ := json.Marshal(string(plain))
		if got, want := c.asksFor(t, tool.Name, text), c.asksFor(t, tool.Name, plain); got != want {
			t.Errorf("all arguments as one string ask the service\n%s\nwant\n%s", got, want)
		}
	}
	for _, none := range []string{`null`, `""`, `[]`, `{}`, `"{}"`} {
		if got := c.asksFor(t, "list_inboxes", json.RawMessage(none)); !strings.HasPrefix(got, "GET /api/v1/inboxes?") {
			t.Errorf("arguments %s: %s", none, got)
		}
	}
}

// rawClient writes lines to a tool server over standard input and output, and sees its requests to
// the service.
type rawClient struct {
	service *service
	feed    io.Writer
	answers *json.Decoder
	id      int
}

func speakRaw(t *testing.T) *rawClient {
	in, feed := io.Pipe()
	received, out := io.Pipe()
	c := &rawClient{service: newService(), feed: feed, answers: json.NewDecoder(received)}
	over := make(chan error, 1)
	go func() { over <- c.service.server().ServeStdio(context.Background(), in, out) }()
	t.Cleanup(func() {
		feed.Close()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	c.ask(t, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`)
	fmt.Fprintln(feed, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// ask makes a call that must have a result without an error.
func (c *rawClient) ask(t *testing.T, method, params string) {
	t.Helper()
	c.id++
	fmt.Fprintf(c.feed, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params)
	var said struct {
		ID     int
		Error  any
		Result struct {
			IsError bool
			Content []any
		}
	}
	if err := c.answers.Decode(&said); err != nil || said.ID != c.id || said.Error != nil || said.Result.IsError {
		t.Fatalf("%s %s: %+v %v", method, params, said, err)
	}
}

// moments are the parts that differ between two equal requests to the service.
var moments = regexp.MustCompile(`since=[^&\s]*`)

// asksFor returns the requests that a call of a tool makes to the service, without waits that
// block.
func (c *rawClient) asksFor(t *testing.T, tool string, arguments json.RawMessage) string {
	t.Helper()
	c.service.change(func() { c.service.messages, c.service.calls = nil, nil })
	c.service.fill()
	c.service.settle("sent")
	c.ask(t, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	return moments.ReplaceAllString(c.service.asked(), "")
}

// TestOptionalAttendees: they become optional guests of the API, after the others.
func TestOptionalAttendees(t *testing.T) {
	c := speakRaw(t)
	for arguments, want := range map[string]string{
		`"attendees":["a@b.test"],"optional_attendees":["c@b.test",{"email":"d@b.test","name":"D"}]`: `["a@b.test",{"email":"c@b.test","optional":true},{"email":"d@b.test","name":"D","optional":true}]`,
		`"attendees":[],"optional_attendees":"c@b.test"`:                                             `[{"email":"c@b.test","optional":true}]`,
		`"attendees":[{"email":"a@b.test","optional":true}],"optional_attendees":null`:               `[{"email":"a@b.test","optional":true}]`,
	} {
		got := c.asksFor(t, "create_calendar_event", json.RawMessage(`{"address":"`+inboxOfTests+`","title":"T","start":"2031-06-02T09:00:00Z",`+arguments+`}`))
		if !strings.Contains(got, `{"attendees":`+want+`,"start":`) {
			t.Errorf("%s asks the service %s", arguments, got)
		}
	}
}

// FuzzArguments: whatever a client sends, accepted arguments match the schema, and stay the same
// when they are normalized again.
func FuzzArguments(f *testing.F) {
	f.Add(14, `{"address":"a@b","title":"t","start":"s","attendees":"[\"x@y\", {\"email\":\"z@y\",\"optional\":\"true\"}]","duration_minutes":"30","cc":null}`)
	f.Add(5, `"{\"address\":\"a@b\",\"to\":\"x@y\",\"cc\":\"x@y, z@y\",\"bcc\":[[\"null\"]]}"`)
	f.Add(3, `{"address":"a@b","timeout":" 3e1 "}`)
	var schemas []*jsonschema.Resolved
	for _, tool := range tools.All() {
		var s jsonschema.Schema
		if err := json.Unmarshal(tool.InputSchema(), &s); err != nil {
			f.Fatal(err)
		}
		schema, err := s.Resolve(nil)
		if err != nil {
			f.Fatal(err)
		}
		schemas = append(schemas, schema)
	}
	f.Fuzz(func(t *testing.T, n int, raw string) {
		n = int(uint(n) % uint(len(schemas)))
		tool := tools.All()[n]
		once, err := readArguments(tool, json.RawMessage(raw))
		if err != nil {
			return
		}
		var v any
		if err := json.Unmarshal(once, &v); err != nil {
			t.Fatal(err)
		}
		if err := schemas[n].Validate(v); err != nil {
			t.Errorf("%s takes %s as %s: %v", tool.Name, raw, once, err)
		}
		if again, err := readArguments(tool, once); err != nil || string(again) != string(once) {
			t.Errorf("%s takes %s as %s, and that as %s: %v", tool.Name, raw, once, again, err)
		}
	})
}
