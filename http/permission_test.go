package http

import (
	"fmt"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"

	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
)

// ruling is the documented behavior of a route, independent of the table in route.go.
type ruling struct {
	scope    account.ScopeSet // 0: any accepted key
	session  bool
	account  bool
	inboxKey bool
}

var (
	public      = ruling{}
	sessionOnly = ruling{session: true}
)

func agentRule(scope account.ScopeSet) ruling {
	return ruling{scope: scope, session: true, account: true, inboxKey: true}
}

// keyRule is the rule of calls about the whole account: an account key or a session.
func keyRule(scope account.ScopeSet) ruling {
	return ruling{scope: scope, session: true, account: true}
}

func insideRule(scope account.ScopeSet) ruling {
	return ruling{scope: scope, session: true, inboxKey: true}
}

// rulings classifies every route (specification, Surfaces; specification, Permissions). A new route
// fails until it is listed here.
var rulings = map[string]ruling{
	"POST /api/auth/signup": public, "POST /api/auth/login": public,
	"POST /api/auth/password-reset": public, "POST /api/auth/password-reset/confirm": public, "GET /reset": public,
	"POST /api/auth/verify-email": sessionOnly, "POST /api/auth/verify-email/confirm": public, "GET /verify": public,
	"GET /api/account/sessions": sessionOnly, "DELETE /api/account/sessions/{id}": sessionOnly, "POST /api/account/password": sessionOnly,
	"GET /healthz": public, "GET /readyz": public, "GET /metrics": public,
	"GET /openapi.json": public, "GET /docs": public, "GET /api/v1/tools": public,
	"GET /docs.md": public, "GET /docs/{part}.md": public, "GET /llms.txt": public,
	"GET /clients": public, "GET /clients/{language}/{file}": public,
	"GET /": public, "GET /assets/{name}": public,
	"GET /.well-known/acme-challenge/{token}": public,

	"POST /api/auth/logout": sessionOnly, "GET /api/account": sessionOnly, "PUT /api/account/encryption": sessionOnly, "DELETE /api/account/encryption": sessionOnly,
	"POST /api/keys": sessionOnly, "GET /api/keys": sessionOnly, "DELETE /api/keys/{id}": sessionOnly,
	"POST /api/inboxes": sessionOnly, "GET /api/inboxes": sessionOnly,

	"POST /api/domains": sessionOnly, "GET /api/domains": sessionOnly, "GET /api/domains/{domain}": sessionOnly,
	"DELETE /api/domains/{domain}": sessionOnly, "POST /api/domains/{domain}/verify": sessionOnly, "GET /api/domains/{domain}/zone": sessionOnly,

	"POST /api/inboxes/{addr}/key": sessionOnly, "DELETE /api/inboxes/{addr}/key": sessionOnly,
	"GET /api/inboxes/{addr}/latest":                        insideRule(account.ScopeRead),
	"GET /api/inboxes/{addr}/emails":                        insideRule(account.ScopeRead),
	"GET /api/inboxes/{addr}/emails/{id}":                   insideRule(account.ScopeRead),
	"DELETE /api/inboxes/{addr}/emails/{id}":                insideRule(account.ScopeWrite),
	"GET /api/inboxes/{addr}/emails/{id}/raw":               insideRule(account.ScopeRead),
	"POST /api/inboxes/{addr}/emails/{id}/read":             insideRule(account.ScopeRead),
	"GET /api/inboxes/{addr}/emails/{id}/attachments/{aid}": insideRule(account.ScopeRead),

	"POST /api/v1/inboxes/{addr}/messages": agentRule(account.ScopeManage),

	"GET /api/v1/events":                agentRule(account.ScopeRead),
	"GET /api/v1/inboxes/{addr}/events": agentRule(account.ScopeRead),
	"GET /api/inboxes/{addr}/events":    insideRule(account.ScopeRead),
	"GET /api/v1/suppressions":          agentRule(account.ScopeSend), "DELETE /api/v1/suppressions/{email}": agentRule(account.ScopeSend),
	"POST /api/v1/inboxes/{addr}/send": agentRule(account.ScopeSend), "POST /api/inboxes/{addr}/send": insideRule(account.ScopeSend),
	"GET /api/suppressions": sessionOnly, "DELETE /api/suppressions/{email}": sessionOnly,

	"POST /api/webhooks": sessionOnly, "GET /api/webhooks": sessionOnly, "GET /api/webhooks/{id}": sessionOnly,
	"PATCH /api/webhooks/{id}": sessionOnly, "DELETE /api/webhooks/{id}": sessionOnly,
	"POST /api/webhooks/{id}/rotate-secret": sessionOnly, "POST /api/webhooks/{id}/test": sessionOnly,
	"GET /api/webhooks/deliveries": sessionOnly, "POST /api/webhooks/deliveries/{id}/redeliver": sessionOnly,

	"POST /api/v1/webhooks": keyRule(account.ScopeWebhooks), "GET /api/v1/webhooks": keyRule(account.ScopeWebhooks),
	"GET /api/v1/webhooks/{id}": keyRule(account.ScopeWebhooks), "PATCH /api/v1/webhooks/{id}": keyRule(account.ScopeWebhooks),
	"DELETE /api/v1/webhooks/{id}": keyRule(account.ScopeWebhooks), "POST /api/v1/webhooks/{id}/rotate-secret": keyRule(account.ScopeWebhooks),
	"POST /api/v1/webhooks/{id}/test": keyRule(account.ScopeWebhooks), "GET /api/v1/webhooks/deliveries": keyRule(account.ScopeWebhooks),
	"POST /api/v1/webhooks/deliveries/{id}/redeliver": keyRule(account.ScopeWebhooks),

	"POST /api/v1/domains": keyRule(account.ScopeDomains), "GET /api/v1/domains": keyRule(account.ScopeDomains),
	"GET /api/v1/domains/{domain}": keyRule(account.ScopeDomains), "DELETE /api/v1/domains/{domain}": keyRule(account.ScopeDomains),
	"POST /api/v1/domains/{domain}/verify": keyRule(account.ScopeDomains), "GET /api/v1/domains/{domain}/zone": keyRule(account.ScopeDomains),

	"GET /calendar/feeds/{token}.ics":                         public,
	"GET /api/v1/inboxes/{addr}/calendar/owner":               keyRule(account.ScopeRead),
	"PUT /api/v1/inboxes/{addr}/calendar/owner":               keyRule(account.ScopeManage),
	"GET /api/v1/inboxes/{addr}/calendar/events":              agentRule(account.ScopeRead),
	"POST /api/v1/inboxes/{addr}/calendar/events":             agentRule(account.ScopeSend),
	"GET /api/v1/inboxes/{addr}/calendar/events/{id}":         agentRule(account.ScopeRead),
	"PATCH /api/v1/inboxes/{addr}/calendar/events/{id}":       agentRule(account.ScopeSend),
	"DELETE /api/v1/inboxes/{addr}/calendar/events/{id}":      agentRule(account.ScopeWrite),
	"POST /api/v1/inboxes/{addr}/calendar/events/{id}/rsvp":   agentRule(account.ScopeSend),
	"POST /api/v1/inboxes/{addr}/calendar/events/{id}/cancel": agentRule(account.ScopeSend),
	"GET /api/v1/inboxes/{addr}/calendar/freebusy":            agentRule(account.ScopeRead),
	"GET /api/v1/inboxes/{addr}/calendar/feed":                agentRule(account.ScopeRead),
	"DELETE /api/v1/inboxes/{addr}/calendar/feed":             agentRule(account.ScopeManage),
	"POST /api/v1/inboxes/{addr}/calendar/feed/rotate":        agentRule(account.ScopeManage),
	"GET /api/inboxes/{addr}/calendar/events":                 insideRule(account.ScopeRead),
	"POST /api/inboxes/{addr}/calendar/events":                insideRule(account.ScopeSend),
	"GET /api/inboxes/{addr}/calendar/events/{id}":            insideRule(account.ScopeRead),
	"PATCH /api/inboxes/{addr}/calendar/events/{id}":          insideRule(account.ScopeSend),
	"DELETE /api/inboxes/{addr}/calendar/events/{id}":         insideRule(account.ScopeWrite),
	"POST /api/inboxes/{addr}/calendar/events/{id}/rsvp":      insideRule(account.ScopeSend),
	"POST /api/inboxes/{addr}/calendar/events/{id}/cancel":    insideRule(account.ScopeSend),
	"GET /api/inboxes/{addr}/calendar/freebusy":               insideRule(account.ScopeRead),
	"GET /api/inboxes/{addr}/calendar/feed":                   insideRule(account.ScopeRead),
	"DELETE /api/inboxes/{addr}/calendar/feed":                insideRule(account.ScopeManage),
	"POST /api/inboxes/{addr}/calendar/feed/rotate":           insideRule(account.ScopeManage),

	"POST /api/v1/inboxes":                                       keyRule(account.ScopeManage),
	"POST /api/v1/inboxes/batch":                                 keyRule(account.ScopeManage),
	"GET /api/v1/messages":                                       keyRule(account.ScopeRead),
	"DELETE /api/v1/inboxes/{addr}/messages":                     agentRule(account.ScopeWrite),
	"GET /api/v1/inboxes":                                        agentRule(account.ScopeRead),
	"GET /api/v1/inboxes/{addr}":                                 agentRule(account.ScopeRead),
	"PATCH /api/v1/inboxes/{addr}":                               agentRule(account.ScopeManage),
	"DELETE /api/v1/inboxes/{addr}":                              agentRule(account.ScopeManage),
	"POST /api/v1/inboxes/{addr}/burn":                           agentRule(account.ScopeManage),
	"GET /api/v1/inboxes/{addr}/latest":                          agentRule(account.ScopeRead),
	"GET /api/v1/inboxes/{addr}/messages":                        agentRule(account.ScopeRead),
	"GET /api/v1/inboxes/{addr}/messages/{id}":                   agentRule(account.ScopeRead),
	"DELETE /api/v1/inboxes/{addr}/messages/{id}":                agentRule(account.ScopeWrite),
	"GET /api/v1/inboxes/{addr}/messages/{id}/raw":               agentRule(account.ScopeRead),
	"POST /api/v1/inboxes/{addr}/messages/{id}/read":             agentRule(account.ScopeRead),
	"GET /api/v1/inboxes/{addr}/messages/{id}/attachments/{aid}": agentRule(account.ScopeRead),
}

