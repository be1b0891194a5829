package http

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"inboxd/internal/core/account"
)

// TestALinkIsSharedRotatedAndTurnedOff: a link stays the same until it is replaced. An old link
// never works again.
func TestALinkIsSharedRotatedAndTurnedOff(t *testing.T) {
	bothSurfaces(t, func(t *testing.T, w *world, address, calendar, key string) {
		first := w.expect(200, w.call(methodGet, calendar+"/feed", key, ""))
		link := first.object(t, "feed_url").(string)
		webcal := "webcal" + strings.TrimPrefix(link, "http")
		if want := `{"enabled":true,"feed_url":"` + link + `","webcal_url":"` + webcal + `","subscribe_links":{"google":"https://calendar.google.com/calendar/r?cid=` + url.QueryEscape(webcal) +
			`","apple":"` + webcal + `","outlook":"https://outlook.live.com/calendar/0/addfromweb?url=` + url.QueryEscape(link) + `&name=own%40inbox.test"},"created_at":null,"fetch_count":0,"last_fetched_at":null,"last_client":null,"stale":false}`; first.body != want {
			t.Errorf("%s\nwant %s", first.body, want)
		}
		if again := w.expect(200, w.call(methodGet, calendar+"/feed", key, "")); again.body != first.body {
			t.Errorf("%s, at first %s", again.body, first.body)
		}
		path := strings.TrimPrefix(link, "http://service.test")
		w.expect(200, w.call(methodGet, path, "", ""))
		rotated := w.expect(200, w.call(methodPost, calendar+"/feed/rotate", key, "")).object(t, "feed_url").(string)
		w.expect(404, w.call(methodGet, path, "", ""))
		path = strings.TrimPrefix(rotated, "http://service.test")
		w.expect(200, w.call(methodGet, path, "", ""))
		for range 2 { // the second call has no effect
			if off := w.expect(200, w.call(methodDelete, calendar+"/feed", key, "")); off.body != `{"enabled":false}` {
				t.Error(off.body)
			}
		}
		w.expect(404, w.call(methodGet, path, "", ""))
		if r := w.expect(405, w.call(methodPost, path, "", "")); r.header.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("Allow is %q", r.header.Get("Allow"))
		}
	})
}

// TestALinkOfARevokedCredentialEnds: a password reset may revoke the credential while the link is
// created, after it looked for links. A link that existed before is not changed.
func TestALinkOfARevokedCredentialEnds(t *testing.T) {
	w, address, key, _ := lone(t, withBase)
	feed := "/api/v1/inboxes/" + address + "/calendar/feed"
	second, third := w.key(alice, account.ScopeFull), w.key(alice, account.ScopeFull)
	revoke := func(token string) { w.diary.sharing = func() { w.accounts.principals[token].Revoke() } }
	revoke(key)
	w.expect(401, w.call(methodGet, feed, key, ""))
	w.expect(404, w.call(methodGet, "/calendar/feeds/token1.ics", "", ""))
	w.diary.sharing = nil
	w.expect(200, w.call(methodGet, feed, second, ""))
	revoke(third)
	w.expect(200, w.call(methodGet, feed, third, ""))
	w.expect(200, w.call(methodGet, "/calendar/feeds/token2.ics", "", ""))
}

// TestReadersMakeNoLinkThatWasTurnedOff: HEAD creates no link either.
func TestReadersMakeNoLinkThatWasTurnedOff(t *testing.T) {
	w, address, key, _ := lone(t, withBase)
	calendar := "/api/v1/inboxes/" + address + "/calendar"
	path := "/calendar/feeds/token1.ics"
	w.expect(404, w.call("HEAD", calendar+"/feed", key, ""))
	w.expect(200, w.call(methodDelete, calendar+"/feed", key, ""))
	reader := w.key(alice, account.ScopeRead)
	for _, method := range []string{methodGet, "HEAD"} {
		w.expect(404, w.call(method, calendar+"/feed", reader, ""))
		w.expect(404, w.call(methodGet, path, "", ""))
	}
	w.expect(404, w.call("HEAD", calendar+"/feed", key, ""))
	w.expect(404, w.call(methodGet, calendar+"/feed", reader, ""))
	made := w.expect(200, w.call(methodGet, calendar+"/feed", key, ""))
	if again := w.expect(200, w.call(methodGet, calendar+"/feed", reader, "")); again.body != made.body {
		t.Errorf("a reader gets %s, not %s", again.body, made.body)
	}
	w.expect(200, w.call("HEAD", calendar+"/feed", reader, ""))
}

