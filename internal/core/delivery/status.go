package delivery

import (
	"cmp"
	"fmt"
	"slices"
)

// SendStatus is the send_status of a message and of each of its recipients (specification, Sending).
// Stored as these numbers: append only, never reorder.
type SendStatus uint8

const (
	StatusQueued   SendStatus = 1 // not yet attempted
	StatusRetrying SendStatus = 2 // an attempt failed temporarily
	StatusSent     SendStatus = 3 // the next server accepted it
	StatusUnsigned SendStatus = 4 // as StatusSent, but without a DKIM signature
	StatusFailed   SendStatus = 5 // permanently
	StatusBounced  SendStatus = 6 // accepted, and returned later; only for a recipient
)

var statusNames = [...]string{"", "queued", "retrying", "sent", "unsigned", "failed", "bounced"}

// String returns the wire name.
func (s SendStatus) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return ""
}

// IsFinal reports whether no attempt will follow.
func (s SendStatus) IsFinal() bool { return s >= StatusSent }

// AfterAttempt returns a recipient's status after an attempt. expired means that the schedule has
// no later attempt; signed means that the message was signed. A late report about a recipient with
// a final status changes nothing.
func (s SendStatus) AfterAttempt(o AttemptOutcome, expired, signed bool) SendStatus {
	switch {
	case s.IsFinal():
		return s
	case o == OutcomeDelivered && signed:
		return StatusSent
	case o == OutcomeDelivered:
		return StatusUnsigned
	case o == OutcomePermanent, expired:
		return StatusFailed
	}
	return StatusRetrying
}

// AfterBounce returns a recipient's status after a bounce. Only a message that was accepted can
// bounce.
func (s SendStatus) AfterBounce() SendStatus {
	if s == StatusSent || s == StatusUnsigned {
		return StatusBounced
	}
	return s
}

// RecipientState is the delivery state of one recipient.
type RecipientState struct {
	Email  string
	Status SendStatus
	Error  string // the last report, or empty
}

// MessageStatus derives a message's status and send_error from its recipients (specification, Sending).
// The message is queued or retrying while any recipient waits. Then it is failed if any recipient
// failed, and unsigned if any copy was unsigned. A bounce does not change the status, because
// unsigned describes how the message was accepted.
func MessageStatus(recipients []RecipientState, unsigned bool) (status SendStatus, sendError string) {
	var count [StatusBounced + 1]int
	for _, r := range recipients {
		count[min(r.Status, StatusBounced)]++
	}
	waiting := count[StatusQueued]+count[StatusRetrying] > 0
	switch {
	case waiting && count[StatusRetrying]+count[StatusFailed] > 0:
		status = StatusRetrying
	case waiting || len(recipients) == 0:
		status = StatusQueued
	case count[StatusFailed] > 0:
		status = StatusFailed
	case count[StatusUnsigned] > 0, count[StatusBounced] > 0 && unsigned:
		status = StatusUnsigned
	default:
		status = StatusSent
	}
	why := cmp.Or(lastError(recipients, StatusFailed, count[StatusFailed]), lastError(recipients, StatusRetrying, min(count[StatusRetrying], 1)))
	back := lastError(recipients, StatusBounced, count[StatusBounced])
	if why != "" && back != "" {
		why += "; "
	}
	return status, why + back
}

// lastError names the first of the many recipients with a status. It is empty if none has a status.
func lastError(recipients []RecipientState, about SendStatus, many int) string {
	if many == 0 {
		return ""
	}
	i := slices.IndexFunc(recipients, func(r RecipientState) bool { return r.Status == about })
	text := recipients[i].Email + ": " + cmp.Or(recipients[i].Error, "the message could not be delivered")
	if many > 1 {
		text += fmt.Sprintf(" (and %d more recipients)", many-1)
	}
	return text
}
