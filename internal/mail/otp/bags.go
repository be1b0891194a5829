package otp

import "inboxd/internal/mail/otp/text"

// bag is a set of signs: bit n for sign n. What stands somewhere around a candidate counts sign by sign.
type bag uint64

// has tells whether one of the classes is in the bag.
func (b bag) has(classes ...text.Class) bool {
	for _, c := range classes {
		if b&(1<<c) != 0 {
			return true
		}
	}
	return false
}

// maxBag bounds the tokens of a sentence that are looked at.
const maxBag = 40

// bagOf gives the signs of line li, none when there is no such line.
func (p *page) bagOf(li int32) bag {
	if li < 0 || int(li) >= len(p.bags) {
		return 0
	}
	return p.bags[li]
}

// sentenceBefore and sentenceBehind give what the sentence of a candidate has on its line.
func (p *page) sentenceBefore(c *candidate) (b bag) {
	for k := c.first - 1; k >= p.Lines[c.line].First && p.signs[k] != signPeriod && k > c.first-maxBag; k-- {
		b |= 1 << p.signs[k]
	}
	return b
}

func (p *page) sentenceBehind(c *candidate) (b bag) {
	for k := c.last + 1; k < p.Lines[p.lineOf(c.last, c.line)].Last && p.signs[k] != signPeriod && k < c.last+maxBag; k++ {
		b |= 1 << p.signs[k]
	}
	return b
}

// signIn gives the sign of token k of those from first to before last, else that of an edge.
func (p *page) signIn(first, last, k int32) sign {
	if k < first || k >= last {
		return signEdge
	}
	return p.signs[k]
}
