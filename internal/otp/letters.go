package otp

import "inboxd/internal/otp/text"

// Codes of letters alone.

// capitals reads a code of capital letters alone: "QGFDAE", "XKJ-BVT". In one piece it must
// end its sentence, so that no word of a heading is taken for one.
func (p collector) capitals(ln *text.Line, k int32) (c candidate, next int32) {
	c = candidate{page: p.page, first: k, last: k, form: formLetters}
	if !p.upper(k) || !c.add(p.Raw(k)) {
		return candidate{}, k + 1
	}
	if n := p.Length(k); p.halves(ln, k) {
		c.add([]byte{'-'})
		c.add(p.Raw(k + 2))
		c.last, c.split = k+2, true
	} else if n < 6 || n > 8 || !text.Jumbled(p.Raw(k)) {
		return candidate{}, k + 1
	}
	if e := c.last + 1; !c.split && e < ln.Last && p.Tokens[e].Kind != text.KindPunct {
		return candidate{}, k + 1
	}
	return c, c.last + 1
}

// halves tells "XKJ-BVT", of which k is the first token.
func (p collector) halves(ln *text.Line, k int32) bool {
	if k+2 >= ln.Last || p.Lower[p.Tokens[k+1].Start] != '-' || !p.tight(k+1, k+2) {
		return false
	}
	n := p.Length(k)
	return text.Between(n, 3, 4) && p.Length(k+2) == n && p.upper(k+2)
}

func (p *page) upper(k int32) bool {
	t := &p.Tokens[k]
	if t.Kind != text.KindWord || t.Class != text.ClassNone || t.End-t.Start > maxCode || t.End-t.Start < 3 {
		return false
	}
	for _, b := range p.Raw(k) {
		if !capital(b) {
			return false
		}
	}
	return true
}

// chain reads a line of groups of small letters.
func (p collector) chain(li int32) (c candidate) {
	ln := &p.Lines[li]
	c = candidate{page: p.page, line: li, first: ln.First, last: ln.Last - 1, form: formChain, own: true, split: true}
	c.add(p.Plain[ln.Start:ln.End])
	return c
}
