package http

import (
	"slices"
	"testing"

	"inboxd/internal/core/tools"
)

func TestFunctionsOfModels(t *testing.T) {
	w := start(t)
	const path = "/api/v1/tools?format="
	for _, format := range tools.FormatNames() {
		want, err := tools.FunctionsJSON(format)
		if err != nil {
			t.Fatal(err)
		}
		r := w.expect(200, w.call(methodGet, path+format, "", ""))
		tag := r.header.Get("ETag")
		if r.body != string(want) || r.header.Get("Content-Type") != "application/json" || r.header.Get("Cache-Control") != "public, max-age=300" || tag == "" {
			t.Errorf("%s: %v\n%s", format, r.header, r.body)
		}
		if again := w.expect(304, w.call(methodGet, path+format, "", "", "If-None-Match", tag)); again.body != "" || again.header.Get("ETag") != tag || again.header.Get("Cache-Control") != "public, max-age=300" {
			t.Errorf("%s, known: %v %q", format, again.header, again.body)
		}
		if other := w.call(methodGet, path+format, "", "", "If-None-Match", `"other"`); other.status != 200 || other.body != r.body {
			t.Errorf("%s, another one known: %d", format, other.status)
		}
		head := w.expect(200, w.call("HEAD", path+format, "", ""))
		if head.body != "" || head.header.Get("ETag") != tag || head.header.Get("Content-Length") != r.header.Get("Content-Length") {
			t.Errorf("%s, HEAD: %v %q", format, head.header, head.body)
		}
		// The call needs no credential, so an expired key does not make it fail.
		w.expect(200, w.call(methodGet, path+format, "svc_live_gone", ""))
	}
	for _, query := range []string{"", "?format=", "?format=OpenAI", "?format=mistral", "?form=openai"} {
		r := w.expect(422, w.call(methodGet, "/api/v1/tools"+query, "", ""))
		if detail := r.detail(); detail != "Invalid request: 'format' must be one of openai, anthropic, gemini" {
			t.Errorf("%q: %s", query, detail)
		}
	}
}

// TestLimitsOfTools compares the parameter limits of tools with the shapes of request bodies.
func TestLimitsOfTools(t *testing.T) {
	for name, s := range map[string]bodyShape{
		"create_inbox": orderShape, "send_email": sendShape, "reply": sendShape,
		"create_calendar_event": scheduleShape, "update_calendar_event": rescheduleShape,
		"rsvp_to_invite": respondShape, "cancel_calendar_event": cancelShape,
	} {
		tool, ok := tools.Find(name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		for _, p := range tool.Params {
			i := slices.IndexFunc(s, func(f fieldRule) bool { return f.name == p.Name })
			if i < 0 {
				if !slices.Contains([]string{"address", "message_id", "event_id", "optional_attendees"}, p.Name) {
					t.Errorf("%s.%s is in no body", name, p.Name)
				}
				continue
			}
			f := s[i]
			kind := map[fieldKind]string{lineField: "string", textField: "string", integerField: "integer", booleanField: "boolean", namesField: "array", guestsField: "array"}[f.valueKind]
			if p.Type[0] != kind {
				t.Errorf("%s.%s is of type %s, not %s", name, p.Name, p.Type[0], kind)
			}
			if kind == "string" && p.Enum == nil && p.MaxLength != f.maxLength {
				t.Errorf("%s.%s takes %d characters, bodies take %d", name, p.Name, p.MaxLength, f.maxLength)
			}
			if f.valueKind == namesField && p.Items.MaxLength != f.maxEntry {
				t.Errorf("%s.%s takes entries of %d characters, bodies take %d", name, p.Name, p.Items.MaxLength, f.maxEntry)
			}
			if p.Minimum != nil && int64(*p.Minimum) != int64(f.minValue) {
				t.Errorf("%s.%s is at least %d, in bodies %v", name, p.Name, *p.Minimum, f.minValue)
			}
			if name != "reply" && p.Required != f.isRequired {
				t.Errorf("%s.%s: required is %v, in bodies %v", name, p.Name, p.Required, f.isRequired)
			}
		}
	}
}
