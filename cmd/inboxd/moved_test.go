package main

import (
	"fmt"
	"log/slog"
	"net/textproto"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"inboxd/internal/base/partition"
)

// startHere starts a node in the process of the test, which can then do what no flag can.
func startHere(t *testing.T, dir string) (*node, *server) {
	t.Helper()
	var cli commandLine
	parser, err := kong.New(&cli)
	if err == nil {
		_, err = parser.Parse([]string{"serve", "--data", dir, "--http", "127.0.0.1:0", "--smtp", "127.0.0.1:0", "--namespace", "plain", "--default-plan", "paid"})
	}
	if err != nil {
		t.Fatal(err)
	}
	n, err := cli.Serve.startNode(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.stopNode(10 * time.Second); err != nil {
			t.Error(err)
		}
	})
	return n, &server{http: n.listeners["http"].Addr().String(), smtp: n.listeners["smtp"].Addr().String()}
}

// TestWhatMovedIsPutOff: anonymous clients, owners and other servers that name something of a group
// that the node has lost get a temporary error: HTTP 503 with Retry-After, or SMTP 451. It does not
// matter what they name or whether it exists. When the node has the group again, all works as
// before.
func TestWhatMovedIsPutOff(t *testing.T) {
	n, s := startHere(t, filepath.Join(t.TempDir(), "data"))
	const stays, goes = partition.Group(2), partition.Group(30)
	name := func(g partition.Group, form string) string {
		for i := 0; ; i++ {
			if name := fmt.Sprintf(form, i); partition.Of(name).Group() == g {
				return name
			}
		}
	}
	prefix := func(g partition.Group, form string) string {
		local, _, _ := strings.Cut(name(g, form+"@inbox.localhost"), "@")
		return local
	}
	here, away := s.signUp(t, name(stays, "me%d@example.test")), s.signUp(t, name(goes, "me%d@example.test"))
	kept, lost, others := here.inbox(t, prefix(stays, "a%d")), here.inbox(t, prefix(goes, "b%d")), away.inbox(t, prefix(stays, "c%d"))
	never := prefix(goes, "never%d")
	for _, to := range []string{kept, lost, others} {
		if err := s.mail(to, "482913"); err != nil {
			t.Fatal(err)
		}
	}
	poll := func(status int) {
		t.Helper()
		here.do(t, 200, "GET", "/inboxes/"+kept+"/latest", nil)
		here.do(t, status, "GET", "/inboxes/"+lost+"/latest", nil)
		away.do(t, status, "GET", "/inboxes/"+others+"/latest", nil)
	}
	poll(200)

	if err := n.system.ReleaseGroup(goes); err != nil {
		t.Fatal(err)
	}
	poll(503)
	key, otherKey := map[string]string{"X-API-Key": here.key}, map[string]string{"X-API-Key": away.key}
	for _, c := range []struct {
		method, path string
		header       map[string]string
		body         any
	}{
		{"GET", "/api/v1/inboxes/" + lost, key, nil},
		{"GET", "/api/v1/inboxes/" + lost + "/latest?wait=1", key, nil},
		{"GET", "/api/v1/inboxes/" + lost + "/messages/1/raw", key, nil},
		{"DELETE", "/api/v1/inboxes/" + lost, key, nil},
		{"GET", "/api/v1/inboxes/" + never + "@inbox.localhost/latest", key, nil},
		{"POST", "/api/v1/inboxes", key, map[string]any{"prefix": never}},
		{"POST", "/api/v1/inboxes", key, map[string]any{"subdomain": name(goes, "sub%d")}},
		{"GET", "/api/v1/inboxes", key, nil},
		{"GET", "/api/v1/inboxes", otherKey, nil},
		{"GET", "/api/v1/events", otherKey, nil},
		{"GET", "/api/keys", bearer(away.session), nil},
		{"POST", "/api/domains", bearer(here.session), map[string]any{"domain": name(goes, "d%d.example")}},
		{"POST", "/api/auth/login", nil, map[string]any{"email": name(goes, "me%d@example.test"), "password": "correct horse"}},
		{"POST", "/api/auth/signup", nil, map[string]any{"email": name(goes, "new%d@example.test"), "password": "correct horse"}},
	} {
		a, err := s.call(c.method, c.path, c.header, c.body)
		if err != nil || a.status != 503 || a.header.Get("Retry-After") == "" {
			t.Errorf("%s %s: %d %v, Retry-After %q, %v", c.method, c.path, a.status, a.body, a.header.Get("Retry-After"), err)
		}
	}
	for _, to := range []string{lost, never + "@inbox.localhost"} {
		if code := s.rcpt(t, "<"+to+">"); code != 451 {
			t.Errorf("RCPT %s: %d", to, code)
		}
	}
	if err := s.mail(others, "482913"); err == nil || !strings.HasPrefix(err.Error(), "451 ") { // the limits of its account are elsewhere
		t.Errorf("mail for an account of another node: %v", err)
	}
	if code := s.rcpt(t, "<"+prefix(stays, "never%d")+"@inbox.localhost>"); code != 550 {
		t.Errorf("RCPT of nobody here: %d", code)
	}

	if err := n.system.AcquireGroup(goes); err != nil {
		t.Fatal(err)
	}
	poll(200)
	if code := s.rcpt(t, "<"+never+"@inbox.localhost>"); code != 550 {
		t.Errorf("RCPT of nobody: %d", code)
	}
}

// rcpt sends RCPT with one path and returns the code of the reply.
func (s *server) rcpt(t *testing.T, path string) int {
	t.Helper()
	c, err := textproto.Dial("tcp", s.smtp)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	code, _, err := c.ReadResponse(0)
	for _, line := range []string{"EHLO x.test", "MAIL FROM:<s@x.test>", "RCPT TO:" + path} {
		if err == nil {
			err = c.PrintfLine("%s", line)
		}
		if err == nil {
			code, _, err = c.ReadResponse(0)
		}
	}
	if err != nil && code == 0 {
		t.Fatal(err)
	}
	return code
}
