package webhook

import (
	"math"
	"slices"
	"time"
)

// StoredAttempt is an attempt and the state of its delivery afterwards.
type StoredAttempt struct {
	DeliveryAttempt
	URL    string
	State  DeliveryState
	NextAt time.Time // of the next attempt; zero: none
}

// AttemptRecord is one attempt of a delivery as its owner sees it. If no attempt was made since the
// schedule began, it is the next attempt: it has the number 0 and the zero DeliveryAttempt.
type AttemptRecord struct {
	ID            int64
	Delivery      *Delivery
	AttemptNumber int // counted over all attempts, redeliveries included; the first is 1
	StoredAttempt
}

const (
	// triesKept is how many attempts a delivery stores in addition to the last.
	triesKept = 15
	// recordIDs is how many record ids a delivery has. It never has as many attempts.
	recordIDs = 1000
)

// recordID returns the position of an attempt among all records. It grows with the delivery, then
// with the attempt. The next attempt already has its id before it is made.
func recordID(delivery int64, attempt int) int64 {
	return delivery*recordIDs + int64(min(attempt, recordIDs-1))
}

// OfRecord returns the delivery that a record belongs to.
func OfRecord(id int64) (delivery int64) { return id / recordIDs }

// BehindRecord returns an exclusive upper bound for the deliveries that have records below id. 0
// means unbounded, as id and as result.
func BehindRecord(id int64) (before int64) {
	if id == 0 {
		return 0
	}
	return OfRecord(id) + 1
}

// AttemptsExhausted reports whether a delivery had so many attempts that its schedule may not be
// restarted.
func (d *Delivery) AttemptsExhausted(schedule Schedule) bool {
	return d.AttemptCount+len(schedule) >= recordIDs
}

// NewestRecords returns the newest attempts of deliveries, in the order of the deliveries, newest
// attempt first. It returns up to limit records with ids below before (0: all).
func NewestRecords(of []Delivery, before int64, limit int) (out []AttemptRecord) {
	if before == 0 {
		before = math.MaxInt64
	}
	for i := range of {
		for _, r := range of[i].attemptRecords() {
			if len(out) < limit && r.ID < before {
				out = append(out, r)
			}
		}
	}
	return out
}

// attemptRecords returns the records of one delivery, newest first.
func (d *Delivery) attemptRecords() []AttemptRecord {
	n := d.AttemptCount
	out := []AttemptRecord{{recordID(d.ID, n), d, n, d.lastStored()}}
	if d.LastAttempt.At.IsZero() {
		out[0].ID, out[0].AttemptNumber = recordID(d.ID, n+1), 0
		n++
	}
	for _, t := range slices.Backward(d.PastAttempts) {
		n--
		out = append(out, AttemptRecord{recordID(d.ID, n), d, n, t})
	}
	return out
}

func (d *Delivery) lastStored() StoredAttempt {
	return StoredAttempt{d.LastAttempt, d.URL, d.State, d.NextAt}
}

// archiveLast moves the last attempt to PastAttempts before the next one replaces it.
func (d *Delivery) archiveLast() {
	if d.LastAttempt.At.IsZero() {
		return
	}
	d.PastAttempts = append(slices.Clone(d.PastAttempts), d.lastStored())
	d.PastAttempts = d.PastAttempts[max(0, len(d.PastAttempts)-triesKept):]
	d.LastAttempt = DeliveryAttempt{}
}