// holder is one credential of the matrix.
type holder struct {
	name   string
	token  string
	kind   account.TokenKind // 0: not valid
	scopes account.ScopeSet
}

var everyScope = []account.ScopeSet{account.ScopeRead, account.ScopeSend, account.ScopeWrite, account.ScopeManage, account.ScopeWebhooks, account.ScopeDomains, account.ScopeFull}

// matrix is a world with one inbox of alice and others that she does not own.
type matrix struct {
	*world
	own, others   string
	asset         string
	clientPackage string
	targets       map[string]string // name → address in the path
	holders       []holder
}

func newMatrix(t *testing.T) *matrix {
	w := start(t, withMetrics, withChallenge)
	m := &matrix{world: w, asset: assetOf(w), clientPackage: clientPackageOf(w)}
	w.signUp(alice)
	w.signUp(bob)
	m.own, m.others = w.newInbox(alice, "own"), w.newInbox(bob, "foreign")
	second := w.newInbox(alice, "second")
	gone := w.newInbox(alice, "gone")
	w.accounts.DeleteInbox(t.Context(), w.idOf(alice), gone)
	m.targets = map[string]string{
		"own": m.own, "second": second, "foreign": m.others, "deleted": gone,
		"missing": "nobody@inbox.test", "malformed": "no-address",
	}
	m.restore()

	m.holders = []holder{
		{name: "none"}, {name: "garbage", token: "svc_live_garbage"},
		{name: "session", token: w.signUpSession(alice), kind: account.KindSession, scopes: account.ScopeFull},
	}
	expired := w.key(alice, account.ScopeFull)
	w.accounts.principals[expired].Revoke()
	m.holders = append(m.holders, holder{name: "revoked key", token: expired})
	for _, s := range everyScope {
		m.holders = append(m.holders, holder{"account key " + s.String(), w.key(alice, s), account.KindAccountKey, s})
		if s&(account.ScopeWebhooks|account.ScopeDomains) == 0 { // no inbox key has these
			m.holders = append(m.holders, holder{"inbox key " + s.String(), w.keyFor(alice, m.own, s), account.KindInboxKey, s})
		}
	}
	w.accounts.makeRoom(w.idOf(alice), m.own) // so that deleting the key revokes none of these
	return m
}

