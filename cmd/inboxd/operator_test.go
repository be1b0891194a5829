package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	netsmtp "net/smtp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"inboxd/internal/testutil/dnstest"
)

// TestOperatorSeesWhatHappens looks at a server as its operator does: readyz, a new key, stats,
// metrics and the log, while one client polls and another guesses a password.
func TestOperatorSeesWhatHappens(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	launched := time.Now()
	s := launch(t, dir, "--log-level", "info", "--log-format", "json")
	base := "http://" + s.http
	if out, code := run("readyz", "--url", base, "--wait", "10s"); code != 0 {
		t.Errorf("readyz: %d %s", code, out)
	}
	admin(t, dir, "account", "create", "me@example.test")
	key := strings.TrimSpace(admin(t, dir, "key", "create", "me@example.test", "--scopes", "inbox:read"))
	for range 3 {
		req, _ := http.NewRequest(http.MethodGet, base+"/api/v1/inboxes", nil)
		req.Header.Set("X-API-Key", key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("a key of the operator: %v %v", resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	resp, err := http.Post(base+"/api/auth/login", "application/json", strings.NewReader(`{"email":"me@example.test","password":"a guess of a stranger"}`))
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Fatalf("a wrong password: %v %v", resp, err)
	}
	resp.Body.Close()
	for metric, want := range map[string]float64{
		`inboxd_http_failed_sign_ins_total`:                            1,
		`inboxd_http_requests_total{class="inboxes",status="200"}`:     3,
		`inboxd_http_requests_total{class="account",status="401"}`:     1,
		`inboxd_http_request_duration_seconds_count{class="inboxes"}`:  3,
		`inboxd_http_request_duration_seconds_count{class="operator"}`: 1,
	} {
		if got := s.metric(t, regexp.QuoteMeta(metric)); got < want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	if text := admin(t, dir, "stats"); !strings.Contains(text, "http inboxes") || !strings.Contains(text, "3 requests") {
		t.Errorf("stats:\n%s", text)
	}
	var all map[string]any
	text := admin(t, dir, "stats", "--json")
	if err := json.Unmarshal([]byte(text), &all); err != nil || all["version"] == "" {
		t.Errorf("stats --json: %v %v", err, all)
	}
	for _, name := range regexp.MustCompile(`"([^"]*)":`).FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`^[a-z0-9_]+$`).MatchString(name[1]) {
			t.Errorf("stats --json has a field %q", name[1])
		}
	}
	if code := s.terminate(t); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	log := s.stderr.String()
	for _, want := range []string{`"msg":"started","version":`, `"msg":"sign-in failed","client":"127.0.0.1","email":"me@example.test"`, `"drain":"10s"`, `"msg":"stopped"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	if up := regexp.MustCompile(`"msg":"stopped","up":"(\w+)"`).FindStringSubmatch(log); up == nil {
		t.Errorf("the log does not tell how long it was up:\n%s", log)
	} else if took, err := time.ParseDuration(up[1]); err != nil || took > time.Since(launched).Round(time.Second) {
		t.Errorf("up %s, %v, of %v", up[1], err, time.Since(launched))
	}
	if strings.Contains(log, "a guess of a stranger") || strings.Contains(log, key) {
		t.Errorf("a secret is in the log:\n%s", log)
	}
	if out, code := run("readyz", "--url", base); code != 1 || !strings.Contains(out, "no server responds") {
		t.Errorf("readyz of nobody: %d %s", code, out)
	}
}

// TestReadyzFindsTheServer: readyz reads the address from the same settings as the server, so that
// a container's check needs no arguments.
func TestReadyzFindsTheServer(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	_, port, err := net.SplitHostPort(s.http)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "inboxd.toml")
	writeFile(t, config, "http = \"0.0.0.0:"+port+"\"\n")
	if out, code := run("readyz", "--config", config); code != 0 {
		t.Errorf("by the config file: %d %s", code, out)
	}
	for _, address := range []string{s.http, "0.0.0.0:" + port, "[::]:" + port, ":" + port} {
		t.Setenv("INBOXD_HTTP", address)
		if out, code := run("readyz"); code != 0 {
			t.Errorf("INBOXD_HTTP=%s: %d %s", address, code, out)
		}
	}
	t.Setenv("INBOXD_HTTP", "none")
	if out, code := run("readyz"); code != 1 || !strings.Contains(out, `--http: invalid address "none" (use HOST:PORT`) {
		t.Errorf("INBOXD_HTTP=none: %d %s", code, out)
	}
	if out, code := run("readyz", "--url", "http://"+s.http+"/"); code != 0 {
		t.Errorf("--url against the variable: %d %s", code, out)
	}
}

// TestOperatorFollowsAMail: each inbox that has a message appears in a line of the log with the
// message's id. The totals match the folder, before and after a deletion.
func TestOperatorFollowsAMail(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--namespace", "plain", "--log-level", "info")
	u := s.signUp(t, "me@example.test")
	first, second := u.inbox(t, "first"), u.inbox(t, "second")
	converse(t, s.smtp, first, "Subject: hello\r\n\r\nhello\r\n")
	code := []byte("Subject: Sign in\r\n\r\nYour verification code is 482913\r\n")
	if err := netsmtp.SendMail(s.smtp, nil, "shop@example.test", []string{first, second}, code); err != nil {
		t.Fatal(err)
	}
	totals := func() (out [5]float64) {
		for i, name := range []string{"accounts", "inboxes", "messages", "codes_found_total", `smtp_command_duration_seconds_count\{command="DATA"\}`} {
			out[i] = s.metric(t, "inboxd_"+name)
		}
		return out
	}
	becomes := func(when string, want [5]float64) {
		end := time.Now().Add(20 * time.Second) // counting pauses a hundred times as long as it took
		for totals() != want {
			if time.Now().After(end) {
				t.Fatalf("%s: accounts, inboxes, messages, codes, DATA are %v, want %v", when, totals(), want)
			}
		}
	}
	becomes("before", [5]float64{1, 2, 3, 2, 2})
	u.do(t, 200, "DELETE", "/inboxes/"+second, nil)
	becomes("after a deletion", [5]float64{1, 1, 2, 2, 2})
	if code := s.terminate(t); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	for _, want := range []string{"inbox=" + first + " message_id=1 ", "inbox=" + first + " message_id=2 ", "inbox=" + second + " message_id=1 "} {
		if n := strings.Count(s.stderr.String(), want); n != 1 {
			t.Errorf("%d lines of the log have %s:\n%s", n, want, s.stderr.String())
		}
	}
}

// TestOperatorLists checks that lists cover all accounts or one, and show no secrets.
func TestOperatorLists(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir, "--namespace", "plain")
	var secret string
	for _, name := range []string{"ann", "bob"} {
		u := s.signUp(t, name+"@example.test")
		for i := range 2 {
			s.wants(t, 201, "POST", "/api/inboxes", bearer(u.session), map[string]any{"prefix": name + string(rune('1'+i)), "label": "of " + name})
		}
		hook := s.wants(t, 201, "POST", "/api/webhooks", bearer(u.session), map[string]any{"url": "https://hooks.example.test/" + name, "event": "message.received"})
		secret, _ = hook.body["secret"].(string)
	}
	for list, want := range map[string]string{
		"account": `"email":"ann@example.test","plan":`, "inbox": `{"account":"ann@example.test","address":"ann1@`,
		"webhook": `{"account":"ann@example.test","id":`, "queue": "",
	} {
		out := admin(t, dir, list, "list", "--json")
		if !strings.Contains(out, want) || strings.Contains(out, "0001-01-01") {
			t.Errorf("%s list --json: %s", list, out)
		}
		for line := range strings.Lines(out) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s list --json has the line %s", list, line)
			}
		}
	}
	all := admin(t, dir, "inbox", "list")
	for _, want := range []string{"ann1@", "ann2@", "bob1@", "bob2@", "bob@example.test", "of ann"} {
		if !strings.Contains(all, want) {
			t.Errorf("inbox list lacks %s:\n%s", want, all)
		}
	}
	if one := admin(t, dir, "inbox", "list", "bob@example.test"); strings.Contains(one, "ann1@") || strings.Count(one, "bob@example.test") != 2 {
		t.Errorf("inbox list of one:\n%s", one)
	}
	hooks := admin(t, dir, "webhook", "list")
	if !strings.Contains(hooks, "https://hooks.example.test/ann") || !strings.Contains(hooks, "https://hooks.example.test/bob") || secret == "" || strings.Contains(hooks, secret) {
		t.Errorf("webhook list, secret %q:\n%s", secret, hooks)
	}
	if one := admin(t, dir, "webhook", "list", "ann@example.test"); strings.Contains(one, "/bob") || !strings.Contains(one, "/ann") {
		t.Errorf("webhook list of one:\n%s", one)
	}
	if out, code := run("admin", "--data", dir, "inbox", "list", "nobody@example.test"); code != 1 || !strings.Contains(out, "No account has this e-mail address. inboxd admin account list shows all accounts") {
		t.Errorf("of nobody: %d %s", code, out)
	}
}

// TestOperatorSeesDNS checks the service domain before and after its records are published.
func TestOperatorSeesDNS(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	names := dnstest.StartServer(t, "other.test. 60 IN A 192.0.2.1")
	launch(t, dir, "--domain", "mail.test", "--mx-host", "mx.mail.test", "--dns", names.Addr)
	look := func() (string, int) { return run("admin", "--data", dir, "dns") }
	if out, code := look(); code != 1 || !strings.Contains(out, "8 of 8") {
		t.Errorf("nothing is published: %d\n%s", code, out)
	}
	keys := strings.Split(strings.TrimSpace(admin(t, dir, "dkim", "show")), "\n")
	names.SetRecords(t, append(keys, "mail.test. 60 IN MX 10 mx.mail.test.", "mail.test. 60 IN TXT \"v=spf1 mx -all\"", "mx.mail.test. 60 IN A 192.0.2.7",
		"7.2.0.192.in-addr.arpa. 60 IN PTR host7.provider.test.")...)
	out, code := look()
	shown := regexp.MustCompile(` {2,}`).ReplaceAllString(out, "  ")
	for _, want := range []string{
		"ok  MX  mail.test  10 mx.mail.test  mx.mail.test.", "missing  MX  *.mail.test", "missing  TXT  *.mail.test", "missing  TXT  _dmarc.mail.test",
		"ok  A  mx.mail.test  the public addresses of this server  192.0.2.7", "differs  PTR  192.0.2.7  mx.mail.test  host7.provider.test.",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in:\n%s", want, shown)
		}
	}
	if code != 1 || strings.Count(shown, "ok  TXT") != 3 { // SPF and two keys
		t.Errorf("exit %d:\n%s", code, shown)
	}
}

