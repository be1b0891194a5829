package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"inboxd/internal/core/tools"
)

// arguments are the arguments of a call, checked and with defaults.
type arguments map[string]any

func (a arguments) getText(name string) string {
	s, _ := a[name].(string)
	return s
}

func (a arguments) getNumber(name string) int64 {
	n, _ := a[name].(float64)
	return int64(n)
}

func (a arguments) getFlag(name string) bool {
	b, _ := a[name].(bool)
	return b
}

func (a arguments) getList(name string) []string {
	var out []string
	items, _ := a[name].([]any)
	for _, item := range items {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// exceptNames returns the arguments except some. The result is a body for the API, whose fields
// have the same names.
func (a arguments) exceptNames(names ...string) map[string]any {
	out := map[string]any{}
	for name, value := range a {
		if !slices.Contains(names, name) {
			out[name] = value
		}
	}
	return out
}

// validateArguments converts the arguments of a call to the form of the tool's schema, against
// which the SDK checks them. If arguments are wrong, the call returns a sentence that names each of
// them and its valid values, so that a model can correct all at once.
func validateArguments(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil {
			if t, ok := tools.Find(call.Params.Name); ok {
				given, err := readArguments(t, call.Params.Arguments)
				if err != nil {
					return sayWrong(ctx, next, method, req, err)
				}
				call.Params.Arguments = given
			}
		}
		return next(ctx, method, req)
	}
}

// wrongKey marks the context of a call whose arguments are wrong.
type wrongKey struct{}

func argumentError(ctx context.Context) error {
	err, _ := ctx.Value(wrongKey{}).(error)
	return err
}

// sayWrong returns the error about the arguments as the result of the call. The call goes through
// the SDK, which adds what the revision requires of a result (2026-07-28: resultType), but never
// reaches the tool.
func sayWrong(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request, err error) (mcp.Result, error) {
	result, bad := next(context.WithValue(ctx, wrongKey{}, err), method, req)
	refusal := failedResult(err.Error())
	r, ok := result.(*mcp.CallToolResult)
	if bad != nil || !ok {
		return refusal, nil
	}
	r.IsError, r.Content, r.StructuredContent = true, refusal.Content, nil
	return r, nil
}

// maxWrong limits the number of errors listed for one call.
const maxWrong = 30

// readArguments returns the arguments of a call in the form of the tool's schema.
func readArguments(t tools.Tool, raw json.RawMessage) (json.RawMessage, error) {
	given, ok := argumentsOf(raw)
	if !ok {
		return nil, refusalError("Invalid request: 'arguments' must be a JSON object")
	}
	normalizeArguments(t.Params, given)
	if err := checkArguments(t, given); err != nil {
		return nil, err
	}
	return encodeJSON(given)
}

// checkArguments returns an error, in the style of the API, that lists everything wrong with the
// arguments.
func checkArguments(t tools.Tool, given map[string]any) error {
	var wrong []string
	known := map[string]bool{}
	for _, p := range t.Params {
		known[p.Name] = true
		v, there := given[p.Name]
		switch {
		case there:
			wrong = append(wrong, schemaViolations(p.Name, p.Schema, v)...)
		case p.Required:
			wrong = append(wrong, fmt.Sprintf("'%s' is required", p.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !known[name] {
			wrong = append(wrong, fmt.Sprintf("'%.100s' is not a field of %s. %s", name, t.Name, parameterNames(t)))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	if more := len(wrong) - maxWrong; more > 0 {
		wrong = append(wrong[:maxWrong], fmt.Sprintf("and %d more", more))
	}
	return refusalError("Invalid request: " + strings.Join(wrong, "; "))
}

func parameterNames(t tools.Tool) string {
	if len(t.Params) == 0 {
		return "It has no fields"
	}
	var names []string
	for _, p := range t.Params {
		names = append(names, p.Name)
	}
	return "Its fields are: " + strings.Join(names, ", ")
}

// schemaViolations describes how a value differs from its schema.
func schemaViolations(name string, s tools.Schema, v any) []string {
	if len(s.AnyOf) > 0 {
		return misfitsAll(name, s, v)
	}
	if !hasType(s.Type, v) {
		return []string{fmt.Sprintf("'%s' must be %s", name, describeKind(s))}
	}
	switch v := v.(type) {
	case string:
		return wrongText(name, s, v)
	case float64:
		switch {
		case s.Minimum != nil && v < float64(*s.Minimum):
			return []string{fmt.Sprintf("'%s' must be at least %d", name, *s.Minimum)}
		case s.Maximum != nil && v > float64(*s.Maximum):
			return []string{fmt.Sprintf("'%s' must be at most %d", name, *s.Maximum)}
		}
	case []any:
		return wrongList(name, s, v)
	case map[string]any:
		return wrongObject(name, s, v)
	}
	return nil
}

// misfitsAll describes how a value differs from a schema with several forms.
func misfitsAll(name string, s tools.Schema, v any) []string {
	var forms []string
	for _, form := range s.AnyOf {
		if hasType(form.Type, v) {
			return schemaViolations(name, form, v)
		}
		forms = append(forms, describeKind(form))
	}
	return []string{fmt.Sprintf("'%s' must be %s", name, strings.Join(forms, " or "))}
}

func wrongText(name string, s tools.Schema, v string) []string {
	n := utf8.RuneCountInString(v)
	switch {
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, v):
		return []string{fmt.Sprintf("'%s' must be one of %s", name, strings.Join(s.Enum, ", "))}
	case s.MinLength > 0 && n < s.MinLength:
		return []string{fmt.Sprintf("'%s' must not be empty", name)}
	case s.MaxLength > 0 && n > s.MaxLength:
		return []string{fmt.Sprintf("'%s' is too long (%d characters). The limit is %d characters", name, n, s.MaxLength)}
	}
	return nil
}

func wrongList(name string, s tools.Schema, v []any) []string {
	if s.MinItems > 0 && len(v) < s.MinItems {
		return []string{fmt.Sprintf("'%s' must have at least %d entries", name, s.MinItems)}
	}
	if s.Items == nil {
		return nil
	}
	for i, item := range v {
		if wrong := schemaViolations(fmt.Sprintf("%s[%d]", name, i), *s.Items, item); len(wrong) > 0 {
			return wrong
		}
	}
	return nil
}

func wrongObject(name string, s tools.Schema, v map[string]any) []string {
	var wrong []string
	known := map[string]bool{}
	for _, p := range s.Properties {
		known[p.Name] = true
		value, there := v[p.Name]
		switch {
		case there:
			wrong = append(wrong, schemaViolations(name+"."+p.Name, p.Schema, value)...)
		case p.Required:
			wrong = append(wrong, fmt.Sprintf("'%s.%s' is required", name, p.Name))
		}
	}
	for field := range v {
		if !known[field] && !s.AllowsOthers {
			wrong = append(wrong, fmt.Sprintf("'%s.%.100s' is not a field", name, field))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// hasType reports whether v is of one of the JSON Schema types.
func hasType(types []string, v any) bool {
	if len(types) == 0 {
		return true
	}
	var is string
	switch v := v.(type) {
	case nil:
		is = "null"
	case bool:
		is = "boolean"
	case string:
		is = "string"
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	case float64:
		is = "number"
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 && slices.Contains(types, "integer") {
			return true
		}
	}
	return slices.Contains(types, is)
}

// describeKind describes the values that a schema allows.
func describeKind(s tools.Schema) string {
	words := map[string]string{"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "a list", "object": "an object", "null": "null"}
	var names []string
	for _, t := range s.Type {
		names = append(names, words[t])
	}
	if len(s.Enum) > 0 {
		return "one of " + strings.Join(s.Enum, ", ")
	}
	return strings.Join(names, " or ")
}
