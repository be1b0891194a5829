package tools

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// contract is the part of the API's description that these tests read.
type contract struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]apiSchema }
}

type operation struct {
	Permission  string `json:"x-permission"`
	Security    []map[string][]string
	RequestBody struct {
		Content map[string]struct{ Schema apiSchema }
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]struct{ Schema apiSchema }
	}
}

type apiSchema struct {
	Ref              string `json:"$ref"`
	Type             any
	Enum             []any
	Minimum, Maximum *int
	MaxLength        int `json:"maxLength"`
	Items            *apiSchema
	Properties       map[string]apiSchema
	Required         []string
	AnyOf, AllOf     []apiSchema
}

func theContract(t *testing.T) (c contract) {
	t.Helper()
	raw, err := os.ReadFile("../../../http/contract/contract.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components json.RawMessage
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(doc.Components, &c.Components); err != nil {
		t.Fatal(err)
	}
	c.Paths = map[string]map[string]operation{}
	for path, methods := range doc.Paths {
		c.Paths[path] = map[string]operation{}
		for method, raw := range methods {
			if method == "parameters" {
				continue
			}
			var o operation
			if err := json.Unmarshal(raw, &o); err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			c.Paths[path][method] = o
		}
	}
	return c
}

// plain follows references and returns the single alternative that isn't null.
func (c contract) plain(s apiSchema) apiSchema {
	for _, one := range append(slices.Clone(s.AllOf), s.AnyOf...) {
		if one.Type != "null" && len(s.AnyOf) <= 2 {
			return c.plain(one)
		}
	}
	if s.Ref != "" {
		return c.plain(c.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]])
	}
	return s
}

// types are the types of a schema except null.
func (s apiSchema) types() (all []string) {
	switch v := s.Type.(type) {
	case string:
		all = []string{v}
	case []any:
		for _, one := range v {
			all = append(all, one.(string))
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "null" })
}

// calls are the API requests that each tool makes.
var calls = map[string][]string{
	"create_inbox":          {"post /api/v1/inboxes"},
	"list_inboxes":          {"get /api/v1/inboxes"},
	"read_messages":         {"get /api/v1/inboxes/{addr}/messages"},
	"wait_for_otp":          {"get /api/v1/inboxes/{addr}/latest", "post /api/v1/inboxes/{addr}/messages/{id}/read"},
	"wait_for_message":      {"get /api/v1/inboxes/{addr}/latest", "post /api/v1/inboxes/{addr}/messages/{id}/read"},
	"send_email":            {"post /api/v1/inboxes/{addr}/send"},
	"reply":                 {"get /api/v1/inboxes/{addr}/messages/{id}", "post /api/v1/inboxes/{addr}/send"},
	"wait_until_sent":       {"get /api/v1/inboxes/{addr}/messages/{id}", "get /api/v1/inboxes/{addr}/events"},
	"mark_read":             {"post /api/v1/inboxes/{addr}/messages/{id}/read"},
	"burn_inbox":            {"post /api/v1/inboxes/{addr}/burn"},
	"delete_inbox":          {"delete /api/v1/inboxes/{addr}"},
	"delete_message":        {"delete /api/v1/inboxes/{addr}/messages/{id}"},
	"list_calendar_events":  {"get /api/v1/inboxes/{addr}/calendar/events"},
	"rsvp_to_invite":        {"post /api/v1/inboxes/{addr}/calendar/events/{id}/rsvp"},
	"create_calendar_event": {"post /api/v1/inboxes/{addr}/calendar/events"},
	"update_calendar_event": {"patch /api/v1/inboxes/{addr}/calendar/events/{id}"},
	"cancel_calendar_event": {"post /api/v1/inboxes/{addr}/calendar/events/{id}/cancel"},
	"get_calendar_feed":     {"get /api/v1/inboxes/{addr}/calendar/feed"},
	"rotate_calendar_feed":  {"post /api/v1/inboxes/{addr}/calendar/feed/rotate"},
}

func (c contract) operation(t *testing.T, call string) operation {
	t.Helper()
	method, path, _ := strings.Cut(call, " ")
	o, ok := c.Paths[path][method]
	if !ok {
		t.Fatalf("the contract has no %s", call)
	}
	return o
}

// TestScopesAreTheContracts checks that a key can use a tool if it can make the tool's API
// requests.
func TestScopesAreTheContracts(t *testing.T) {
	c := theContract(t)
	for _, tool := range All() {
		var scopes []string
		account := false
		for _, call := range calls[tool.Name] {
			o := c.operation(t, call)
			if !slices.Contains(scopes, o.Permission) {
				scopes = append(scopes, o.Permission)
			}
			if !slices.ContainsFunc(o.Security, func(s map[string][]string) bool { return s["inboxKey"] != nil }) {
				account = true
			}
		}
		if !slices.Equal(scopes, tool.Scopes) || account != tool.AccountKey {
			t.Errorf("%s needs %v (an account key: %v), its calls need %v (%v)", tool.Name, tool.Scopes, tool.AccountKey, scopes, account)
		}
	}
}

