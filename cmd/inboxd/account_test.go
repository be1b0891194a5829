package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alecthomas/kong"

	"inboxd/internal/core/account"
)

// admin runs an admin command on dir and returns its output.
func admin(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := command(append([]string{"admin", "--data", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("admin %v: %v %s", args, err, out)
	}
	return string(out)
}

func bearer(session string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + session}
}

// wants makes calls and requires the status.
func (s *server) wants(t testing.TB, status int, method, path string, header map[string]string, body any) answerOf {
	t.Helper()
	a, err := s.call(method, path, header, body)
	if err != nil || a.status != status {
		t.Fatalf("%s %s: %d %v %v, want %d", method, path, a.status, a.body, err, status)
	}
	return a
}

// TestResetLink sets a new password with the operator's link, across a kill. Its secrets appear
// nowhere else.
func TestResetLink(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir, "--base-url", "https://mail.example.test", "--log-level", "debug")
	u := s.signUp(t, "me@example.test")
	s.wants(t, 202, "POST", "/api/auth/password-reset", nil, map[string]any{"email": "me@example.test"})
	s.wants(t, 202, "POST", "/api/auth/password-reset", nil, map[string]any{"email": "nobody@example.test"})
	link, _, _ := strings.Cut(admin(t, dir, "account", "reset-link", "me@example.test"), "\n")
	token, ok := strings.CutPrefix(link, "https://mail.example.test/reset#token=svc_reset_")
	if !ok {
		t.Fatalf("link %q", link)
	}
	token = "svc_reset_" + token
	s.kill()
	said := s.stderr.String()
	s = launch(t, dir, "--log-level", "debug")
	confirm := map[string]any{"token": token, "password": "another horse"}
	ended := s.wants(t, 200, "POST", "/api/auth/password-reset/confirm", nil, confirm)
	if want := map[string]any{"ok": true, "sessions": 1.0, "keys": 1.0, "webhooks": 0.0, "calendar_links": 0.0}; !maps.Equal(ended.body, want) {
		t.Errorf("ended: %v", ended.body)
	}
	a := s.wants(t, 400, "POST", "/api/auth/password-reset/confirm", nil, confirm)
	if a.body["detail"] != "This password reset link is invalid: it is unknown, was used, or is older than an hour. Request a new one" {
		t.Errorf("used: %v", a.body)
	}
	s.wants(t, 401, "GET", "/api/account", bearer(u.session), nil)
	s.wants(t, 401, "GET", "/api/v1/inboxes", map[string]string{"X-API-Key": u.key}, nil)
	s.wants(t, 401, "POST", "/api/auth/login", nil, map[string]any{"email": "me@example.test", "password": "correct horse"})
	s.wants(t, 200, "POST", "/api/auth/login", nil, map[string]any{"email": "me@example.test", "password": "another horse"})
	s.terminate(t)
	for _, secret := range []string{token, "horse", u.session, u.key} {
		if strings.Contains(said+s.stderr.String(), secret) {
			t.Errorf("%s was logged", secret)
		}
	}
}

// TestAccountDelete deletes an account while a kill interrupts it. The next start completes the
// deletion.
func TestAccountDelete(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	u, other := s.signUp(t, "me@example.test"), s.signUp(t, "you@example.test")
	kept := other.inbox(t, "kept")
	var makers sync.WaitGroup
	for w := range 8 {
		makers.Go(func() {
			for n := range 75 {
				u.inbox(t, fmt.Sprintf("i%d-%d", w, n))
			}
		})
	}
	makers.Wait()
	if err := s.mail("i0-0@inbox.localhost", "482913"); err != nil {
		t.Fatal(err)
	}
	deleting := command("admin", "--data", dir, "account", "delete", "me@example.test")
	if err := deleting.Start(); err != nil {
		t.Fatal(err)
	}
	for { // until the account is closed; most of its data still exists then
		if a, err := s.call("GET", "/api/v1/inboxes", map[string]string{"X-API-Key": u.key}, nil); err != nil || a.status == 401 {
			break
		}
	}
	s.kill()
	_ = deleting.Wait() // it was interrupted
	s = launch(t, dir)
	_ = command("admin", "--data", dir, "account", "delete", "me@example.test").Run() // waits for the rest, if there is any
	for _, address := range []string{"i0-0@inbox.localhost", "i7-74@inbox.localhost"} {
		if err := s.mail(address, "1234"); err == nil || !strings.HasPrefix(err.Error(), "550") {
			t.Errorf("mail to %s: %v", address, err)
		}
	}
	s.wants(t, 401, "GET", "/api/account", bearer(u.session), nil)
	if out := admin(t, dir, "account", "list"); strings.Contains(out, "me@example.test") || !strings.Contains(out, "you@example.test") {
		t.Errorf("accounts:\n%s", out)
	}
	other.server = s
	other.do(t, 200, "GET", "/inboxes/"+kept, nil)
	again := s.signUp(t, "me@example.test")
	if list := again.do(t, 200, "GET", "/inboxes", nil)["inboxes"].([]any); len(list) != 0 {
		t.Errorf("the new account has %v", list)
	}
	// A deleted address is reserved for 30 days, also against the new account.
	again.do(t, 400, "POST", "/inboxes", map[string]any{"prefix": "i0-0"})
	if out, err := command("admin", "--data", dir, "account", "delete", "nobody@example.test").CombinedOutput(); err == nil || !strings.Contains(string(out), "No account has this e-mail address") {
		t.Errorf("nobody's: %v %s", err, out)
	}
}

