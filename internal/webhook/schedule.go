package webhook

import "time"

// Schedule holds the waits before the attempts of a delivery: the first before the first
// attempt, counted from the event, each other from the attempt before it.
type Schedule []time.Duration

// DefaultSchedule is three attempts: at once, after 30 s, after 5 min more (specification,
// Webhooks).
func DefaultSchedule() Schedule { return Schedule{0, 30 * time.Second, 5 * time.Minute} }

// Next returns when the attempt after the given number of attempts is due; false when that
// many were all.
func (s Schedule) Next(attempts int, last time.Time) (time.Time, bool) {
	if attempts >= len(s) {
		return time.Time{}, false
	}
	return last.Add(s[attempts]), true
}

// Succeeded reports whether an answer's status ends a delivery well.
func Succeeded(status int) bool { return status/100 == 2 }

// State is what became of a delivery. Stored: append only; never reorder.
type State uint8

const (
	Retrying State = iota + 1 // or waiting for its first attempt
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
