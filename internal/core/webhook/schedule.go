package webhook

import "time"

// Schedule holds when the calls of a delivery begin, as times after its event, or after its
// redelivery. None begins before the one before it has ended.
type Schedule []time.Duration

// DefaultSchedule is three calls: at once, after 30 s, after 5 min (specification, Webhooks).
func DefaultSchedule() Schedule { return Schedule{0, 30 * time.Second, 5 * time.Minute} }

// Next returns when the call after the given number of calls is due, of which the last ended at
// ended; false when that many were all.
func (s Schedule) Next(calls int, began, ended time.Time) (time.Time, bool) {
	if calls >= len(s) {
		return time.Time{}, false
	}
	if next := began.Add(s[calls]); next.After(ended) {
		return next, true
	}
	return ended, true
}

// Succeeded reports whether an answer's status ends a delivery well.
func Succeeded(status int) bool { return status/100 == 2 }

// State is what became of a delivery. Stored: append only; never reorder.
type State uint8

const (
	Retrying State = iota + 1 // or waiting for its first call
	Delivered
	Failed
)

// Name is the state's wire name (specification, Webhooks).
func (s State) Name() string {
	switch s {
	case Delivered:
		return "succeeded"
	case Failed:
		return "failed"
	}
	return "retrying"
}
