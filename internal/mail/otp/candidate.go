package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/text"
)

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
	uneven      bool // ... of different lengths
	n           uint8
	text        [text.MaxWritten]byte // normal form
}

func (c *candidate) code() string { return string(c.text[:c.n]) }

// reading makes a candidate of the tokens from first to last, as they are written but without what parts them. What
// is made of digits alone has no hyphens either.
func (p *page) reading(form form, first, last int32) (c candidate) {
	c = candidate{page: p, first: first, last: last, form: form, split: last > first}
	for k := first; k <= last; k++ {
		c.add(p.Raw(k))
	}
	return c
}

func (c *candidate) add(written []byte) {
	for _, b := range written {
		if b == '-' && c.form == formDigits {
			c.split = true
		} else if int(c.n) < len(c.text) {
			c.text[c.n] = b
			c.n++
		}
	}
}

// collect finds what in the page has the form of a code, until out has most.
func (p *page) collect(out []candidate, most int) []candidate {
	next := int32(0) // token
	for li := range p.Lines {
		ln := &p.Lines[li]
		for k := max(next, ln.First); ln.Starts && k < ln.Last && len(out) < most; k = next {
			var c candidate
			if c, next = p.at(ln, k); c.n >= minCode && !p.masked(ln, &c) {
				c.line, c.own = int32(li), p.alone(ln, c.first, c.last)
				out = append(out, c)
			}
		}
	}
	return out
}

// alone tells whether a line holds nothing but the tokens first to last and signs.
func (p *page) alone(ln *text.Line, first, last int32) bool {
	for k := ln.First; k < ln.Last; k++ {
		if (k < first || k > last) && p.Tokens[k].Kind != text.KindPunct {
			return false
		}
	}
	return true
}

// at reads the candidate that starts with token k, if there is one, and tells where to go on.
func (p *page) at(ln *text.Line, k int32) (c candidate, next int32) {
	switch t := &p.Tokens[k]; {
	case k == ln.First && ln.Last-k >= text.ChainTokens && text.Chained(p.Plain[ln.Start:ln.End]):
		c = p.reading(formChain, k, ln.Last-1)
	case !p.MayStart(k):
	case p.single(k):
		if c = p.singles(ln, k); c.last == k && t.Kind == text.KindNumber {
			return p.number(ln, k)
		}
	case t.Kind == text.KindNumber:
		return p.number(ln, k)
	case t.Kind == text.KindMixed:
		c = p.mixed(k)
	default:
		c = p.capitals(ln, k)
	}
	return c, max(k, c.last) + 1
}

// single tells a token of one ASCII letter or digit.
func (p *page) single(k int32) bool {
	t := &p.Tokens[k]
	return t.End-t.Start == 1 && text.IsAlnum(p.Lower[t.Start]) && p.Plain[t.Start] != text.NotASCII
}

// singles reads "4 8 2 9 1 3" and "1 u 8 k u f", and the same in cells of a table, one below the other in the text.
func (p *page) singles(ln *text.Line, k int32) (c candidate) {
	digits, letters, last := 0, 0, k
	column := k == ln.First && p.endsLine(k)
	for i := k; int(i) < len(p.Tokens) && (p.single(i) || p.Lower[p.Tokens[i].Start] == '-'); i++ {
		if i >= ln.Last && !(column && p.endsLine(i)) {
			break
		}
		switch b := p.Lower[p.Tokens[i].Start]; {
		case b == '-':
			continue
		case text.IsDigit(b):
			digits++
		default:
			letters++
		}
		last = i
	}
	if !text.Between(digits+letters, minCode, maxCode) || letters > digits+2 && !p.alone(ln, k, last) {
		return candidate{last: last}
	}
	c = p.reading(formDigits, k, last)
	if letters > 0 {
		c.form = formMixed
	}
	if digits == 0 && !text.Jumbled(c.text[:c.n]) || column && counting(&c) { // a heading; 1, 2, 3: the steps of an instruction
		c.n = 0
	}
	return c
}

// endsLine tells whether token k is the last of its line.
func (p *page) endsLine(k int32) bool {
	end := int(p.Tokens[k].End)
	return end == len(p.Lower) || p.Lower[end] == '\n'
}

// mixed reads a token of letters and digits. One or two letters and a hyphen before
// digits are a prefix, not part of the code: "G-482913".
func (p *page) mixed(k int32) candidate {
	c := candidate{page: p, first: k, last: k, form: formMixed}
	prefix, rest, _ := bytes.Cut(p.Raw(k), []byte("-"))
	var g groups
	if g.add(rest); len(prefix) <= 2 && len(bytes.Trim(rest, "0123456789-")) == 0 && g.even() {
		c.form = formDigits
		c.add(rest)
		return c
	}
	const most, hyphens = 14, 3
	if n := bytes.Count(rest, []byte("-")); n >= hyphens || len(p.Raw(k))-n > most || len(rest) > 4 && lower(rest) {
		return candidate{} // "8-character"
	}
	c.add(p.Raw(k))
	return c
}

// capitals reads a code of capital letters alone: "QGFDAE", "XKJ-BVT". In one piece it must
// end its sentence, so that no word of a heading is taken for one.
func (p *page) capitals(ln *text.Line, k int32) candidate {
	switch n := p.Length(k); {
	case !p.upper(k) || p.Tokens[k].Class != text.ClassNone:
	case text.Between(n, 3, 4) && p.halves(ln, k):
		return p.reading(formLetters, k, k+2)
	case text.Between(n, 5, 8) && text.Jumbled(p.Raw(k)) && (k+1 == ln.Last || p.Tokens[k+1].Kind == text.KindPunct):
		return p.reading(formLetters, k, k)
	}
	return candidate{}
}

// halves tells "XKJ-BVT", of which k is the first token.
func (p *page) halves(ln *text.Line, k int32) bool {
	return k+2 < ln.Last && p.Lower[p.Tokens[k+1].Start] == '-' && p.tight(k+1, k+2) && p.upper(k+2) && p.Length(k) == p.Length(k+2)
}

// upper tells a word of capitals that announces no code.
func (p *page) upper(k int32) bool {
	t := &p.Tokens[k]
	return t.Kind == text.KindWord && !t.Class.Label() && len(bytes.Trim(p.Raw(k), "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) == 0
}

func lower(b []byte) bool { return len(bytes.Trim(b, "abcdefghijklmnopqrstuvwxyz")) == 0 }

func capital(b byte) bool { return text.Between(b, 'A', 'Z') }
