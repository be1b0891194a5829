package wire

import (
	"testing"
	"time"
)

func TestClassOf(t *testing.T) {
	for path, want := range map[string]class{
		"/api/v1/inboxes":                              inboxes,
		"/api/v1/inboxes/a@b":                          inboxes,
		"/api/v1/inboxes/a@b/latest":                   latest,
		"/api/inboxes/a@b/emails/7":                    messages,
		"/api/v1/inboxes/a@b/messages/7/attachments/1": messages,
		"/api/v1/inboxes/a@b/send":                     sends,
		"/api/v1/inboxes/a@b/calendar/events":          calendars,
		"/api/v1/events":                               events,
		"/api/v1/messages":                             messages,
		"/api/webhooks/deliveries":                     webhooks,
		"/api/domains/x.example/verify":                domains,
		"/api/auth/login":                              accounts,
		"/api/keys/4":                                  accounts,
		"/calendar/feeds/x.ics":                        feeds,
		"/metrics":                                     operators,
		"/":                                            other,
		"/api":                                         other,
		"/api/v1/nothing":                              other,
		"/api/v1/inboxes/a@b/nothing":                  inboxes,
	} {
		if got := classOf([]byte(path)); got != want {
			t.Errorf("%s is %s, want %s", path, classNames[got], classNames[want])
		}
	}
}

// TestServed: the two kinds of counters appear as one.
func TestServed(t *testing.T) {
	w := &Wire{}
	for by := range uint64(3) {
		for n := range uint64(2 * timedEvery) {
			if w.served.countPlain(n%2 == 0, by, n) != (n%timedEvery == 0) {
				t.Errorf("request %d is timed, or not", n)
			}
		}
		w.served.count(sends, 429, by, time.Second)
	}
	w.served.count(feeds, 200, 0, time.Millisecond)
	got := map[string]Served{}
	for _, one := range w.Served() {
		got[one.Class] = one
	}
	for class, want := range map[string]struct {
		codes map[int]uint64
		count uint64
	}{"poll": {map[int]uint64{200: 48, 304: 48}, 0}, "send": {map[int]uint64{429: 3}, 3}, "feed": {map[int]uint64{200: 1}, 1}} {
		one := got[class]
		if one.Seconds.Count != want.count || len(one.Codes) != len(want.codes) {
			t.Errorf("%s: %+v", class, one)
		}
		for code, n := range want.codes {
			if one.Codes[code] != n {
				t.Errorf("%s: %d of %d, want %d", class, one.Codes[code], code, n)
			}
		}
	}
	if len(got) != 3 {
		t.Errorf("%+v", got)
	}
}
