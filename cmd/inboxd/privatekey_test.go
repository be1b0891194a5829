package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plain sends one request exactly as written and returns everything received until the connection
// ends.
func (s *server) plain(t testing.TB, request string) string {
	t.Helper()
	conn := must1(net.Dial("tcp", s.http))(t)
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 4") && !strings.HasPrefix(string(answer), "HTTP/1.1 2") {
		t.Errorf("%.80q: %v %.200q", request, err, answer)
	}
	return string(answer)
}

// TestAPrivateKeyIsToldNowhere: wherever in a request the private key is, it appears in no
// response, no log, no metric and no byte of the folder.
func TestAPrivateKeyIsToldNowhere(t *testing.T) {
	home := t.TempDir()
	dir, accessLog := filepath.Join(home, "data"), filepath.Join(home, "access.log")
	s := launch(t, dir, "--log-level", "debug", "--access-log", accessLog, "--cors-origin", "*")
	u := s.signUp(t, "me@example.test")
	vault, k := "", newAgeKey(t)
	u.setKey(t, k)
	vault = u.vault(t, "vault")
	secret := strings.TrimPrefix(k.private, "AGE-SECRET-KEY-")
	word := canaries{"as it is": secret[:20], "in lower case": strings.ToLower(secret[:20])} // sentences shorten long names
	session, key := "Authorization: Bearer "+u.session, "X-API-Key: "+u.key
	const setting = "/api/account/encryption"
	var reported strings.Builder
	try := func(method, path, body string, fields ...string) {
		t.Helper()
		answer := s.plain(t, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n\r\n%s", method, path, len(body), strings.Join(fields, "\r\n"), body))
		if found := word.in([]byte(answer)); len(found) > 0 {
			t.Errorf("%.60s %.40s: %v in %s", method, body, found, answer)
		}
		reported.WriteString(answer)
	}
	escaped := strings.Replace(k.private, "AGE-", `\u0041GE\u002d`, 1)
	for _, body := range []string{
		`{"public_key":"%s"}`, `{"%s":"age1"}`, `{"%s":1,"public_key":"age1"}`, `{"public_key":{"%s":1}}`, `{"public_key":["%s"]}`, `{"public_key":"age1","public_key":"%s"}`, `{"%s":1,"%[1]s":1}`,
		`{"x %s":1}`, `%s`, `"%s"`, `{%s}`, `{"public_key":%s}`, `{"public_key":"# created\n# public key: age1\n%s\n"}`,
	} {
		for _, given := range []string{k.private, strings.ToLower(k.private), escaped} {
			try("PUT", setting, fmt.Sprintf(body, given), session)
		}
	}
	good := `{"public_key":"` + k.public + `"}`
	for _, c := range []struct{ method, path, body, field string }{
		{"PUT", setting + "/" + k.private, good, session},
		{"PUT", setting + "/%41GE%2DSECRET-KEY-" + secret, good, session},
		{"PUT", setting + "?public_key=" + k.private, good, session},
		{"PUT", setting + "?" + k.private, "{", session},
		{k.private, setting, good, session},
		{"PUT", setting, good, "Authorization: Bearer " + k.private},
		{"PUT", setting, good, "X-API-Key: " + k.private},
		{"PUT", setting, good, session + "\r\nIdempotency-Key: " + k.private},
		{"PUT", setting, good, session + "\r\nX-Request-Id: " + k.private},
		{"PUT", setting, good, session + "\r\nContent-Type: " + k.private},
		{"PUT", setting, good, session + "\r\nOrigin: https://x.test\r\nUser-Agent: " + k.private + "\r\nReferer: " + k.private + "\r\nX-Forwarded-For: " + k.private},
		{"PUT", setting, good, session + "\r\n" + k.private + ": yes"},
		{"DELETE", setting, k.private, session},
		{"GET", "/api/v1/inboxes/" + k.private + "/latest", "", key},
		{"GET", "/api/v1/inboxes/" + k.private + "@inbox.localhost/messages/1", "", key},
		{"GET", "/api/v1/inboxes/" + vault + "/messages?fields=" + k.private, "", key},
		{"GET", "/api/v1/inboxes/" + vault + "/messages/" + k.private, "", key},
		{"POST", "/api/v1/inboxes", `{"prefix":"` + k.private + `x"}`, key},
		{"POST", "/api/v1/inboxes", `{"domain":"` + strings.ToLower(k.private) + `.test"}`, key},
		{"POST", "/api/v1/inboxes", `{"prefix":"named"}`, key + "\r\nIdempotency-Key: " + k.private},
		{"POST", "/api/v1/inboxes/batch", `{"inboxes":[{"` + k.private + `":1}]}`, key},
		{"POST", "/api/v1/inboxes/" + vault + "/send", `{"to":"` + k.private + `"}`, key},
		{"POST", "/api/keys", `{"label":"x","scopes":["` + k.private + `"]}`, session},
		{"POST", "/api/webhooks", `{"url":"http://x.test","event":"` + k.private + `"}`, session},
		{"POST", "/api/auth/login", `{"email":"` + k.private + `@x.test","password":"` + k.private + `"}`, "Accept: */*"},
	} {
		try(c.method, c.path, c.body, c.field)
	}
	for n, want := range map[string]int{"HTTP/1.1 422 ": 30, "HTTP/1.1 401 ": 2, "HTTP/1.1 404 ": 3, "is a private key. Never send it to anybody: create a new key pair": 3} {
		if got := strings.Count(reported.String(), n); got < want {
			t.Errorf("%d answers say %q, at least %d should", got, n, want)
		}
	}
	reported.Reset()
	for _, call := range []string{"/metrics", "/api/account", "/api/keys", "/api/webhooks/deliveries"} {
		a := must1(s.call("GET", call, map[string]string{"Authorization": "Bearer " + u.session}, nil))(t)
		fmt.Fprint(&reported, a.body)
	}
	reported.Write(must1(command("admin", "stats", "--data", dir).CombinedOutput())(t))
	if code := s.terminate(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	logged := string(must1(os.ReadFile(accessLog))(t))
	if !strings.Contains(logged, "/api/account/encryption/AGE-SECRET-KEY-…") {
		t.Errorf("the access log has not the path: %s", logged)
	}
	for where, text := range map[string]string{"what is shown": reported.String(), "the log": s.stderr.String(), "the access log": logged} {
		if found := word.in([]byte(text)); len(found) > 0 {
			t.Errorf("%s: %v", where, found)
		}
	}
	if found := word.inFolder(t, dir); len(found) > 0 {
		t.Error(found)
	}
}
