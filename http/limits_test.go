package http

import (
	"fmt"
	"testing"
)

// textLimits are the limits of text (specification, Sending), in code points, including names and
// credentials, by field name. Every text of every request must be listed here.
var textLimits = map[string]int{
	"label": 100, "from": 354, "subject": 200, "body": 1_000_000, "text": 1_000_000, "html": 2_000_000, "filename": 255, "in_reply_to": 250,
	"comment": 10_000, "message": 10_000, "title": 300, "location": 500, "description": 20_000,
	"start": 64, "end": 64, "timezone": 64, "response": 64,
	"public_key": 10_000, "email": 254, "to": 254, "password": 128, "old": 128, "new": 128, "token": 200, "prefix": 64, "subdomain": 63, "domain": 253, "url": 2048, "event": 64, "inbox": 254,
}

// TestEveryTextHasItsLimit walks the route table: a new text fails until it is listed above.
func TestEveryTextHasItsLimit(t *testing.T) {
	s := New(Options{}, Ports{})
	texts := 0
	for i := range s.routes {
		for _, f := range s.routes[i].bodyShape {
			if f.valueKind != lineField && f.valueKind != textField {
				continue
			}
			texts++
			if want, known := textLimits[f.name]; !known || f.maxLength != want {
				t.Errorf("%s: '%s' has the limit %d, want %d (listed: %v)", s.routes[i].routeName(), f.name, f.maxLength, want, known)
			}
		}
	}
	if texts == 0 {
		t.Error("no text was looked at")
	}
}

// TestStrangersUseUpNoTriesOfOthers: a client that signed in with an address before has a separate
// limit.
func TestStrangersUseUpNoTriesOfOthers(t *testing.T) {
	tries := newTries()
	tries.signedIn(alice, "192.0.2.1")
	for n := range maxTries + 1 {
		if err := tries.countEmail(alice, fmt.Sprint("198.51.100.", n), begin); (err != nil) != (n == maxTries) {
			t.Errorf("try %d of a stranger: %v", n, err)
		}
	}
	for n := range maxTries + 1 {
		if err := tries.countEmail(alice, "192.0.2.1", begin); (err != nil) != (n == maxTries) {
			t.Errorf("try %d of the owner: %v", n, err)
		}
	}
	if err := tries.countEmail(bob, "192.0.2.1", begin); err != nil {
		t.Errorf("another address: %v", err)
	}
	for n := range 2 * maxTracked {
		tries.signedIn(fmt.Sprint(n, "@example.com"), "198.51.100.1")
		tries.signedIn("one@example.com", fmt.Sprint(n))
	}
	if len(tries.knownClients) > maxTracked {
		t.Errorf("%d addresses are known", len(tries.knownClients))
	}
}
