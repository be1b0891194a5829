package otp

import "inboxd/internal/otp/text"

// What stands around a candidate: asked by its features. Nothing here is about a sender.

// joint tells what stands directly before a candidate: a colon or the like.
func (p *page) joint(ln *text.Line, k int32) (joined bool, from int32) {
	c0 := k
	for k--; k >= ln.First; k-- {
		t := &p.Tokens[k]
		if t.Class == text.ClassIs || t.Class == text.ClassOf && p.links(ln, k, c0) {
			return true, k // "is", "é o", "est le"
		}
		if t.Kind != text.KindPunct {
			return false, k
		}
		switch p.Lower[t.Start] {
		case ':', '=':
			return true, k
		case '-':
			if t.Gap {
				return true, k
			}
		case '.', '?', '!', ';':
			return false, k
		}
	}
	return false, k
}

// links tells an article that means "is" here: behind another "is", or by itself directly before token c.
func (p *page) links(ln *text.Line, k, c int32) bool {
	if k > ln.First && p.Tokens[k-1].Class == text.ClassIs {
		return true
	}
	return k == c-1 && p.copula(&p.Tokens[k])
}

// copula tells words that mean "is" in one language and "your" or "the" in another.
func (p *page) copula(t *text.Token) bool {
	w := string(p.Lower[t.Start:t.End])
	return w == "je" || w == "la"
}

// pause gives the distance that a sign adds: the end of a sentence counts as words.
func (p *page) pause(t *text.Token, k int32, ln *text.Line) int {
	switch p.Lower[t.Start] {
	case '.', '!', '?':
		if k+1 < ln.Last && p.Tokens[k+1].Gap {
			if k > ln.First && p.Tokens[k-1].Class == text.ClassOther && p.Length(k-1) <= 4 && p.Tokens[k+1].Kind == text.KindNumber {
				return 1 // "ext. 4829"
			}
			if c := p.Plain[p.Tokens[k+1].Start]; c >= 'a' && c <= 'z' && p.Lower[t.Start] == '.' {
				return 1 // an abbreviation
			}
			return sentence
		}
		if k+1 >= ln.Last {
			return sentence
		}
	case ';', '*', '|':
		return 1
	}
	return 0
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

// sender tells "Acme:", "[Acme]" and "Acme reset -" from the start of a line up to token end.
func (p *page) sender(ln *text.Line, end int32) bool {
	words := 0
	for k := ln.First; k < end; k++ {
		switch t := &p.Tokens[k]; {
		case k > ln.First+8:
			return false
		case t.Kind == text.KindPunct && p.Lower[t.Start] != '#':
		case t.Kind == text.KindWord && (t.Class == text.ClassNone || t.Class == text.ClassVerify):
			words++
		default:
			return false
		}
	}
	return words > 0 && words <= 3 && p.Tokens[end-1].Kind == text.KindPunct
}

// lineOf gives the line that token k is on, which is not before line li.
func (p *page) lineOf(k, li int32) int32 {
	for p.Lines[li].Last <= k {
		li++
	}
	return li
}
