package http

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"inboxd/internal/account"
)

// TestALinkIsSharedRotatedAndTurnedOff: one link until it is replaced; an old one never works again.
func TestALinkIsSharedRotatedAndTurnedOff(t *testing.T) {
	bothSurfaces(t, func(t *testing.T, w *world, address, calendar, key string) {
		first := w.expect(200, w.call(get, calendar+"/feed", key, ""))
		link := first.object(t, "feed_url").(string)
		webcal := "webcal" + strings.TrimPrefix(link, "http")
		if want := `{"feed_url":"` + link + `","webcal_url":"` + webcal + `","subscribe_links":{"google":"https://calendar.google.com/calendar/r?cid=` + url.QueryEscape(webcal) +
			`","apple":"` + webcal + `","outlook":"https://outlook.live.com/calendar/0/addfromweb?url=` + url.QueryEscape(link) + `&name=own%40inbox.test"},"last_fetched_at":null,"last_client":null,"stale":false}`; first.body != want {
			t.Errorf("%s\nwant %s", first.body, want)
		}
		if again := w.expect(200, w.call(get, calendar+"/feed", key, "")); again.body != first.body {
			t.Errorf("%s, at first %s", again.body, first.body)
		}
		path := strings.TrimPrefix(link, "http://service.test")
		w.expect(200, w.call(get, path, "", ""))
		rotated := w.expect(200, w.call(post, calendar+"/feed/rotate", key, "")).object(t, "feed_url").(string)
		w.expect(404, w.call(get, path, "", ""))
		path = strings.TrimPrefix(rotated, "http://service.test")
		w.expect(200, w.call(get, path, "", ""))
		for range 2 { // the second has nothing to do
			if off := w.expect(200, w.call(remove, calendar+"/feed", key, "")); off.body != `{"enabled":false}` {
				t.Error(off.body)
			}
		}
		w.expect(404, w.call(get, path, "", ""))
		if r := w.expect(405, w.call(post, path, "", "")); r.header.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("Allow is %q", r.header.Get("Allow"))
		}
	})
}

// TestAProgramFollowsACalendar: the text at first and after each change, 304 in between; what is told of
// its visits; the link nowhere in the log.
func TestAProgramFollowsACalendar(t *testing.T) {
	w, address, key, _ := lone(t, withBase)
	own := "/api/v1/inboxes/" + address + "/calendar"
	w.diary.keep(address, invited(address, "Theirs", begin))
	path := strings.TrimPrefix(w.call(get, own+"/feed", key, "").object(t, "feed_url").(string), "http://service.test")
	const google = "Google-Calendar-Importer"
	whole := w.expect(200, w.call(get, path, "", "", "User-Agent", google))
	head := whole.header
	if head.Get("Content-Type") != "text/calendar; charset=utf-8" || head.Get("ETag") == "" || head.Get("Last-Modified") != "Sat, 21 Nov 2026 12:00:00 GMT" || !strings.Contains(whole.body, "SUMMARY:Theirs") {
		t.Errorf("%v\n%s", head, whole.body)
	}
	fetched := func() string {
		f := w.expect(200, w.call(get, own+"/feed", key, ""))
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
	dated := w.expect(304, w.call(get, path, "", "", "If-None-Match", head.Get("ETag"), "User-Agent", "Outlook/16"))
	if dated.body != "" || dated.header.Get("Last-Modified") != head.Get("Last-Modified") {
		t.Errorf("%q %v", dated.body, dated.header)
	}
	if got := fetched(); got != "2026-11-21T12:01:00.000Z Outlook" {
		t.Error(got)
	}
	modified := dated.header.Get("Last-Modified")
	w.expect(304, w.call(get, path, "", "", "If-Modified-Since", modified))
	w.expect(200, w.call(get, path, "", "", "If-Modified-Since", modified, "If-None-Match", `"other"`))
	w.expect(200, w.call(get, path, "", "", "If-Modified-Since", "Sat, 21 Nov 2026 11:59:59 GMT"))
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
	r := w.expect(200, w.call(get, path, "", "", "If-None-Match", head.Get("ETag")))
	if !strings.Contains(r.body, "SUMMARY:Another") || r.header.Get("Last-Modified") != "Sat, 21 Nov 2026 12:02:01 GMT" {
		t.Errorf("%v\n%s", r.header, r.body)
	}
	if got := fetched(); strings.HasSuffix(got, ", stale") {
		t.Error(got)
	}
	w.expect(404, w.call(get, path[:len(path)-5]+"x.ics", "", ""))
	w.diary.mail.breakWith(nil)
	if counts := w.server.Fetches(); counts["whole"] != 5 || counts["unchanged"] != 2 || counts["unknown"] != 1 {
		t.Errorf("%v", counts)
	}
	token := strings.TrimSuffix(strings.TrimPrefix(path, FeedPath), feedSuffix)
	if strings.Contains(w.log.String(), token) {
		t.Error("the token is in the log")
	}
}

// TestCopiesForTheOwner are set by an account key or a session.
func TestCopiesForTheOwner(t *testing.T) {
	w, address, key, _ := lone(t)
	path := "/api/v1/inboxes/" + address + "/calendar/owner"
	if r := w.expect(200, w.call(get, path, key, "")); r.body != `{"enabled":false,"email":"alice@example.com","available":true,"blocked":false}` {
		t.Error(r.body)
	}
	if r := w.expect(200, w.call("PUT", path, key, `{"enabled":true}`)); r.object(t, "enabled") != true {
		t.Error(r.body)
	}
	if r := w.expect(422, w.call("PUT", path, key, `{}`)); r.detail() != "Invalid request: 'enabled' is required" {
		t.Error(r.detail())
	}
	w.expect(403, w.call(get, path, w.keyFor(alice, address, account.ScopeFull), ""))
	w.expect(404, w.call(get, "/api/inboxes/"+address+"/calendar/owner", key, ""))
}

// TestALookIsNoOlderThanWhatItSaw: a calendar that changes between a request and the look at it was seen
// as it is, so the link is not stale.
func TestALookIsNoOlderThanWhatItSaw(t *testing.T) {
	w, address, key, _ := lone(t, withBase)
	own := "/api/v1/inboxes/" + address + "/calendar"
	later := invited(address, "Theirs", begin)
	later.UpdatedAt = w.now().Add(time.Second)
	w.diary.keep(address, later)
	path := strings.TrimPrefix(w.call(get, own+"/feed", key, "").object(t, "feed_url").(string), "http://service.test")
	w.expect(200, w.call(get, path, "", ""))
	if f := w.expect(200, w.call(get, own+"/feed", key, "")); f.object(t, "stale") != false || f.object(t, "last_fetched_at") != "2026-11-21T12:00:01.000Z" {
		t.Error(f.body)
	}
}
