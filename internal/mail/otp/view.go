package otp

import (
	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/text"
)

// Distances that a view covers.
const (
	viewLeft  = 26 // words before the candidate
	viewRight = 16 // words behind it
	viewAbove = 8  // lines above it

	maxWrapped = 4 // words between the candidate and the end of its line, to continue on another line
)

// nearbyLabel is the label that a view found in one direction, and its distance. A strength of 0
// means that it found none.
type nearbyLabel struct {
	labelStrength   uint8
	dist            int        // words before and behind the candidate, lines above it
	isJoined        bool       // a colon or "is" is next to the candidate, or ends the line above
	crossesSentence bool       // the end of a sentence is between
	otherNumberWord bool       // a word for another kind of number is between
	is              bool       // a word such as "is" is between
	isHeading       bool       // the line above is a heading
	labelClass      text.Class // of the label
}

// candidateView is the context of one candidate. fill sets it once, and then the features only read it.
type candidateView struct {
	*sourcePage
	c                     *candidate
	ctx                   *messageContext
	ln                    *text.TokenLine
	leftSigns             [2]sign // the two tokens before it, the nearest first
	rightSign             sign
	sideBefore, sideAfter contextSide
	labelAbove            nearbyLabel
	seenL, seenR          signSet     // signs of its sentence before and behind it
	candidateIndex        int         // index of the candidate in its page
	similarCount          int         // number of other candidates of the page with the same form
	repeatKind            int         // 1 if the code is in the message again, 2 if it is in the subject
	nearbyConcepts        concept.Set // concepts of its line and of the line above
}

// fillView sets the view of candidate c, except for order, topic, alike and again, which
// search.eachCandidate sets.
func (v *candidateView) fillView(p *sourcePage, c *candidate, ctx *messageContext) {
	*v = candidateView{sourcePage: p, c: c, ctx: ctx, ln: &p.Lines[c.line]}
	last := p.Lines[p.lineOf(c.last, c.line)].EndToken
	v.leftSigns = [2]sign{p.signIn(v.ln.FirstToken, last, c.first-1), p.signIn(v.ln.FirstToken, last, c.first-2)}
	v.rightSign = p.signIn(v.ln.FirstToken, last, c.last+1)
	v.seenL, v.seenR = p.sentenceBefore(c), p.sentenceBehind(c)
	v.findLabel(&v.sideBefore, -1, viewLeft)
	v.findLabel(&v.sideAfter, 1, viewRight)
	v.lookUp()
}

// isFiller reports whether tokens of sign s say nothing about a code, so that side.nearestSigns
// skips them.
func isFiller(s sign) bool {
	switch s {
	case sign(text.ClassIs), sign(text.ClassOf), sign(text.ClassFresh), signQuote, signStar, signOpen, signClose, signColon, signDash, sign(text.ClassNumber), signPunct, signHash:
		return true
	}
	return false
}

// contextSide is what a view found before or behind its candidate.
type contextSide struct {
	nearbyLabel
	nearestSigns  [2]sign // the nearest tokens that are not fillers
	enterDistance int     // 1 + the number of words to a verb such as "enter", 0 without such a verb
}

// findLabel searches for the next label before the candidate (step -1) or behind it (step 1), over at
// most far words. It crosses one line break at most, and only one that an e-mail client inserted
// because of the length of the line.
func (v *candidateView) findLabel(t *contextSide, step int32, far int) {
	li, k := v.c.line, v.c.first
	if step > 0 {
		li, k = v.lineOf(v.c.last, li), v.c.last
	} else {
		t.isJoined, k = v.isJoinedBefore(v.ln, k)
		k++
	}
	ln, wrapped, dist := &v.Lines[li], false, 0
	for k += step; dist <= far; k += step {
		if k < ln.FirstToken || k >= ln.EndToken {
			if wrapped || v.c.isAlone || dist > maxWrapped || !v.isWrapped(min(li, li+step)) {
				return
			}
			li += step
			ln, wrapped, dist = &v.Lines[li], true, dist+1
			if k = ln.EndToken; step > 0 {
				k = ln.FirstToken - 1
			}
			continue
		}
		if s := v.signs[k]; text.InRange(s, signWeak, signPlural) && (s < signPlural || t.isJoined && dist == 0) {
			if step < 0 || !v.labelsLaterCode(ln, k) {
				t.labelStrength, t.dist, t.labelClass = max(1, v.Tokens[k].LabelStrength), dist, v.Tokens[k].Class
			}
			return
		} else if t.noteSign(s, step, dist); s < signColon {
			dist += int(v.Tokens[k].WordWeight)
		}
	}
}

// noteSign adds a sign that is between the candidate and its label.
func (t *contextSide) noteSign(s sign, step int32, dist int) {
	switch {
	case s == signPeriod:
		t.crossesSentence = true
	case s == sign(text.ClassIs):
		t.is = true
		t.isJoined = t.isJoined || step > 0 && dist == 0
	case s == sign(text.ClassEnter) && t.enterDistance == 0 && !t.crossesSentence:
		t.enterDistance = dist + 1
	case text.Class(s).IsOther():
		t.otherNumberWord = true
	}
	switch {
	case isFiller(s):
	case t.nearestSigns[0] == signEdge:
		t.nearestSigns[0] = s
	case t.nearestSigns[1] == signEdge:
		t.nearestSigns[1] = s
	}
}

// lookUp finds the nearest line above that has a label. The strength is plural if the label does
// not mean one code, and taken if a number between them may be the code that the label announces.
func (v *candidateView) lookUp() {
	numbers := signSet(0)
	for d := int32(1); d <= viewAbove && v.c.line >= d; d++ {
		up := &v.Lines[v.c.line-d]
		numbers |= v.bagOf(v.c.line-d) & (1<<signNumber | 1<<signMixed)
		switch {
		case up.LabelStrength == 0:
			continue
		case v.isPlural(up.LabelToken):
			v.labelAbove.labelStrength = pluralLabel
		case numbers != 0:
			v.labelAbove.labelStrength = interruptedLabel
		default:
			v.labelAbove = nearbyLabel{labelStrength: up.LabelStrength, dist: int(d), isJoined: up.ColonAtEnd, isHeading: up.IsHeading}
		}
		return
	}
}

// isWrapped reports whether line li is long enough to be wrapped, and continues on the next line.
func (p *sourcePage) isWrapped(li int32) bool {
	if li < 0 || int(li+1) >= len(p.Lines) || p.Lines[li+1].AfterBlankLine {
		return false
	}
	ln := &p.Lines[li]
	return ln.End-ln.Start >= fullLine
}

// fullLine is the shortest line, in bytes, that may have been wrapped because of its length.
const fullLine = 24