// signUpSession opens another session of an account.
func (w *world) signUpSession(email string) string {
	w.accounts.mu.Lock()
	defer w.accounts.mu.Unlock()
	in, err := w.accounts.session(w.accounts.byEmail[email])
	if err != nil {
		w.t.Fatal(err)
	}
	return in.Token
}

const mailWithFile = "From: Shop <shop@example.com>\r\nTo: own@inbox.test\r\nSubject: Your file\r\nMIME-Version: 1.0\r\n" +
	"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSee the file.\r\n" +
	"--b\r\nContent-Type: text/html; name=\"a.html\"\r\nContent-Disposition: attachment; filename=\"a.html\"\r\n\r\n<p>hi</p>\r\n--b--\r\n"

// restore makes the inboxes of alice contain only message 1 with attachment 1.
func (m *matrix) restore() {
	for _, name := range []string{"own", "second"} {
		address := m.targets[name]
		s := &inbox.State{Profile: inbox.Profile{Address: address, Account: m.idOf(alice), RetentionHours: 24, CreatedAt: begin}}
		m.inboxes.mu.Lock()
		m.inboxes.states[address], m.inboxes.stored[address] = s, nil
		m.inboxes.views[address] = inbox.NewView(s)
		m.inboxes.mu.Unlock()
		m.diary.keep(address, organized(address, "Review", begin))
		m.diary.tokens[address], m.diary.known[address] = "token-of-"+name, new(calendar.SubscriptionLink)
		if id := m.deliver(address, mailOf(mailWithFile, inbox.OTP{})); id != 1 {
			m.t.Fatalf("restored message has id %d", id)
		}
	}
}

