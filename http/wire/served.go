package wire

import (
	"bytes"
	"maps"
	"sync/atomic"
	"time"

	"inboxd/internal/base/meter"
)

// requestClass groups requests for counting: requests of one class have similar costs and uses.
type requestClass uint8

const (
	classOther requestClass = iota
	plainPolls              // plain polls that bypass fasthttp
	classLatest
	classWaits // long polls and streams: the client chooses their duration
	classMessages
	classSends
	classEvents
	classCalendars
	classFeeds
	classInboxes
	webhooks
	classDomains
	classAccounts
	classOperators
	classCount
)

var classNames = [classCount]string{
	"other", "poll", "latest", "wait", "messages", "send", "events", "calendar", "feed", "inboxes", "webhooks", "domains", "account", "operator",
}

// highestStatus is above every HTTP status.
const highestStatus = 600

// servedCounts counts responses. Any goroutine may use it.
type servedCounts struct {
	seconds     [classCount]meter.DurationHistogram
	codeCounts  [classCount][highestStatus]atomic.Uint64
	plainCounts [plainShards]plainCounts // in addition to codes: responses that bypass fasthttp
}

// plainCounts fills one cache line of the processor, so that connections rarely share one.
type plainCounts struct {
	ok, unchangedCount atomic.Uint64
	_                  [6]uint64
}

const (
	plainShards = 8
	// timedEvery: one in so many plain polls of a connection is timed. Reading the clock and
	// updating a histogram cost about two percent each, a counter costs less than one.
	timedEvery = 16
)

// countResponse counts a response that fasthttp wrote, or the response to a parked request.
func (s *servedCounts) countResponse(c requestClass, status int, by uint64, took time.Duration) {
	if status > 0 && status < highestStatus {
		s.codeCounts[c][status].Add(1)
	}
	s.seconds[c].Observe(by, took)
}

// countPlain counts the n-th request of a connection, whose response bypassed fasthttp. It reports
// whether the request must be timed.
func (s *servedCounts) countPlain(unchanged bool, by, n uint64) (timed bool) {
	to := &s.plainCounts[by%plainShards]
	if unchanged {
		to.unchangedCount.Add(1)
	} else {
		to.ok.Add(1)
	}
	return n%timedEvery == 0
}

func (s *servedCounts) addPlain(c requestClass, codes map[int]uint64) {
	if c != plainPolls {
		return
	}
	for i := range s.plainCounts {
		codes[200] += s.plainCounts[i].ok.Load()
		codes[304] += s.plainCounts[i].unchangedCount.Load()
	}
	maps.DeleteFunc(codes, func(_ int, n uint64) bool { return n == 0 })
}

// ServedClass holds the counts and durations of the requests of one class.
type ServedClass struct {
	ClassName  string                  `json:"class"`
	CodeCounts map[int]uint64          `json:"codes"`   // by status
	Seconds    meter.HistogramSnapshot `json:"seconds"` // from the end of the request to the end of the response; of plain polls, one in sixteen
}

// ServedClass reads the counters. It returns one Served for each class that had requests.
func (w *ConnServer) ServedClasses() (all []ServedClass) {
	s := &w.servedCounts
	for c := range classCount {
		one := ServedClass{ClassName: classNames[c], CodeCounts: map[int]uint64{}, Seconds: s.seconds[c].TakeSnapshot()}
		for status := range s.codeCounts[c] {
			if n := s.codeCounts[c][status].Load(); n > 0 {
				one.CodeCounts[status] = n
			}
		}
		s.addPlain(c, one.CodeCounts)
		if len(one.CodeCounts) > 0 {
			all = append(all, one)
		}
	}
	return all
}

var (
	apiPrefixes = [...]string{"/api/v1/", "/api/", "/compat/api/v1/"}
	// byWord finds the class by the path segment after the address of an inbox, or after the
	// prefix.
	byWord = map[string]requestClass{
		"latest": classLatest, "messages": classMessages, "emails": classMessages, "send": classSends, "events": classEvents, "calendar": classCalendars, "inboxes": classInboxes,
		"webhooks": webhooks, "domains": classDomains, "auth": classAccounts, "account": classAccounts, "keys": classAccounts, "suppressions": classSends,
	}
)

// classOf returns the class of a request that fasthttp serves, by its path.
func classOf(path []byte) requestClass {
	for _, prefix := range apiPrefixes {
		rest, is := bytes.CutPrefix(path, []byte(prefix))
		if !is {
			continue
		}
		word, rest, _ := bytes.Cut(rest, []byte("/"))
		if c := byWord[string(word)]; c != classInboxes {
			return c
		}
		_, rest, _ = bytes.Cut(rest, []byte("/")) // the address
		word, _, _ = bytes.Cut(rest, []byte("/"))
		if c, known := byWord[string(word)]; known {
			return c
		}
		return classInboxes
	}
	switch string(path) {
	case "/healthz", "/readyz", "/metrics":
		return classOperators
	}
	if bytes.HasPrefix(path, []byte("/calendar/feeds/")) {
		return classFeeds
	}
	return classOther
}
