package otp

// Codes of letters alone.

// capitals reads a code of capital letters alone: "QGFDAE", "XKJ-BVT". In one piece it must
// end its sentence, so that no word of a heading is taken for one.
func (p *page) capitals(ln *line, k int32) (c candidate, next int32) {
	c = candidate{page: p, first: k, last: k, form: formLetters}
	if !p.upper(k) || !c.add(p.raw(k)) {
		return candidate{}, k + 1
	}
	if n := p.length(k); k+2 < ln.last && (n == 3 || n == 4) && p.length(k+2) == n && p.upper(k+2) &&
		p.lower[p.tokens[k+1].start] == '-' && !p.tokens[k+1].gap && !p.tokens[k+2].gap {
		c.add([]byte{'-'})
		c.add(p.raw(k + 2))
		c.last, c.split = k+2, true
	} else if n < 6 || n > 8 || !jumbled(p.raw(k)) {
		return candidate{}, k + 1
	}
	if e := c.last + 1; !c.split && e < ln.last && p.tokens[e].kind != kindPunct {
		return candidate{}, k + 1
	}
	return c, c.last + 1
}

func (p *page) upper(k int32) bool {
	t := &p.tokens[k]
	if t.kind != kindWord || t.class != classNone || t.end-t.start > maxCode || t.end-t.start < 3 {
		return false
	}
	for _, b := range p.raw(k) {
		if b < 'A' || b > 'Z' {
			return false
		}
	}
	return true
}

// jumbled tells letters that nobody could pronounce: four consonants in a row, or Q
// without U. "PENDING" and "EXPIRED" are words.
func jumbled(b []byte) bool {
	run := 0
	for i, c := range b {
		switch c {
		case 'A', 'E', 'I', 'O', 'U', 'Y':
			run = 0
		default:
			run++
		}
		if run >= 4 || c == 'Q' && i+1 < len(b) && b[i+1] != 'U' {
			return true
		}
	}
	return false
}

// chainTokens is the least a chain has: three groups, and the hyphens between them.
const chainTokens = 5

// chain reads a line of groups of small letters.
func (p *page) chain(li int32) (c candidate) {
	ln := &p.lines[li]
	c = candidate{page: p, line: li, first: ln.first, last: ln.last - 1, form: formChain, own: true, split: true}
	c.add(p.plain[ln.start:ln.end])
	return c
}

// chained tells a line that is nothing but three or more groups of small letters with hyphens between
// them: "lorem-ipsu-dolor". Most lines differ in their first word.
func chained(b []byte) bool {
	if len(b) > maxText {
		return false
	}
	run, parts := 0, 1
	for _, c := range b {
		switch {
		case c >= 'a' && c <= 'z':
			run++
		case c == '-' && run > 2:
			run = 0
			parts++
		default:
			return false
		}
		if run > 6 {
			return false
		}
	}
	return run > 2 && parts > 2
}
