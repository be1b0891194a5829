package otp

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
	return g.n == 1 && g.total >= minCode && g.total <= maxCode ||
		g.n > 1 && g.size >= 2 && g.size <= 5 && g.total >= 6 && g.total <= maxCode ||
		g.n >= minCode && g.size == 1 && g.total <= maxCode
}

// number reads digits, in groups or not. What has the form of a telephone or card number
// is passed over as a whole.
func (p *page) number(ln *line, k int32) (c candidate, next int32) {
	var all, g groups
	g.add(p.raw(k))
	last := k
	all = g
	for i := k; ; {
		j := p.nextGroup(ln, i)
		if j < 0 || all.total > 24 {
			break
		}
		if j+1 < ln.last && p.tokens[j+1].class >= classMoney && p.tokens[j+1].class <= classTimeUnit {
			break // "482 913 10 minutes"
		}
		all.add(p.raw(j))
		last, i = j, j
	}
	switch {
	case p.length(k) > 24, p.phonePrefix(ln, k), all.n > 2 && all.total > maxCode && all.size > 1:
		return c, last + 1
	case all.even(), all.n == 2 && p.uneven(ln, k, last, &all):
	case g.n == 1 && g.total >= 5 && g.total <= maxCode || last == k && g.even():
		last = k // a whole code, and another number behind it
	case all.total >= 9 || all.hyphens || last == k:
		return c, last + 1
	case all.n > 2 && g.size == 3 && p.pair(k) > k:
		last = p.pair(k)
	default:
		last = k
		if p.local(k, &all) {
			return c, k + 2
		}
		if !g.even() {
			return c, k + 1
		}
	}
	c = candidate{page: p, first: k, last: last, split: last > k || g.n > 1}
	for i := k; i <= last; i++ {
		for _, b := range p.raw(i) {
			if isDigit(b) && !c.add([]byte{b}) {
				return candidate{}, last + 1
			}
		}
	}
	return c, last + 1
}

// uneven tells "4829 13." at the end of a sentence or a line: one code in two groups of different length.
func (p *page) uneven(ln *line, k, last int32, all *groups) bool {
	if all.total != 6 && all.total != 8 || p.length(k) < 2 || p.length(last) < 2 || last != k+1 {
		return false
	}
	return last+1 >= ln.last || p.tokens[last+1].kind == kindPunct && p.pause(&p.tokens[last+1], last+1, ln) >= sentence
}

// local tells "555 0142": a telephone number without its area.
func (p *page) local(k int32, all *groups) bool {
	return all.n == 2 && all.total == 7 && p.length(k) == 3
}

// pair gives the token behind k when both have three digits.
func (p *page) pair(k int32) int32 {
	if int(k+1) < len(p.tokens) && p.tokens[k+1].kind == kindNumber && p.length(k) == 3 && p.length(k+1) == 3 {
		return k + 1
	}
	return k
}

// nextGroup gives the number behind token i that may belong to it: after one blank, or
// after a hyphen between blanks. -1 when there is none.
func (p *page) nextGroup(ln *line, i int32) int32 {
	j := i + 1
	if j < ln.last && p.tokens[j].kind == kindPunct && p.lower[p.tokens[j].start] == '-' && p.tokens[j].gap {
		j++
	}
	if j < ln.last && p.tokens[j].kind == kindNumber && p.tokens[j].gap && !p.tokens[j].wide {
		return j
	}
	return -1
}

// phonePrefix tells "+49 30 ...", "(030) ...".
func (p *page) phonePrefix(ln *line, k int32) bool {
	if k == ln.first {
		return false
	}
	prev := &p.tokens[k-1]
	if prev.kind != kindPunct {
		return false
	}
	switch p.lower[prev.start] {
	case '+':
		return !p.tokens[k].gap
	case ')':
		return k-2 >= ln.first && p.tokens[k-2].kind == kindNumber && p.length(k-2) <= 5
	}
	return false
}
