package otp

// Lengths of a code, in characters without blanks and hyphens.
const (
	minCode = 4
	maxCode = 10
	maxText = 24 // of a code of letters as written
)

// form is what a code is made of.
type form uint8

const (
	formDigits form = iota
	formMixed       // ASCII letters and digits
	formLetters
	formChain // small letters in groups: "lorem-ipsu-dolor"
)

// candidate is a token, or several, that could be a code.
type candidate struct {
	page        *page
	line        int32 // index into page.lines
	first, last int32 // tokens, inclusive
	form        form
	own         bool // it stands alone on its line, or in its element
	split       bool // written in groups or single characters
	bare        bool // a number that a subject gives without a word for it
	listed      bool // one of several of its kind: a list of backup codes
	n           uint8
	text        [maxText]byte // normal form
	score       int
	relation    relation
}

func (c *candidate) code() string { return string(c.text[:c.n]) }

func (c *candidate) add(b []byte) bool {
	if int(c.n)+len(b) > len(c.text) {
		return false
	}
	c.n += uint8(copy(c.text[c.n:], b))
	return true
}

// collect finds everything in the page that has the form of a code.
func (p *page) collect(out []candidate) []candidate {
	for li := int32(0); li < int32(len(p.lines)); li++ {
		ln := &p.lines[li]
		if ln.footer || !ln.starts {
			continue
		}
		if ln.last-ln.first >= chainTokens && chained(p.plain[ln.start:ln.end]) {
			out = append(out, p.chain(li))
			continue
		}
		if c, n := p.column(li); n > 0 {
			out = append(out, c)
			li += n - 1
			continue
		}
		for k := ln.first; k < ln.last; {
			if !p.mayStart(k) {
				k++
				continue
			}
			c, next := p.at(ln, k)
			if c.n > 0 {
				c.line = li
				c.own = p.alone(ln, c.first, c.last)
				out = append(out, c)
			}
			k = next
		}
	}
	return out
}

// mayStart passes over most words quickly.
func (p *page) mayStart(k int32) bool {
	switch t := &p.tokens[k]; t.kind {
	case kindNumber, kindMixed:
		return true
	case kindWord:
		last := p.plain[t.end-1]
		return t.end-t.start == 1 && isAlnum(p.lower[t.start]) || last >= 'A' && last <= 'Z' && t.class == classNone
	}
	return false
}

// alone tells whether a line holds nothing but the tokens first to last and signs.
func (p *page) alone(ln *line, first, last int32) bool {
	for k := ln.first; k < ln.last; k++ {
		if (k < first || k > last) && p.tokens[k].kind != kindPunct {
			return false
		}
	}
	return true
}

// at reads the candidate that starts with token k, if there is one, and tells where to go on.
func (p *page) at(ln *line, k int32) (c candidate, next int32) {
	if c, next = p.singles(ln, k); c.n > 0 {
		return c, next
	}
	switch t := &p.tokens[k]; t.kind {
	case kindNumber:
		return p.number(ln, k)
	case kindMixed:
		return p.mixed(k), k + 1
	case kindWord:
		return p.capitals(ln, k)
	}
	return candidate{}, k + 1
}

// bytes of a token as written, save for accents.
func (p *page) raw(k int32) []byte { t := &p.tokens[k]; return p.plain[t.start:t.end] }

func (p *page) length(k int32) int { t := &p.tokens[k]; return int(t.end - t.start) }

// single tells a token of one ASCII letter or digit.
func (p *page) single(k int32) bool {
	t := &p.tokens[k]
	return t.end-t.start == 1 && isAlnum(p.lower[t.start]) && p.plain[t.start] != notASCII
}

