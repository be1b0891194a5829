package tools

import (
	"encoding/json"
	"testing"
)

// arguments are complete calls of each tool, and some with one error.
var arguments = map[string]struct {
	good   []string
	broken []string
}{
	"create_inbox": {
		[]string{`{}`, `{"prefix":"sign-up","label":"Sign-up","retention_hours":24,"subdomain":"shop"}`, `{"domain":"example.org"}`},
		[]string{`{"retention_hours":0}`, `{"retention_hours":1.5}`, `{"retention_hours":"24"}`, `{"public_key":"age1"}`, `{"prefix":null}`}},
	"list_inboxes":  {[]string{`{}`}, []string{`{"limit":10}`, `[]`}},
	"read_messages": {[]string{`{"address":"a@inbox.localhost"}`, `{"address":"a@inbox.localhost","direction":"all"}`}, []string{`{}`, `{"address":"a@inbox.localhost","direction":"received"}`, `{"address":""}`}},
	"wait_for_otp": {
		[]string{`{"address":"a@inbox.localhost"}`, `{"address":"a@inbox.localhost","timeout":0}`, `{"address":"a@inbox.localhost","timeout":3600}`, `{"address":"a@inbox.localhost","timeout":30.0}`},
		[]string{`{"address":"a@inbox.localhost","timeout":-1}`, `{"address":"a@inbox.localhost","timeout":"30"}`, `{"address":7}`}},
	"wait_for_message": {[]string{`{"address":"a@inbox.localhost","timeout":5}`}, []string{`{"timeout":5}`, `{"address":"a@inbox.localhost","timeout":0.5}`}},
	"send_email": {
		[]string{`{"address":"a@inbox.localhost","to":"b@example.org"}`, `{"address":"a@inbox.localhost","to":"b@example.org","subject":"S","body":"B","html":"<p>B","cc":["c@example.org"],"bcc":[]}`},
		[]string{`{"address":"a@inbox.localhost"}`, `{"address":"a@inbox.localhost","to":["b@example.org"]}`, `{"address":"a@inbox.localhost","to":"b@example.org","cc":"c@example.org"}`, `{"address":"a@inbox.localhost","to":"b@example.org","attachments":[]}`}},
	"reply": {
		[]string{`{"address":"a@inbox.localhost","message_id":3,"body":"Yes","html":"<p>Yes","cc":[],"bcc":["d@example.org"]}`},
		[]string{`{"address":"a@inbox.localhost","message_id":"3"}`, `{"address":"a@inbox.localhost","message_id":3,"to":"b@example.org"}`}},
	"wait_until_sent":      {[]string{`{"address":"a@inbox.localhost","message_id":3,"timeout":60}`}, []string{`{"address":"a@inbox.localhost"}`, `{"address":"a@inbox.localhost","message_id":0}`}},
	"mark_read":            {[]string{`{"address":"a@inbox.localhost","message_id":3}`}, []string{`{"address":"a@inbox.localhost","message_id":3,"read":false}`}},
	"burn_inbox":           {[]string{`{"address":"a@inbox.localhost"}`}, []string{`{"inbox":"a@inbox.localhost"}`}},
	"delete_inbox":         {[]string{`{"address":"a@inbox.localhost"}`}, []string{`{"address":["a@inbox.localhost"]}`}},
	"delete_message":       {[]string{`{"address":"a@inbox.localhost","message_id":3}`}, []string{`{"message_id":3}`}},
	"list_calendar_events": {[]string{`{"address":"a@inbox.localhost"}`, `{"address":"a@inbox.localhost","include_cancelled":true}`}, []string{`{"address":"a@inbox.localhost","include_cancelled":"yes"}`}},
	"rsvp_to_invite": {
		[]string{`{"address":"a@inbox.localhost","event_id":1,"response":"tentative","comment":"Perhaps"}`},
		[]string{`{"address":"a@inbox.localhost","event_id":1,"response":"yes"}`, `{"address":"a@inbox.localhost","event_id":1}`}},
	"create_calendar_event": {
		[]string{
			`{"address":"a@inbox.localhost","title":"Review","start":"2026-12-01T15:00","timezone":"Europe/Berlin","attendees":["b@example.org",{"email":"c@example.org","name":"C","optional":true}]}`,
			`{"address":"a@inbox.localhost","title":"Day","start":"2026-12-01","end":"2026-12-02","all_day":true,"location":"R","description":"D","message":"M","in_reply_to":"<a@b>","attendees":["b@example.org"],"optional_attendees":["d@example.org",{"email":"c@example.org","name":"C"}]}`,
			`{"address":"a@inbox.localhost","title":"Review","start":"2026-12-01T15:00Z","duration_minutes":45,"attendees":[{"email":"c@example.org"}]}`},
		[]string{
			`{"address":"a@inbox.localhost","title":"Review","start":"2026-12-01T15:00Z","attendees":"b@example.org"}`,
			`{"address":"a@inbox.localhost","title":"Review","start":"2026-12-01T15:00Z","attendees":[{"name":"C"}]}`,
			`{"address":"a@inbox.localhost","title":"Review","start":"2026-12-01T15:00Z","attendees":[{"email":"c@example.org","role":"chair"}]}`,
			`{"address":"a@inbox.localhost","title":"Review","start":"2026-12-01T15:00Z","duration_minutes":0,"attendees":["b@example.org"]}`,
			`{"address":"a@inbox.localhost","title":"Review","start":"2026-12-01T15:00Z","attendees":[],"optional_attendees":[{"email":"c@example.org","optional":false}]}`,
			`{"address":"a@inbox.localhost","title":"Review","attendees":["b@example.org"]}`}},
	"update_calendar_event": {
		[]string{`{"address":"a@inbox.localhost","event_id":1,"duration_minutes":30}`, `{"address":"a@inbox.localhost","event_id":1,"title":"T","start":"2026-12-02T15:00Z","end":"2026-12-02T16:00Z","timezone":"UTC","all_day":false,"location":"","description":"","attendees":["b@example.org"],"message":"M"}`},
		[]string{`{"address":"a@inbox.localhost","event_id":1,"in_reply_to":"<a@b>"}`, `{"address":"a@inbox.localhost","title":"T"}`}},
	"cancel_calendar_event": {[]string{`{"address":"a@inbox.localhost","event_id":1,"message":"Sorry"}`}, []string{`{"address":"a@inbox.localhost","event_id":1,"message":["Sorry"]}`}},
	"get_calendar_feed":     {[]string{`{"address":"a@inbox.localhost"}`}, []string{`{}`}},
	"rotate_calendar_feed":  {[]string{`{"address":"a@inbox.localhost"}`}, []string{`{"address":"a@inbox.localhost","force":true}`}},
}

