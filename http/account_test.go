package http

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

func TestSignUpLogInLogOut(t *testing.T) {
	w := start(t)
	form := func(email, password string) string {
		return fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)
	}
	r := w.expect(201, w.call(methodPost, "/api/auth/signup", "", form("Alice@Example.com ", "correct horse")))
	want := `,"expires_at":"2026-12-21T12:00:00.000Z","account":{"id":"00000001000000000000000000000000","email":"alice@example.com","email_verified":false,"plan":"free",` +
		`"limits":{"inboxes":3,"default_retention_hours":24,"max_retention_hours":72,"labels":false,"subdomains":false,"max_subdomains":100,"account_keys":1000,"sends_per_day":100,"recipients_per_message":10,` +
		`"attachments_per_message":1,"attachment_bytes_per_message":524288,"webhooks":10,"max_messages":10000,"max_bytes":524288000},"usage":{"inboxes":0,"keys":0,"sends_today":0},"encryption":{"enabled":false,"public_key":null,"set_at":null,"encrypted_inboxes":0},"created_at":"2026-11-21T12:00:00.000Z"}}`
	if !strings.HasPrefix(r.body, `{"session_token":"svc_sess_`) || !strings.HasSuffix(r.body, want) {
		t.Errorf("sign-up: %s", r.body)
	}
	w.expect(400, w.call(methodPost, "/api/auth/signup", "", form(alice, "correct horse")))
	w.expect(422, w.call(methodPost, "/api/auth/signup", "", form("no address", "correct horse")))
	w.expect(422, w.call(methodPost, "/api/auth/signup", "", form(bob, "short")))
	if r := w.expect(401, w.call(methodPost, "/api/auth/login", "", form(alice, "wrong"))); r.detail() != "The e-mail address or the password is wrong" {
		t.Errorf("wrong password: %s", r.detail())
	}
	r = w.expect(200, w.call(methodPost, "/api/auth/login", "", form("ALICE@example.com", "correct horse")))
	token := r.object(t, "session_token").(string)
	if r := w.expect(200, w.call(methodGet, "/api/account", token, "")); r.object(t, "account", "email") != alice {
		t.Errorf("account: %s", r.body)
	}
	w.expect(200, w.call(methodGet, "/api/account", "", "", "Authorization", "bearer  "+token))
	w.expect(401, w.call(methodGet, "/api/account", "", "", "Authorization", "Basic "+token))
	w.expect(422, w.call(methodPost, "/api/auth/logout", token, `{"everywhere":true}`))
	w.expect(200, w.call(methodPost, "/api/auth/logout", token, ""))
	w.expect(401, w.call(methodGet, "/api/account", token, ""))
	if strings.Contains(w.log.String(), token) || strings.Contains(w.log.String(), "horse") {
		t.Error("a secret is in the log")
	}
}

func TestSignUpCanBeClosed(t *testing.T) {
	w := start(t, func(o *Options) { o.SignupOpen = func() bool { return false } })
	w.signUp(alice)
	w.expect(403, w.call(methodPost, "/api/auth/signup", "", `{"email":"b@example.com","password":"correct horse"}`))
	w.expect(200, w.call(methodPost, "/api/auth/login", "", `{"email":"alice@example.com","password":"correct horse"}`))
}

