package otp

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
