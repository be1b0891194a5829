package webhook

import "time"

// Answer is what a receiver did with one call.
type Answer struct {
	Status   int           // HTTP status; 0: there was no answer
	Duration time.Duration // until the end of the answer's head, or until it failed
	Error    string        // what went wrong, for a person; empty for a 2xx
	Excerpt  string        // the first bytes of the body, valid UTF-8
}

// ExcerptBytes is how much of an answer is kept.
const ExcerptBytes = 1 << 10
