package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// functionFormats are the function formats of model vendors, by name.
var functionFormats = map[string]func([]Tool) any{
	"openai":    openAI,
	"anthropic": anthropic,
	"gemini":    geminiFunctions,
}

// FormatNames are the formats that Functions supports.
func FormatNames() []string { return []string{"openai", "anthropic", "gemini"} }

// FunctionsJSON returns the core tools as the JSON array that the named vendor's API takes, indented
// for people. Its error is a sentence for people.
func FunctionsJSON(format string) ([]byte, error) {
	form, known := functionFormats[format]
	if !known {
		return nil, fmt.Errorf("'format' must be one of %s", strings.Join(FormatNames(), ", "))
	}
	core := slices.DeleteFunc(All(), func(t Tool) bool { return !t.IsCore })
	out, err := json.MarshalIndent(json.RawMessage(renderJSON(form(core))), "", "  ")
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

// geminiFunctions omits empty parameters, because an object without properties makes the API refuse the
// whole call. An unknown word in a schema does the same.
func geminiFunctions(core []Tool) any {
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
			s := plainSchema(t.ArgumentSchema())
			d.Parameters = &s
		}
		one.Declarations = append(one.Declarations, d)
	}
	return []tool{one}
}

// plainSchema reduces a schema to what every version of Gemini's subset of OpenAPI 3.0 has accepted:
// types, descriptions, enums, items, properties and required. Limits and defaults are in the
// descriptions.
func plainSchema(s Schema) Schema {
	out := Schema{Type: s.Type, Description: s.Description, Enum: s.Enum, AllowsOthers: true}
	if s.Items != nil {
		items := plainSchema(*s.Items)
		out.Items = &items
	}
	for _, p := range s.Properties {
		p.Schema = plainSchema(p.Schema)
		out.Properties = append(out.Properties, p)
	}
	return out
}