// TestSillySettingsAreSaid tests the warnings about settings that are allowed but probably not
// intended.
func TestSillySettingsAreSaid(t *testing.T) {
	t.Setenv("INBOXD_HTPP", "0.0.0.0:80")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret.key"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	said := func(c serveCommand) string {
		var out bytes.Buffer
		c.logWarnings(slog.New(slog.NewTextHandler(&out, nil)))
		return out.String()
	}
	silly := said(serveCommand{Data: dir, Memory: 5, Signup: "unverified", HTTP: "0.0.0.0:80", Metrics: "public", DNS: "foo.invalid", Webhooks: webhookFlags{WebhookSchedule: "0s,5m,1m"}})
	for _, want := range []string{"--memory", "dns=foo.invalid", "--signup open", "--base-url", "/metrics", "INBOXD_HTPP", "secret.key", "--webhook-schedule"} {
		if !strings.Contains(silly, want) {
			t.Errorf("nothing says %s:\n%s", want, silly)
		}
	}
	if got := said(serveCommand{Data: t.TempDir(), Memory: 512 << 20, Signup: "unverified", HTTP: "127.0.0.1:80", BaseURL: "https://mail.test"}); !strings.Contains(got, "--signup open") || !strings.Contains(got, "INBOXD_HTPP") {
		t.Errorf("unverified behind a proxy: %s", got)
	}
	os.Unsetenv("INBOXD_HTPP")
	t.Setenv("INBOXD_HTTP", "127.0.0.1:80")
	for _, dns := range []string{"", "127.0.0.1:53", "[::1]:53", "::1", "192.0.2.1", "localhost", "localhost:53"} {
		if got := said(serveCommand{Data: t.TempDir(), Memory: 512 << 20, Signup: "open", HTTP: "127.0.0.1:80", BaseURL: "http://localhost:80", Metrics: "public", DNS: dns, Webhooks: webhookFlags{WebhookSchedule: "0s,1s,1s"}}); got != "" {
			t.Errorf("said of a sound start with --dns %q: %s", dns, got)
		}
	}
}

