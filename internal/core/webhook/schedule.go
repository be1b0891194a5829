package webhook

import "time"

// Schedule holds when the attempts of a delivery begin, as times after its event or its redelivery.
// An attempt never begins before the previous one has ended.
type Schedule []time.Duration

// DefaultSchedule has three attempts: immediately, after 30 s, after 5 min (specification,
// Webhooks).
func DefaultSchedule() Schedule { return Schedule{0, 30 * time.Second, 5 * time.Minute} }

// NextAttempt returns when the attempt after the given number of attempts is due. ended is the end
// of the last one. It returns false if there are no attempts left.
func (s Schedule) NextAttempt(calls int, began, ended time.Time) (time.Time, bool) {
	if calls >= len(s) {
		return time.Time{}, false
	}
	if next := began.Add(s[calls]); next.After(ended) {
		return next, true
	}
	return ended, true
}

// IsSuccess reports whether a response status means success.
func IsSuccess(status int) bool { return status/100 == 2 }

// DeliveryState is the state of a delivery. Stored: append only; never reorder.
type DeliveryState uint8

// The states. Delivered and StateFailed are final.
const (
	StateRetrying DeliveryState = iota + 1 // or waiting for its first attempt
	StateDelivered
	StateFailed
)

// WireName returns the state's wire name (specification, Webhooks).
func (s DeliveryState) WireName() string {
	switch s {
	case StateDelivered:
		return "succeeded"
	case StateFailed:
		return "failed"
	}
	return "retrying"
}
