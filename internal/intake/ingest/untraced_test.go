package ingest

import "testing"

// TestUntraced checks that the sender's bytes are found after our own two fields, and after nothing
// else.
func TestUntraced(t *testing.T) {
	const trace = "Return-Path: <a@b.test>\r\nReceived: from x\r\n\tby y id 1\r\n\tfor <c@d.test>;\r\n\tnow\r\n"
	for raw, want := range map[string]string{
		trace + "Subject: x\r\n\r\nbody":           "a@b.test Subject: x\r\n\r\nbody",
		trace + trace + "\r\n":                     "a@b.test " + trace + "\r\n",
		trace + "Received: from far\r\n\tby z\r\n": "a@b.test Received: from far\r\n\tby z\r\n",
		"Return-Path: <>\r\nReceived: x\r\n":       " ",
		trace:                                      "a@b.test ",
		"Subject: x\r\n\r\nbody":                   "none",
		"Return-Path: <a@b.test>\r\nX: y\r\n":      "none",
		"Return-Path: <a@b.test>\r\nReceived: x":   "none",
		"":                                         "none",
	} {
		got := "none"
		if from, sent, ok := Untraced([]byte(raw)); ok {
			got = from + " " + string(sent)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}
