package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/text"
)

// minCode and maxCode are the shortest and longest code, in characters without spaces and hyphens.
const (
	minCode = 4
	maxCode = 10
)

// form is the kind of characters that a code consists of.
type form uint8

const (
	formDigits form = iota
	formMixed       // ASCII letters and digits
	formLetters
	formChain // groups of lower-case letters: "lorem-ipsu-dolor"
)

// candidate is one token, or several consecutive tokens, that could be a code.
type candidate struct {
	page        *page
	line        int32 // index into page.Lines
	first, last int32 // tokens, inclusive
	form        form
	own         bool                  // it is alone on its line, or in its HTML element
	split       bool                  // it is written in groups or as single characters
	uneven      bool                  // ... and the groups have different lengths
	n           uint8                 // length of text
	text        [text.MaxWritten]byte // normal form, without separators
}

func (c *candidate) code() string { return string(c.text[:c.n]) }

// reading makes a candidate of the tokens first to last, as written, without the separators between
// them. A candidate of digits alone also loses the hyphens inside its tokens.
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

// collect appends the candidates of the page to out, until out has most elements. Only the form of
// a token counts here; the model scores the candidates later.
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

// alone reports whether the line has only punctuation besides the tokens first to last.
func (p *page) alone(ln *text.Line, first, last int32) bool {
	for k := ln.First; k < ln.Last; k++ {
		if (k < first || k > last) && p.Tokens[k].Kind != text.KindPunct {
			return false
		}
	}
	return true
}

// at reads the candidate that starts at token k. Its length n is 0 if none starts there. next is
// the token at which the search continues.
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

// single reports whether token k is one ASCII letter or digit.
func (p *page) single(k int32) bool {
	t := &p.Tokens[k]
	return t.End-t.Start == 1 && text.IsAlnum(p.Lower[t.Start]) && p.Plain[t.Start] != text.NotASCII
}

// singles reads a code of single characters: "4 8 2 9 1 3", "1 u 8 k u f". It also reads them from
// the cells of a table, which become one line each in the text.
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
	// Letters that form a word are a spaced heading; 1, 2, 3 below each other are numbered steps.
	if digits == 0 && !text.Jumbled(c.text[:c.n]) || column && counting(&c) {
		c.n = 0
	}
	return c
}

// endsLine reports whether token k is the last one of its line.
func (p *page) endsLine(k int32) bool {
	end := int(p.Tokens[k].End)
	return end == len(p.Lower) || p.Lower[end] == '\n'
}

// mixed reads a token of letters and digits. Up to two letters and a hyphen before digits are a
// prefix and not part of the code: "G-482913".
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

// capitals reads a code of capital letters alone: "QGFDAE", "XKJ-BVT". A code without a hyphen must
// end its line or stand before punctuation, so that the words of a heading are not candidates.
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

// halves reports whether token k starts two equally long groups with a hyphen between: "XKJ-BVT".
func (p *page) halves(ln *text.Line, k int32) bool {
	return k+2 < ln.Last && p.Lower[p.Tokens[k+1].Start] == '-' && p.tight(k+1, k+2) && p.upper(k+2) && p.Length(k) == p.Length(k+2)
}

// upper reports whether token k is a word of capital letters that is not a label.
func (p *page) upper(k int32) bool {
	t := &p.Tokens[k]
	return t.Kind == text.KindWord && !t.Class.Label() && len(bytes.Trim(p.Raw(k), "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) == 0
}

// lower reports whether b has only the letters a to z.
func lower(b []byte) bool { return len(bytes.Trim(b, "abcdefghijklmnopqrstuvwxyz")) == 0 }

func capital(b byte) bool { return text.Between(b, 'A', 'Z') }
