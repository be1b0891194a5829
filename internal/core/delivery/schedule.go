package delivery

import (
	"fmt"
	"strings"
	"time"
)

// DefaultDelays are the waits after the first, second, ... attempt (specification, Sending).
var DefaultDelays = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour,
}

// DefaultRetryFor is how long after its acceptance a mail is tried.
const DefaultRetryFor = 48 * time.Hour

// Schedule says when to try again. The zero value is the default.
type Schedule struct {
	Delays []time.Duration // after the first, second, ... attempt; the last repeats
	For    time.Duration   // after acceptance
}

// Next returns when to try again after attempts (from 1) tries of a mail accepted at
// accepted. jitter in [0,1) spreads the wait over ±10 %. A wait that passes the end is cut,
// so that the last attempt falls on the end; false means that the end is reached.
func (s Schedule) Next(attempts int, accepted, now time.Time, jitter float64) (time.Time, bool) {
	delays, lasts := s.Delays, s.For
	if len(delays) == 0 {
		delays = DefaultDelays
	}
	if lasts <= 0 {
		lasts = DefaultRetryFor
	}
	end := accepted.Add(lasts)
	if !now.Before(end) {
		return time.Time{}, false
	}
	delay := delays[min(max(attempts, 1), len(delays))-1]
	due := now.Add(time.Duration(float64(delay) * (0.9 + 0.2*jitter)))
	if due.After(end) {
		due = end
	}
	return due, true
}

// ParseDelays reads "1m,5m,15m". At least one, each from 1 ms to 30 days.
func ParseDelays(s string) ([]time.Duration, error) {
	var delays []time.Duration
	for word := range strings.SplitSeq(s, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(word))
		if err != nil || d < time.Millisecond || d > 30*24*time.Hour {
			return nil, fmt.Errorf("%q is no delay between 1ms and 720h", strings.TrimSpace(word))
		}
		delays = append(delays, d)
	}
	return delays, nil
}
