package benchtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// call is one request, with what it shows and what its path names.
type call struct {
	*http.Request
	w                     http.ResponseWriter
	key, session, address string
}

// order is what any call may ask for.
type order struct {
	Prefix, URL, Event, Inbox, Subject string
	Encrypted                          bool
}

func (c *call) order() (o order) {
	_ = json.NewDecoder(c.Body).Decode(&o)
	return o
}

// route handles calls of one pattern. Without a body it has written the response itself.
type route func(*Fake, *call) (status int, body any)

// routes hold mu, except those that wait. What needs a key is below /api/v1, what needs a session
// below the rest of /api and for webhooks.
var routes = map[string]route{
	"POST /api/auth/signup": func(*Fake, *call) (int, any) {
		return 201, map[string]string{"session_token": fmt.Sprint("svc_sess_", time.Now().UnixNano())}
	},
	"DELETE /api/{rest...}":           (*Fake).forget,
	"POST /api/auth/logout":           (*Fake).forget,
	"POST /api/keys":                  (*Fake).issueKey,
	"POST /api/v1/webhooks":           (*Fake).subscribe,
	"POST /api/inboxes/{address}/key": (*Fake).issueInboxKey,
	"POST /api/inboxes":               (*Fake).createEncrypted,
	"PUT /api/account/encryption": func(*Fake, *call) (int, any) {
		return 200, map[string]any{"encryption": map[string]any{"enabled": true}}
	},
	"GET /api/keys": func(*Fake, *call) (int, any) {
		return 200, map[string]any{"keys": []any{map[string]any{"id": 7}}}
	},

	"DELETE /api/v1/inboxes/{address}":               (*Fake).remove,
	"GET /api/v1/inboxes":                            (*Fake).list,
	"GET /api/v1/messages":                           (*Fake).all,
	"POST /api/v1/inboxes/{address}/send":            (*Fake).send,
	"POST /api/v1/inboxes/{address}/calendar/events": (*Fake).send,
	"GET /api/v1/inboxes/{address}/calendar/events":  (*Fake).meetings,
	"GET /api/v1/inboxes/{address}/calendar/feed": func(*Fake, *call) (int, any) {
		return 200, map[string]string{"feed_url": "http://inbox.localhost/calendar/feeds/token.ics"}
	},
	"GET /fake/gone":  func(f *Fake, _ *call) (int, any) { return 200, f.gone },
	"GET /fake/taken": func(f *Fake, _ *call) (int, any) { return 200, f.taken },

	"GET /calendar/feeds/{token}": text("BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"),
}

// waiting are routes that do not hold mu.
var waiting = map[string]route{
	"POST /api/v1/inboxes":                 (*Fake).create,
	"GET /api/v1/inboxes/{address}/latest": (*Fake).latest,
	"GET /api/inboxes/{address}/latest":    (*Fake).latest,
}

func (f *Fake) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range waiting {
		mux.HandleFunc(pattern, f.serve(handle))
	}
	for pattern, handle := range routes {
		mux.HandleFunc(pattern, f.serve(func(f *Fake, c *call) (int, any) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return handle(f, c)
		}))
	}
	return mux
}

func (f *Fake) serve(handle route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{r, w, r.Header.Get("X-API-Key"), r.Header.Get("Authorization"), withoutTag(r.PathValue("address"))}
		byKey := strings.HasPrefix(r.URL.Path, "/api/v1/") || strings.HasSuffix(r.URL.Path, "/latest")
		byKey = byKey && !strings.HasPrefix(r.URL.Path, "/api/v1/webhooks") // which take a session, too
		switch {
		case !strings.HasPrefix(r.URL.Path, "/api/"), r.URL.Path == "/api/auth/signup":
		case byKey && !strings.HasPrefix(c.key, "svc_"), !byKey && !strings.HasPrefix(c.session, "Bearer svc_sess_"):
			c.respond(401, refusal("A valid API key is required"))
			return
		}
		if status, body := handle(f, c); body != nil {
			c.respond(status, body)
		}
	}
}

func (c *call) respond(status int, body any) {
	b, _ := json.Marshal(body)
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(b)
}

func refusal(detail string) any { return map[string]string{"detail": detail} }

// unchanged sets the ETag of a body, and reports whether the call has it already, which then gets
// 304.
func (f *Fake) unchanged(c *call, size int) bool {
	tag := fmt.Sprintf("%q", strconv.Itoa(size)+c.URL.Path)
	known := c.Header.Get("If-None-Match") == tag
	if known && f.neverNew {
		tag = `"other"`
	}
	c.w.Header().Set("ETag", tag)
	if known = known && !f.alwaysNew; known {
		c.w.WriteHeader(304)
	}
	return known
}

// text is a page. Its request id grows, as the server's does.
func text(body string) route {
	requests := 0
	return func(f *Fake, c *call) (int, any) {
		requests++
		c.w.Header().Set("X-Request-Id", strconv.Itoa(requests))
		if !f.unchanged(c, len(body)) {
			fmt.Fprint(c.w, body)
		}
		return 0, nil
	}
}

// forget notes what is deleted or ended, and deletes nothing.
func (f *Fake) forget(c *call) (int, any) {
	f.gone = append(f.gone, c.URL.Path)
	return 200, map[string]bool{"ok": true}
}

func (f *Fake) issueKey(c *call) (int, any) {
	key := fmt.Sprint("svc_live_", time.Now().UnixNano())
	f.sessions[key] = c.session
	return 201, map[string]string{"key": key}
}

