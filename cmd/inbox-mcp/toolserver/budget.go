package toolserver

import (
	"bytes"
	"encoding/json"
)

const (
	// maxResult limits the structured content and the text of a result as they are sent, in bytes.
	// room is reserved for what surrounds them.
	maxResult = 64 << 10
	room      = 2 << 10
	budget    = maxResult - room
)

// answer is the result of a tool: structured for programs, text for models.
type answer struct {
	structured []byte // a JSON object
	text       string
}

// escaped returns the length of JSON after the SDK has escaped the characters special in HTML.
func escaped(b []byte) int {
	return len(b) + 5*(bytes.Count(b, []byte("<"))+bytes.Count(b, []byte(">"))+bytes.Count(b, []byte("&"))) + 3*(bytes.Count(b, []byte("\u2028"))+bytes.Count(b, []byte("\u2029")))
}

// quoted returns the length of a text as a JSON string.
func quoted(s string) int {
	b, err := json.Marshal(s)
	if err != nil {
		return 0 // cannot happen for a string
	}
	return len(b)
}

// encode returns v as JSON, without the escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// item is one item of a list, in the form for programs and in the form for models.
type item struct {
	structured []byte
	text       string
}

// fitting returns how many items, from the first, fit if taken bytes are already used.
func fitting(items []item, taken int) int {
	for n, it := range items {
		taken += escaped(it.structured) + len(",") + quoted(it.text)
		if taken > budget {
			return n
		}
	}
	return len(items)
}

// list returns items as a JSON list.
func list(items []item) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, it := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(it.structured)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// within shortens strings and lists in a JSON object of the API, in steps, until it has at most max
// bytes. Its members and their types are kept. It reports whether it shortened anything.
func within(object json.RawMessage, max int) (json.RawMessage, bool) {
	if escaped(object) <= max {
		return object, false
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return object, false // cannot happen: the API returned it as JSON
	}
	for _, step := range []struct{ text, list int }{{4000, 200}, {2000, 100}, {1000, 50}, {500, 20}, {200, 10}, {100, 3}, {60, 0}} {
		v = shorter(v, step.text, step.list)
		if b, err := encode(v); err == nil && escaped(b) <= max {
			return b, true
		}
	}
	return json.RawMessage(`{}`), true
}

func shorter(v any, text, list int) any {
	switch v := v.(type) {
	case string:
		if short, gone := cut(v, text); gone {
			return short + "…"
		}
	case []any:
		v = v[:min(len(v), list)]
		for i := range v {
			v[i] = shorter(v[i], text, list)
		}
		return v
	case map[string]any:
		for name := range v {
			v[name] = shorter(v[name], text, list)
		}
	}
	return v
}
