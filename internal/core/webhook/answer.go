package webhook

import "time"

// ReceiverResponse is the result of one attempt: the receiver's HTTP response, or why there was none.
type ReceiverResponse struct {
	Status      int           // HTTP status; 0: no response
	Duration    time.Duration // until the end of the response header, or until the attempt failed
	Error       string        // human-readable reason for the failure; empty for a 2xx
	BodyExcerpt string        // the first bytes of the response body, valid UTF-8
}

// ExcerptBytes is how many bytes of a response body are stored.
const ExcerptBytes = 1 << 10
