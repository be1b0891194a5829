package otp

import "inboxd/internal/mail/otp/text"

// This file reads the context of a candidate for its features. No rule here depends on a sender.

// joint reports whether a colon, a dash or a word such as "is" stands directly before token c.
// k is the token at which the search backwards stopped.
func (p *page) joint(ln *text.Line, c int32) (joined bool, k int32) {
	for k = c - 1; k >= ln.First; k-- {
		switch s := p.signs[k]; {
		case s == signColon, s == sign(text.ClassIs), s == signDash && p.Tokens[k].Gap:
			return true, k
		// A word of ClassOf joins directly before c ("je" also means "is" in Slovak) or after "is"
		// ("est le").
		case s == sign(text.ClassOf) && (k == c-1 || p.signIn(ln.First, c, k-1) == sign(text.ClassIs)):
			return true, k
		case s < signColon, s == signPeriod:
			return false, k
		}
	}
	return false, k
}

// period reports whether the punctuation token k ends a sentence. A point behind an abbreviation
// does not: "ext. 4829", "bzw. mehr".
func (p *page) period(ln *text.Line, k int32) bool {
	if k+1 >= ln.Last || !p.Tokens[k+1].Gap {
		return k+1 >= ln.Last
	}
	if p.Tokens[k+1].Kind == text.KindNumber && k > ln.First && p.Tokens[k-1].Class == text.ClassOther && p.Length(k-1) <= 4 {
		return false
	}
	return p.Lower[p.Tokens[k].Start] != '.' || !text.Between(p.Plain[p.Tokens[k+1].Start], 'a', 'z')
}

// claims reports whether the label at k announces a code behind it, and so not the candidate before
// it.
func (p *page) claims(ln *text.Line, k int32) bool {
	for i := k + 1; i < ln.Last && i <= k+3; i++ {
		switch t := &p.Tokens[i]; {
		case t.Kind == text.KindNumber:
			return p.Length(i) >= minCode
		case t.Kind == text.KindMixed:
			return !p.branded(i)
		case t.Kind == text.KindPunct && p.Lower[t.Start] != '.', t.Class == text.ClassIs:
			continue
		default:
			return false
		}
	}
	return false
}

// lineOf returns the index of the line of token k. The search starts at line li.
func (p *page) lineOf(k, li int32) int32 {
	for p.Lines[li].Last <= k {
		li++
	}
	return li
}

// quoted returns 0 if the candidate is not inside quotation marks, 1 if it is alone inside them,
// and 2 if words are inside them as well. Folding has turned the quotation marks of all scripts
// into '"'.
func (v *view) quoted() int {
	open, before := v.upToMark(v.c.first-1, -1)
	closed, behind := v.upToMark(v.c.last+1, 1)
	return bit(open && closed) * (1 + bit(before || behind))
}

// upToMark walks from token k to the next quotation mark on the candidate's line. It reports
// whether it found one, and whether it passed a word.
func (v *view) upToMark(k, step int32) (mark, words bool) {
	for n := 1; !mark && n < maxBag && k >= v.ln.First && k < v.ln.Last; n, k = n+1, k+step {
		t := &v.Tokens[k]
		mark = t.Kind == text.KindPunct && v.Lower[t.Start] == '"'
		words = words || t.Kind == text.KindWord
	}
	return mark, words
}

// company counts the other words of the candidate's sentence on its line, up to about 12 on each
// side.
func (p *page) company(c *candidate) (n int) {
	ln := &p.Lines[p.lineOf(c.last, c.line)]
	for k := c.first - 1; k >= p.Lines[c.line].First && p.signs[k] != signPeriod && n < 12; k-- {
		n += int(p.Tokens[k].Weight)
	}
	for k := c.last + 1; k < ln.Last && p.signs[k] != signPeriod && n < 12; k++ {
		n += int(p.Tokens[k].Weight)
	}
	return n
}
