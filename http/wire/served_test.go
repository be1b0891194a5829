package wire

import (
	"testing"
	"time"
)

func TestClassOf(t *testing.T) {
	for path, want := range map[string]requestClass{
		"/api/v1/inboxes":                              classInboxes,
		"/api/v1/inboxes/a@b":                          classInboxes,
		"/api/v1/inboxes/a@b/latest":                   classLatest,
		"/api/inboxes/a@b/emails/7":                    classMessages,
		"/api/v1/inboxes/a@b/messages/7/attachments/1": classMessages,
		"/api/v1/inboxes/a@b/send":                     classSends,
		"/api/v1/inboxes/a@b/calendar/events":          classCalendars,
		"/api/v1/events":                               classEvents,
		"/api/v1/messages":                             classMessages,
		"/api/webhooks/deliveries":                     webhooks,
		"/api/domains/x.example/verify":                classDomains,
		"/api/auth/login":                              classAccounts,
		"/api/keys/4":                                  classAccounts,
		"/calendar/feeds/x.ics":                        classFeeds,
		"/metrics":                                     classOperators,
		"/":                                            classOther,
		"/api":                                         classOther,
		"/api/v1/nothing":                              classOther,
		"/api/v1/inboxes/a@b/nothing":                  classInboxes,
	} {
		if got := classOf([]byte(path)); got != want {
			t.Errorf("%s is %s, want %s", path, classNames[got], classNames[want])
		}
	}
}

// TestServed: the two kinds of counters appear as one.
func TestServed(t *testing.T) {
	w := &ConnServer{}
	for by := range uint64(3) {
		for n := range uint64(2 * timedEvery) {
			if w.servedCounts.countPlain(n%2 == 0, by, n) != (n%timedEvery == 0) {
				t.Errorf("request %d is timed, or not", n)
			}
		}
		w.servedCounts.countResponse(classSends, 429, by, time.Second)
	}
	w.servedCounts.countResponse(classFeeds, 200, 0, time.Millisecond)
	got := map[string]ServedClass{}
	for _, one := range w.ServedClasses() {
		got[one.ClassName] = one
	}
	for class, want := range map[string]struct {
		codes map[int]uint64
		count uint64
	}{"poll": {map[int]uint64{200: 48, 304: 48}, 0}, "send": {map[int]uint64{429: 3}, 3}, "feed": {map[int]uint64{200: 1}, 1}} {
		one := got[class]
		if one.Seconds.Count != want.count || len(one.CodeCounts) != len(want.codes) {
			t.Errorf("%s: %+v", class, one)
		}
		for code, n := range want.codes {
			if one.CodeCounts[code] != n {
				t.Errorf("%s: %d of %d, want %d", class, one.CodeCounts[code], code, n)
			}
		}
	}
	if len(got) != 3 {
		t.Errorf("%+v", got)
	}
}
