package contract_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"inboxd/http/contract"
)

// TestAnchorsStay: the page has the anchors of all operations and objects of the previous version, and
// those of the introduction, because other pages link to them.
func TestAnchorsStay(t *testing.T) {
	page, err := contract.RenderDocs("http://service.test", "service.test:25")
	if err != nil {
		t.Fatal(err)
	}
	var before struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	stored, err := os.ReadFile("testdata/before.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(stored, &before); err != nil {
		t.Fatal(err)
	}
	anchors := []string{
		"start", "waiting", "codes", "send-status", "verify", "limits", "objects", "contents",
		"sign-in", "account", "keys", "inboxes", "messages", "inboxes--session", "messages--one-inbox", "sending", "calendar", "events", "webhooks", "domains", "service",
	}
	for name := range before.Components.Schemas {
		anchors = append(anchors, "object-"+name)
	}
	for _, item := range before.Paths {
		for method, operation := range item {
			var o struct{ OperationID string }
			if method != "parameters" && json.Unmarshal(operation, &o) == nil {
				anchors = append(anchors, o.OperationID)
			}
		}
	}
	if len(anchors) < 150 {
		t.Errorf("only %d anchors are checked", len(anchors))
	}
	for _, anchor := range anchors {
		if strings.Count(string(page.BodyBytes), ` id="`+anchor+`"`) != 1 {
			t.Errorf("%q is not the anchor of one place", anchor)
		}
	}
}
