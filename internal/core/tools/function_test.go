package tools

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func TestGoldenFunctions(t *testing.T) {
	for _, format := range FormatNames() {
		got, err := FunctionsJSON(format)
		if err != nil || !json.Valid(got) {
			t.Fatalf("%s: %v\n%s", format, err, got)
		}
		golden(t, "testdata/functions."+format+".golden", got)
	}
}

func TestUnknownFormat(t *testing.T) {
	for _, format := range []string{"", "OpenAI", "mistral"} {
		if out, err := FunctionsJSON(format); out != nil || err == nil || err.Error() != "'format' must be one of openai, anthropic, gemini" {
			t.Errorf("Functions(%q) = %s, %v", format, out, err)
		}
	}
}

// core is a function in the shape that all three formats share inside their wrapping.
type core struct {
	Name, Description string
	Schema            *jsonschema.Schema
}

func unwrapped(t *testing.T, format string) (all []core) {
	raw, err := FunctionsJSON(format)
	if err != nil {
		t.Fatal(err)
	}
	switch format {
	case "openai":
		var out []struct {
			Type     string
			Function struct {
				Name, Description string
				Parameters        *jsonschema.Schema
			}
		}
		err = json.Unmarshal(raw, &out)
		for _, f := range out {
			if f.Type != "function" {
				t.Errorf("type %q", f.Type)
			}
			all = append(all, core{f.Function.Name, f.Function.Description, f.Function.Parameters})
		}
	case "anthropic":
		var out []struct {
			Name, Description string
			InputSchema       *jsonschema.Schema `json:"input_schema"`
		}
		err = json.Unmarshal(raw, &out)
		for _, f := range out {
			all = append(all, core{f.Name, f.Description, f.InputSchema})
		}
	case "gemini":
		var out []struct {
			FunctionDeclarations []struct {
				Name, Description string
				Parameters        *jsonschema.Schema
			}
		}
		err = json.Unmarshal(raw, &out)
		if len(out) != 1 {
			t.Fatalf("%d tools", len(out))
		}
		for _, f := range out[0].FunctionDeclarations {
			all = append(all, core{f.Name, f.Description, f.Parameters})
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return all
}

// TestFunctionsAreTheTools checks that names, descriptions, parameters and required lists are those
// of the tools, in all three formats.
func TestFunctionsAreTheTools(t *testing.T) {
	for _, format := range FormatNames() {
		functions := unwrapped(t, format)
		if len(functions) != 6 {
			t.Errorf("%s has %d functions", format, len(functions))
		}
		for _, f := range functions {
			tool, ok := Find(f.Name)
			if !ok || !tool.IsCore || f.Description != tool.Description {
				t.Errorf("%s: %s is not a core tool, or says something else", format, f.Name)
			}
			if f.Schema == nil {
				if format != "gemini" || len(tool.Params) > 0 {
					t.Errorf("%s: %s has no parameters", format, f.Name)
				}
				continue
			}
			if f.Schema.Type != "object" || len(f.Schema.Properties) != len(tool.Params) {
				t.Errorf("%s: %s has other parameters", format, f.Name)
			}
			for _, p := range tool.Params {
				got := f.Schema.Properties[p.Name]
				if got == nil || got.Type != p.Type[0] || got.Description != p.Description || slices.Contains(f.Schema.Required, p.Name) != p.Required {
					t.Errorf("%s: %s.%s is %v", format, f.Name, p.Name, got)
				} else if format != "gemini" && (got.Default == nil) != (p.Default == nil) {
					t.Errorf("%s: %s.%s has the default %s", format, f.Name, p.Name, got.Default)
				}
			}
		}
	}
}

// TestGeminiWords checks the schemas. The API refuses a whole call for one unknown word of a
// schema, and for an object without properties.
func TestGeminiWords(t *testing.T) {
	taken := []string{"type", "description", "enum", "items", "properties", "required"}
	raw, err := FunctionsJSON("gemini")
	if err != nil {
		t.Fatal(err)
	}
	var out []struct {
		FunctionDeclarations []struct{ Parameters any }
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		schema, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("no schema: %v", v)
		}
		for word := range schema {
			if !slices.Contains(taken, word) {
				t.Errorf("%q in %v", word, schema)
			}
		}
		if schema["type"] == "object" && len(schema["properties"].(map[string]any)) == 0 {
			t.Errorf("an object without properties: %v", schema)
		}
		if items, ok := schema["items"]; ok {
			walk(items)
		}
		properties, _ := schema["properties"].(map[string]any)
		for _, p := range properties {
			walk(p)
		}
	}
	for _, f := range out[0].FunctionDeclarations {
		if f.Parameters != nil {
			walk(f.Parameters)
		}
	}
}
