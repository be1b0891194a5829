package otp

import "inboxd/internal/mail/otp/text"

// signSet is a set of signs; bit n stands for sign n. It is the bag-of-words feature of the model: the
// order of the tokens does not count.
type signSet uint64

// hasClass reports whether the bag contains at least one of the classes.
func (b signSet) hasClass(classes ...text.Class) bool {
	for _, c := range classes {
		if b&(1<<c) != 0 {
			return true
		}
	}
	return false
}

// maxBag is the largest number of tokens of a sentence that are read on each side of a candidate.
const maxBag = 40

// bagOf returns the signs of line li, or an empty bag if the page has no such line.
func (p *sourcePage) bagOf(li int32) signSet {
	if li < 0 || int(li) >= len(p.bags) {
		return 0
	}
	return p.bags[li]
}

// sentenceBefore returns the signs of the candidate's sentence before it, on its line.
func (p *sourcePage) sentenceBefore(c *candidate) (b signSet) {
	for k := c.first - 1; k >= p.Lines[c.line].FirstToken && p.signs[k] != signPeriod && k > c.first-maxBag; k-- {
		b |= 1 << p.signs[k]
	}
	return b
}

// sentenceBehind returns the signs of the candidate's sentence behind it, on the line of its last
// token.
func (p *sourcePage) sentenceBehind(c *candidate) (b signSet) {
	for k := c.last + 1; k < p.Lines[p.lineOf(c.last, c.line)].EndToken && p.signs[k] != signPeriod && k < c.last+maxBag; k++ {
		b |= 1 << p.signs[k]
	}
	return b
}

// signIn returns the sign of token k, or signEdge if k is outside of [first, last).
func (p *sourcePage) signIn(first, last, k int32) sign {
	if k < first || k >= last {
		return signEdge
	}
	return p.signs[k]
}
