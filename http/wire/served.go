package wire

import (
	"bytes"
	"maps"
	"sync/atomic"
	"time"

	"inboxd/internal/base/meter"
)

// class is a kind of request by which they are counted: what costs alike and is used alike.
type class uint8

const (
	other      class = iota
	plainPolls       // plain ones, answered past fasthttp
	latest
	waits // long plainPolls and streams: their time is the client's wish
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

// highestStatus is above all that HTTP has.
const highestStatus = 600

// served counts responses. Any goroutine may use it.
type served struct {
	seconds [classes]meter.Seconds
	codes   [classes][highestStatus]atomic.Uint64
	plain   [plainShards]plainCounts // beside codes: of what is answered past fasthttp
}

// plainCounts fills a line of the processor's cache, so that connections seldom share one.
type plainCounts struct {
	ok, unchanged atomic.Uint64
	_             [6]uint64
}

const (
	plainShards = 8
	// timedEvery is how many plain polls of a connection there are to one that is timed: a look at the
	// clock and a histogram would cost each about two percent, a counter costs less than one.
	timedEvery = 16
)

// count counts what fasthttp answered, or what waited.
func (s *served) count(c class, status int, by uint64, took time.Duration) {
	if status > 0 && status < highestStatus {
		s.codes[c][status].Add(1)
	}
	s.seconds[c].Observe(by, took)
}

// countPlain counts the n-th request of a connection, which was answered past fasthttp, and reports
// whether it is to be timed.
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

// Served is what became of the requests of one class.
type Served struct {
	Class   string         `json:"class"`
	Codes   map[int]uint64 `json:"codes"`   // by status
	Seconds meter.Reading  `json:"seconds"` // from the request's end to the response's; of plain polls, one in sixteen
}

// Served reads the counters, one Served for each class that was asked for.
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
	// byWord finds the class by the path behind the address of an inbox, or behind the prefix.
	byWord = map[string]class{
		"latest": latest, "messages": messages, "emails": messages, "send": sends, "events": events, "calendar": calendars, "inboxes": inboxes,
		"webhooks": webhooks, "domains": domains, "auth": accounts, "account": accounts, "keys": accounts, "suppressions": sends,
	}
)

// classOf is the class of what fasthttp serves, by its path.
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