// TestSignUpsAreVerifiedByDefault wherever other machines may reach the API.
func TestSignUpsAreVerifiedByDefault(t *testing.T) {
	for _, c := range []struct {
		serveCommand
		want string
	}{
		{serveCommand{HTTP: "127.0.0.1:8080"}, "unverified"},
		{serveCommand{HTTP: "[::1]:0"}, "unverified"},
		{serveCommand{HTTP: "localhost:80", BaseURL: "http://localhost:80"}, "unverified"},
		{serveCommand{HTTP: "127.0.0.1:80", BaseURL: "http://[::1]"}, "unverified"},
		{serveCommand{HTTP: "127.0.0.1:80", BaseURL: "https://mail.example.com"}, "open"},
		{serveCommand{HTTP: "127.0.0.1:80", BaseURL: "http://192.0.2.1:80"}, "open"},
		{serveCommand{HTTP: "127.0.0.1:80", BaseURL: "http://localhost.example.com"}, "open"},
		{serveCommand{HTTP: ":8080"}, "open"},
		{serveCommand{HTTP: "0.0.0.0:8080", BaseURL: "http://127.0.0.1:8080"}, "open"},
		{serveCommand{HTTP: "[::]:8080"}, "open"},
		{serveCommand{HTTP: "127.0.0.1:80", edgeFlags: edgeFlags{HTTPS: ":443"}}, "open"},
		{serveCommand{HTTP: "127.0.0.1:80", Signup: "open"}, "open"},
		{serveCommand{HTTP: ":80", Signup: "unverified"}, "unverified"},
		{serveCommand{HTTP: "127.0.0.1:80", Signup: "closed"}, "closed"},
	} {
		if got := c.signup(); got != c.want {
			t.Errorf("--http %q --https %q --base-url %q --signup %q: %s", c.HTTP, c.HTTPS, c.BaseURL, c.Signup, got)
		}
	}
}
