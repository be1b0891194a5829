package tools

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// specified is a second copy of the promised table (specification, Tool server); `!` marks the
// functions.
const specified = `
create_inbox! | prefix?, label?, retention_hours?, subdomain?, domain?
list_inboxes! |
read_messages! | address, direction=in
wait_for_otp! | address, timeout=30
wait_for_message | address, timeout=30
send_email! | address, to, subject?, body?, html?, cc?, bcc?
reply | address, message_id, body?, html?, cc?, bcc?
wait_until_sent | address, message_id, timeout=60
mark_read | address, message_id
burn_inbox | address
delete_inbox! | address
delete_message | address, message_id
list_calendar_events | address, include_cancelled=false
rsvp_to_invite | address, event_id, response, comment?
create_calendar_event | address, title, start, attendees, optional_attendees?, end?, duration_minutes?, timezone?, all_day?, location?, description?, message?, in_reply_to?
update_calendar_event | address, event_id, title?, start?, end?, duration_minutes?, timezone?, all_day?, location?, description?, attendees?, message?
cancel_calendar_event | address, event_id, message?
get_calendar_feed | address
rotate_calendar_feed | address
`

func TestSpecifiedTools(t *testing.T) {
	var got strings.Builder
	for _, tool := range All() {
		got.WriteString("\n" + tool.Name)
		if tool.IsCore {
			got.WriteString("!")
		}
		got.WriteString(" |")
		for i, p := range tool.Params {
			if i > 0 {
				got.WriteString(",")
			}
			got.WriteString(" " + p.Name)
			switch {
			case p.Default != nil:
				d, _ := json.Marshal(p.Default)
				got.WriteString("=" + strings.Trim(string(d), `"`))
			case !p.Required:
				got.WriteString("?")
			}
		}
	}
	want := strings.Split(strings.TrimSpace(specified), "\n")
	have := strings.Split(strings.TrimSpace(got.String()), "\n")
	for _, line := range want {
		if !slices.Contains(have, line) {
			t.Errorf("specified, but not described: %s", line)
		}
	}
	for _, line := range have {
		if !slices.Contains(want, line) {
			t.Errorf("described, but not specified: %s", line)
		}
	}
	if !slices.Equal(want, have) {
		t.Error("the tools are not in the promised order")
	}
}

// TestHints compares the hints with the specified ones; all four must be present.
func TestHints(t *testing.T) {
	const readOnly, destructive, idempotent, openWorld = "r", "d", "i", "o"
	want := map[string]string{
		"create_inbox": "", "list_inboxes": "ri", "read_messages": "ri", "wait_for_otp": "", "wait_for_message": "",
		"send_email": "o", "reply": "o", "wait_until_sent": "ri", "mark_read": "i", "burn_inbox": "di", "delete_inbox": "di", "delete_message": "di",
		"list_calendar_events": "ri", "rsvp_to_invite": "o", "create_calendar_event": "o", "update_calendar_event": "o", "cancel_calendar_event": "do",
		"get_calendar_feed": "i", "rotate_calendar_feed": "d",
	}
	for _, tool := range All() {
		got, h := "", tool.Hints
		for _, hint := range []struct {
			is   bool
			sign string
		}{{h.ReadOnly, readOnly}, {h.Destructive, destructive}, {h.Idempotent, idempotent}, {h.OpenWorld, openWorld}} {
			if hint.is {
				got += hint.sign
			}
		}
		if w, known := want[tool.Name]; !known || got != w {
			t.Errorf("%s: hints %q, want %q", tool.Name, got, w)
		}
	}
}

func TestGoldenSchemas(t *testing.T) {
	var out bytes.Buffer
	for _, tool := range All() {
		for _, part := range []struct {
			what string
			text json.RawMessage
		}{{"takes", tool.InputSchema()}, {"answers", tool.OutputSchema()}} {
			out.WriteString("-- " + tool.Name + " " + part.what + " --\n")
			if err := json.Indent(&out, part.text, "", " "); err != nil {
				t.Fatal(err)
			}
			out.WriteString("\n")
		}
	}
	golden(t, "testdata/schemas.golden", out.Bytes())
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; read the difference, then run with -update. Got:\n%s", path, got)
	}
}

// TestSchemasAreValid checks for draft 2020-12, objects at the root, and no keyword unknown to the
// validator.
func TestSchemasAreValid(t *testing.T) {
	for _, tool := range All() {
		for what, raw := range map[string]json.RawMessage{"input": tool.InputSchema(), "output": tool.OutputSchema()} {
			s := parsed(t, tool.Name+" "+what, raw)
			if s.Type != "object" {
				t.Errorf("%s %s: the root is of type %q", tool.Name, what, s.Type)
			}
			if strings.Contains(string(raw), "$schema") {
				t.Errorf("%s %s names a dialect, which some clients refuse", tool.Name, what)
			}
			known(t, tool.Name+" "+what, s)
		}
	}
}

// known reports keywords of a schema that have no meaning.
func known(t *testing.T, at string, s *jsonschema.Schema) {
	if len(s.Extra) > 0 {
		t.Errorf("%s: unknown words %v", at, s.Extra)
	}
	for name, p := range s.Properties {
		known(t, at+"."+name, p)
	}
	for _, p := range s.AnyOf {
		known(t, at, p)
	}
	if s.Items != nil {
		known(t, at+"[]", s.Items)
	}
}

func parsed(t *testing.T, what string, raw json.RawMessage) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return &s
}

func resolved(t *testing.T, what string, raw json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	r, err := parsed(t, what, raw).Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return r
}

// TestEveryParameterIsSaid checks that each parameter, also an inner one, has a type and a
// description. The description contains the default, and the limit where models may reach it.
func TestEveryParameterIsSaid(t *testing.T) {
	for _, tool := range All() {
		if tool.Title == "" || !strings.HasSuffix(tool.Description, ".") || len(tool.Scopes) == 0 {
			t.Errorf("%s lacks a title, a sentence or a scope", tool.Name)
		}
		isSaid(t, tool.Name, tool.Params)
	}
}

func isSaid(t *testing.T, at string, params []Param) {
	for _, p := range params {
		at := at + "." + p.Name
		if len(p.Type) != 1 || !strings.HasSuffix(p.Description, ".") {
			t.Errorf("%s: type %v, sentence %q", at, p.Type, p.Description)
		}
		if d, _ := json.Marshal(p.Default); p.Default != nil && !strings.Contains(p.Description, "default") && !strings.Contains(p.Description, string(d)) {
			t.Errorf("%s: the default %s is not in the sentence %q", at, d, p.Description)
		}
		if p.Items != nil {
			isSaid(t, at+"[]", p.Items.Properties)
			for _, s := range p.Items.AnyOf {
				isSaid(t, at+"[]", s.Properties)
			}
		}
	}
}

func TestFind(t *testing.T) {
	if tool, ok := Find("reply"); !ok || tool.Name != "reply" {
		t.Errorf("Find(reply) = %v %v", tool.Name, ok)
	}
	if _, ok := Find("Reply"); ok {
		t.Error("names are compared as they are written")
	}
}
