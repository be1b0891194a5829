package toolserver

import (
	"encoding/json"
	"slices"
	"strings"

	"inboxd/internal/core/tools"
)

// Clients fill in every argument that a schema names, and write numbers, booleans and lists as
// strings. A model cannot change what its client sends. Values with only one possible meaning are
// therefore converted to the form of the schema before they are checked (ADR 0102). Everything else
// is left as it came, and is refused.

// argumentsOf parses the arguments of a call: an object, or one written as a string. Null, an empty
// string and an empty list mean no arguments.
func argumentsOf(raw json.RawMessage) (map[string]any, bool) {
	var v any
	if len(raw) > 0 && json.Unmarshal(raw, &v) != nil {
		return nil, false
	}
	v = parseWritten([]string{"object"}, v)
	if isEmpty(v) {
		return map[string]any{}, true
	}
	given, ok := v.(map[string]any)
	return given, ok
}

// isEmpty reports whether v is a value that clients send for an argument that was not given.
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

// normalizeArguments converts the members of an object to the form that its schema requires, and
// removes those that count as omitted.
func normalizeArguments(params []tools.Param, given map[string]any) {
	for _, p := range params {
		v, there := given[p.Name]
		if !there {
			continue
		}
		if v = normalizeValue(p.Schema, v); p.Required || !isLeftOut(p, v) {
			given[p.Name] = v
		} else {
			delete(given, p.Name)
		}
	}
}

// isLeftOut reports whether the value of an optional member means that it is omitted. Zero means
// that where the minimum is above zero.
func isLeftOut(p tools.Param, v any) bool {
	switch v := v.(type) {
	case float64:
		return v == 0 && p.Minimum != nil && *p.Minimum > 0
	case string:
		return v == "" && !p.EmptyClears
	}
	return isEmpty(v)
}

// normalizeValue returns a value in the form of a schema, or unchanged.
func normalizeValue(s tools.Schema, v any) any {
	for _, form := range slices.Backward(s.AnyOf) { // a text may be an object; any text is a text
		if one := normalizeValue(form, v); hasType(form.Type, one) {
			return one
		}
	}
	if v = parseWritten(s.Type, v); s.Items != nil {
		return normalizedList(*s.Items, v)
	}
	if members, ok := v.(map[string]any); ok {
		normalizeArguments(s.Properties, members)
	}
	return v
}

// normalizedList returns a list whose entries follow a schema. A single value becomes a list of
// one, and addresses separated by commas become a list.
func normalizedList(each tools.Schema, v any) any {
	list, ok := v.([]any)
	if !ok && !isEmpty(v) {
		list = splitAddresses(v)
	}
	for i := range list {
		if list[i] = normalizeValue(each, list[i]); !ok && !acceptsType(each, list[i]) {
			return v
		}
	}
	if list == nil {
		return v
	}
	return list
}

// splitAddresses splits a text at its commas if the parts are addresses. Otherwise it returns the value
// itself.
func splitAddresses(v any) []any {
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

// acceptsType reports whether the type of a value is allowed by a schema.
func acceptsType(s tools.Schema, v any) bool {
	if len(s.AnyOf) == 0 {
		return hasType(s.Type, v)
	}
	return slices.ContainsFunc(s.AnyOf, func(form tools.Schema) bool { return hasType(form.Type, v) })
}

// parseWritten decodes a text as JSON where the schema does not allow texts, if the result is null
// or of one of the types. Some clients write True and False.
func parseWritten(types []string, v any) any {
	text, ok := v.(string)
	if !ok || slices.Contains(types, "string") {
		return v
	}
	if slices.Contains(types, "boolean") {
		text = strings.ToLower(text)
	}
	var said any
	if json.Unmarshal([]byte(text), &said) != nil || said != nil && !hasType(types, said) {
		return v
	}
	return said
}
