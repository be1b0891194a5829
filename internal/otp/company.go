package otp

import "inboxd/internal/otp/text"

// How much stands beside a candidate in its sentence, and what joins it to that.

// company counts the words that its sentence has on its line besides a candidate.
func (p *page) company(c *candidate) (n int) {
	ln := &p.Lines[p.lineOf(c.last, c.line)]
	for k := c.first - 1; k >= p.Lines[c.line].First && p.signs[k] != signPeriod && n < 12; k-- {
		n += int(p.Tokens[k].Weight)
	}
	for k := c.last + 1; k < ln.Last && p.signs[k] != signPeriod && n < 12; k++ {
		n += int(p.Tokens[k].Weight)
	}
	return n
}

// means tells "verify it with 482913", and the code below "verify with:".
func (v *view) means() bool {
	by := v.left[0] == sign(text.ClassBy) || v.right == sign(text.ClassBy) || v.before.words[0] == sign(text.ClassBy)
	if by && (v.seenL|v.seenR).has(text.ClassVerify, text.ClassConfirm) {
		return true
	}
	if !v.c.own || v.c.line == 0 {
		return false
	}
	up, last := &v.Lines[v.c.line-1], signEdge
	for k := up.First; k < up.Last; k++ {
		if v.signs[k] < signColon {
			last = v.signs[k]
		}
	}
	return last == sign(text.ClassBy) && v.bagOf(v.c.line-1).has(text.ClassVerify, text.ClassConfirm)
}
