package delivery

import (
	"cmp"
	"fmt"
	"slices"
)

// Status is the send_status of a message and of each of its recipients (specification, Sending).
// Stored as these numbers: append only, never reorder.
type Status uint8

const (
	Queued   Status = 1 // not yet attempted
	Retrying Status = 2 // an attempt failed temporarily
	Sent     Status = 3 // the next server accepted it
	Unsigned Status = 4 // as Sent, but without a DKIM signature
	Failed   Status = 5 // permanently
	Bounced  Status = 6 // accepted, and returned later; only for a recipient
)

var statusNames = [...]string{"", "queued", "retrying", "sent", "unsigned", "failed", "bounced"}

// String returns the wire name.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return ""
}

// Final reports whether no attempt will follow.
func (s Status) Final() bool { return s >= Sent }

// After returns a recipient's status after an attempt. expired means that the schedule has no later
// attempt; signed means that the message was signed. A late report about a recipient with a final
// status changes nothing.
func (s Status) After(o Outcome, expired, signed bool) Status {
	switch {
	case s.Final():
		return s
	case o == Delivered && signed:
		return Sent
	case o == Delivered:
		return Unsigned
	case o == Permanent, expired:
		return Failed
	}
	return Retrying
}

// AfterBounce returns a recipient's status after a bounce. Only a message that was accepted can
// bounce.
func (s Status) AfterBounce() Status {
	if s == Sent || s == Unsigned {
		return Bounced
	}
	return s
}

// Recipient is the delivery state of one recipient.
type Recipient struct {
	Email  string
	Status Status
	Error  string // the last report, or empty
}

// Message derives a message's status and send_error from its recipients (specification, Sending).
// The message is queued or retrying while any recipient waits. Then it is failed if any recipient
// failed, and unsigned if any copy was unsigned. A bounce does not change the status, because
// unsigned describes how the message was accepted.
func Message(recipients []Recipient, unsigned bool) (status Status, sendError string) {
	var count [Bounced + 1]int
	for _, r := range recipients {
		count[min(r.Status, Bounced)]++
	}
	waiting := count[Queued]+count[Retrying] > 0
	switch {
	case waiting && count[Retrying]+count[Failed] > 0:
		status = Retrying
	case waiting || len(recipients) == 0:
		status = Queued
	case count[Failed] > 0:
		status = Failed
	case count[Unsigned] > 0, count[Bounced] > 0 && unsigned:
		status = Unsigned
	default:
		status = Sent
	}
	why := cmp.Or(lastError(recipients, Failed, count[Failed]), lastError(recipients, Retrying, min(count[Retrying], 1)))
	back := lastError(recipients, Bounced, count[Bounced])
	if why != "" && back != "" {
		why += "; "
	}
	return status, why + back
}

// lastError names the first of the many recipients with a status. It is empty if none has a status.
func lastError(recipients []Recipient, about Status, many int) string {
	if many == 0 {
		return ""
	}
	i := slices.IndexFunc(recipients, func(r Recipient) bool { return r.Status == about })
	text := recipients[i].Email + ": " + cmp.Or(recipients[i].Error, "the message could not be delivered")
	if many > 1 {
		text += fmt.Sprintf(" (and %d more recipients)", many-1)
	}
	return text
}
