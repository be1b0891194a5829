package otp

import "inboxd/internal/otp/text"

// groups are the runs of digits of a number, which may go over several tokens.
type groups struct {
	n, total    int
	first, size int  // length of the first; of all, 0 when they differ
	hyphens     bool // a hyphen was seen
}

func (g *groups) add(b []byte) {
	run := 0
	for i := 0; i <= len(b); i++ {
		if i < len(b) && b[i] != '-' {
			run++
			continue
		}
		if g.n == 0 {
			g.first, g.size = run, run
		} else if g.size != run {
			g.size = 0
		}
		g.n++
		g.total += run
		g.hyphens = g.hyphens || i < len(b)
		run = 0
	}
}

// even tells groups as codes have them: 482 913, 48-29-13, 4829 1300.
func (g *groups) even() bool {
	switch {
	case g.n == 1:
		return text.Between(g.total, minCode, maxCode)
	case g.size == 1:
		return g.n >= minCode && g.total <= maxCode
	}
	return text.Between(g.size, 2, 5) && text.Between(g.total, 6, maxCode)
}

// number reads digits, in groups or not. What has the form of a telephone or card number
// is passed over as a whole.
func (p collector) number(ln *text.Line, k int32) (c candidate, next int32) {
	var all, g groups
	g.add(p.Raw(k))
	last := k
	all = g
	for i := k; ; {
		j := p.nextGroup(ln, i)
		if j < 0 || all.total > 24 {
			break
		}
		if j+1 < ln.Last && p.Tokens[j+1].Class >= text.ClassMoney && p.Tokens[j+1].Class <= text.ClassTimeUnit {
			break // "482 913 10 minutes"
		}
		all.add(p.Raw(j))
		last, i = j, j
	}
	switch {
	case p.Length(k) > 24, p.phonePrefix(ln, k), p.keyed(ln, k), all.n > 2 && all.total > maxCode && all.size > 1:
		return c, last + 1
	case all.even(), all.n == 2 && p.local(k, &all):
	case g.n == 1 && text.Between(g.total, 5, maxCode), last == k && g.even():
		last = k // a whole code, and another number behind it
	case all.total >= 9 || all.hyphens || last == k:
		return c, last + 1
	default:
		last = k
		if !g.even() {
			return c, k + 1
		}
	}
	c = candidate{page: p.page, first: k, last: last, split: last > k || g.n > 1}
	for i := k; i <= last; i++ {
		for _, b := range p.Raw(i) {
			if text.IsDigit(b) && !c.add([]byte{b}) {
				return candidate{}, last + 1
			}
		}
	}
	return c, last + 1
}

// local tells "555 0142": a telephone number without its area, or a code.
func (p collector) local(k int32, all *groups) bool {
	return all.n == 2 && all.total == 7 && p.Length(k) == 3
}

// nextGroup gives the number behind token i that may belong to it: after one blank, or
// after a hyphen between blanks. -1 when there is none.
func (p collector) nextGroup(ln *text.Line, i int32) int32 {
	j := i + 1
	if j < ln.Last && p.Tokens[j].Kind == text.KindPunct && p.Lower[p.Tokens[j].Start] == '-' && p.Tokens[j].Gap {
		j++
	}
	if j < ln.Last && p.Tokens[j].Kind == text.KindNumber && p.Tokens[j].Gap && !p.Tokens[j].Wide {
		return j
	}
	return -1
}

// phonePrefix tells "+49 30 ...", "(030) ...".
func (p collector) phonePrefix(ln *text.Line, k int32) bool {
	if k == ln.First {
		return false
	}
	prev := &p.Tokens[k-1]
	if prev.Kind != text.KindPunct {
		return false
	}
	switch p.Lower[prev.Start] {
	case '+':
		return !p.Tokens[k].Gap
	case ')':
		return k-2 >= ln.First && p.Tokens[k-2].Kind == text.KindNumber && p.Length(k-2) <= 5
	}
	return false
}

// keyed tells the number of a key that hangs at its project: "SEC-4829", but not "OTP-4829".
func (p collector) keyed(ln *text.Line, k int32) bool {
	if k < ln.First+2 || p.Tokens[k].Gap || p.Tokens[k-1].Gap || p.Lower[p.Tokens[k-1].Start] != '-' {
		return false
	}
	w := &p.Tokens[k-2]
	if w.Kind != text.KindWord || w.Class.Label() {
		return false
	}
	return w.End-w.Start > 1 && capital(p.Plain[w.Start]) && capital(p.Plain[w.End-1])
}
