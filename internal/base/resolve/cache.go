package resolve

import "time"

// answerCache holds answers in two generations. When the younger one is full, the older one is
// dropped as a whole. So it is bounded without a clock of its own, and frequently used answers
// stay. The Resolver's lock guards it.
type answerCache struct {
	maxEntries               int // entries in both generations
	youngEntries, oldEntries map[dnsQuestion]dnsAnswer
}

func (c *answerCache) getAnswer(q dnsQuestion, now time.Time) (dnsAnswer, bool) {
	a, ok := c.youngEntries[q]
	if !ok {
		if a, ok = c.oldEntries[q]; ok && now.Before(a.validUntil) {
			c.putAnswer(q, a)
		}
	}
	return a, ok && now.Before(a.validUntil)
}

func (c *answerCache) putAnswer(q dnsQuestion, a dnsAnswer) {
	if c.youngEntries == nil || len(c.youngEntries) >= max(1, c.maxEntries/2) {
		c.youngEntries, c.oldEntries = make(map[dnsQuestion]dnsAnswer), c.youngEntries
	}
	c.youngEntries[q] = a
}
