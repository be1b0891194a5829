package toolserver

import (
	"bytes"
	"encoding/json"
)

const (
	// maxResult bounds structured content and text of a result as they are sent, in bytes;
	// room is kept of it for what stands around them.
	maxResult = 64 << 10
	room      = 2 << 10
	budget    = maxResult - room
)

// answer is what a tool found: structured for programs, text for models.
type answer struct {
	structured []byte // a JSON object
	text       string
}

// escaped is the length of JSON in which the sender escapes what HTML would mind.
func escaped(b []byte) int {
	return len(b) + 5*(bytes.Count(b, []byte("<"))+bytes.Count(b, []byte(">"))+bytes.Count(b, []byte("&"))) + 3*(bytes.Count(b, []byte("\u2028"))+bytes.Count(b, []byte("\u2029")))
}

// quoted is the length of a text as JSON.
func quoted(s string) int {
	b, err := json.Marshal(s)
	if err != nil {
		return 0 // a string has none
	}
	return len(b)
}

// encode is JSON as it is sent: strings are not blown up for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// item is one of a list: as a program and as a model reads it.
type item struct {
	structured []byte
	text       string
}

// fitting is how many items, from the first, fit beside what has taken already.
func fitting(items []item, taken int) int {
	for n, it := range items {
		taken += escaped(it.structured) + len(",") + quoted(it.text)
		if taken > budget {
			return n
		}
	}
	return len(items)
}

// list is the JSON of items.
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

// within cuts what is too long in an object of the API until it takes at most max bytes: strings, then
// lists, each time to less. Its members stay, with their types. It reports whether something went.
func within(object json.RawMessage, max int) (json.RawMessage, bool) {
	if escaped(object) <= max {
		return object, false
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return object, false // not JSON: the API gave it as JSON, so this can't be
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