// singles reads "4 8 2 9 1 3" and "1 u 8 k u f".
func (p *page) singles(ln *line, k int32) (c candidate, next int32) {
	if !p.single(k) || k > ln.first && p.single(k-1) {
		return c, k + 1
	}
	c = candidate{page: p, first: k, last: k, split: true}
	digits, letters := 0, 0
	for i := k; i < ln.last; i++ {
		if p.tokens[i].kind == kindPunct && p.lower[p.tokens[i].start] == '-' && i+1 < ln.last && p.single(i+1) {
			continue
		}
		if !p.single(i) || int(c.n) >= maxCode {
			break
		}
		if isDigit(p.lower[p.tokens[i].start]) {
			digits++
		} else {
			letters++
		}
		c.add(p.raw(i))
		c.last = i
	}
	switch {
	case digits+letters < minCode, letters > 0 && digits == 0, c.last+1 < ln.last && p.single(c.last+1):
		return candidate{}, k + 1
	case letters > 0:
		c.form = formMixed
		if !p.alone(ln, c.first, c.last) && letters > digits+2 {
			return candidate{}, k + 1
		}
	}
	return c, c.last + 1
}

// column reads a code whose characters stand in table cells of their own, one below the
// other in the text: single characters, or two groups of three digits.
func (p *page) column(li int32) (c candidate, lines int32) {
	ln := &p.lines[li]
	size := p.length(ln.first)
	if ln.last-ln.first != 1 || size != 1 && size != 3 {
		return c, 0
	}
	c = candidate{page: p, line: li, first: ln.first, last: ln.first, own: true, split: true}
	letters, digits := 0, 0
	for int(li+lines) < len(p.lines) && int(c.n)+size <= maxCode {
		l := &p.lines[li+lines]
		dash := l.last-l.first == 1 && lines > 0 && p.tokens[l.first].kind == kindPunct && p.lower[l.start] == '-'
		if !dash {
			if l.last-l.first != 1 || p.length(l.first) != size || !p.cell(l.first, size) {
				break
			}
			if isDigit(p.lower[l.start]) {
				digits++
			} else {
				letters++
			}
			c.add(p.raw(l.first))
			c.last = l.first
		}
		lines++
	}
	if letters > 0 {
		c.form = formMixed
	}
	if size == 1 && (digits == 0 || int(c.n) < minCode || p.counts(&c)) || size > 1 && (digits != 2 || c.n > 8) {
		return candidate{}, 0
	}
	return c, lines
}

// counts tells 1, 2, 3, 4: the steps of an instruction, not a code.
func (p *page) counts(c *candidate) bool {
	for i := 1; i < int(c.n); i++ {
		if c.text[i] != c.text[i-1]+1 {
			return false
		}
	}
	return true
}

func (p *page) cell(k int32, size int) bool {
	if size == 1 {
		return p.single(k)
	}
	t := &p.tokens[k]
	if t.kind != kindNumber {
		return false
	}
	for _, b := range p.lower[t.start:t.end] {
		if !isDigit(b) {
			return false
		}
	}
	return true
}

// mixed reads a token of letters and digits. One or two letters and a hyphen before
// digits are a prefix, not part of the code: "G-482913".
func (p *page) mixed(k int32) (c candidate) {
	raw := p.raw(k)
	letters, digits, hyphens := 0, 0, 0
	for _, b := range p.lower[p.tokens[k].start:p.tokens[k].end] {
		switch {
		case isDigit(b):
			digits++
		case b == '-':
			hyphens++
		default:
			letters++
		}
	}
	c = candidate{page: p, first: k, last: k, form: formMixed}
	if letters <= 2 && hyphens > 0 && raw[0] <= 'Z' && raw[letters] == '-' && digits >= minCode && !isDigit(raw[0]) {
		var g groups
		g.add(raw[letters+1:])
		if g.even() && digits <= 8 {
			c.form = formDigits
			for _, b := range raw[letters:] {
				if b != '-' {
					c.add([]byte{b})
				}
			}
			return c
		}
	}
	if n := letters + digits; n < minCode || n > 12 && !(hyphens > 1 && n < 15) || hyphens > 3 || !c.add(raw) {
		return candidate{}
	}
	return c
}
