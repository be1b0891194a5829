package otp

import "inboxd/internal/otp/text"

// Lengths of a code, in characters without blanks and hyphens.
const (
	minCode = 4
	maxCode = 10
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
	line        int32 // index into page.Lines
	first, last int32 // tokens, inclusive
	form        form
	own         bool // it stands alone on its line, or in its element
	split       bool // written in groups or single characters
	n           uint8
	text        [text.MaxWritten]byte // normal form
}

func (c *candidate) code() string { return string(c.text[:c.n]) }

func (c *candidate) add(b []byte) bool {
	if int(c.n)+len(b) > len(c.text) {
		return false
	}
	c.n += uint8(copy(c.text[c.n:], b))
	return true
}

// collect finds what in the page has the form of a code, until out has most.
func (p collector) collect(out []candidate, most int) []candidate {
	for li := int32(0); li < int32(len(p.Lines)) && len(out) < most; li++ {
		ln := &p.Lines[li]
		if !ln.Starts {
			continue
		}
		if ln.Last-ln.First >= text.ChainTokens && text.Chained(p.Plain[ln.Start:ln.End]) {
			out = append(out, p.chain(li))
			continue
		}
		if c, n := p.column(li); n > 0 {
			out = append(out, c)
			li += n - 1
			continue
		}
		for k := ln.First; k < ln.Last && len(out) < most; {
			if !p.MayStart(k) {
				k++
				continue
			}
			c, next := p.at(ln, k)
			if c.n > 0 && !(vetoer{p.page}).masked(ln, &c) {
				c.line = li
				c.own = p.alone(ln, c.first, c.last)
				out = append(out, c)
			}
			k = next
		}
	}
	return out
}

// alone tells whether a line holds nothing but the tokens first to last and signs.
func (p collector) alone(ln *text.Line, first, last int32) bool {
	for k := ln.First; k < ln.Last; k++ {
		if (k < first || k > last) && p.Tokens[k].Kind != text.KindPunct {
			return false
		}
	}
	return true
}

// at reads the candidate that starts with token k, if there is one, and tells where to go on.
func (p collector) at(ln *text.Line, k int32) (c candidate, next int32) {
	if c, next = p.singles(ln, k); c.n > 0 {
		return c, next
	}
	switch t := &p.Tokens[k]; t.Kind {
	case text.KindNumber:
		return p.number(ln, k)
	case text.KindMixed:
		return p.mixed(k), k + 1
	case text.KindWord:
		return p.capitals(ln, k)
	}
	return candidate{}, k + 1
}

// single tells a token of one ASCII letter or digit.
func (p collector) single(k int32) bool {
	t := &p.Tokens[k]
	return t.End-t.Start == 1 && text.IsAlnum(p.Lower[t.Start]) && p.Plain[t.Start] != text.NotASCII
}

// singles reads "4 8 2 9 1 3" and "1 u 8 k u f".
func (p collector) singles(ln *text.Line, k int32) (c candidate, next int32) {
	if !p.single(k) || k > ln.First && p.single(k-1) {
		return c, k + 1
	}
	c = candidate{page: p.page, first: k, last: k, split: true}
	digits, letters := 0, 0
	for i := k; i < ln.Last; i++ {
		if p.Tokens[i].Kind == text.KindPunct && p.Lower[p.Tokens[i].Start] == '-' && i+1 < ln.Last && p.single(i+1) {
			continue
		}
		if !p.single(i) || int(c.n) >= maxCode {
			break
		}
		if text.IsDigit(p.Lower[p.Tokens[i].Start]) {
			digits++
		} else {
			letters++
		}
		c.add(p.Raw(i))
		c.last = i
	}
	switch {
	case digits+letters < minCode, letters > 0 && digits == 0, c.last+1 < ln.Last && p.single(c.last+1):
		return candidate{}, k + 1
	case letters > 0:
		c.form = formMixed
		if !p.alone(ln, c.first, c.last) && letters > digits+2 {
			return candidate{}, k + 1
		}
	}
	return c, c.last + 1
}

// column reads a code whose characters stand in table cells of their own, one below the other in the text.
func (p collector) column(li int32) (c candidate, lines int32) {
	ln := &p.Lines[li]
	c = candidate{page: p.page, line: li, first: ln.First, own: true, split: true}
	digits := 0
	for ; int(li+lines) < len(p.Lines) && int(c.n) < maxCode; lines++ {
		l := &p.Lines[li+lines]
		if l.Last-l.First != 1 {
			break
		}
		if lines > 0 && p.Lower[l.Start] == '-' {
			continue
		}
		if !p.single(l.First) {
			break
		}
		digits += bit(text.IsDigit(p.Lower[l.Start]))
		c.add(p.Raw(l.First))
		c.last = l.First
	}
	if digits == 0 || int(c.n) < minCode || counting(&c) { // 1, 2, 3: the steps of an instruction
		return candidate{}, 0
	}
	if digits < int(c.n) {
		c.form = formMixed
	}
	return c, lines
}

// mixed reads a token of letters and digits. One or two letters and a hyphen before
// digits are a prefix, not part of the code: "G-482913".
func (p collector) mixed(k int32) (c candidate) {
	raw := p.Raw(k)
	letters, digits, hyphens := 0, 0, 0
	for _, b := range p.Lower[p.Tokens[k].Start:p.Tokens[k].End] {
		switch {
		case text.IsDigit(b):
			digits++
		case b == '-':
			hyphens++
		default:
			letters++
		}
	}
	c = candidate{page: p.page, first: k, last: k, form: formMixed}
	if capital(raw[0]) && letters <= 2 && raw[letters] == '-' && digits >= minCode {
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
	if i := digits + hyphens; hyphens == 1 && i < 4 && raw[digits] == '-' && raw[i] >= 'a' {
		return candidate{} // "8-character"
	}
	most := 12
	if hyphens > 1 {
		most = 14
	}
	if n := letters + digits; n < minCode || n > most || hyphens > 3 || !c.add(raw) {
		return candidate{}
	}
	return c
}
