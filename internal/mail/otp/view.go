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

// tie is the label that a view found in one direction, and its distance. A strength of 0 means that
// it found none.
type tie struct {
	strength uint8
	dist     int        // words before and behind the candidate, lines above it
	joined   bool       // a colon or "is" is next to the candidate, or ends the line above
	crossed  bool       // the end of a sentence is between
	other    bool       // a word for another kind of number is between
	is       bool       // a word such as "is" is between
	heading  bool       // the line above is a heading
	class    text.Class // of the label
}

// view is the context of one candidate. fill sets it once, and then the features only read it.
type view struct {
	*page
	c             *candidate
	ctx           *context
	ln            *text.Line
	left          [2]sign // the two tokens before it, the nearest first
	right         sign
	before, after side
	above         tie
	seenL, seenR  bag         // signs of its sentence before and behind it
	order         int         // index of the candidate in its page
	alike         int         // number of other candidates of the page with the same form
	again         int         // 1 if the code is in the message again, 2 if it is in the subject
	topic         concept.Set // concepts of its line and of the line above
}

// fill sets the view of candidate c, except for order, topic, alike and again, which search.each
// sets.
func (v *view) fill(p *page, c *candidate, ctx *context) {
	*v = view{page: p, c: c, ctx: ctx, ln: &p.Lines[c.line]}
	last := p.Lines[p.lineOf(c.last, c.line)].Last
	v.left = [2]sign{p.signIn(v.ln.First, last, c.first-1), p.signIn(v.ln.First, last, c.first-2)}
	v.right = p.signIn(v.ln.First, last, c.last+1)
	v.seenL, v.seenR = p.sentenceBefore(c), p.sentenceBehind(c)
	v.walk(&v.before, -1, viewLeft)
	v.walk(&v.after, 1, viewRight)
	v.lookUp()
}

// filler reports whether tokens of sign s say nothing about a code, so that side.words skips them.
func filler(s sign) bool {
	switch s {
	case sign(text.ClassIs), sign(text.ClassOf), sign(text.ClassFresh), signQuote, signStar, signOpen, signClose, signColon, signDash, sign(text.ClassNumber), signPunct, signHash:
		return true
	}
	return false
}

// side is what a view found before or behind its candidate.
type side struct {
	tie
	words [2]sign // the nearest tokens that are not fillers
	enter int     // 1 + the number of words to a verb such as "enter", 0 without such a verb
}

// walk searches for the next label before the candidate (step -1) or behind it (step 1), over at
// most far words. It crosses one line break at most, and only one that an e-mail client inserted
// because of the length of the line.
func (v *view) walk(t *side, step int32, far int) {
	li, k := v.c.line, v.c.first
	if step > 0 {
		li, k = v.lineOf(v.c.last, li), v.c.last
	} else {
		t.joined, k = v.joint(v.ln, k)
		k++
	}
	ln, wrapped, dist := &v.Lines[li], false, 0
	for k += step; dist <= far; k += step {
		if k < ln.First || k >= ln.Last {
			if wrapped || v.c.own || dist > maxWrapped || !v.wraps(min(li, li+step)) {
				return
			}
			li += step
			ln, wrapped, dist = &v.Lines[li], true, dist+1
			if k = ln.Last; step > 0 {
				k = ln.First - 1
			}
			continue
		}
		if s := v.signs[k]; text.Between(s, signWeak, signPlural) && (s < signPlural || t.joined && dist == 0) {
			if step < 0 || !v.claims(ln, k) {
				t.strength, t.dist, t.class = max(1, v.Tokens[k].Strength), dist, v.Tokens[k].Class
			}
			return
		} else if t.note(s, step, dist); s < signColon {
			dist += int(v.Tokens[k].Weight)
		}
	}
}

// note adds a sign that is between the candidate and its label.
func (t *side) note(s sign, step int32, dist int) {
	switch {
	case s == signPeriod:
		t.crossed = true
	case s == sign(text.ClassIs):
		t.is = true
		t.joined = t.joined || step > 0 && dist == 0
	case s == sign(text.ClassEnter) && t.enter == 0 && !t.crossed:
		t.enter = dist + 1
	case text.Class(s).Other():
		t.other = true
	}
	switch {
	case filler(s):
	case t.words[0] == signEdge:
		t.words[0] = s
	case t.words[1] == signEdge:
		t.words[1] = s
	}
}

// lookUp finds the nearest line above that has a label. The strength is plural if the label does
// not mean one code, and taken if a number between them may be the code that the label announces.
func (v *view) lookUp() {
	numbers := bag(0)
	for d := int32(1); d <= viewAbove && v.c.line >= d; d++ {
		up := &v.Lines[v.c.line-d]
		numbers |= v.bagOf(v.c.line-d) & (1<<signNumber | 1<<signMixed)
		switch {
		case up.Strength == 0:
			continue
		case v.plural(up.Label):
			v.above.strength = plural
		case numbers != 0:
			v.above.strength = taken
		default:
			v.above = tie{strength: up.Strength, dist: int(d), joined: up.Colon, heading: up.Heading}
		}
		return
	}
}

// wraps reports whether line li is long enough to be wrapped, and continues on the next line.
func (p *page) wraps(li int32) bool {
	if li < 0 || int(li+1) >= len(p.Lines) || p.Lines[li+1].Paragraph {
		return false
	}
	ln := &p.Lines[li]
	return ln.End-ln.Start >= fullLine
}

// fullLine is the shortest line, in bytes, that may have been wrapped because of its length.
const fullLine = 24
