package benchtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Calls of who is signed in: keys of both kinds, webhooks, encryption. mu is held in all of them.

func (f *Fake) signUp(*call) (int, any) {
	return 201, map[string]string{"session_token": fmt.Sprint("svc_sess_", time.Now().UnixNano())}
}

// forget notes what is deleted or ended, and deletes nothing.
func (f *Fake) forget(c *call) (int, any) {
	f.gone = append(f.gone, string(c.Path()))
	return 200, map[string]bool{"ok": true}
}

func (f *Fake) keys(*call) (int, any) {
	return 200, map[string]any{"keys": []any{map[string]any{"id": 7}}}
}

func (f *Fake) issueKey(c *call) (int, any) {
	key := fmt.Sprint("svc_live_", time.Now().UnixNano())
	f.sessions[key] = c.session
	return 201, map[string]string{"key": key}
}

func (f *Fake) issueInboxKey(c *call) (int, any) {
	in := f.inboxes[c.address]
	switch {
	case in == nil || f.sessions[in.key] != c.session:
		return 403, refusal("No inbox " + c.address + " for this session")
	case in.own != "":
		return 400, refusal("The inbox has a key")
	}
	in.own = fmt.Sprint("svc_sk_", time.Now().UnixNano())
	return 201, map[string]string{"api_key": in.own}
}

func (f *Fake) subscribe(c *call) (int, any) {
	var order struct{ URL, Event, Inbox string }
	if err := json.Unmarshal(c.PostBody(), &order); err != nil || order.Event != "message.received" {
		return 422, refusal("Invalid request")
	}
	f.hooks = append(f.hooks, fakeHook{c.session, order.URL, order.Inbox, strconv.Itoa(len(f.hooks) + 1)})
	return 201, map[string]any{"webhook": map[string]any{"id": len(f.hooks)}, "secret": "whsec_" + fakeSecret}
}

func (f *Fake) encrypt(*call) (int, any) {
	return 200, map[string]any{"encryption": map[string]any{"enabled": true}}
}

// createEncrypted makes an inbox of the session's account, under its key.
func (f *Fake) createEncrypted(c *call) (int, any) {
	var order struct {
		Prefix    string
		Encrypted bool
	}
	if err := json.Unmarshal(c.PostBody(), &order); err != nil || !order.Encrypted {
		return 422, refusal("Invalid request")
	}
	for key, of := range f.sessions {
		if of == c.session {
			address := order.Prefix + "@inbox.localhost"
			f.commit(fakeRecord{Address: address, Key: key, Sealed: true})
			return 201, map[string]any{"address": address, "encrypted": true}
		}
	}
	return 403, refusal("No key for this session")
}
