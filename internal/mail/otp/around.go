package otp

import "inboxd/internal/mail/otp/text"

// What stands around a candidate: asked by its features. Nothing here is about a sender.

// joint tells whether a colon or the like stands directly before token c, and where the words before it end.
func (p *page) joint(ln *text.Line, c int32) (joined bool, k int32) {
	for k = c - 1; k >= ln.First; k-- {
		switch s := p.signs[k]; {
		case s == signColon, s == sign(text.ClassIs), s == signDash && p.Tokens[k].Gap:
			return true, k
		case s == sign(text.ClassOf) && (k == c-1 || p.signIn(ln.First, c, k-1) == sign(text.ClassIs)): // "je", which is Slovak too, "est le"
			return true, k
		case s < signColon, s == signPeriod:
			return false, k
		}
	}
	return false, k
}

// period tells whether sign k ends a sentence, not an abbreviation: "ext. 4829", "bzw. mehr".
func (p *page) period(ln *text.Line, k int32) bool {
	if k+1 >= ln.Last || !p.Tokens[k+1].Gap {
		return k+1 >= ln.Last
	}
	if p.Tokens[k+1].Kind == text.KindNumber && k > ln.First && p.Tokens[k-1].Class == text.ClassOther && p.Length(k-1) <= 4 {
		return false
	}
	return p.Lower[p.Tokens[k].Start] != '.' || !text.Between(p.Plain[p.Tokens[k+1].Start], 'a', 'z')
}

// claims tells whether the label at k announces a code that follows it.
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

// lineOf gives the line that token k is on, which is not before line li.
func (p *page) lineOf(k, li int32) int32 {
	for p.Lines[li].Last <= k {
		li++
	}
	return li
}

// quoted tells whether a candidate stands between quotation marks, of any script, and whether words stand there, too.
func (v *view) quoted() int {
	open, before := v.upToMark(v.c.first-1, -1)
	closed, behind := v.upToMark(v.c.last+1, 1)
	return bit(open && closed) * (1 + bit(before || behind))
}

// upToMark goes from token k to the next quotation mark of its line.
func (v *view) upToMark(k, step int32) (mark, words bool) {
	for n := 1; !mark && n < maxBag && k >= v.ln.First && k < v.ln.Last; n, k = n+1, k+step {
		t := &v.Tokens[k]
		mark = t.Kind == text.KindPunct && v.Lower[t.Start] == '"'
		words = words || t.Kind == text.KindWord
	}
	return mark, words
}

// company counts the words that its sentence has on its line besides a candidate.
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