// want returns the permitted statuses.
func (m *matrix) want(rt *routeSpec, h holder, target string) []int {
	rule := rulings[rt.routeName()]
	switch {
	case rule == public:
		return []int{200, 422, 429}
	case h.kind == 0:
		return []int{401}
	case h.kind == account.KindSession && !rule.session, h.kind == account.KindAccountKey && !rule.account,
		h.kind == account.KindInboxKey && !rule.inboxKey:
		return []int{403}
	case h.kind != account.KindSession && !h.scopes.Allows(rule.scope):
		return []int{403}
	case strings.Contains(rt.pathPattern, "{addr}") && target != "own" && !(target == "second" && h.kind != account.KindInboxKey):
		return []int{403}
	}
	return []int{200, 201, 202, 400, 404}
}

// TestEveryRouteForEveryCredential walks the route table: every route × credential × scope ×
// target. A route without a ruling fails.
func TestEveryRouteForEveryCredential(t *testing.T) {
	m := newMatrix(t)
	for i := range m.server.routes {
		rt := &m.server.routes[i]
		if _, ok := rulings[rt.routeName()]; !ok {
			t.Errorf("%s is not classified", rt.routeName())
			continue
		}
		targets := []string{"own"}
		if strings.Contains(rt.pathPattern, "{addr}") {
			targets = []string{"own", "second", "foreign", "deleted", "missing", "malformed"}
		}
		for _, h := range m.holders {
			for _, target := range targets {
				m.check(rt, h, target)
			}
		}
	}
	for name := range rulings {
		if !slices.ContainsFunc(m.server.routes, func(rt routeSpec) bool { return rt.routeName() == name }) {
			t.Errorf("no route %s", name)
		}
	}
}

func (m *matrix) check(rt *routeSpec, h holder, target string) {
	m.t.Helper()
	path := strings.NewReplacer("{addr}", m.targets[target], "{id}", "1", "{aid}", "1", "{domain}", "example.org", "{email}", "a@b.test").Replace(rt.pathPattern)
	if strings.HasSuffix(rt.pathPattern, "/keys/{id}") {
		path = "/api/keys/999" // an unknown key: the others are still needed
	}
	path = strings.Replace(path, "{token}", "token-of-own", 1)
	path = strings.Replace(path, "{name}", m.asset, 1)
	path = strings.Replace(path, "{part}", "start", 1)
	path = strings.Replace(path, "{language}/{file}", m.clientPackage, 1)
	body := ""
	switch action := rt.method + path[strings.LastIndexByte(path, '/'):]; {
	case strings.HasSuffix(rt.pathPattern, "/send"):
		body = `{"to": "a@b.test"}`
	case rt.pathPattern == simulatedMessages && rt.method == methodPost:
		body = `{"from": "a@b.test"}`
	case rt.routeName() == "PUT /api/account/encryption":
		body = `{"public_key":"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}`
	case rt.routeName() == "DELETE /api/account/encryption":
		body = `{"password":"correct horse"}`
	case rt.routeName() == "POST /api/account/password":
		body = `{"old":"correct horse","new":"correct horse"}`
	case rt.method == methodPost && strings.HasSuffix(rt.pathPattern, "/domains"):
		body = `{"domain": "example.org"}`
	case rt.method == methodPost && strings.HasSuffix(rt.pathPattern, "/webhooks"):
		body = `{"url":"https://example.com/","event":"*"}`
	case rt.routeName() == "POST /api/v1/inboxes/batch":
		body = `{"inboxes":[{}]}`
	case rt.routeName() == "DELETE /api/v1/inboxes/{addr}/messages":
		path += "?before=1"
	case strings.HasSuffix(rt.pathPattern, "/calendar/events") && rt.method == methodPost:
		body = aMeeting
	case action == "POST/rsvp":
		body = `{"response":"accepted"}`
	case action == "PUT/owner":
		body = `{"enabled":true}`
	case action == "GET/freebusy":
		path += "?from=2026-12-01&to=2026-12-02"
	}
	if rt.pathPattern == "/api/auth/logout" && h.kind == account.KindSession {
		h.token = m.signUpSession(alice)
	}
	r := m.call(rt.method, path, h.token, body)
	if r.header.Get("X-Request-Id") == "" {
		m.t.Errorf("%s as %s: no X-Request-Id", rt.routeName(), h.name)
	}
	if want := m.want(rt, h, target); !slices.Contains(want, r.status) {
		m.t.Errorf("%s as %s on %s: status %d (%s), want one of %v", rt.routeName(), h.name, target, r.status, r.body, want)
	}
	isFeed := strings.HasSuffix(rt.pathPattern, "/calendar/feed") // HEAD creates no link, and the fake has none in views
	if rt.method == methodGet && !isFeed {
		m.checkHead(path, h.token, r)
	} else if rt.method != methodGet && r.status < 300 {
		m.restore()
	}
	if r.status >= 400 && r.detail() == "" {
		m.t.Errorf("%s as %s: no detail in %q", rt.routeName(), h.name, r.body)
	}
}

