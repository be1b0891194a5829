package toolserver

import (
	"bytes"
	"encoding/json"
)

const (
	// maxResult limits the structured content and the text of a result as they are sent, in bytes.
	// room is reserved for what surrounds them.
	maxResult     = 64 << 10
	reservedBytes = 2 << 10
	resultBudget  = maxResult - reservedBytes
)

// toolResult is the result of a tool: structured for programs, text for models.
type toolResult struct {
	structuredJSON []byte // a JSON object
	text           string
}

// escapedLength returns the length of JSON after the SDK has escaped the characters special in HTML.
func escapedLength(b []byte) int {
	return len(b) + 5*(bytes.Count(b, []byte("<"))+bytes.Count(b, []byte(">"))+bytes.Count(b, []byte("&"))) + 3*(bytes.Count(b, []byte("\u2028"))+bytes.Count(b, []byte("\u2029")))
}

// quotedLength returns the length of a text as a JSON string.
func quotedLength(s string) int {
	b, err := json.Marshal(s)
	if err != nil {
		return 0 // cannot happen for a string
	}
	return len(b)
}

// encodeJSON returns v as JSON, without the escapes for HTML.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// listItem is one item of a list, in the form for programs and in the form for models.
type listItem struct {
	structuredJSON []byte
	text           string
}

// countFitting returns how many items, from the first, fit if taken bytes are already used.
func countFitting(items []listItem, taken int) int {
	for n, it := range items {
		taken += escapedLength(it.structuredJSON) + len(",") + quotedLength(it.text)
		if taken > resultBudget {
			return n
		}
	}
	return len(items)
}

// joinItems returns items as a JSON list.
func joinItems(items []listItem) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, it := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(it.structuredJSON)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// truncateObject shortens strings and lists in a JSON object of the API, in steps, until it has at
// most max bytes. Its members and their types are kept. It reports whether it shortened anything.
func truncateObject(object json.RawMessage, max int) (json.RawMessage, bool) {
	if escapedLength(object) <= max {
		return object, false
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return object, false // cannot happen: the API returned it as JSON
	}
	for _, step := range []struct{ text, list int }{{4000, 200}, {2000, 100}, {1000, 50}, {500, 20}, {200, 10}, {100, 3}, {60, 0}} {
		v = shortenValue(v, step.text, step.list)
		if b, err := encodeJSON(v); err == nil && escapedLength(b) <= max {
			return b, true
		}
	}
	return json.RawMessage(`{}`), true
}

func shortenValue(v any, text, list int) any {
	switch v := v.(type) {
	case string:
		if short, gone := truncateText(v, text); gone {
			return short + "…"
		}
	case []any:
		v = v[:min(len(v), list)]
		for i := range v {
			v[i] = shortenValue(v[i], text, list)
		}
		return v
	case map[string]any:
		for name := range v {
			v[name] = shortenValue(v[name], text, list)
		}
	}
	return v
}
