package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAccessLogAndOrigins: every kind of answer has its line, with the id that the client saw, and
// says to a page of a permitted origin, and to no other, that it may read it.
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
	ids := map[string]string{} // X-Request-Id by what the line must say
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
			_, _ = io.Copy(io.Discard, resp.Body) // so that the next poll comes on the same connection
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