// checkHead repeats a GET as HEAD: everything but the body must be the same.
func (m *matrix) checkHead(path, token string, got reply) {
	m.t.Helper()
	r := m.call("HEAD", path, token, "")
	for _, h := range []nethttp.Header{got.header, r.header} {
		h.Del("Date")
		h.Del("X-Request-Id")
	}
	if r.status != got.status || r.body != "" || headerText(r.header) != headerText(got.header) {
		m.t.Errorf("HEAD %s: %d %q\n%sinstead of %d\n%s", path, r.status, r.body, headerText(r.header), got.status, headerText(got.header))
	}
}

// TestRefusalsHaveTheSpecifiedSentences pins the error messages of refusals (specification,
// Errors).
func TestRefusalsHaveTheSpecifiedSentences(t *testing.T) {
	m := newMatrix(t)
	read, inboxKey := m.key(alice, account.ScopeRead), m.keyFor(alice, m.own, account.ScopeFull)
	own := "/api/v1/inboxes/" + m.own
	for _, c := range []struct {
		method, path, token string
		status              int
		detail              string
	}{
		{methodGet, own, "", 401, "A valid API key is required"},
		{methodGet, own, "svc_live_nonsense", 401, "A valid API key is required"},
		{methodGet, "/api/account", "", 401, "A valid session token is required. Log in to get one"},
		{methodPost, "/api/keys", "svc_live_nonsense", 401, "A valid session token is required. Log in to get one"},
		{methodPost, own + "/burn", read, 403, "This API key is missing the required scope: inbox:manage"},
		{methodDelete, own + "/messages/1", read, 403, "This API key is missing the required scope: message:write"},
		{methodGet, "/api/v1/inboxes/foreign@inbox.test/latest", read, 403, "No inbox foreign@inbox.test for this API key"},
		{methodGet, "/api/v1/inboxes/nobody@inbox.test/latest", read, 403, "No inbox nobody@inbox.test for this API key"},
		{methodGet, "/api/v1/inboxes/gone@inbox.test/latest", read, 403, "No inbox gone@inbox.test for this API key"},
		{methodGet, "/api/v1/inboxes/second@inbox.test/latest", inboxKey, 403, "No inbox second@inbox.test for this API key"},
		{methodGet, own + "/messages/77", read, 404, "Message 77 not found in inbox own@inbox.test"},
		{methodGet, own + "/messages/01", read, 404, "Message 01 not found in inbox own@inbox.test"},
		{methodGet, own + "/messages/1/attachments/9", read, 404, "Attachment 9 not found in message 1 of inbox own@inbox.test"},
		{methodGet, "/api/v1/webhooks", read, 403, "This API key is missing the required scope: webhooks:manage"},
		{methodPost, "/api/v1/domains/a.test/verify", read, 403, "This API key is missing the required scope: domains:manage"},
		{methodGet, "/api/v1/webhooks", inboxKey, 403, "An inbox key cannot make this call. Use an account key or a session"},
		{methodGet, "/api/webhooks", m.key(alice, account.ScopeFull), 403, "This call requires a session token. An API key cannot make it"},
		{methodPost, "/api/keys", read, 403, "This call requires a session token. An API key cannot make it"},
		{methodPost, "/api/v1/inboxes", inboxKey, 403, "An inbox key cannot make this call. Use an account key or a session"},
		{methodGet, "/api/v1/nothing", read, 404, "Unknown path. GET /docs lists all paths"},
		{"PUT", own, read, 405, "This path does not support PUT. The Allow header lists the supported methods"},
	} {
		r := m.call(c.method, c.path, c.token, "")
		if r.status != c.status || r.detail() != c.detail {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, r.status, r.detail(), c.status, c.detail)
		}
	}
	if allow := m.call("PUT", own, read, "").header.Get("Allow"); allow != "DELETE, GET, HEAD, OPTIONS, PATCH" {
		t.Errorf("Allow is %q", allow)
	}
}