// TestOnlyAPrivateServerNamesTheOperatorsCommand checks the free plan's refusals: strangers of a
// public server cannot run the command.
func TestOnlyAPrivateServerNamesTheOperatorsCommand(t *testing.T) {
	for flags, named := range map[string]bool{
		"--http=127.0.0.1:0": true, "--http=127.0.0.1:0 --signup=open": true, "--http=0.0.0.0:0": false, "--http=0.0.0.0:0 --signup=closed": true,
		"--http=127.0.0.1:0 --base-url=https://mail.example.com": false,
	} {
		var cli commandLine
		parser, err := kong.New(&cli)
		if err == nil {
			_, err = parser.Parse(append([]string{"serve"}, strings.Fields(flags)...))
		}
		if err != nil {
			t.Fatal(err)
		}
		plans, err := cli.Serve.configurePlans()
		if err != nil || strings.Contains(plans.Of(account.PlanFree).RaiseHint, "inboxd admin account set-plan") != named || plans.Of(account.PlanPaid).RaiseHint != "" {
			t.Errorf("%s: %+v, %v", flags, plans, err)
		}
	}
}

// TestPlansOfTheOperator checks that plans come from the config file, and that a wrong value is
// explained.
func TestPlansOfTheOperator(t *testing.T) {
	config := filepath.Join(t.TempDir(), "inboxd.toml")
	write := func(text string) {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("drain = \"5s\"\n[plans.free]\nmax_inboxes = 2\nlabels = true\n[plans.paid]\nmax_webhooks = 20\n")
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--config", config, "--default-plan", "free")
	u := s.signUp(t, "me@example.test")
	for range 2 {
		if a := u.do(t, 201, "POST", "/inboxes", map[string]any{"label": "mine"}); a["label"] != "mine" || a["ignored_fields"] != nil {
			t.Errorf("made %v", a)
		}
	}
	if a := u.do(t, 400, "POST", "/inboxes", nil); a["detail"] != "Free plan allows at most 2 agent inboxes. Delete an inbox or upgrade the plan. The operator of this server can raise it: inboxd admin account set-plan EMAIL paid" {
		t.Errorf("quota: %v", a)
	}
	account := s.wants(t, 200, "GET", "/api/account", bearer(u.session), nil).body["account"].(map[string]any)
	if limits, usage := account["limits"].(map[string]any), account["usage"].(map[string]any); limits["inboxes"] != 2.0 || limits["labels"] != true ||
		limits["sends_per_day"] != 100.0 || limits["recipients_per_message"] != 10.0 || usage["inboxes"] != 2.0 || usage["keys"] != 1.0 {
		t.Errorf("account %v", account)
	}
	for text, sentence := range map[string]string{
		"[plans.free]\nmax_inboxes = -1\n":      "the config file: [plans.free]: max_inboxes = -1 must be a whole number from 0 to 10000000",
		"[plans.free]\nmax_inboxs = 1\n":        "the config file: [plans.free]: unknown figure max_inboxs. Valid figures: max_inboxes",
		"[plans.gold]\nmax_inboxes = 1\n":       "the config file: [plans.gold]: unknown plan. Valid plans: free, paid",
		"[plans]\nfree = 3\n":                   "the plan free must be a table, [plans.free]",
		"plans = 3\n":                           "the plans",
		"[tariffs.free]\nmax_inboxes = 1\n":     `the config file has the unknown key "tariffs"`,
		"[plans.free]\nmax_inboxes = \"three\"": "max_inboxes = three must be a whole number",
	} {
		write(text)
		if _, err := tryLaunch(filepath.Join(t.TempDir(), "data"), "--config", config); err == nil || !strings.Contains(err.Error(), sentence) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestQuotasUnderParallelCreates checks that quotas are exact with parallel calls on all surfaces.
func TestQuotasUnderParallelCreates(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--default-plan", "free", "--namespace", "random")
	u := s.signUp(t, "me@example.test")
	statuses := make([]atomic.Int64, 600)
	var callers sync.WaitGroup
	for n := range 50 {
		callers.Go(func() {
			path, header := "/api/v1/inboxes", map[string]string{"X-API-Key": u.key}
			if n%2 == 0 {
				path, header = "/api/inboxes", bearer(u.session)
			}
			if a, err := s.call("POST", path, header, nil); err != nil {
				t.Error(err)
			} else {
				statuses[a.status].Add(1)
			}
		})
	}
	callers.Wait()
	if statuses[201].Load() != 3 || statuses[400].Load() != 47 {
		t.Errorf("%d made, %d refused", statuses[201].Load(), statuses[400].Load())
	}
	if list := u.do(t, 200, "GET", "/inboxes", nil)["inboxes"].([]any); len(list) != 3 {
		t.Errorf("%d listed", len(list))
	}
}

// TestNamesAreOwned checks that a deleted address and a subdomain belong to the account that had
// them first.
func TestNamesAreOwned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir)
	u, other := s.signUp(t, "me@example.test"), s.signUp(t, "you@example.test")
	address := u.inbox(t, "agent")
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}
	u.do(t, 200, "DELETE", "/inboxes/"+address, nil)
	fleet := map[string]any{"prefix": "one", "subdomain": "fleet"}
	u.do(t, 201, "POST", "/inboxes", fleet)
	s.kill()
	s = launch(t, dir)
	u.server, other.server = s, s
	if a := other.do(t, 400, "POST", "/inboxes", map[string]any{"prefix": "agent"}); a["detail"] != "The address agent@inbox.localhost is taken" {
		t.Errorf("a deleted address: %v", a)
	}
	if a := other.do(t, 400, "POST", "/inboxes", map[string]any{"prefix": "two", "subdomain": "fleet"}); a["detail"] != "The subdomain fleet is taken" {
		t.Errorf("a foreign subdomain: %v", a)
	}
	u.do(t, 201, "POST", "/inboxes", map[string]any{"prefix": "two", "subdomain": "fleet"})
	u.inbox(t, "agent")
	if u.latest(t, address, "") != nil {
		t.Error("the mail of the deleted inbox is back")
	}
	if err := s.mail(address, "550011"); err != nil {
		t.Fatal(err)
	}
	if got := u.latest(t, address, ""); got["id"] != 2.0 {
		t.Errorf("ids begin anew: %v", got["id"])
	}
}