func (f *Fake) issueInboxKey(c *call) (int, any) {
	in := f.inboxes[c.address]
	if in == nil || f.sessions[in.key] != c.session || in.own != "" {
		return 403, refusal("No inbox " + c.address + " without a key for this session")
	}
	in.own = fmt.Sprint("svc_sk_", time.Now().UnixNano())
	return 201, map[string]string{"api_key": in.own}
}

func (f *Fake) subscribe(c *call) (int, any) {
	o := c.order()
	if o.Event != "message.received" {
		return 422, refusal("Invalid request")
	}
	f.hooks = append(f.hooks, webhook{c.session, o.URL, o.Inbox, strconv.Itoa(len(f.hooks) + 1)})
	return 201, map[string]any{"webhook": map[string]any{"id": len(f.hooks)}, "secret": "whsec_" + webhookSecret}
}

// createEncrypted makes an inbox of the session's account, under its key.
func (f *Fake) createEncrypted(c *call) (int, any) {
	o := c.order()
	for key, of := range f.sessions {
		if of == c.session && o.Encrypted {
			address := o.Prefix + "@inbox.localhost"
			f.commit(record{Address: address, Key: key, Sealed: true})
			return 201, map[string]any{"address": address, "encrypted": true}
		}
	}
	return 403, refusal("No key for this session")
}

// create breaks the connection after an inbox was made, where it is mute and there was one.
func (f *Fake) create(c *call) (int, any) {
	address := c.order().Prefix + "@inbox.localhost"
	f.mu.Lock()
	others, taken := len(f.inboxes) > 0, f.inboxes[address] != nil
	if !taken {
		f.commit(record{Address: address, Key: c.key})
	}
	f.mu.Unlock()
	if taken {
		return 400, refusal("The address " + address + " is taken")
	}
	if time.Sleep(f.slow); f.mute && others {
		panic(http.ErrAbortHandler)
	}
	return 201, map[string]any{"address": address, "api_key": nil}
}

func (f *Fake) remove(c *call) (int, any) {
	f.commit(record{Address: c.address, Gone: true})
	return f.forget(c)
}

// pageSize is smaller than what is asked for, so that every listing takes several pages.
const pageSize = 7

func (f *Fake) list(c *call) (int, any) {
	from, _ := strconv.Atoi(c.FormValue("cursor"))
	items, next := []any{}, any(nil)
	for i := from; i < len(f.order); i++ {
		if len(items) == pageSize {
			next = strconv.Itoa(i)
			break
		}
		if in := f.inboxes[f.order[i]]; in.key == c.key {
			items = append(items, map[string]any{"address": f.order[i], "message_count": len(in.codes)})
		}
	}
	return 200, map[string]any{"inboxes": items, "next_cursor": next}
}

// all are the messages of an account, on one page.
func (f *Fake) all(c *call) (int, any) {
	emails := []any{}
	for i, m := range f.messages {
		if in := f.inboxes[m.Address]; in != nil && in.key == c.key {
			emails = append(emails, map[string]any{"inbox": m.Address, "id": i + 1, "otp_code": f.shown(m.Code)})
		}
	}
	return 200, map[string]any{"emails": emails, "next_cursor": nil}
}

// meetings takes every message for an invitation.
func (f *Fake) meetings(c *call) (int, any) {
	events := []any{}
	for i := range f.inboxes[c.address].codes {
		events = append(events, map[string]any{"id": i + 1})
	}
	return 200, map[string]any{"events": events, "next_cursor": nil}
}

func (f *Fake) send(c *call) (int, any) {
	f.sent++
	f.deliver(c.order().Subject)
	return 202, map[string]any{"ok": true, "queued": true, "message_id": f.sent}
}

// refusesPoll counts polls, and is true for every third that is to be refused.
func (f *Fake) refusesPoll() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polled++
	return f.refuse && f.polled%3 == 0
}

// latest responds when there is a message newer than "after", or the time to wait is over.
func (f *Fake) latest(c *call) (int, any) {
	if f.refusesPoll() {
		c.w.Header().Set("Retry-After", "1")
		return 503, refusal("Too much to do")
	}
	after, _ := strconv.Atoi(c.FormValue("after"))
	wait, _ := strconv.Atoi(c.FormValue("wait"))
	for end := time.After(time.Duration(wait) * time.Second); ; {
		email, changed, known := f.newest(c, after)
		body := map[string]any{"email": email}
		switch size, _ := json.Marshal(body); {
		case !known:
			return 403, refusal("No inbox " + c.address + " for this API key")
		case email == nil && wait > 0:
		case f.unchanged(c, len(size)):
			return 0, nil
		default:
			return 200, body
		}
		select {
		case <-changed:
		case <-end:
			wait = 0
		}
	}
}

// newest is the message of an inbox that is newer than one, nil for none, and what is closed at
// the next.
func (f *Fake) newest(c *call, than int) (email any, changed <-chan struct{}, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	in := f.inboxes[c.address]
	byAccount := strings.HasPrefix(c.URL.Path, "/api/v1/")
	if in == nil || in.own != c.key && (in.key != c.key || !byAccount) {
		return nil, nil, false
	}
	switch id := len(in.codes); {
	case id <= than:
	case in.sealed && !f.wrongCode:
		email = map[string]any{"id": id, "otp_code": nil, "encrypted": true, "envelope": "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0="}
	default:
		email = map[string]any{"id": id, "otp_code": f.shown(in.codes[id-1])}
	}
	return email, f.changed, true
}