// TestForeignDeletedAndMissingInboxesLookTheSame compares complete responses, except for the
// requested address.
func TestForeignDeletedAndMissingInboxesLookTheSame(t *testing.T) {
	m := newMatrix(t)
	key := m.key(alice, account.ScopeFull)
	for i := range m.server.routes {
		rt := &m.server.routes[i]
		if !rt.onInbox() {
			continue
		}
		var first string
		for _, target := range []string{"foreign", "deleted", "missing"} {
			address := m.targets[target]
			path := strings.NewReplacer("{addr}", address, "{id}", "1", "{aid}", "1").Replace(rt.pathPattern)
			r := m.call(rt.method, path, key, "{\"nonsense\": 1}")
			r.header.Del("X-Request-Id")
			r.header.Del("Date")
			r.header.Del("Content-Length")
			whole := strings.ReplaceAll(fmt.Sprint(r.status, r.header, r.body), address, "ADDRESS")
			if first == "" {
				first = whole
			}
			if whole != first {
				t.Errorf("%s tells a %s inbox apart:\n%s\n%s", rt.routeName(), target, whole, first)
			}
		}
	}
}

// TestAnInboxThatGoesMeanwhileLooksLikeNone: deleted after admission, before the command.
func TestAnInboxThatGoesMeanwhileLooksLikeNone(t *testing.T) {
	w, address, key, _ := lone(t)
	w.deliver(address, inbox.Receive{})
	w.inboxes.refuses = inbox.NoInbox(address)
	for path, method := range map[string]string{"": methodDelete, "/burn": methodPost, "/messages/1": methodDelete, "/messages/1/read": methodPost} {
		r := w.expect(403, w.call(method, "/api/v1/inboxes/"+address+path, key, ""))
		if r.detail() != "No inbox own@inbox.test for this API key" {
			t.Errorf("%s %s: %s", method, path, r.detail())
		}
	}
}

// TestAddressesHaveOneCanonicalForm checks decoding, case, tags and invalid addresses.
func TestAddressesHaveOneCanonicalForm(t *testing.T) {
	m := newMatrix(t)
	key := m.key(alice, account.ScopeFull)
	for path, status := range map[string]int{
		"own@inbox.test": 200, "OWN@Inbox.Test": 200, "own%40inbox.test": 200, "own+tag@inbox.test": 200,
		"own%2Btag@inbox.test": 200, "%6fwn@inbox.test": 200,
		"own%2540inbox.test": 403, "own@inbox.test%00": 403, "own@inbox.test%2F..": 403,
		"own@inbox.test%20": 403, "own@inbox.test.": 403, "%ff@inbox.test": 403, "own@@inbox.test": 403,
		"..%2Fown@inbox.test": 403, "own@ınbox.test": 403,
	} {
		for _, tail := range []string{"", "/latest", "/messages"} {
			if r := m.call(methodGet, "/api/v1/inboxes/"+path+tail, key, ""); r.status != status {
				t.Errorf("%s: status %d, want %d: %s", path+tail, r.status, status, r.body)
			}
		}
	}
	for _, path := range []string{"/api/v1/inboxes/", "/api/v1/inboxes/own@inbox.test/", "/api/v1/../v1/inboxes", "/API/v1/inboxes"} {
		if r := m.call(methodGet, path, key, ""); r.status != 404 {
			t.Errorf("%s: status %d, want 404: %s", path, r.status, r.body)
		}
	}
}
