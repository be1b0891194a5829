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

// codeForm is the kind of characters that a code consists of.
type codeForm uint8

const (
	formDigits codeForm = iota
	formMixed           // ASCII letters and digits
	formLetters
	formChain // groups of lower-case letters: "lorem-ipsu-dolor"
)

// candidate is one token, or several consecutive tokens, that could be a code.
type candidate struct {
	page            *sourcePage
	line            int32 // index into page.Lines
	first, last     int32 // tokens, inclusive
	form            codeForm
	isAlone         bool                  // it is alone on its line, or in its HTML element
	isSplit         bool                  // it is written in groups or as single characters
	hasUnevenGroups bool                  // ... and the groups have different lengths
	isDotted        bool                  // ... and points are between them
	n               uint8                 // length of text
	codeBytes       [text.MaxWritten]byte // normal form, without separators
}

func (c *candidate) codeString() string { return string(c.codeBytes[:c.n]) }

// newCandidate makes a candidate of the tokens first to last, as written, without the separators
// between them. A candidate of digits alone also loses the hyphens inside its tokens.
func (p *sourcePage) newCandidate(form codeForm, first, last int32) (c candidate) {
	c = candidate{page: p, first: first, last: last, form: form, isSplit: last > first}
	for k := first; k <= last; k++ {
		c.appendToken(p.RawToken(k))
	}
	return c
}

func (c *candidate) appendToken(written []byte) {
	for _, b := range written {
		if c.form == formDigits && (b == '-' || b == '.') {
			c.isSplit = true
		} else if int(c.n) < len(c.codeBytes) {
			c.codeBytes[c.n] = b
			c.n++
		}
	}
}

// collectCandidates appends the candidates of the page to out, until out has most elements. Only
// the form of a token counts here; the model scores the candidates later.
func (p *sourcePage) collectCandidates(out []candidate, most int) []candidate {
	next := int32(0) // token
	for li := range p.Lines {
		ln := &p.Lines[li]
		for k := max(next, ln.FirstToken); ln.MayStartCode && k < ln.EndToken && len(out) < most; k = next {
			var c candidate
			if c, next = p.at(ln, k); c.n >= minCode && !p.isMasked(ln, &c) {
				c.line, c.isAlone = int32(li), p.aloneOnLine(ln, c.first, c.last)
				out = append(out, c)
			}
		}
	}
	return out
}

// aloneOnLine reports whether the line has only punctuation next tos the tokens first to last.
func (p *sourcePage) aloneOnLine(ln *text.TokenLine, first, last int32) bool {
	for k := ln.FirstToken; k < ln.EndToken; k++ {
		if (k < first || k > last) && p.Tokens[k].Kind != text.KindPunct {
			return false
		}
	}
	return true
}

// at reads the candidate that starts at token k. Its length n is 0 if none starts there. next is
// the token at which the search continues.
func (p *sourcePage) at(ln *text.TokenLine, k int32) (c candidate, next int32) {
	switch t := &p.Tokens[k]; {
	case k == ln.FirstToken && ln.EndToken-k >= text.ChainTokens && text.IsHyphenChain(p.Plain[ln.Start:ln.End]):
		c = p.newCandidate(formChain, k, ln.EndToken-1)
	case !p.MayStart(k):
	case p.isSingleChar(k):
		if c = p.readSingleChars(ln, k); c.last == k && t.Kind == text.KindNumber {
			return p.readNumber(ln, k)
		}
	case t.Kind == text.KindNumber:
		return p.readNumber(ln, k)
	case t.Kind == text.KindMixed:
		c = p.readMixed(k)
	case t.Kind == text.KindFigure:
		c = p.readDotted(k)
	default:
		c = p.readCapitals(ln, k)
	}
	return c, max(k, c.last) + 1
}

// isSingleChar reports whether token k is one ASCII letter or digit.
func (p *sourcePage) isSingleChar(k int32) bool {
	t := &p.Tokens[k]
	return t.End-t.Start == 1 && text.IsAlnum(p.Lower[t.Start]) && p.Plain[t.Start] != text.NotASCII
}

