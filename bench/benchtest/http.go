package benchtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// credential is what a call must show.
type credential int

const (
	anybody credential = iota
	bySession
	byKey
)

// route is one call of the API. In its path a star stands for the address of an inbox, or for anything.
type route struct {
	method string // empty: any
	path   string
	shows  credential
	handle func(*Fake, *call) (status int, body any)
	waits  bool // mu is not held
	tagged bool // who has the answer is not told it again
}

// call is one request. A handler that writes the answer itself returns no body.
type call struct {
	*fasthttp.RequestCtx
	key, session string
	address      string // what the star stands for
}

// routes are looked through in this order.
var routes = []route{
	{path: "/api/auth/signup", handle: (*Fake).signUp},
	{path: "/calendar/feeds/*", handle: (*Fake).feed, tagged: true},
	{path: "/", handle: (*Fake).page, tagged: true},
	{path: "/assets/app.AAAAAAAA.js", handle: (*Fake).script},
	{path: "/metrics", handle: (*Fake).metrics},

	{method: "DELETE", path: "*", shows: bySession, handle: (*Fake).forget},
	{path: "/api/auth/logout", shows: bySession, handle: (*Fake).forget},
	{method: "GET", path: "/api/keys", shows: bySession, handle: (*Fake).keys},
	{path: "/api/keys", shows: bySession, handle: (*Fake).issueKey},
	{path: "/api/webhooks", shows: bySession, handle: (*Fake).subscribe},
	{path: "/api/account/encryption", shows: bySession, handle: (*Fake).encrypt},
	{path: "/api/inboxes/*/key", shows: bySession, handle: (*Fake).issueInboxKey},
	{path: "/api/inboxes", shows: bySession, handle: (*Fake).createEncrypted},

	{method: "POST", path: "/api/v1/inboxes", shows: byKey, handle: (*Fake).create, waits: true},
	{path: "/api/v1/inboxes", shows: byKey, handle: (*Fake).list},
	{path: "/api/v1/events", shows: byKey, handle: (*Fake).follow},
	{path: "/api/v1/messages", shows: byKey, handle: (*Fake).all},
	{method: "DELETE", path: "/api/v1/inboxes/*", shows: byKey, handle: (*Fake).remove},
	{path: "/fake/gone", shows: byKey, handle: func(f *Fake, _ *call) (int, any) { return 200, f.gone }},
	{path: "/fake/taken", shows: byKey, handle: func(f *Fake, _ *call) (int, any) { return 200, f.taken }},
	{path: "/api/v1/inboxes/*/calendar/feed", shows: byKey, handle: (*Fake).share},
	{method: "GET", path: "/api/v1/inboxes/*/calendar/events", shows: byKey, handle: (*Fake).meetings},
	{path: "/api/v1/inboxes/*/calendar/events", shows: byKey, handle: (*Fake).send},
	{path: "/api/v1/inboxes/*/send", shows: byKey, handle: (*Fake).send},
	{path: "/api/v1/inboxes/*/latest", shows: byKey, handle: (*Fake).latestOfAgent, waits: true, tagged: true},
	{path: "/api/inboxes/*/latest", shows: byKey, handle: (*Fake).latestOfInbox, waits: true, tagged: true},
}

// shown is what a request shows.
func (c *call) shown() credential {
	switch {
	case strings.HasPrefix(c.session, "Bearer svc_sess_"):
		return bySession
	case strings.HasPrefix(c.key, "svc_"):
		return byKey
	}
	return anybody
}

// takes reports whether the route is for the call, whose address it finds.
func (r *route) takes(c *call) bool {
	if r.method != "" && r.method != string(c.Method()) || r.shows != anybody && r.shows != c.shown() {
		return false
	}
	before, after, some := strings.Cut(r.path, "*")
	rest, is := strings.CutPrefix(string(c.Path()), before)
	if !some {
		return is && rest == ""
	}
	c.address, some = strings.CutSuffix(rest, after)
	return is && some
}

func (f *Fake) serveHTTP(ctx *fasthttp.RequestCtx) {
	c := &call{RequestCtx: ctx, key: string(ctx.Request.Header.Peek("X-API-Key")), session: string(ctx.Request.Header.Peek("Authorization"))}
	for i := range routes {
		if r := &routes[i]; r.takes(c) {
			c.answer(f.ask(r, c))
			if r.tagged {
				f.tag(ctx)
			}
			return
		}
	}
	if c.shown() == anybody {
		c.answer(401, refusal("A valid API key is required"))
		return
	}
	c.answer(404, refusal("No such path"))
}

func (f *Fake) ask(r *route, c *call) (status int, body any) {
	if !r.waits {
		f.mu.Lock()
		defer f.mu.Unlock()
	}
	return r.handle(f, c)
}

// answer ends the call, unless its handler wrote the answer.
func (c *call) answer(status int, body any) {
	if body == nil {
		return
	}
	b, _ := json.Marshal(body)
	c.SetStatusCode(status)
	c.SetContentType("application/json")
	c.SetBody(b)
}

func refusal(detail string) any { return map[string]string{"detail": detail} }

// tag gives the answer its ETag, and takes the body away from who has it.
func (f *Fake) tag(ctx *fasthttp.RequestCtx) {
	tag := fmt.Sprintf("%q", strconv.Itoa(len(ctx.Response.Body()))+string(ctx.Path()))
	known := string(ctx.Request.Header.Peek("If-None-Match")) == tag
	if known && f.neverNew {
		tag = `"other"`
	}
	ctx.Response.Header.Set("ETag", tag)
	if known && !f.alwaysNew && ctx.Response.StatusCode() == 200 {
		ctx.ResetBody()
		ctx.SetStatusCode(304)
	}
}

func (f *Fake) feed(c *call) (int, any) {
	c.Response.Header.Set("X-Request-Id", fmt.Sprint(c.ConnRequestNum())) // grows, as the server's does
	c.SetBodyString("BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n")
	return 0, nil
}

func (f *Fake) page(c *call) (int, any) {
	c.Response.Header.Set("X-Request-Id", fmt.Sprint(c.ConnRequestNum()))
	c.SetBodyString(`<script type="module" src="/assets/app.AAAAAAAA.js"></script>`)
	return 0, nil
}

func (f *Fake) script(c *call) (int, any) {
	c.SetBodyString("export {}")
	return 0, nil
}

func (f *Fake) metrics(c *call) (int, any) {
	c.SetBodyString(fmt.Sprintf("other 1\ninboxd_mail_results_total{result=\"delivered\"} %d\n", f.sent))
	return 0, nil
}
