package http

import (
	"strings"
	"testing"

	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
)

// TestSpam: every form of a message shows the verdict. A score of 0 is a verdict, null means none.
func TestSpam(t *testing.T) {
	w, address, key, latest := lone(t)
	receive := func(v *inbox.SpamVerdict) {
		w.deliver(address, inbox.Receive{Content: &inbox.Content{Doc: message.ParsedMessage{Text: "x"}, Spam: v}})
	}
	receive(&inbox.SpamVerdict{Score: 1003.25, RequiredScore: 5, IsSpam: true, Rules: []inbox.SpamRule{
		{Name: "GTUBE", Weight: 1000, Description: "a \"test\""}, {Name: "NO_RELAYS", Weight: -0.5},
	}})
	const marked = `"spam":{"score":1003.25,"required":5,"is_spam":true,"rules":[` +
		`{"name":"GTUBE","weight":1000,"description":"a \"test\""},{"name":"NO_RELAYS","weight":-0.5,"description":""}]}`
	for _, path := range []string{latest, latest + "?fields=spam", "/api/v1/inboxes/" + address + "/messages/1", "/api/v1/inboxes/" + address + "/messages"} {
		if r := w.expect(200, w.call(methodGet, path, key, "")); !strings.Contains(r.body, marked) {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	receive(&inbox.SpamVerdict{RequiredScore: 15})
	if r := w.call(methodGet, latest, key, ""); !strings.Contains(r.body, `"spam":{"score":0,"required":15,"is_spam":false,"rules":[]}`) {
		t.Error(r.body)
	}
	receive(nil)
	if r := w.call(methodGet, latest, key, ""); !strings.Contains(r.body, `"spam":null`) {
		t.Error(r.body)
	}
}