// readSingleChars reads a code of single characters: "4 8 2 9 1 3", "1 u 8 k u f". It also reads
// them from the cells of a table, which become one line each in the text.
func (p *sourcePage) readSingleChars(ln *text.TokenLine, k int32) (c candidate) {
	column := k == ln.FirstToken && p.endsLine(k)
	digits, letters, last, firstDigit, lastDigit, split := 0, 0, k, int32(-1), k, false
	for i := k; int(i) < len(p.Tokens) && (p.isSingleChar(i) || p.Lower[p.Tokens[i].Start] == '-'); i++ {
		if i >= ln.EndToken && !(column && p.endsLine(i)) {
			break
		}
		switch b := p.Lower[p.Tokens[i].Start]; {
		case b == '-':
			continue
		case text.IsDigit(b):
			if digits++; firstDigit < 0 {
				firstDigit = i
			}
			split = split || digits > 1 && lastDigit < last // a letter is between digits
			lastDigit = i
		default:
			letters++
		}
		last = i
	}
	first := k
	if letters > 0 && digits >= minCode && !split { // words of one letter next to digits: "4 8 2 9 1 3 e poi"
		if last+1 < ln.EndToken && p.Tokens[last+1].Kind == text.KindWord {
			last = lastDigit
		}
		if k > ln.FirstToken && p.Tokens[k-1].Kind == text.KindWord {
			first = firstDigit
		}
		letters = boolToInt(first < firstDigit || last > lastDigit)
	}
	if !text.InRange(digits+letters, minCode, maxCode) || letters > digits+2 && !p.aloneOnLine(ln, k, last) {
		return candidate{last: last}
	}
	c = p.newCandidate(formDigits, first, last)
	if letters > 0 {
		c.form = formMixed
	}
	// Letters that form a word are a spaced heading; 1, 2, 3 below each other are numbered steps.
	if digits == 0 && !text.IsJumbled(c.codeBytes[:c.n]) || column && isSequential(&c) {
		c.n = 0
	}
	return c
}

// endsLine reports whether token k is the last one of its line.
func (p *sourcePage) endsLine(k int32) bool {
	end := int(p.Tokens[k].End)
	return end == len(p.Lower) || p.Lower[end] == '\n'
}

// readMixed reads a token of letters and digits. Up to two letters and a hyphen before digits are a
// prefix and not part of the code: "G-482913".
func (p *sourcePage) readMixed(k int32) candidate {
	c := candidate{page: p, first: k, last: k, form: formMixed}
	prefix, rest, _ := bytes.Cut(p.RawToken(k), []byte("-"))
	var g digitGroups
	if g.addGroups(rest, "-"); len(prefix) <= 2 && !bytes.ContainsAny(prefix, "0123456789") && len(bytes.Trim(rest, "0123456789-")) == 0 && g.areEven() {
		c.form = formDigits
		c.appendToken(rest)
		return c
	}
	const most, hyphens = 20, 3
	if n := bytes.Count(rest, []byte("-")); n >= hyphens || len(p.RawToken(k))-n > most || len(rest) > 4 && isLower(rest) {
		return candidate{} // "8-character"
	}
	c.appendToken(p.RawToken(k))
	return c
}

// readCapitals reads a code of capital letters alone: "QGFDAE", "XKJ-BVT". A code without a hyphen must
// end its line or stand before punctuation, so that the words of a heading are not candidates.
func (p *sourcePage) readCapitals(ln *text.TokenLine, k int32) candidate {
	switch n := p.TokenLength(k); {
	case !p.isUpperWord(k) || p.Tokens[k].Class != text.ClassNone:
	case text.InRange(n, 3, 4) && p.hasEqualHalves(ln, k):
		return p.newCandidate(formLetters, k, k+2)
	case text.InRange(n, 5, 8) && text.IsJumbled(p.RawToken(k)) && (k+1 == ln.EndToken || p.Tokens[k+1].Kind == text.KindPunct):
		return p.newCandidate(formLetters, k, k)
	}
	return candidate{}
}

// hasEqualHalves reports whether token k starts two equally long groups with a hyphen between:
// "XKJ-BVT".
func (p *sourcePage) hasEqualHalves(ln *text.TokenLine, k int32) bool {
	return k+2 < ln.EndToken && p.Lower[p.Tokens[k+1].Start] == '-' && p.isContiguous(k+1, k+2) && p.isUpperWord(k+2) && p.TokenLength(k) == p.TokenLength(k+2)
}

// isUpperWord reports whether token k is a word of capital letters that is not a label.
func (p *sourcePage) isUpperWord(k int32) bool {
	t := &p.Tokens[k]
	return t.Kind == text.KindWord && !t.Class.IsLabel() && len(bytes.Trim(p.RawToken(k), "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) == 0
}

// isLower reports whether b has only the letters a to z.
func isLower(b []byte) bool { return len(bytes.Trim(b, "abcdefghijklmnopqrstuvwxyz")) == 0 }

func isCapital(b byte) bool { return text.InRange(b, 'A', 'Z') }
