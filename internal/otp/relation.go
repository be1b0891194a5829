package otp

import "inboxd/internal/otp/text"

// relation is the tie between a candidate and a label.
type relation struct {
	score    int
	strength uint8
	direct   bool  // label, perhaps "is" or a colon, code
	joined   bool  // a colon or "is" stands directly before the code
	behind   bool  // the label stands behind the code
	far      bool  // a veto that words stand before
	veto     bool  // it is announced as something else
	at       int32 // line of the label, -1 for none
}

func better(a, b relation) relation {
	if b.score > a.score {
		return b
	}
	return a
}

// relate finds the strongest tie of c to a label. A veto found next to it is final.
func (p *page) relate(c *candidate, ctx *context) relation {
	best, fore := p.before(c, ctx), p.after(c)
	if best.veto && !(fore.strength == strong && p.signed(c)) && !p.toVerify(c) {
		return best
	}
	if fore.veto && !((best.direct || best.score >= threshold) && best.strength >= medium) && !(best.direct && fore.far) {
		return fore
	}
	best = better(best, fore)
	up := p.above(c)
	if up.veto && best.score < threshold {
		return up
	}
	best = better(best, up)
	best = better(best, p.below(c))
	best = better(best, p.entered(c, ctx))
	best = better(best, p.glossed(c))
	best = better(best, p.verifies(c, ctx))
	best = better(best, p.displayed(c, ctx))
	best = better(best, p.led(c, ctx))
	return better(best, p.lone(c, ctx))
}

func labelScore(strength uint8) (score, step int) {
	switch strength {
	case strong:
		return labelStrong, stepStrong
	case medium:
		return labelMedium, stepStrong + 1
	}
	return labelWeak, stepWeak
}

// joint tells what stands directly before a candidate: a colon or the like.
func (p *page) joint(ln *text.Line, k int32) (joined bool, from int32) {
	c0 := k
	for k--; k >= ln.First; k-- {
		t := &p.Tokens[k]
		if t.Class == text.ClassIs || t.Class == text.ClassOf && (k > ln.First && p.Tokens[k-1].Class == text.ClassIs || k == c0-1 && p.copula(t)) {
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

// otherNear tells whether a word for something else stands within five tokens before k. "Case 4471"
// has its number and wants no other.
func (p *page) otherNear(ln *text.Line, k int32) bool {
	for i := k - 1; i >= ln.First && i >= k-5 && p.Tokens[i].Kind != text.KindNumber; i-- {
		if c := p.Tokens[i].Class; c.Other() && c != text.ClassMeeting {
			return true
		}
	}
	return false
}

func (p *page) staleBefore(ln *text.Line, k int32) bool {
	return k > ln.First && p.Tokens[k-1].Class == text.ClassStale || k-1 > ln.First && p.Tokens[k-2].Class == text.ClassStale
}