func TestArguments(t *testing.T) {
	for _, tool := range All() {
		schema := resolved(t, tool.Name, tool.InputSchema())
		calls := arguments[tool.Name]
		if len(calls.good) == 0 || len(calls.broken) == 0 {
			t.Errorf("%s has no examples", tool.Name)
		}
		used := map[string]bool{}
		for _, text := range calls.good {
			v := value(t, text)
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s %s: %v", tool.Name, text, err)
			}
			for name := range v.(map[string]any) {
				used[name] = true
			}
		}
		for _, p := range tool.Params {
			if !used[p.Name] {
				t.Errorf("%s: no example has %s", tool.Name, p.Name)
			}
		}
		for _, text := range calls.broken {
			if schema.Validate(value(t, text)) == nil {
				t.Errorf("%s takes %s", tool.Name, text)
			}
		}
	}
}

func value(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestResults checks results of the tools with two forms, and texts that are neither.
func TestResults(t *testing.T) {
	const mail = `{"id":7,"direction":"in","from":{"email":"x@example.org","name":""},"to":[],"subject":"S","received_at":"2026-11-21T09:30:01.214Z","otp_code":"482913","verification_link":null,
		"body":"B","truncated_body":false,"links":[],"attachments":[],"calendar_event":null,"is_read":true,"send_status":null,"send_error":null}`
	for _, c := range []struct {
		tool, text string
		good       bool
	}{
		{"wait_for_otp", `{"otp_code":"482913","message":` + mail + `}`, true},
		{"wait_for_otp", `{"timed_out":true,"next":"Again.","last_code":null,"without_code":null,"arrived":[]}`, true},
		{"wait_for_otp", `{"timed_out":true,"next":"Again.","last_code":null}`, false},
		{"wait_for_otp", `{"timed_out":true,"next":"Again.","last_code":{"message_id":7,"received_at":"2026-11-21T09:30:01.214Z"},"without_code":{"message_id":8,"received_at":"2026-11-21T09:30:01.214Z","subject":"Hello"},"arrived":[{"message_id":8,"received_at":"2026-11-21T09:30:01.214Z","from":"a@b.test","subject":"Hello","confidence":null,"candidates":["1234"]}]}`, true},
		{"wait_for_otp", `{"timed_out":true,"next":"Again."}`, false},
		{"wait_for_otp", `{"timed_out":false,"next":"Again.","last_code":null,"without_code":null,"arrived":[]}`, false},
		{"wait_for_otp", `{"otp_code":"482913","timed_out":true,"next":"Again.","last_code":null,"without_code":null,"arrived":[],"message":` + mail + `}`, false},
		{"wait_for_otp", `{"otp_code":"482913"}`, false},
		{"wait_for_message", `{"message":` + mail + `}`, true},
		{"wait_for_message", `{"timed_out":true,"next":"Again."}`, true},
		{"wait_for_message", `{}`, false},
		{"read_messages", `{"address":"a@b.c","messages":[` + mail + `],"has_more":false}`, true},
		{"read_messages", `{"address":"a@b.c","messages":[{"id":7}],"has_more":false}`, false},
		{"wait_until_sent", `{"message_id":3,"send_status":"queued","send_error":null,"recipients":[],"timed_out":true,"next":"Again."}`, true},
		{"wait_until_sent", `{"message_id":3,"send_status":"lost","send_error":null,"recipients":[]}`, false},
		{"mark_read", `{"ok":true}`, true},
		{"mark_read", `{"ok":false}`, false},
	} {
		tool, _ := Find(c.tool)
		err := resolved(t, c.tool, tool.OutputSchema()).Validate(value(t, c.text))
		if (err == nil) != c.good {
			t.Errorf("%s %s: %v", c.tool, c.text, err)
		}
	}
}