// TestAProgramFollowsACalendar: it gets the text first and after each change, and 304 in between.
// Its fetches are reported. The link is nowhere in the log.
func TestAProgramFollowsACalendar(t *testing.T) {
	w, address, key, _ := lone(t, withBase)
	own := "/api/v1/inboxes/" + address + "/calendar"
	w.diary.keep(address, invited(address, "Theirs", begin))
	path := strings.TrimPrefix(w.call(methodGet, own+"/feed", key, "").object(t, "feed_url").(string), "http://service.test")
	const google = "Google-Calendar-Importer"
	whole := w.expect(200, w.call(methodGet, path, "", "", "User-Agent", google))
	head := whole.header
	if head.Get("Content-Type") != "text/calendar; charset=utf-8" || head.Get("ETag") == "" || head.Get("Last-Modified") != "Sat, 21 Nov 2026 12:00:00 GMT" || !strings.Contains(whole.body, "SUMMARY:Theirs") {
		t.Errorf("%v\n%s", head, whole.body)
	}
	fetched := func() string {
		f := w.expect(200, w.call(methodGet, own+"/feed", key, ""))
		at, _ := f.object(t, "last_fetched_at").(string)
		client, _ := f.object(t, "last_client").(string)
		if f.object(t, "stale") == true {
			client += ", stale"
		}
		return at + " " + client
	}
	if got := fetched(); got != "2026-11-21T12:00:00.000Z Google Calendar" {
		t.Error(got)
	}
	w.advance(time.Minute)
	dated := w.expect(304, w.call(methodGet, path, "", "", "If-None-Match", head.Get("ETag"), "User-Agent", "Outlook/16"))
	if dated.body != "" || dated.header.Get("Last-Modified") != head.Get("Last-Modified") {
		t.Errorf("%q %v", dated.body, dated.header)
	}
	if got := fetched(); got != "2026-11-21T12:01:00.000Z Outlook" {
		t.Error(got)
	}
	modified := dated.header.Get("Last-Modified")
	w.expect(304, w.call(methodGet, path, "", "", "If-Modified-Since", modified))
	w.expect(200, w.call(methodGet, path, "", "", "If-Modified-Since", modified, "If-None-Match", `"other"`))
	w.expect(200, w.call(methodGet, path, "", "", "If-Modified-Since", "Sat, 21 Nov 2026 11:59:59 GMT"))
	if r := w.expect(200, w.call("HEAD", path, "", "")); r.body != "" || r.header.Get("ETag") != head.Get("ETag") {
		t.Errorf("%q %v", r.body, r.header)
	}

	w.advance(time.Minute)
	later := invited(address, "Another", begin)
	later.UpdatedAt = w.now()
	w.diary.keep(address, later)
	w.advance(time.Minute)
	if got := fetched(); !strings.HasSuffix(got, ", stale") {
		t.Error(got)
	}
	r := w.expect(200, w.call(methodGet, path, "", "", "If-None-Match", head.Get("ETag")))
	if !strings.Contains(r.body, "SUMMARY:Another") || r.header.Get("Last-Modified") != "Sat, 21 Nov 2026 12:02:01 GMT" {
		t.Errorf("%v\n%s", r.header, r.body)
	}
	if got := fetched(); strings.HasSuffix(got, ", stale") {
		t.Error(got)
	}
	w.expect(404, w.call(methodGet, path[:len(path)-len(".ics")]+"x.ics", "", ""))
	w.diary.mail.breakWith(nil)
	if counts := w.server.FeedFetches(); counts["whole"] != 5 || counts["unchanged"] != 2 || counts["unknown"] != 1 {
		t.Errorf("%v", counts)
	}
	token := strings.TrimSuffix(strings.TrimPrefix(path, FeedPath), feedSuffix)
	if strings.Contains(w.log.String(), token) {
		t.Error("the token is in the log")
	}
}

// TestCopiesForTheOwner are enabled by an account key or a session.
func TestCopiesForTheOwner(t *testing.T) {
	w, address, key, _ := lone(t)
	path := "/api/v1/inboxes/" + address + "/calendar/owner"
	if r := w.expect(200, w.call(methodGet, path, key, "")); r.body != `{"enabled":false,"email":"alice@example.com","available":true,"blocked":false}` {
		t.Error(r.body)
	}
	if r := w.expect(200, w.call("PUT", path, key, `{"enabled":true}`)); r.object(t, "enabled") != true {
		t.Error(r.body)
	}
	if r := w.expect(422, w.call("PUT", path, key, `{}`)); r.detail() != "Invalid request: 'enabled' is required" {
		t.Error(r.detail())
	}
	w.expect(403, w.call(methodGet, path, w.keyFor(alice, address, account.ScopeFull), ""))
	w.expect(404, w.call(methodGet, "/api/inboxes/"+address+"/calendar/owner", key, ""))
}

