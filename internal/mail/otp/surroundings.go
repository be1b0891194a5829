package otp

import "inboxd/internal/mail/otp/text"

// This file reads the context of a candidate for its features. No rule here depends on a sender.

// isJoinedBefore reports whether a colon, a dash or a word such as "is" stands directly before token c.
// k is the token at which the search backwards stopped.
func (p *sourcePage) isJoinedBefore(ln *text.TokenLine, c int32) (joined bool, k int32) {
	for k = c - 1; k >= ln.FirstToken; k-- {
		switch s := p.signs[k]; {
		case s == signColon, s == sign(text.ClassIs), s == signDash && p.Tokens[k].GapBefore:
			return true, k
		// A word of ClassOf joins directly before c ("je" also means "is" in Slovak) or after "is"
		// ("est le").
		case s == sign(text.ClassOf) && (k == c-1 || p.signIn(ln.FirstToken, c, k-1) == sign(text.ClassIs)):
			return true, k
		case s < signColon, s == signPeriod:
			return false, k
		}
	}
	return false, k
}

// endsSentence reports whether the punctuation token k ends a sentence. A point behind an abbreviation
// does not: "ext. 4829", "bzw. mehr".
func (p *sourcePage) endsSentence(ln *text.TokenLine, k int32) bool {
	if k+1 >= ln.EndToken || !p.Tokens[k+1].GapBefore {
		return k+1 >= ln.EndToken
	}
	if p.Tokens[k+1].Kind == text.KindNumber && k > ln.FirstToken && p.Tokens[k-1].Class == text.ClassOther && p.TokenLength(k-1) <= 4 {
		return false
	}
	return p.Lower[p.Tokens[k].Start] != '.' || !text.InRange(p.Plain[p.Tokens[k+1].Start], 'a', 'z')
}

// labelsLaterCode reports whether the label at k announces a code behind it, and so not the
// candidate before it.
func (p *sourcePage) labelsLaterCode(ln *text.TokenLine, k int32) bool {
	for i := k + 1; i < ln.EndToken && i <= k+3; i++ {
		switch t := &p.Tokens[i]; {
		case t.Kind == text.KindNumber:
			return p.TokenLength(i) >= minCode
		case t.Kind == text.KindMixed:
			return !p.isBrandName(i)
		case t.Kind == text.KindPunct && p.Lower[t.Start] != '.', t.Class == text.ClassIs:
			continue
		default:
			return false
		}
	}
	return false
}

// lineOf returns the index of the line of token k. The search starts at line li.
func (p *sourcePage) lineOf(k, li int32) int32 {
	for p.Lines[li].EndToken <= k {
		li++
	}
	return li
}

// quotationLevel returns 0 if the candidate is not inside quotation marks, 1 if it is alone inside
// them, and 2 if words are inside them as well. Folding has turned the quotation marks of all
// scripts into '"'.
func (v *candidateView) quotationLevel() int {
	open, before := v.upToMark(v.c.first-1, -1)
	closed, behind := v.upToMark(v.c.last+1, 1)
	return boolToInt(open && closed) * (1 + boolToInt(before || behind))
}

// upToMark walks from token k to the next quotation mark on the candidate's line. It reports
// whether it found one, and whether it passed a word.
func (v *candidateView) upToMark(k, step int32) (mark, words bool) {
	for n := 1; !mark && n < maxBag && k >= v.ln.FirstToken && k < v.ln.EndToken; n, k = n+1, k+step {
		t := &v.Tokens[k]
		mark = t.Kind == text.KindPunct && v.Lower[t.Start] == '"'
		words = words || t.Kind == text.KindWord
	}
	return mark, words
}

// countSentenceWords counts the other words of the candidate's sentence on its line, up to about 12
// on each side.
func (p *sourcePage) countSentenceWords(c *candidate) (n int) {
	ln := &p.Lines[p.lineOf(c.last, c.line)]
	for k := c.first - 1; k >= p.Lines[c.line].FirstToken && p.signs[k] != signPeriod && n < 12; k-- {
		n += int(p.Tokens[k].WordWeight)
	}
	for k := c.last + 1; k < ln.EndToken && p.signs[k] != signPeriod && n < 12; k++ {
		n += int(p.Tokens[k].WordWeight)
	}
	return n
}
