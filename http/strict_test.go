package http

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// badValues returns JSON values that a kind of field must refuse.
func badValues(f *fieldRule) []string {
	switch f.valueKind {
	case lineField:
		return append(badTexts(f), `"a\nb"`, `"a\rb"`, `"a\u2028b"`, `"a\u0085b"`, `"a\u001bb"`, `"a\u007fb"`, `"a\tb"`)
	case textField:
		return badTexts(f)
	case integerField:
		return []string{`"24"`, `true`, `{}`, `[]`, `24.5`, `24.`, `.0`, `24.0e0`, `2e1`, `0`, `-1`, `-0`, `9223372036854775808`, `1e999`, `NaN`, `01`, `0x10`, `+1`}
	case booleanField:
		return []string{`"true"`, `1`, `0`, `{}`, `True`, `tru`}
	case namesField:
		many := `["inbox:read"` + strings.Repeat(`,"inbox:read"`, f.maxLength) + `]`
		return []string{`"inbox:read"`, `{}`, `[1]`, `[null]`, `[["inbox:read"]]`, `["` + strings.Repeat("x", cmp.Or(f.maxEntry, maxName)+1) + `"]`, many, `["a\u0000b"]`, `["inbox:read"`}
	case filesField:
		one := func(members string) string { return `[{"filename":"a","content_b64":"YQ=="},{` + members + `}]` }
		return []string{
			`"a"`, `{}`, `[1]`, `[null]`, `[[]]`, one(``), one(`"filename":"a"`), one(`"content_b64":""`), one(`"filename":1`),
			one(`"filename":"a","filename":"b"`), one(`"filename":"a\nb"`), one(`"data":"x"`), one(`"filename":"` + strings.Repeat("f", 256) + `"`),
			one(`"filename":"a","content_b64":[]`), `[` + strings.Repeat(`{"filename":"a","content_b64":""},`, f.maxLength) + `{"filename":"a","content_b64":""}]`, `[{`,
		}
	}
	return nil
}

func badTexts(f *fieldRule) []string {
	return []string{
		`1`, `true`, `[]`, `{}`, `["a"]`, `"` + strings.Repeat("é", f.maxLength+1) + `"`, `"a\u0000b"`, `"\ud800"`, `"\udc00\ud800"`, "\"\xff\"", `"\x41"`,
		`"never ends`, `'single'`, strings.Repeat("[", 100) + strings.Repeat("]", 100),
	}
}

var badDocuments = []string{
	`null`, `[]`, `"text"`, `1`, `{`, `{]`, `{}{}`, `{} x`, "\ufeff{}", `{"a"}`, `{"a":}`, `{,}`, `{"\ud800":1}`, "{\"\xff\":1}", `// {}`, "{}\x00",
	`{"public_key":"age1"}`, `{"api_key":null}`, `{"nested":{"deep":1}}`, `{"":1}`, `{"a\u0000b":1}`, "\x00", strings.Repeat("[", 10000),
	`{"` + strings.Repeat("n", 100) + `":1}`, `{"x":` + strings.Repeat(`{"x":`, 200) + `1` + strings.Repeat(`}`, 200) + `}`,
}

// shorten keeps the golden file readable.
func shorten(s string) string {
	if utf8.RuneCountInString(s) > 60 {
		return s[:24] + fmt.Sprintf("...(%d bytes)", len(s))
	}
	return s
}

// TestSentencesOfRefusedBodies writes every error message of every field of every route, and
// compares them with the golden file.
func TestSentencesOfRefusedBodies(t *testing.T) {
	var out strings.Builder
	s := New(Options{}, Ports{})
	for i := range s.routes {
		rt := &s.routes[i]
		if rt.bodyShape == nil || rt.isCompat() { // compat routes have the same shapes
			continue
		}
		fmt.Fprintf(&out, "%s\n", rt.routeName())
		try := func(body string) {
			v, err := decodeBody([]byte(body), rt.bodyShape)
			if err == nil {
				t.Errorf("%s takes %s as %v", rt.routeName(), body, v)
				return
			}
			if !fault.Is(err, fault.InvalidRequest) || !strings.HasPrefix(err.(*fault.Error).Sentence(), "Invalid request: ") {
				t.Errorf("%s: %v", body, err)
			}
			fmt.Fprintf(&out, "  %-50s %s\n", strconv.QuoteToASCII(shorten(body)), err.(*fault.Error).Sentence())
		}
		for j := range rt.bodyShape {
			f := &rt.bodyShape[j]
			if f.isRequired {
				try("{}")
				try(`{"` + f.name + `":null}`)
			}
			for _, v := range badValues(f) {
				try(`{"` + f.name + `":` + v + `}`)
			}
			try(fmt.Sprintf(`{"%s":null,"%s":null}`, f.name, f.name))
			try(fmt.Sprintf(`{"%s":null}`, strings.ToUpper(f.name)))
		}
		for _, d := range badDocuments {
			if rt.bodyShape.findField("public_key") == nil || !strings.HasPrefix(d, `{"public_key"`) {
				try(d)
			}
		}
	}
	golden(t, "testdata/refused_bodies.golden", out.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			t.Fatalf("%s line %d:\ngot  %s\nwant %s", path, i+1, gotLines[i], wantLines[i])
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Fatalf("%s: %d lines, want %d", path, len(gotLines), len(wantLines))
	}
}

