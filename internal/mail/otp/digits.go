package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/text"
)

// groups summarizes the runs of digits of a number, which may span several tokens.
type groups struct {
	n, total int // number of groups, and of digits in all of them
	size     int // digits of each group, 0 if the groups differ
	odd      int // number of groups that do not have two to four digits
}

func (g *groups) add(written []byte) {
	for run := range bytes.SplitSeq(written, []byte("-")) {
		if g.n > 0 && g.size != len(run) {
			g.size = 0
		} else {
			g.size = len(run)
		}
		g.odd += bit(!text.Between(len(run), 2, 4))
		g.n++
		g.total += len(run)
	}
}

// even reports whether the groups are equally long and of a length that codes have: 482 913,
// 48-29-13, 4829 1300.
func (g *groups) even() bool {
	switch {
	case g.n == 1:
		return text.Between(g.total, minCode, maxCode)
	case g.size == 1:
		return text.Between(g.n, minCode, maxCode)
	}
	return text.Between(g.size, 2, 5) && text.Between(g.total, 6, maxCode)
}

// uneven reports whether the groups differ as in a code of seven digits: 825 44 71. Telephone
// numbers look the same, so this is a feature of the candidate.
func (g *groups) uneven() bool { return g.odd == 0 && g.size == 0 && text.Between(g.total, 6, 8) }

// mostDigits is the number of digits after which no further group is read.
const mostDigits = 24

// number reads digits, with or without groups, from token k on. It skips all groups of a telephone
// or card number.
func (p *page) number(ln *text.Line, k int32) (c candidate, next int32) {
	var g groups
	g.add(p.Raw(k))
	all, last := g, k
	for i := p.nextGroup(ln, k); i > 0 && all.total <= mostDigits; i = p.nextGroup(ln, i) {
		all.add(p.Raw(i))
		last = i
	}
	switch {
	case p.keyed(ln, k):
	case all.even(), all.n == 2 && all.total == 7 && p.Length(k) == 3: // "555 0142": a local telephone number, or a code
		c = p.reading(formDigits, k, last)
	case all.uneven():
		c = p.reading(formDigits, k, last)
		c.uneven = true
	case g.even() && (g.n == 1 && g.total > minCode || all.total < 9):
		return p.reading(formDigits, k, k), k + 1 // a complete code, and another number behind it
	case all.total < 9:
		return c, k + 1
	}
	return c, last + 1
}

// nextGroup returns the token behind token i that may be the next group of the same number, or 0.
// The group follows one space, a hyphen between spaces, or, for two halves of three digits, it is
// alone in the next cell of a table.
func (p *page) nextGroup(ln *text.Line, i int32) int32 {
	j := i + 1
	if p.Length(i) == 3 && ln.Last-ln.First == 1 && int(j) < len(p.Tokens) && p.endsLine(j) && p.Length(j) == 3 && p.Tokens[j].Kind == text.KindNumber {
		return j
	}
	if j < ln.Last && p.Lower[p.Tokens[j].Start] == '-' && p.Tokens[j].Gap {
		j++
	}
	if j >= ln.Last || p.Tokens[j].Kind != text.KindNumber || !p.Tokens[j].Gap || p.Tokens[j].Wide {
		return 0
	}
	if j+1 < ln.Last && text.Between(p.Tokens[j+1].Class, text.ClassMoney, text.ClassTimeUnit) {
		return 0 // "482 913 10 minutes"
	}
	return j
}

// keyed reports whether the number at k belongs to the key of an issue tracker: "SEC-4829". A label
// before the hyphen makes it a code: "OTP-4829".
func (p *page) keyed(ln *text.Line, k int32) bool {
	return k >= ln.First+2 && p.Lower[p.Tokens[k-1].Start] == '-' && p.tight(k-1, k) && p.Length(k-2) > 1 && p.upper(k-2)
}
