package inbox_test

import (
	"testing"

	"inboxd/internal/core/inbox"
)

// TestWeight weighs inboxes that differ in one property.
func TestWeight(t *testing.T) {
	mail := func(d inbox.Direction, size int64) *inbox.Message { return &inbox.Message{Direction: d, Size: size} }
	weight := func(m ...*inbox.Message) int64 { return (&inbox.State{Messages: m}).Weight() }
	one := weight(mail(inbox.Out, 5000))
	for _, c := range []struct {
		name string
		got  int64
		want int64
	}{
		{"none", weight(), 0},
		{"two sent ones", weight(mail(inbox.Out, 1), mail(inbox.Out, 9000)), 2 * one},
		{"a received one has an answer to polls", weight(mail(inbox.In, 5000)), one + 1024 + 5000},
		{"also behind a sent one", weight(mail(inbox.In, 5000), mail(inbox.Out, 1)), 2*one + 1024 + 5000},
		{"the last counts", weight(mail(inbox.In, 5000), mail(inbox.In, 100)), 2*one + 1024 + 100},
		{"attachments are not in it", weight(mail(inbox.In, 25<<20)), one + 1024 + 256<<10},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.name, c.got, c.want)
		}
	}
}
