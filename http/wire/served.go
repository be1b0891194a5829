package wire

import (
	"bytes"
	"maps"
	"sync/atomic"
	"time"

	"inboxd/internal/base/meter"
)

// class groups requests for counting: requests of one class have similar costs and uses.
type class uint8

const (
	other      class = iota
	plainPolls       // plain polls that bypass fasthttp
	latest
	waits // long polls and streams: the client chooses their duration
	messages
	sends
	events
	calendars
	feeds
	inboxes
	webhooks
	domains
	accounts
	operators
	classes
)

var classNames = [classes]string{
	"other", "poll", "latest", "wait", "messages", "send", "events", "calendar", "feed", "inboxes", "webhooks", "domains", "account", "operator",
}

// highestStatus is above every HTTP status.
const highestStatus = 600

// served counts responses. Any goroutine may use it.
type served struct {
	seconds [classes]meter.Seconds
	codes   [classes][highestStatus]atomic.Uint64
	plain   [plainShards]plainCounts // in addition to codes: responses that bypass fasthttp
}

// plainCounts fills one cache line of the processor, so that connections rarely share one.
type plainCounts struct {
	ok, unchanged atomic.Uint64
	_             [6]uint64
}

const (
	plainShards = 8
	// timedEvery: one in so many plain polls of a connection is timed. Reading the clock and
	// updating a histogram cost about two percent each, a counter costs less than one.
	timedEvery = 16
)

// count counts a response that fasthttp wrote, or the response to a parked request.
func (s *served) count(c class, status int, by uint64, took time.Duration) {
	if status > 0 && status < highestStatus {
		s.codes[c][status].Add(1)
	}
	s.seconds[c].Observe(by, took)
}

// countPlain counts the n-th request of a connection, whose response bypassed fasthttp. It reports
// whether the request must be timed.
func (s *served) countPlain(unchanged bool, by, n uint64) (timed bool) {
	to := &s.plain[by%plainShards]
	if unchanged {
		to.unchanged.Add(1)
	} else {
		to.ok.Add(1)
	}
	return n%timedEvery == 0
}

func (s *served) addPlain(c class, codes map[int]uint64) {
	if c != plainPolls {
		return
	}
	for i := range s.plain {
		codes[200] += s.plain[i].ok.Load()
		codes[304] += s.plain[i].unchanged.Load()
	}
	maps.DeleteFunc(codes, func(_ int, n uint64) bool { return n == 0 })
}

// Served holds the counts and durations of the requests of one class.
type Served struct {
	Class   string         `json:"class"`
	Codes   map[int]uint64 `json:"codes"`   // by status
	Seconds meter.Reading  `json:"seconds"` // from the end of the request to the end of the response; of plain polls, one in sixteen
}

// Served reads the counters. It returns one Served for each class that had requests.
func (w *Wire) Served() (all []Served) {
	s := &w.served
	for c := range classes {
		one := Served{Class: classNames[c], Codes: map[int]uint64{}, Seconds: s.seconds[c].Read()}
		for status := range s.codes[c] {
			if n := s.codes[c][status].Load(); n > 0 {
				one.Codes[status] = n
			}
		}
		s.addPlain(c, one.Codes)
		if len(one.Codes) > 0 {
			all = append(all, one)
		}
	}
	return all
}

var (
	apiPrefixes = [...]string{"/api/v1/", "/api/", "/compat/api/v1/"}
	// byWord finds the class by the path segment after the address of an inbox, or after the
	// prefix.
	byWord = map[string]class{
		"latest": latest, "messages": messages, "emails": messages, "send": sends, "events": events, "calendar": calendars, "inboxes": inboxes,
		"webhooks": webhooks, "domains": domains, "auth": accounts, "account": accounts, "keys": accounts, "suppressions": sends,
	}
)

// classOf returns the class of a request that fasthttp serves, by its path.
func classOf(path []byte) class {
	for _, prefix := range apiPrefixes {
		rest, is := bytes.CutPrefix(path, []byte(prefix))
		if !is {
			continue
		}
		word, rest, _ := bytes.Cut(rest, []byte("/"))
		if c := byWord[string(word)]; c != inboxes {
			return c
		}
		_, rest, _ = bytes.Cut(rest, []byte("/")) // the address
		word, _, _ = bytes.Cut(rest, []byte("/"))
		if c, known := byWord[string(word)]; known {
			return c
		}
		return inboxes
	}
	switch string(path) {
	case "/healthz", "/readyz", "/metrics":
		return operators
	}
	if bytes.HasPrefix(path, []byte("/calendar/feeds/")) {
		return feeds
	}
	return other
}
