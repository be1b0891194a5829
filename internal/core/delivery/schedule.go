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

// DefaultRetryFor is how long after its acceptance a message is retried.
const DefaultRetryFor = 48 * time.Hour

// RetrySchedule decides when to retry. The zero value is the default.
type RetrySchedule struct {
	RetryDelays []time.Duration // after the first, second, ... attempt; the last repeats
	MaxAge      time.Duration   // after acceptance
}

// NextRetry returns when to retry a message after attempts (1 or more) attempts. accepted is when the
// message was accepted. jitter in [0,1) spreads the wait over ±10 %. A wait beyond the end is
// shortened, so that the last attempt is made at the end. False means that the end is reached.
func (s RetrySchedule) NextRetry(attempts int, accepted, now time.Time, jitter float64) (time.Time, bool) {
	delays, lasts := s.RetryDelays, s.MaxAge
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

// ParseDelays parses "1m,5m,15m". It needs at least one delay, each from 1 ms to 30 days.
func ParseDelays(s string) ([]time.Duration, error) {
	var delays []time.Duration
	for word := range strings.SplitSeq(s, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(word))
		if err != nil || d < time.Millisecond || d > 30*24*time.Hour {
			return nil, fmt.Errorf("invalid delay %q (1ms to 720h)", strings.TrimSpace(word))
		}
		delays = append(delays, d)
	}
	return delays, nil
}
