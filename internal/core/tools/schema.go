package tools

import (
	"bytes"
	"encoding/json"
)

// Schema is a JSON Schema of draft 2020-12, with the few keywords that tools need. Its zero value
// accepts anything. It has no `$schema`: the Model Context Protocol then assumes 2020-12, and some
// clients refuse a dialect by its name alone.
type Schema struct {
	Type         []string // one, or two of which one is "null"
	Description  string
	Enum         []string
	Const        any
	Default      any // the value if the caller omits it
	Minimum      *int
	Maximum      *int
	MinItems     int
	MinLength    int // Unicode code points, as MaxLength
	MaxLength    int // 0: none
	Items        *Schema
	Properties   []Param // of an object, in display order
	AllowsOthers bool    // an object may have members other than Properties
	AnyOf        []Schema
	OneOf        [][]string // of an object: exactly one of these sets of members is present
}

// Param is a member of an object: of a tool's arguments, or of its result.
type Param struct {
	Name        string
	Required    bool
	EmptyClears bool // an empty text removes the stored value; otherwise an empty text counts as not given
	Schema
}

// MarshalJSON implements json.Marshaler. The same schema gives the same bytes.
func (s Schema) MarshalJSON() ([]byte, error) {
	w := objectWriter{}
	switch len(s.Type) {
	case 0:
	case 1:
		w.addMember("type", s.Type[0])
	default:
		w.addMember("type", s.Type)
	}
	w.addUnless(s.Description == "", "description", s.Description)
	w.addUnless(s.Enum == nil, "enum", s.alternatives())
	w.addUnless(s.Const == nil, "const", s.Const)
	w.addUnless(s.Default == nil, "default", s.Default)
	w.addUnless(s.Minimum == nil, "minimum", s.Minimum)
	w.addUnless(s.Maximum == nil, "maximum", s.Maximum)
	w.addUnless(s.MinLength == 0, "minLength", s.MinLength)
	w.addUnless(s.MaxLength == 0, "maxLength", s.MaxLength)
	w.addUnless(s.MinItems == 0, "minItems", s.MinItems)
	w.addUnless(s.Items == nil, "items", s.Items)
	w.addUnless(s.AnyOf == nil, "anyOf", s.AnyOf)
	if s.is("object") {
		w.addUnless(s.AllowsOthers && s.Properties == nil, "properties", schemaMembers(s.Properties))
		required := s.required()
		w.addUnless(required == nil, "required", required)
		w.addUnless(s.AllowsOthers, "additionalProperties", false)
	}
	w.addUnless(s.OneOf == nil, "oneOf", requiredSets(s.OneOf))
	return w.endObject()
}

// is reports whether the schema allows the type.
func (s Schema) is(kind string) bool {
	for _, t := range s.Type {
		if t == kind {
			return true
		}
	}
	return false
}

// alternatives is the enum in JSON, which includes null if null is an allowed type.
func (s Schema) alternatives() (all []any) {
	for _, v := range s.Enum {
		all = append(all, v)
	}
	if s.is("null") {
		all = append(all, nil)
	}
	return all
}

func (s Schema) required() (names []string) {
	for _, p := range s.Properties {
		if p.Required {
			names = append(names, p.Name)
		}
	}
	return names
}

// schemaMembers is a JSON object of schemas that keeps their order.
type schemaMembers []Param

// MarshalJSON implements json.Marshaler.
func (m schemaMembers) MarshalJSON() ([]byte, error) {
	w := objectWriter{}
	for _, p := range m {
		w.addMember(p.Name, p.Schema)
	}
	return w.endObject()
}

// requiredSets is `oneOf` over sets of required members.
type requiredSets [][]string

// MarshalJSON implements json.Marshaler.
func (s requiredSets) MarshalJSON() ([]byte, error) {
	all := make([]map[string][]string, 0, len(s))
	for _, names := range s {
		all = append(all, map[string][]string{"required": names})
	}
	return json.Marshal(all)
}

// objectWriter is a JSON object under construction. Its members keep the order in which they were
// added.
type objectWriter struct {
	outBuf bytes.Buffer
	err    error
}

func (w *objectWriter) addMember(name string, value any) {
	text, err := compactJSON(value)
	if err != nil && w.err == nil {
		w.err = err
	}
	if w.outBuf.Len() > 0 {
		w.outBuf.WriteByte(',')
	}
	w.outBuf.WriteString(`"` + name + `":`)
	w.outBuf.Write(text)
}

func (w *objectWriter) addUnless(left bool, name string, value any) {
	if !left {
		w.addMember(name, value)
	}
}

func (w *objectWriter) endObject() ([]byte, error) {
	return append(append([]byte{'{'}, w.outBuf.Bytes()...), '}'), w.err
}

// compactJSON is a value as JSON, without the escapes that only HTML needs.
func compactJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}