// TestSpecifiedSentences pins the promised error messages (specification, Errors).
func TestSpecifiedSentences(t *testing.T) {
	for body, want := range map[string]string{
		`{"public_key":"x"}`:                           "Invalid request: 'public_key' is not a field of this request. Its fields are: prefix, subdomain, domain, label, retention_hours, keep_newest",
		`{"label":"` + strings.Repeat("é", 101) + `"}`: "Invalid request: 'label' is too long (101 characters). The limit is 100 characters",
		`{"retention_hours":0}`:                        "Invalid request: 'retention_hours' is 0; it must be at least 1",
	} {
		if _, err := decodeBody([]byte(body), orderShape); err == nil || err.(*fault.Error).Sentence() != want {
			t.Errorf("%.40s: %v", body, err)
		}
	}
}

func TestGoodBodies(t *testing.T) {
	v, err := decodeBody([]byte(" {\"label\" : \"\\u00e9\\ud83d\\ude00 \\\"x\\\"\", \"retention_hours\":9223372036854775807, \"prefix\":null}\r\n"), orderShape)
	if err != nil || *v.textOf("label") != "é😀 \"x\"" || *v.numberOf("retention_hours") != math.MaxInt64 || v.textOf("prefix") != nil {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := decodeBody([]byte(`{"retention_hours":24.00}`), orderShape); err != nil || *v.numberOf("retention_hours") != 24 {
		t.Errorf("a whole number with a fraction of zeros: %v, %v", v, err)
	}
	if v, err := decodeBody([]byte(" \n"), orderShape); err != nil || len(v) != 0 {
		t.Errorf("an empty body: %v, %v", v, err)
	}
	if v, err := decodeBody([]byte(`{"label":"`+strings.Repeat("😀", 100)+`"}`), orderShape); err != nil || v.textOf("label") == nil {
		t.Errorf("100 code points: %v", err)
	}
	if v, err := decodeBody([]byte(`{"scopes":[],"label":"a"}`), keyShape); err != nil || v.listOf("scopes") == nil || v.numberOf("expires_in_days") != nil {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := decodeBody([]byte(`{"read":false}`), readShape); err != nil || v.flagOr("read", true) {
		t.Errorf("%v, %v", v, err)
	}
}

// TestNothingIsDoneForARefusedBody sends its requests through the wire.
func TestNothingIsDoneForARefusedBody(t *testing.T) {
	w := start(t)
	w.signUp(alice)
	key := w.key(alice, account.ScopeFull)
	for _, body := range badDocuments {
		w.expect(422, w.call(methodPost, "/api/v1/inboxes", key, body))
	}
	for _, body := range badValues(orderShape.findField("retention_hours")) {
		w.expect(422, w.call(methodPost, "/api/v1/inboxes", key, `{"retention_hours":`+body+`}`))
	}
	if r := w.call(methodGet, "/api/v1/inboxes", key, ""); r.body != `{"inboxes":[],"next_cursor":null}` {
		t.Errorf("inboxes: %s", r.body)
	}
}

func FuzzStrictJSON(f *testing.F) {
	for _, d := range badDocuments {
		f.Add([]byte(d))
	}
	for _, s := range []string{`{"label":"a","scopes":["full"],"expires_in_days":30}`, `{"email":"a@b.c","password":"x"}`, `{"read":true}`} {
		f.Add([]byte(s))
	}
	shapes := []bodyShape{signInShape, keyShape, sessionOrderShape, readShape, emptyShape}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := string(body)
		for _, s := range shapes {
			v, err := decodeBody(body, s)
			if err != nil {
				if detail := err.(*fault.Error).Sentence(); !fault.Is(err, fault.InvalidRequest) || !strings.HasPrefix(detail, "Invalid request: ") || !utf8.ValidString(detail) {
					t.Fatalf("%q: %v", body, err)
				}
				continue
			}
			for name, value := range v {
				checkDecoded(t, s.findField(name), value)
			}
		}
		if string(body) != before {
			t.Fatal("the body was changed")
		}
	})
}

func checkDecoded(t *testing.T, f *fieldRule, value any) {
	switch v := value.(type) {
	case string:
		if !utf8.ValidString(v) || strings.IndexByte(v, 0) >= 0 || utf8.RuneCountInString(v) > f.maxLength || f.valueKind == lineField && strings.ContainsFunc(v, unicode.IsControl) {
			t.Fatalf("%s took %q", f.name, v)
		}
	case int64:
		if v < int64(f.minValue) {
			t.Fatalf("%s took %d", f.name, v)
		}
	case []string:
		if len(v) > f.maxLength {
			t.Fatalf("%s took %d entries", f.name, len(v))
		}
	case bool:
	default:
		t.Fatalf("%s took a %T", f.name, value)
	}
}
