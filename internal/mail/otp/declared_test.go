package otp

import "testing"

func TestDeclared(t *testing.T) {
	for value, want := range map[string][2]string{
		`"123456"; origin="https://example.com"`:                           {"123456", "example.com"},
		`"482 913" ; origin="https://Login.Example.com/"`:                  {"482913", "login.example.com"},
		`code=123456; origin=https://example.com`:                          {"123456", "example.com"},
		`origin="https://example.com:8443"; code="K7QX2M"`:                 {"K7QX2M", "example.com"},
		`"ABC-123";origin="https://example.com"; max-age=5`:                {"ABC-123", "example.com"},
		`123456; origin=https://example.com`:                               {"123456", "example.com"},
		`"123456"`:                                                         {},
		`"123456"; origin="http://example.com"`:                            {},
		`"123456"; origin="https://localhost"`:                             {},
		`"123456"; origin="https://xn--zzzzzz99999.test"`:                  {}, // an invalid internationalized name
		`"123456"; origin="https://exa mple.com"`:                          {},
		`"123456"; origin="https://a.example@b.example"`:                   {},
		`"123456"; origin="https://a.example"; origin="https://b.example"`: {},
		`code=123456; code=654321; origin=https://a.example`:               {},
		`""; origin="https://example.com"`:                                 {},
		`"<b>1234</b>"; origin="https://example.com"`:                      {},
		`"12"; origin="https://example.com"`:                               {},
		``:                                                                 {},
	} {
		res := FindCode(Input{DeclaredCodes: []string{value}})
		if res.Code != want[0] || res.Origin != want[1] {
			t.Errorf("%s: %q of %q, want %q", value, res.Code, res.Origin, want)
		}
		if (res.Source == SourceHeader) != (want[0] != "") {
			t.Errorf("%s: source %q", value, res.Source)
		}
	}
}

// TestOrderOfTrust checks the order of the sources: header, domain-bound line, subject, text, HTML.
func TestOrderOfTrust(t *testing.T) {
	in := Input{
		Subject:       "Your code is 333333",
		Text:          "Your code is 444444\n@accounts.example.com #222222",
		VisibleText:   "Your code is 555555",
		DeclaredCodes: []string{"unreadable", `"111111"; origin="https://example.com"`},
	}
	steps := []struct {
		code   string
		source Source
		drop   func()
	}{
		{"111111", SourceHeader, func() { in.DeclaredCodes = nil }},
		{"222222", SourceOriginLine, func() { in.Text = "Your code is 444444" }},
		{"333333", SourceSubject, func() { in.Subject = "" }},
		{"444444", SourceText, func() { in.Text = "" }},
		{"555555", SourceHTML, func() { in.AltTexts = []string{"Logo", "Your code is 555555"} }},
		{"555555", SourceAlt, func() { in.VisibleText, in.PreviewText = "Hello", "Your code is 666666" }},
		{"666666", SourceHTML, func() { in.PreviewText = "" }},
		{"", "", func() {}},
	}
	for _, s := range steps {
		if res := FindCode(in); res.Code != s.code || res.Source != s.source {
			t.Errorf("%q from %q, want %q from %q", res.Code, res.Source, s.code, s.source)
		}
		s.drop()
	}
}

func TestOriginLine(t *testing.T) {
	for text, want := range map[string][2]string{
		"Your code.\n\n@example.com #482913":                             {"482913", "example.com"},
		"Your code.\n@Example.com #482913 @frame.example\n\n":            {"482913", "example.com"},
		"Your code.\n@example.com #K7QX2M\n-- \nThe team":                {"K7QX2M", "example.com"},
		"@example.com #482913\nand more":                                 {},
		"@example #482913":                                               {},
		"@example.com #4":                                                {},
		"Hello @example.com #482913":                                     {},
		"Thanks\n> @example.com #482913":                                 {},
		"On 2 Mar 2026, a@b.example wrote:\n\n@example.com #482913":      {},
		"@example.com #482913\n\nOn 2 Mar 2026, a@b.example wrote:\n> x": {"482913", "example.com"},
	} {
		if res := FindCode(Input{Text: text}); res.Code != want[0] || res.Origin != want[1] {
			t.Errorf("%q: %q of %q, want %q", text, res.Code, res.Origin, want)
		}
	}
}