// TestTriesAreLimited per client, whatever their outcome, and per e-mail address from many clients.
func TestTriesAreLimited(t *testing.T) {
	w := start(t, func(o *Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	w.signUp(alice)
	right := `{"email":"alice@example.com","password":"correct horse"}`
	try := func(client, body string) reply {
		return w.call(methodPost, "/api/auth/login", "", body, "X-Forwarded-For", client)
	}
	for n, body := range []string{"{", "{}", right, `{"email":"x","password":"y"}`, "{", "{", "{", "{", "{", "{"} {
		if r := try("203.0.113.1", body); r.status == 429 {
			t.Fatalf("try %d: %s", n+1, r.body)
		}
		w.advance(time.Second)
	}
	if r := w.expect(429, try("203.0.113.1", right)); r.header.Get("Retry-After") != "50" || r.detail() == "" {
		t.Errorf("Retry-After %q: %s", r.header.Get("Retry-After"), r.body)
	}
	w.expect(200, try("203.0.113.2", right))
	w.advance(50 * time.Second)
	w.expect(200, try("203.0.113.1", right))

	w.advance(time.Hour)
	for n := range maxTries {
		w.expect(401, try(fmt.Sprintf("198.51.100.%d", n), `{"email":"Bob@example.com","password":"guess"}`))
	}
	w.expect(429, try("198.51.100.99", `{"email":"bob@EXAMPLE.com","password":"guess"}`))
	for n := range maxTries {
		w.expect(422, try(fmt.Sprintf("2001:db8::%x", n+1), "{"))
	}
	w.expect(429, try("2001:db8::ffff", "{"))
	w.expect(422, try("2001:db8:0:1::1", "{"))
}

// TestWhoIsKnownSignsIn although strangers used up the attempts of the address: a client that
// signed in, read its account, or reset the password before.
func TestWhoIsKnownSignsIn(t *testing.T) {
	for name, way := range map[string]func(w *world, from func(method, path, token, body string) reply){
		"signed in": func(w *world, from func(method, path, token, body string) reply) {
			w.expect(200, from(methodPost, "/api/auth/login", "", `{"email":"alice@example.com","password":"correct horse"}`))
		},
		"read its account": func(w *world, from func(method, path, token, body string) reply) {
			w.expect(200, from(methodGet, "/api/account", w.signUpSession(alice), ""))
		},
		"reset the password": func(w *world, from func(method, path, token, body string) reply) {
			token := w.resetToken(alice)
			w.expect(200, from(methodPost, "/api/auth/password-reset/confirm", "", fmt.Sprintf(`{"token":%q,"password":"correct horse"}`, token)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, func(o *Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
			w.signUp(alice)
			from := func(client string) func(method, path, token, body string) reply {
				return func(method, path, token, body string) reply {
					return w.call(method, path, token, body, "X-Forwarded-For", client)
				}
			}
			way(w, from("203.0.113.1"))
			w.advance(time.Hour)
			for n := range maxTries {
				w.expect(401, from(fmt.Sprintf("198.51.100.%d", n))(methodPost, "/api/auth/login", "", `{"email":"alice@example.com","password":"guess"}`))
			}
			right := `{"email":"alice@example.com","password":"correct horse"}`
			w.expect(429, from("203.0.113.2")(methodPost, "/api/auth/login", "", right))
			w.expect(200, from("203.0.113.1")(methodPost, "/api/auth/login", "", right))
		})
	}
}

// TestTriesAreBounded: millions of clients use no more memory than maxTracked entries.
func TestTriesAreBounded(t *testing.T) {
	tr := newTries()
	for n := range 3 * maxTracked {
		if err := tr.countTry(fmt.Sprint(n), begin.Add(time.Duration(n)*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	if len(tr.recentTries) > maxTracked {
		t.Errorf("%d windows", len(tr.recentTries))
	}
	for range maxTries {
		tr.countTry("one", begin)
	}
	if err := tr.countTry("one", begin); !fault.Is(err, fault.TooMany) {
		t.Errorf("a full table forgets to count: %v", err)
	}
}

func TestKeys(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	r := w.expect(201, w.call(methodPost, "/api/keys", session, `{"label":"ci","scopes":["email:send","inbox:read"],"expires_in_days":30}`))
	var issued struct {
		Key, Scopes string
		ExpiresAt   *string `json:"expires_at"`
	}
	r.into(t, &issued)
	if !strings.HasPrefix(issued.Key, "svc_live_") || issued.Scopes != "inbox:read,email:send" || *issued.ExpiresAt != "2026-12-21T12:00:00.000Z" {
		t.Errorf("issued: %s", r.body)
	}
	r = w.expect(201, w.call(methodPost, "/api/keys", session, `{"expires_in_days":null}`))
	if r.object(t, "scopes") != "inbox:read" || r.object(t, "expires_at") != nil {
		t.Errorf("default key: %s", r.body)
	}
	for body, detail := range map[string]string{
		`{"expires_in_days":31}`:       "Invalid request: 'expires_in_days' is 31; it must be 30, 90 or 365, or be left out for a key that never expires",
		`{"scopes":["inbox:destroy"]}`: `Invalid request: 'scopes' contains the unknown permission "inbox:destroy". Valid permissions: inbox:read, email:send, message:write, inbox:manage, webhooks:manage, domains:manage, full`,
		`{"name":"x"}`:                 "Invalid request: 'name' is not a field of this request. Its fields are: label, scopes, expires_in_days",
	} {
		if r := w.expect(422, w.call(methodPost, "/api/keys", session, body)); r.detail() != detail {
			t.Errorf("%s: %s", body, r.detail())
		}
	}
	address := w.newInbox(alice, "own")
	r = w.expect(422, w.call(methodPost, "/api/inboxes/"+address+"/key", session, `{"scopes":["inbox:read","domains:manage","webhooks:manage"]}`))
	if r.detail() != "Invalid request: 'scopes' contains webhooks:manage and domains:manage, which only an account key can have" {
		t.Errorf("an inbox key for the account: %s", r.detail())
	}
	w.keyFor(alice, address, account.ScopeRead)
	w.advance(31 * 24 * time.Hour)
	session = w.signUpSession(alice)
	r = w.expect(200, w.call(methodGet, "/api/keys", session, ""))
	want := `{"keys":[{"id":1,"kind":"account","label":"ci","scopes":"inbox:read,email:send","prefix":"` + issued.Key[:13] + `","inbox":null,"created_at":"2026-11-21T12:00:00.000Z","expires_at":"2026-12-21T12:00:00.000Z","expired":true,"last_used_at":null},` +
		`{"id":2,"kind":"account","label":"","scopes":"inbox:read",`
	if !strings.HasPrefix(r.body, want) || !strings.Contains(r.body, `"kind":"inbox"`) || !strings.Contains(r.body, `"inbox":"own@inbox.test"`) {
		t.Errorf("list: %s\nwant %s", r.body, want)
	}
	if strings.Contains(r.body, issued.Key) {
		t.Error("a key is in the list")
	}
	w.expect(401, w.call(methodGet, "/api/v1/inboxes", issued.Key, ""))

	fresh := w.key(alice, account.ScopeRead)
	w.expect(200, w.call(methodGet, "/api/v1/inboxes", fresh, ""))
	w.expect(200, w.call(methodDelete, "/api/keys/4", session, ""))
	w.expect(401, w.call(methodGet, "/api/v1/inboxes", fresh, ""))
	for _, id := range []string{"4", "99", "0", "-1", "x", "04"} {
		if r := w.expect(404, w.call(methodDelete, "/api/keys/"+id, session, "")); r.detail() != "API key "+id+" not found" {
			t.Errorf("%s: %s", id, r.detail())
		}
	}
}

func TestInboxes(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	key := w.key(alice, account.ScopeFull)
	r := w.expect(201, w.call(methodPost, "/api/v1/inboxes", key, `{"prefix":"own","label":"Mine","subdomain":"team","retention_hours":9999}`))
	want := `{"address":"own@inbox.test","retention_hours":72,"api_key":null,"label":"` + r.object(t, "label").(string) + `","name":"` + r.object(t, "label").(string) + `","created_at":"2026-11-21T12:00:00.000Z","encrypted":false,"keep_newest":false,"full":false,` +
		`"ignored_fields":["label","subdomain"],"note":"Not applied, because the Free plan does not cover it: label, subdomain. Upgrade the plan to use it"}`
	if r.body != want || r.header.Get("Location") != "/api/v1/inboxes/own@inbox.test" {
		t.Errorf("created: %s %s", r.header.Get("Location"), r.body)
	}
	w.advance(time.Second)
	if r := w.expect(201, w.call(methodPost, "/api/inboxes", session, "")); strings.Contains(r.body, "ignored_fields") || strings.Contains(r.body, "note") {
		t.Errorf("generated: %s", r.body)
	}
	for body, status := range map[string]int{
		`{"prefix":"own"}`: 400, `{"prefix":"postmaster"}`: 400, `{"prefix":"a..b"}`: 422, `{"prefix":"A"}`: 422, `{"domain":"a.test","subdomain":"b"}`: 422,
		`{"domain":"a.test"}`: 400, `{"retention_hours":0}`: 422, `{"encrypted":true}`: 422,
	} {
		w.expect(status, w.call(methodPost, "/api/v1/inboxes", key, body))
	}
	w.expect(400, w.call(methodPost, "/api/inboxes", session, `{"encrypted":true}`))
	w.expect(201, w.call(methodPost, "/api/inboxes", session, `{"encrypted":false,"prefix":"zzz"}`))
	if r := w.expect(400, w.call(methodPost, "/api/v1/inboxes", key, `{}`)); !strings.HasPrefix(r.detail(), "Free plan allows at most 3 agent inboxes") {
		t.Errorf("quota: %s", r.detail())
	}

	w.deliver("own@inbox.test", inbox.Receive{Subject: "a"})
	w.deliver("own@inbox.test", inbox.Receive{Subject: "b"})
	w.expect(200, w.call(methodPost, "/api/v1/inboxes/own@inbox.test/messages/1/read", key, ""))
	inboxKey := w.keyFor(alice, "own@inbox.test", account.ScopeRead)
	item := `"retention_hours":72,"created_at":"2026-11-21T12:00:00.000Z","encrypted":false,"has_key":true,"message_count":2,"unread_count":1,"last_message_at":"2026-11-21T12:00:01.000Z","keep_newest":false,"full":false}`
	if r := w.expect(200, w.call(methodGet, "/api/v1/inboxes", inboxKey, "")); !strings.HasPrefix(r.body, `{"inboxes":[{"address":"own@inbox.test"`) || !strings.HasSuffix(r.body, item+`],"next_cursor":null}`) {
		t.Errorf("list of an inbox key: %s", r.body)
	}
	if r := w.expect(200, w.call(methodGet, "/api/v1/inboxes/own@inbox.test", key, "")); !strings.HasPrefix(r.body, `{"inbox":{"address":"own@inbox.test",`) || !strings.HasSuffix(r.body, item+`}`) {
		t.Errorf("one: %s", r.body)
	}

	var seen []string
	for cursor := ""; ; {
		r := w.expect(200, w.call(methodGet, "/api/inboxes?limit=2&cursor="+cursor, session, ""))
		for _, i := range r.object(t, "inboxes").([]any) {
			seen = append(seen, i.(map[string]any)["address"].(string))
		}
		next, more := r.object(t, "next_cursor").(string)
		if !more {
			break
		}
		cursor = next
	}
	if len(seen) != 3 {
		t.Errorf("paged: %v", seen)
	}
	for _, q := range []string{"limit=0", "limit=1001", "limit=x", "cursor=nonsense"} {
		w.expect(422, w.call(methodGet, "/api/v1/inboxes?"+q, key, ""))
	}
}

// TestAFullInbox: every surface reports it until a message is deleted, or keep_newest is set.
// keep_newest can be set at creation, single or in a batch, or later.
func TestAFullInbox(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	key := w.key(alice, account.ScopeFull)
	w.inboxes.plan = account.Plan{MaxMessages: 2, MaxBytes: 1 << 20}
	made := w.expect(201, w.call(methodPost, "/api/v1/inboxes", key, `{"prefix":"keeps","keep_newest":true}`))
	batch := w.expect(200, w.call(methodPost, batchPath, key, `{"inboxes":[{"prefix":"refuses"},{"prefix":"x","keep_newest":"yes"}]}`))
	other := w.expect(201, w.call(methodPost, "/api/inboxes", session, `{"prefix":"session","keep_newest":true,"encrypted":false}`))
	for _, want := range []struct {
		body, part string
	}{
		{made.body, `"keep_newest":true,"full":false}`}, {other.body, `"keep_newest":true,"full":false}`},
		{batch.body, `"keep_newest":false,"full":false}},{"status":422,"detail":"Invalid request: 'keep_newest' must be true or false","code":"validation","field":"keep_newest"}]}`},
	} {
		if !strings.HasSuffix(want.body, want.part) {
			t.Errorf("%s\nwant %s", want.body, want.part)
		}
	}
	for i := range 2 {
		for _, prefix := range []string{"keeps", "refuses", "session"} {
			w.deliver(prefix+"@inbox.test", inbox.Receive{Subject: fmt.Sprint(i)})
		}
	}
	shown := func() (full []string) {
		t.Helper()
		for _, list := range []reply{w.call(methodGet, "/api/v1/inboxes", key, ""), w.call(methodGet, "/api/inboxes", session, "")} {
			for _, i := range w.expect(200, list).object(t, "inboxes").([]any) {
				i := i.(map[string]any)
				one := w.expect(200, w.call(methodGet, "/api/v1/inboxes/"+i["address"].(string), key, ""))
				if one.object(t, "inbox", "full") != i["full"] || one.object(t, "inbox", "keep_newest") != i["keep_newest"] {
					t.Errorf("alone %s, in a list %v", one.body, i)
				}
				if i["full"] == true {
					full = append(full, i["address"].(string))
				}
			}
		}
		return full
	}
	if full := shown(); fmt.Sprint(full) != "[refuses@inbox.test refuses@inbox.test]" {
		t.Errorf("full: %v", full)
	}
	const refuses = "/api/v1/inboxes/refuses@inbox.test"
	if r := w.expect(200, w.call(methodPatch, refuses, key, `{"keep_newest":true}`)); !strings.HasSuffix(r.body, `"keep_newest":true,"full":false}}`) {
		t.Errorf("changed: %s", r.body)
	}
	if id := w.deliver("refuses@inbox.test", inbox.Receive{Subject: "new"}); id != 3 {
		t.Errorf("id %d", id)
	}
	w.expect(404, w.call(methodGet, refuses+"/messages/1", key, ""))
	if r := w.expect(200, w.call(methodPatch, refuses, session, `{"keep_newest":false,"retention_hours":12}`)); !strings.HasSuffix(r.body, `"keep_newest":false,"full":true}}`) {
		t.Errorf("changed back: %s", r.body)
	}
	if r := w.expect(200, w.call(methodPatch, refuses, key, `{}`)); !strings.HasSuffix(r.body, `"keep_newest":false,"full":true}}`) {
		t.Errorf("not changed: %s", r.body)
	}
	for _, body := range []string{`{"keep_newest":1}`, `{"keep_newest":"true"}`, `{"keep_newest":[]}`} {
		w.expect(422, w.call(methodPatch, refuses, key, body))
		w.expect(422, w.call(methodPost, "/api/inboxes", session, body))
	}
	w.expect(200, w.call(methodDelete, refuses+"/messages/2", key, ""))
	if full := shown(); full != nil {
		t.Errorf("after one was deleted: %v", full)
	}
}

func TestUpdateBurnDelete(t *testing.T) {
	w, address, key, latest := lone(t)
	one := "/api/v1/inboxes/" + address
	r := w.expect(200, w.call(methodPatch, one, key, `{"label":"New","retention_hours":48}`))
	if r.object(t, "inbox", "retention_hours") != 48.0 || !strings.HasSuffix(r.body, `"ignored_fields":["label"],"note":"Not applied, because the Free plan does not cover it: label. Upgrade the plan to use it"}`) {
		t.Errorf("update: %s", r.body)
	}
	w.expect(200, w.call(methodPatch, one, key, `{}`))
	for _, body := range []string{`{"retention_hours":0}`, `{"label":"a\nb"}`, `{"address":"x"}`} {
		w.expect(422, w.call(methodPatch, one, key, body))
	}
	w.deliver(address, inbox.Receive{Subject: "a"})
	w.deliver(address, inbox.Receive{Subject: "b"})
	if r := w.expect(200, w.call(methodPost, one+"/burn", key, "{}")); r.body != `{"ok":true,"deleted":2,"burned":2}` {
		t.Errorf("burn: %s", r.body)
	}
	if r := w.call(methodGet, latest, key, ""); r.body != `{"email":null}` {
		t.Errorf("latest: %s", r.body)
	}
	if id := w.deliver(address, inbox.Receive{Subject: "c"}); id != 3 {
		t.Errorf("id %d after a burn", id)
	}
	if r := w.expect(200, w.call(methodDelete, one, key, "")); r.body != `{"ok":true}` {
		t.Errorf("delete: %s", r.body)
	}
	for _, method := range []string{methodGet, methodDelete, methodPatch} {
		w.expect(403, w.call(method, one, key, ""))
	}
	w.expect(403, w.call(methodGet, latest, key, ""))
}

// TestEncryptionOfAnAccount: one public key, shown as given. Nothing else that was sent appears in
// a response or a log.
func TestEncryptionOfAnAccount(t *testing.T) {
	const path = "/api/account/encryption"
	w := start(t)
	session, other := w.signUp(alice), w.signUp(bob)
	w.expect(401, w.call(methodPut, path, "", `{"public_key":"x"}`))
	set := func(text string) reply {
		return w.call(methodPut, path, session, fmt.Sprintf(`{"public_key":%q}`, text))
	}
	const first, second = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"
	want := func(key, at string) string {
		return `{"encryption":{"enabled":true,"public_key":"` + key + `","set_at":"` + at + `","encrypted_inboxes":0}}`
	}
	none := `{"encryption":{"enabled":false,"public_key":null,"set_at":null,"encrypted_inboxes":0}}`
	if r := w.expect(200, w.call(methodDelete, path, session, "")); r.body != none {
		t.Errorf("there was none: %s", r.body)
	}
	if r := w.expect(200, set(first)); r.body != want(first, "2026-11-21T12:00:00.000Z") {
		t.Errorf("set: %s", r.body)
	}
	w.advance(time.Second)
	if r := w.expect(200, set(first)); r.body != want(first, "2026-11-21T12:00:00.000Z") {
		t.Errorf("the same again: %s", r.body)
	}
	if r := w.expect(422, set(second)); r.detail() != "Invalid request: 'password' is required to change or delete the current key" {
		t.Errorf("without the password: %s", r.body)
	}
	w.expect(422, w.call(methodDelete, path, session, ""))
	w.expect(403, w.call(methodDelete, path, session, `{"password":"wrong"}`))
	again := func(password string) reply {
		return w.call(methodPut, path, session, fmt.Sprintf(`{"public_key":%q,"password":%q}`, second, password))
	}
	w.expect(403, again("wrong"))
	if r := w.expect(200, again("correct horse")); r.body != want(second, "2026-11-21T12:00:01.000Z") {
		t.Errorf("another: %s", r.body)
	}
	const secret = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
	for _, text := range []string{secret, strings.ToLower(secret), "# public key: " + first + "\n" + secret + "\n"} {
		if r := w.expect(422, set(text)); r.detail() != "Invalid request: 'public_key' is a private key. Never send it to anybody: create a new key pair" {
			t.Errorf("%q: %s", text, r.body)
		}
	}
	for _, body := range []string{`{}`, `{"public_key":""}`, `{"public_key":5}`, `{"public_key":null}`, `{"public_key":["` + first + `"]}`, `{"public_key":"AGE1QL3Z7HJY54PW3HYWW5AYYFG7ZQGVC7W3J2ELW8ZMRJ2KG5SFN9AQMCAC8P"}`,
		`{"public_key":"` + first[:61] + `q"}`, `{"public_key":"` + strings.Repeat("a", 20_000) + `"}`, `{"public_key":"` + first + `","public_key":"` + first + `"}`} {
		if r := w.expect(422, w.call(methodPut, path, session, body)); !strings.HasPrefix(r.detail(), "Invalid request: 'public_key' ") {
			t.Errorf("%.80s: %s", body, r.body)
		}
	}
	w.expect(422, w.call(methodPut, path, session, `{"public_key":"`+first+`","key":1}`))
	if r := w.expect(200, w.call(methodGet, "/api/account", session, "")); !strings.Contains(r.body, strings.TrimSuffix(want(second, "2026-11-21T12:00:01.000Z")[1:], "}")) {
		t.Errorf("the account: %s", r.body)
	}
	if r := w.expect(200, w.call(methodGet, "/api/account", other, "")); strings.Contains(r.body, "age1") {
		t.Errorf("another account: %s", r.body)
	}
	if r := w.expect(200, w.call(methodDelete, path, session, `{"password":"correct horse"}`)); r.body != none {
		t.Errorf("taken away: %s", r.body)
	}
	w.expect(200, set(first))
	last := 0
	for range 2 * maxTries { // a stolen session cannot try passwords without a limit
		last = again("guess").status
	}
	if last != 429 {
		t.Errorf("the last guess is answered with %d", last)
	}
	if r := w.expect(429, w.call(methodDelete, path, session, `{"password":"correct horse"}`)); r.header.Get("Retry-After") == "" {
		t.Error("nothing says when to try again")
	}
	if log := strings.ToUpper(w.log.String()); strings.Contains(log, secret[:24]) {
		t.Error("a private key is in the log")
	}
}