// named makes a create call with an idempotency key and returns the complete response.
func (u *user) named(name, body string) (status int, answer string, err error) {
	req, err := http.NewRequest("POST", "http://"+u.server.http+"/api/v1/inboxes", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("X-API-Key", u.key)
	req.Header.Set("Idempotency-Key", name)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("Location") + string(b), err
}

// TestCreationsAreRepeatedAcrossKills repeats each create call with its idempotency key until there
// is a response, while the server is killed. There is one inbox for each key, and all responses for
// a key are equal.
func TestCreationsAreRepeatedAcrossKills(t *testing.T) {
	const kills, names = 4, 40
	dir := filepath.Join(t.TempDir(), "data")
	base := []string{"--base-url", "https://inbox.example.test"} // part of each response: the port changes with each start
	s := launch(t, dir, base...)
	u := s.signUp(t, "me@example.test")
	answers := map[string]string{}
	for round := range kills {
		var mu sync.Mutex
		var callers sync.WaitGroup
		var answered atomic.Int64
		half := make(chan struct{})
		for n := range names {
			callers.Go(func() {
				name := fmt.Sprintf("r%d-%d", round, n)
				status, answer, err := u.named(name, "{}")
				if err != nil || status != 201 {
					return // interrupted: repeated below
				}
				mu.Lock()
				answers[name] = answer
				mu.Unlock()
				if answered.Add(1) == names/4 {
					close(half)
				}
			})
		}
		<-half
		s.kill()
		callers.Wait()
		s = launch(t, dir, base...)
		u.server = s
		for n := range names {
			name := fmt.Sprintf("r%d-%d", round, n)
			for range 2 {
				status, answer, err := u.named(name, "{}")
				if err != nil || status != 201 {
					t.Fatalf("%s: %d %s %v", name, status, answer, err)
				}
				if before, reported := answers[name]; reported && before != answer {
					t.Fatalf("%s was answered %s, then %s", name, before, answer)
				}
				answers[name] = answer
			}
		}
	}
	if list := u.do(t, 200, "GET", "/inboxes?limit=1000", nil)["inboxes"].([]any); len(list) != kills*names {
		t.Errorf("%d inboxes for %d names", len(list), kills*names)
	}
	if status, answer, _ := u.named("r0-0", `{"prefix":"x"}`); status != 422 || answer != `{"detail":"Invalid request: 'Idempotency-Key' was already used with another request. Use a new key","code":"idempotency_key_reused","field":"Idempotency-Key"}` {
		t.Errorf("another body: %d %s", status, answer)
	}
}
