package toolserver

import (
	"encoding/json"
	"slices"
	"strings"

	"inboxd/internal/core/tools"
)

// Clients fill in every argument that a schema names, and write numbers, booleans and lists as
// strings. A model cannot change what its client sends. What has only one meaning is therefore put
// into the form of the schema before it is checked (ADR 0102). Everything else stays as it came, and is
// refused.

// argumentsOf reads the arguments of a call: an object, or one that is written as a string. Null, an
// empty string and an empty list are no arguments.
func argumentsOf(raw json.RawMessage) (map[string]any, bool) {
	var v any
	if len(raw) > 0 && json.Unmarshal(raw, &v) != nil {
		return nil, false
	}
	v = written([]string{"object"}, v)
	if isEmpty(v) {
		return map[string]any{}, true
	}
	given, ok := v.(map[string]any)
	return given, ok
}

// isEmpty reports a value that clients send for something that was not given.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}

// normalize puts the given members of an object into the form that its schema asks for, and takes out
// those that count as left out.
func normalize(params []tools.Param, given map[string]any) {
	for _, p := range params {
		v, there := given[p.Name]
		if !there {
			continue
		}
		if v = normalized(p.Schema, v); p.Required || !isLeftOut(p, v) {
			given[p.Name] = v
		} else {
			delete(given, p.Name)
		}
	}
}

// isLeftOut reports that the value of an optional member says that there is none. Zero says so where a
// number starts above it.
func isLeftOut(p tools.Param, v any) bool {
	switch v := v.(type) {
	case float64:
		return v == 0 && p.Minimum != nil && *p.Minimum > 0
	case string:
		return v == "" && !p.EmptyClears
	}
	return isEmpty(v)
}

// normalized is a value in the form of a schema, or as it came.
func normalized(s tools.Schema, v any) any {
	for _, form := range slices.Backward(s.AnyOf) { // a text may be an object, any text is a text
		if one := normalized(form, v); typed(form.Type, one) {
			return one
		}
	}
	if v = written(s.Type, v); s.Items != nil {
		return normalizedList(*s.Items, v)
	}
	if members, ok := v.(map[string]any); ok {
		normalize(s.Properties, members)
	}
	return v
}

// normalizedList is a list of which each entry is of a schema: also of one value alone, and of addresses
// with commas between them.
func normalizedList(each tools.Schema, v any) any {
	list, ok := v.([]any)
	if !ok && !isEmpty(v) {
		list = separated(v)
	}
	for i := range list {
		if list[i] = normalized(each, list[i]); !ok && !takes(each, list[i]) {
			return v
		}
	}
	if list == nil {
		return v
	}
	return list
}

// separated are the addresses of a text, which hold no comma, or else the value itself.
func separated(v any) []any {
	text, _ := v.(string)
	var all []any
	for one := range strings.SplitSeq(text, ",") {
		one = strings.TrimSpace(one)
		if strings.Count(one, "@") != 1 || strings.ContainsAny(one, " <>\"") {
			return []any{v}
		}
		all = append(all, one)
	}
	return all
}

// takes reports whether a value is of a type that a schema takes.
func takes(s tools.Schema, v any) bool {
	if len(s.AnyOf) == 0 {
		return typed(s.Type, v)
	}
	return slices.ContainsFunc(s.AnyOf, func(form tools.Schema) bool { return typed(form.Type, v) })
}

// written is what a text says as JSON where texts are not asked for: null, or a value of one of the types.
// Some write True and False.
func written(types []string, v any) any {
	text, ok := v.(string)
	if !ok || slices.Contains(types, "string") {
		return v
	}
	if slices.Contains(types, "boolean") {
		text = strings.ToLower(text)
	}
	var said any
	if json.Unmarshal([]byte(text), &said) != nil || said != nil && !typed(types, said) {
		return v
	}
	return said
}
