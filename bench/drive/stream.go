package drive

import (
	"fmt"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Stream is what became of one kind of operation while a load ran: all in all, and second by
// second. Operations belong to the second in which they ended. Safe for concurrent use.
type Stream struct {
	Name   string
	Target string

	mu      sync.Mutex
	began   time.Time
	total   Round
	refused int64
	first   string // reason of the first refusal
	seconds []*instant
}

// instant is one second of a stream; its histogram has two digits, which is as much as a plot can
// show.
type instant struct {
	count, refused, errors int64
	latency                *hdr.Histogram
}

// NewStream returns one whose first second begins at began.
func NewStream(name, target string, began time.Time) *Stream {
	return &Stream{Name: name, Target: target, began: began, total: NewRound()}
}

// at is the second of now; mu is held.
func (s *Stream) at(now time.Time) *instant {
	n := max(int(now.Sub(s.began)/time.Second), 0)
	for len(s.seconds) <= n {
		s.seconds = append(s.seconds, &instant{latency: hdr.New(lowestLatency, highestLatency, 2)})
	}
	return s.seconds[n]
}

// Record counts one right response and how long it took.
func (s *Stream) Record(d time.Duration) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.Record(d)
	in := s.at(now)
	in.count++
	_ = in.latency.RecordValue(inRange(d))
}

// Refuse counts a refusal that is right under overload.
func (s *Stream) Refuse(reason string) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused++; s.first == "" {
		s.first = reason
	}
	s.at(now).refused++
}

// Fail counts a wrong response.
func (s *Stream) Fail(reason string) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.Fail(reason)
	s.at(now).errors++
}

// Unsent counts an operation that was due and never sent, with the time it had waited.
func (s *Stream) Unsent(waited time.Duration) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.Unsent++
	s.total.Latency.Record(waited)
	_ = s.at(now).latency.RecordValue(inRange(waited))
}

// Result is all of it, over elapsed.
func (s *Stream) Result(elapsed time.Duration) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := s.total
	total.Elapsed = elapsed
	res := Result{Name: s.Name, Target: s.Target}
	res.Fill(total)
	res.Refused, res.FirstRefusal = s.refused, s.first
	return res
}

// Timeline is all of its seconds so far.
func (s *Stream) Timeline() Timeline {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := Timeline{Name: s.Name, Target: s.Target}
	for n, in := range s.seconds {
		t.Seconds = append(t.Seconds, in.second(n))
	}
	return t
}

// Last is the last second that is over; false when there is none.
func (s *Stream) Last() (Second, bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int(now.Sub(s.began)/time.Second) - 1
	if n < 0 || n >= len(s.seconds) {
		return Second{}, false
	}
	return s.seconds[n].second(n), true
}

func (in *instant) second(n int) Second {
	at := func(q float64) float64 { return float64(in.latency.ValueAtQuantile(q)) / 1e6 }
	return Second{Second: n, Count: in.count, Refused: in.refused, Errors: in.errors, P50: at(50), P99: at(99)}
}

// Timeline is a stream by seconds.
type Timeline struct {
	Name    string   `json:"name"`
	Target  string   `json:"target"`
	Seconds []Second `json:"seconds"`
}

// Second is one of them. A second in which nothing ended has no percentiles.
type Second struct {
	Second  int     `json:"second"` // from 0, the load's beginning
	Count   int64   `json:"count"`
	Refused int64   `json:"refused,omitempty"`
	Errors  int64   `json:"errors,omitempty"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
}

func (s Second) String() string {
	text := fmt.Sprintf("%d/s  p50 %.2f  p99 %.2f ms", s.Count, s.P50, s.P99)
	if s.Refused > 0 {
		text += fmt.Sprintf("  %d refused", s.Refused)
	}
	if s.Errors > 0 {
		text += fmt.Sprintf("  %d WRONG", s.Errors)
	}
	return text
}
