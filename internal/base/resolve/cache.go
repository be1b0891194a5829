package resolve

import "time"

// cache holds answers in two generations. When the younger one is full, the older one is dropped as
// a whole. So it is bounded without a clock of its own, and frequently used answers stay. The
// Resolver's lock guards it.
type cache struct {
	max        int // entries in both generations
	young, old map[question]answer
}

func (c *cache) get(q question, now time.Time) (answer, bool) {
	a, ok := c.young[q]
	if !ok {
		if a, ok = c.old[q]; ok && now.Before(a.until) {
			c.put(q, a)
		}
	}
	return a, ok && now.Before(a.until)
}

func (c *cache) put(q question, a answer) {
	if c.young == nil || len(c.young) >= max(1, c.max/2) {
		c.young, c.old = make(map[question]answer), c.young
	}
	c.young[q] = a
}