// TestLimitsAreTheContracts compares parameters with the API's members of the same name. They have
// the same type, limits and alternatives, and are required by both or neither.
func TestLimitsAreTheContracts(t *testing.T) {
	c := theContract(t)
	own := []string{"address", "message_id", "event_id", "timeout", "direction", "include_cancelled", "optional_attendees"} // in paths and queries, and merged into attendees
	for _, tool := range All() {
		on := calls[tool.Name]
		body := c.plain(c.operation(t, on[len(on)-1]).RequestBody.Content["application/json"].Schema)
		for _, p := range tool.Params {
			if slices.Contains(own, p.Name) {
				continue
			}
			api, ok := body.Properties[p.Name]
			if !ok {
				t.Errorf("%s.%s is nothing that the API takes", tool.Name, p.Name)
				continue
			}
			sameLimits(t, c, tool.Name+"."+p.Name, p.Schema, api)
			if tool.Name != "reply" && p.Required != slices.Contains(body.Required, p.Name) {
				t.Errorf("%s.%s: required is %v", tool.Name, p.Name, p.Required)
			}
		}
	}
}

func sameLimits(t *testing.T, c contract, at string, s Schema, api apiSchema) {
	if len(s.AnyOf) != len(api.AnyOf) {
		t.Errorf("%s: %d alternatives, the API has %d", at, len(s.AnyOf), len(api.AnyOf))
		return
	}
	for i := range s.AnyOf {
		sameLimits(t, c, at, s.AnyOf[i], api.AnyOf[i])
	}
	if types := api.types(); !slices.Equal(types, s.Type) {
		t.Errorf("%s: %v, the API has %v", at, s.Type, types)
	}
	// An enum already limits a word.
	if s.MaxLength != api.MaxLength && s.Enum == nil {
		t.Errorf("%s: at most %d characters, the API takes %d", at, s.MaxLength, api.MaxLength)
	}
	if len(s.Enum) != len(api.Enum) {
		t.Errorf("%s: one of %v, the API has %v", at, s.Enum, api.Enum)
	}
	if !same(s.Minimum, api.Minimum) || !same(s.Maximum, api.Maximum) {
		t.Errorf("%s: another minimum or maximum", at)
	}
	if s.Items != nil {
		sameLimits(t, c, at+"[]", *s.Items, *api.Items)
	}
	for _, p := range s.Properties {
		sameLimits(t, c, at+"."+p.Name, p.Schema, api.Properties[p.Name])
	}
}

func same(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }

// TestResultsAreTheContracts checks that a member of a result with the name of an API member has
// its type.
func TestResultsAreTheContracts(t *testing.T) {
	c := theContract(t)
	for _, r := range []struct {
		what   string
		s      Schema
		api    string
		except []string // that the tool server adds
	}{
		{"created", createdResult, "CreatedInbox", nil},
		{"list_inboxes", *member(t, "list_inboxes", "inboxes").Items, "Inbox", nil},
		{"message", messageSchema, "Message", []string{"links_truncated", "note", "sender_verified"}},
		{"meeting", meetingSchema, "Meeting", nil},
		{"arranged", arrangedResult, "Arranged", nil},
		{"feed", feedResult, "CalendarFeed", nil},
	} {
		sameMembers(t, c, r.what, r.s, c.Components.Schemas[r.api], r.except)
	}
	sameMembers(t, c, "sent", sentResult, c.operation(t, "post /api/v1/inboxes/{addr}/send").Responses["202"].Content["application/json"].Schema, []string{"to"})
	burnt, _ := Find("burn_inbox")
	sameMembers(t, c, "burn_inbox", burnt.Result, c.operation(t, "post /api/v1/inboxes/{addr}/burn").Responses["200"].Content["application/json"].Schema, nil)
}

func member(t *testing.T, tool, name string) Schema {
	t.Helper()
	found, _ := Find(tool)
	for _, p := range found.Result.Properties {
		if p.Name == name {
			return p.Schema
		}
	}
	t.Fatalf("%s answers no %s", tool, name)
	return Schema{}
}

func sameMembers(t *testing.T, c contract, at string, s Schema, api apiSchema, except []string) {
	api = c.plain(api)
	for _, p := range s.Properties {
		if slices.Contains(except, p.Name) {
			continue
		}
		of, ok := api.Properties[p.Name]
		if !ok {
			t.Errorf("%s.%s: the API has nothing of that name", at, p.Name)
			continue
		}
		of = c.plain(of)
		ours := slices.DeleteFunc(slices.Clone(p.Type), func(s string) bool { return s == "null" })
		if theirs := of.types(); !slices.Equal(ours, theirs) {
			t.Errorf("%s.%s is of type %v, the API's of %v", at, p.Name, ours, theirs)
		}
		if p.Items != nil && len(p.Items.Properties) > 0 {
			sameMembers(t, c, at+"."+p.Name+"[]", *p.Items, *of.Items, nil)
		}
		sameMembers(t, c, at+"."+p.Name, p.Schema, of, nil)
	}
}