// TestALookIsNoOlderThanWhatItSaw: if a calendar changes between the start of a fetch and its read,
// the fetch returned the change, so the link is not stale.
func TestALookIsNoOlderThanWhatItSaw(t *testing.T) {
	w, address, key, _ := lone(t, withBase)
	own := "/api/v1/inboxes/" + address + "/calendar"
	later := invited(address, "Theirs", begin)
	later.UpdatedAt = w.now().Add(time.Second)
	w.diary.keep(address, later)
	path := strings.TrimPrefix(w.call(methodGet, own+"/feed", key, "").object(t, "feed_url").(string), "http://service.test")
	w.expect(200, w.call(methodGet, path, "", ""))
	if f := w.expect(200, w.call(methodGet, own+"/feed", key, "")); f.object(t, "stale") != false || f.object(t, "last_fetched_at") != "2026-11-21T12:00:01.000Z" {
		t.Error(f.body)
	}
}

// followed returns a calendar with a link that was fetched, and a plain conditional request with
// its ETag.
func followed(t *testing.T) (w *world, address, own, key, look string) {
	w, address, key, _ = lone(t, withBase)
	own = "/api/v1/inboxes/" + address + "/calendar"
	w.diary.keep(address, invited(address, "Theirs", begin))
	path := strings.TrimPrefix(w.call(methodGet, own+"/feed", key, "").object(t, "feed_url").(string), "http://service.test")
	w.advance(time.Minute)
	etag := w.expect(200, w.call(methodGet, path, "", "")).header.Get("ETag")
	return w, address, own, key, "GET " + path + " HTTP/1.1\r\nHost: x\r\nUser-Agent: Outlook/16\r\nIf-None-Match: " + etag + "\r\n\r\n"
}

// TestALookIsOfNow: the next fetch notices everything that makes 304 wrong or revokes the link.
// Each fetch counts.
func TestALookIsOfNow(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func(w *world, address, own, key string)
		status int
	}{
		{"nothing", func(*world, string, string, string) {}, 304},
		{"another meeting", func(w *world, address, _, _ string) { w.diary.keep(address, invited(address, "b", begin)) }, 200},
		{"rotated", func(w *world, _, own, key string) { w.expect(200, w.call(methodPost, own+"/feed/rotate", key, "")) }, 404},
		{"turned off", func(w *world, _, own, key string) { w.expect(200, w.call(methodDelete, own+"/feed", key, "")) }, 404},
		{"another name", func(w *world, address, _, _ string) {
			mail := w.diary.mail
			mail.mu.Lock()
			defer mail.mu.Unlock()
			mail.states[address].Label = "Ann"
			w.diary.show(address, mail.views[address].Calendar)
		}, 200},
		{"deleted", func(w *world, address, _, key string) {
			w.expect(200, w.call(methodDelete, "/api/v1/inboxes/"+address, key, ""))
		}, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, address, own, key, look := followed(t)
			conn := w.speak(t)
			conn.ask(look)
			w.advance(time.Minute)
			conn.ask(look)
			f := w.expect(200, w.call(methodGet, own+"/feed", key, ""))
			if f.object(t, "last_client") != "Outlook" || f.object(t, "last_fetched_at") != "2026-11-21T12:02:00.000Z" {
				t.Error(f.body)
			}
			if counts := w.server.FeedFetches(); counts["unchanged"] != 2 {
				t.Errorf("%v", counts)
			}
			c.do(w, address, own, key)
			if r, body := conn.ask(look); r.StatusCode != c.status {
				t.Errorf("%s %s", r.Status, body)
			}
		})
	}
}

// TestALookTellsNoTimeToCome: the text of a second change within one second has no Last-Modified
// during that second.
func TestALookTellsNoTimeToCome(t *testing.T) {
	w, address, _, _, look := followed(t)
	path, _, _ := strings.Cut(strings.TrimPrefix(look, "GET "), " ")
	for _, title := range []string{"a", "b"} {
		m := invited(address, title, begin)
		m.UpdatedAt = w.now()
		w.diary.keep(address, m)
		look = "GET " + path + " HTTP/1.1\r\nHost: x\r\nIf-None-Match: " + w.expect(200, w.call(methodGet, path, "", "")).header.Get("ETag") + "\r\n\r\n"
	}
	conn := w.speak(t)
	if r, _ := conn.ask(look); r.StatusCode != 304 || r.Header.Get("Last-Modified") != "" {
		t.Errorf("%s of %q", r.Status, r.Header.Get("Last-Modified"))
	}
	w.advance(time.Second)
	if r, _ := conn.ask(look); r.Header.Get("Last-Modified") != "Sat, 21 Nov 2026 12:01:01 GMT" {
		t.Errorf("%q", r.Header.Get("Last-Modified"))
	}
}
