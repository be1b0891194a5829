package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// formats are the forms in which makers of models take functions, by their names.
var formats = map[string]func([]Tool) any{
	"openai":    openAI,
	"anthropic": anthropic,
	"gemini":    gemini,
}

// FormatNames are the formats that Functions knows.
func FormatNames() []string { return []string{"openai", "anthropic", "gemini"} }

// Functions returns the core tools as the bare JSON array that the named maker's call takes, indented
// for people. Its error is a sentence for them.
func Functions(format string) ([]byte, error) {
	form, known := formats[format]
	if !known {
		return nil, fmt.Errorf("'format' must be one of %s", strings.Join(FormatNames(), ", "))
	}
	core := slices.DeleteFunc(All(), func(t Tool) bool { return !t.Core })
	out, err := json.MarshalIndent(json.RawMessage(render(form(core))), "", "  ")
	return append(out, '\n'), err
}

func openAI(core []Tool) any {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	var out []tool
	for _, t := range core {
		out = append(out, tool{"function", function{t.Name, t.Description, t.InputSchema()}})
	}
	return out
}

func anthropic(core []Tool) any {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	var out []tool
	for _, t := range core {
		out = append(out, tool{t.Name, t.Description, t.InputSchema()})
	}
	return out
}

// gemini: an unknown word in a schema refuses the whole call, and so does an object without
// properties; a function that takes nothing has no parameters at all.
func gemini(core []Tool) any {
	type declaration struct {
		Name        string  `json:"name"`
		Description string  `json:"description"`
		Parameters  *Schema `json:"parameters,omitempty"`
	}
	type tool struct {
		Declarations []declaration `json:"functionDeclarations"`
	}
	var one tool
	for _, t := range core {
		d := declaration{Name: t.Name, Description: t.Description}
		if len(t.Params) > 0 {
			s := plain(t.Input())
			d.Parameters = &s
		}
		one.Declarations = append(one.Declarations, d)
	}
	return []tool{one}
}

// plain leaves of a schema what each version of Gemini's subset of OpenAPI 3.0 has taken: types,
// descriptions, enums, items, properties and what is required. Limits and defaults stand in the
// sentences.
func plain(s Schema) Schema {
	out := Schema{Type: s.Type, Description: s.Description, Enum: s.Enum, Open: true}
	if s.Items != nil {
		items := plain(*s.Items)
		out.Items = &items
	}
	for _, p := range s.Properties {
		p.Schema = plain(p.Schema)
		out.Properties = append(out.Properties, p)
	}
	return out
}
