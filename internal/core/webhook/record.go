package webhook

import (
	"math"
	"slices"
	"time"
)

// Try is an attempt and what followed from it.
type Try struct {
	Call
	URL    string
	State  State
	NextAt time.Time // of the next one; zero: none
}

// Record is one attempt of a delivery as its owner sees it, or the one that is to come where none
// was made since the schedule began: that has the number 0 and the zero Call.
type Record struct {
	ID       int64
	Delivery *Delivery
	Attempt  int // of all, redeliveries too; the first is 1
	Try
}

const (
	// triesKept is how many attempts a delivery shows beside the last.
	triesKept = 15
	// recordIDs is how many ids of records a delivery has, and more than it has attempts.
	recordIDs = 1000
)

// recordID is where an attempt stands among all records: it grows with the delivery, then with
// the attempt, and names the attempt that is to come already.
func recordID(delivery int64, attempt int) int64 {
	return delivery*recordIDs + int64(min(attempt, recordIDs-1))
}

// OfRecord is the delivery that the record belongs to.
func OfRecord(id int64) (delivery int64) { return id / recordIDs }

// BehindRecord bounds the deliveries with records below id from above; 0, as id: nothing does.
func BehindRecord(id int64) (before int64) {
	if id == 0 {
		return 0
	}
	return OfRecord(id) + 1
}

// Spent reports whether a delivery was tried so often that it may not begin again.
func (d *Delivery) Spent(schedule Schedule) bool { return d.Calls+len(schedule) >= recordIDs }

// Records are the newest attempts of deliveries, in their order, newest first: up to limit with
// ids below before (0: all).
func Records(of []Delivery, before int64, limit int) (out []Record) {
	if before == 0 {
		before = math.MaxInt64
	}
	for i := range of {
		for _, r := range of[i].records() {
			if len(out) < limit && r.ID < before {
				out = append(out, r)
			}
		}
	}
	return out
}

// records are those of one, newest first.
func (d *Delivery) records() []Record {
	n := d.Calls
	out := []Record{{recordID(d.ID, n), d, n, d.last()}}
	if d.Last.At.IsZero() {
		out[0].ID, out[0].Attempt = recordID(d.ID, n+1), 0
		n++
	}
	for _, t := range slices.Backward(d.Past) {
		n--
		out = append(out, Record{recordID(d.ID, n), d, n, t})
	}
	return out
}

func (d *Delivery) last() Try { return Try{d.Last, d.URL, d.State, d.NextAt} }

// pass puts the last attempt behind what comes next.
func (d *Delivery) pass() {
	if d.Last.At.IsZero() {
		return
	}
	d.Past = append(slices.Clone(d.Past), d.last())
	d.Past = d.Past[max(0, len(d.Past)-triesKept):]
	d.Last = Call{}
}
