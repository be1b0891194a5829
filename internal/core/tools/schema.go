package tools

import (
	"bytes"
	"encoding/json"
)

// Schema is a JSON Schema of draft 2020-12, with the few keywords that tools need. Its zero value
// accepts anything. It has no `$schema`: the Model Context Protocol then assumes 2020-12, and some
// clients refuse a dialect by its name alone.
type Schema struct {
	Type        []string // one, or two of which one is "null"
	Description string
	Enum        []string
	Const       any
	Default     any // the value if the caller omits it
	Minimum     *int
	Maximum     *int
	MinItems    int
	MinLength   int // Unicode code points, as MaxLength
	MaxLength   int // 0: none
	Items       *Schema
	Properties  []Param // of an object, in display order
	Open        bool    // an object may have members other than Properties
	AnyOf       []Schema
	OneOf       [][]string // of an object: exactly one of these sets of members is present
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
	w := words{}
	switch len(s.Type) {
	case 0:
	case 1:
		w.add("type", s.Type[0])
	default:
		w.add("type", s.Type)
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
		w.add("properties", members(s.Properties))
		required := s.required()
		w.addUnless(required == nil, "required", required)
		w.addUnless(s.Open, "additionalProperties", false)
	}
	w.addUnless(s.OneOf == nil, "oneOf", sets(s.OneOf))
	return w.end()
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

// members is a JSON object of schemas that keeps their order.
type members []Param

// MarshalJSON implements json.Marshaler.
func (m members) MarshalJSON() ([]byte, error) {
	w := words{}
	for _, p := range m {
		w.add(p.Name, p.Schema)
	}
	return w.end()
}

// sets is `oneOf` over sets of required members.
type sets [][]string

// MarshalJSON implements json.Marshaler.
func (s sets) MarshalJSON() ([]byte, error) {
	all := make([]map[string][]string, 0, len(s))
	for _, names := range s {
		all = append(all, map[string][]string{"required": names})
	}
	return json.Marshal(all)
}

// words is a JSON object under construction. Its members keep the order in which they were added.
type words struct {
	out bytes.Buffer
	err error
}

func (w *words) add(name string, value any) {
	text, err := compact(value)
	if err != nil && w.err == nil {
		w.err = err
	}
	if w.out.Len() > 0 {
		w.out.WriteByte(',')
	}
	w.out.WriteString(`"` + name + `":`)
	w.out.Write(text)
}

func (w *words) addUnless(left bool, name string, value any) {
	if !left {
		w.add(name, value)
	}
}

func (w *words) end() ([]byte, error) {
	return append(append([]byte{'{'}, w.out.Bytes()...), '}'), w.err
}

// compact is a value as JSON, without the escapes that only HTML needs.
func compact(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}
