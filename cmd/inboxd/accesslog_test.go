package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAccessLogAndOrigins checks that every kind of response has a line in the log with the id that
// the client saw, and that only pages of a permitted origin may read responses.
func TestAccessLogAndOrigins(t *testing.T) {
	const friend = "https://app.example.test"
	home := t.TempDir()
	log := filepath.Join(home, "access.log")
	s := launch(t, filepath.Join(home, "data"), "--access-log", log, "--cors-origin", friend)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "box")
	if err := s.mail(address, "111111"); err != nil {
		t.Fatal(err)
	}
	feed := u.do(t, http.StatusOK, "GET", "/inboxes/"+address+"/calendar/feed", nil)["feed_url"].(string)
	feed = feed[strings.Index(feed, "/calendar/feeds/"):]
	inbox := "/api/v1/inboxes/" + address
	ids := map[string]string{} // X-Request-Id by the expected text of the line
	for _, c := range []struct{ method, path, fields, line string }{
		{"GET", inbox + "/latest", "", "method=GET path=" + inbox + "/latest status=200"},
		{"GET", inbox + "/latest?wait=1&after=99", "", "method=GET path=" + inbox + "/latest status=200 bytes=14"},
		{"GET", inbox + "/messages/77", "", "method=GET path=" + inbox + "/messages/77 status=404"},
		{"GET", inbox + "/messages/1/raw", "", "method=GET path=" + inbox + "/messages/1/raw status=200"},
		{"GET", "/no/such", "", "method=GET path=/no/such status=404"},
		{"GET", feed, "", `method=GET path=/calendar/feeds/\* status=200`},
	} {
		for _, origin := range []string{"", friend, "https://other.example.test"} {
			req := must1(http.NewRequest(c.method, "http://"+s.http+c.path, nil))(t)
			req.Header.Set("X-API-Key", u.key)
			if origin != "" {
				req.Header.Set("Origin", origin)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body) // so that the next poll uses the same connection
			resp.Body.Close()
			allowed := resp.Header.Get("Access-Control-Allow-Origin")
			if want := map[bool]string{true: friend}[origin == friend]; allowed != want {
				t.Errorf("%s from %q: allowed for %q", c.path, origin, allowed)
			}
			if vary := resp.Header.Get("Vary"); origin != "" && vary != "Origin" {
				t.Errorf("%s varies by %q", c.path, vary)
			}
			ids[c.line+".* request="+resp.Header.Get("X-Request-Id")] = c.path
		}
	}
	preflight := must1(http.NewRequest("OPTIONS", "http://"+s.http+inbox+"/send", nil))(t)
	preflight.Header.Set("Origin", friend)
	preflight.Header.Set("Access-Control-Request-Method", "POST")
	resp, err := http.DefaultClient.Do(preflight)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if h := resp.Header; resp.StatusCode != http.StatusNoContent || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "X-API-Key") || h.Get("Access-Control-Allow-Origin") != friend {
		t.Errorf("a preflight: %d %v", resp.StatusCode, h)
	}
	if code := s.terminate(t); code != 0 {
		t.Fatal(code)
	}
	lines := string(must1(os.ReadFile(log))(t))
	for line, path := range ids {
		if n := len(regexp.MustCompile(`(?m)`+line+`$`).FindAllString(lines, -1)); n != 1 {
			t.Errorf("%s: %d lines match %s", path, n, line)
		}
	}
	if strings.Contains(lines, feed) || strings.Contains(lines, "after=99") {
		t.Error("the log opens a calendar, or has a query")
	}
	if info := must1(os.Stat(log))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestTokensAreNotLoggable checks that secrets in a path are redacted however it is encoded, and
// that other paths are unchanged.
func TestTokensAreNotLoggable(t *testing.T) {
	token := "AbC-_" + strings.Repeat("x1", 20) + "Z"
	for _, path := range []string{
		"/calendar/feeds/" + token + ".ics", "//calendar/feeds/" + token + ".ics", "/%63alendar/feeds/" + token + ".ics", "/./calendar/feeds/" + token,
		"/Calendar/FEEDS/" + token + ".ICS", "/calendar//feeds//" + token, "/x/../calendar/feeds/" + token, "/%2563alendar/feeds/" + token, "/calendar%2ffeeds%2F" + token,
		"/calendar/feeds/" + strings.ReplaceAll(token, "x", "%78") + ".ics", "/calendar/feeds/" + token + ".ics/", "/calendar;v=1/feeds/" + token, "\\calendar\\feeds\\" + token,
		"/calendars/feed/" + token + ".ics", "/calendar/feeds/" + token + "%", "/%zz/" + token + ".ics", "/api/keys/svc_live_" + token, "/calendar/feeds/%25%37%38" + token, "/calendar/feeds/short.ics",
	} {
		if got := loggable(path); strings.Contains(strings.ToLower(got), "x1x1") || strings.Contains(got, "short") || !strings.Contains(got, "*") {
			t.Errorf("%s is logged as %s", path, got)
		}
	}
	long := "/api/v1/inboxes/" + strings.Repeat("l", 60) + "%40inbox.localhost/latest"
	for _, path := range []string{"/", "", "*", "/calendar/feeds", "/calendar", "/api/v1/inboxes/a%2Bb@c.test/calendar/feed", long, "/%zz", "/a//b", "/assets/app.JHJ5ESDM.js"} {
		if got := loggable(path); got != path && path != "/calendar/feeds" {
			t.Errorf("%s is logged as %s", path, got)
		}
	}
}

// TestAccessLogIsRotated checks that a moved file is closed on SIGHUP and no line is lost. If the
// new file cannot be opened, the old one stays in use.
func TestAccessLogIsRotated(t *testing.T) {
	home := t.TempDir()
	logs := filepath.Join(home, "logs")
	log := filepath.Join(logs, "access.log")
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	s := launch(t, filepath.Join(home, "data"), "--access-log", log)
	written := func(path string) func() bool {
		return func() bool {
			text, err := os.ReadFile(path)
			return err == nil && strings.Contains(string(text), "path="+strings.TrimPrefix(path, logs))
		}
	}
	ask := func(path string) {
		resp, err := http.Get("http://" + s.http + strings.TrimPrefix(path, logs))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	awaited := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("in vain: " + what)
			}
		}
	}
	hangUp := func() {
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	for _, old := range []string{log + ".1", log + ".2"} {
		ask(old)
		if err := os.Rename(log, old); err != nil {
			t.Fatal(err)
		}
		awaited("the line is in the file that was moved", written(old))
		hangUp()
		awaited("there is a file again", func() bool { _, err := os.Stat(log); return err == nil })
	}
	if err := os.Rename(logs, logs+"-away"); err != nil {
		t.Fatal(err)
	}
	hangUp()
	awaited("it is told", func() bool {
		return strings.Contains(s.stderr.String(), "the access log could not be reopened, the open file is kept")
	})
	ask(log)
	if code := s.terminate(t); code != 0 {
		t.Fatal(code)
	}
	if text := string(must1(os.ReadFile(filepath.Join(logs+"-away", "access.log")))(t)); strings.Count(text, "path=/access.log ") != 1 {
		t.Errorf("the file that could not be followed has %q", text)
	}
}
