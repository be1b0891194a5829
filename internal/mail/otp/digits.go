package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/text"
)

// groups are the runs of digits of a number, which may go over several tokens.
type groups struct {
	n, total int
	size     int // of all, 0 when they differ
	odd      int // how many are not of two to four digits
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

// even tells groups as codes have them: 482 913, 48-29-13, 4829 1300.
func (g *groups) even() bool {
	switch {
	case g.n == 1:
		return text.Between(g.total, minCode, maxCode)
	case g.size == 1:
		return text.Between(g.n, minCode, maxCode)
	}
	return text.Between(g.size, 2, 5) && text.Between(g.total, 6, maxCode)
}

// uneven tells groups as people write a code of seven digits: 825 44 71. Telephone numbers have them, too.
func (g *groups) uneven() bool { return g.odd == 0 && g.size == 0 && text.Between(g.total, 6, 8) }

// most bounds the digits that are looked at.
const mostDigits = 24

// number reads digits, in groups or not. What has the form of a telephone or card number
// is passed over as a whole.
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
	case all.even(), all.n == 2 && all.total == 7 && p.Length(k) == 3: // "555 0142": a telephone number without its area, or a code
		c = p.reading(formDigits, k, last)
	case all.uneven():
		c = p.reading(formDigits, k, last)
		c.uneven = true
	case g.even() && (g.n == 1 && g.total > minCode || all.total < 9):
		return p.reading(formDigits, k, k), k + 1 // a whole code, and another number behind it
	case all.total < 9:
		return c, k + 1
	}
	return c, last + 1
}

// nextGroup gives the number behind token i that may belong to it: after one blank, after a hyphen between blanks,
// or in the next cell of a table, when both are halves. 0 when there is none.
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

// keyed tells the number of a key that hangs at its project: "SEC-4829", but not "OTP-4829".
func (p *page) keyed(ln *text.Line, k int32) bool {
	return k >= ln.First+2 && p.Lower[p.Tokens[k-1].Start] == '-' && p.tight(k-1, k) && p.Length(k-2) > 1 && p.upper(k-2)
}
