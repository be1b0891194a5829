package otp

import (
	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/text"
)

// How far a view looks.
const (
	viewLeft  = 26 // words before the candidate
	viewRight = 16
	viewAbove = 8 // lines

	maxWrapped = 4 // words on the candidate's line, to go on in another one
)

// tie is a label that a view met, and how far away. The zero tie is none.
type tie struct {
	strength uint8
	dist     int        // words, or lines
	joined   bool       // a colon or "is" stands between
	crossed  bool       // the end of a sentence lies between
	other    bool       // something else is announced between
	is       bool       // between them stands such a word
	heading  bool       // the line is what its label is about
	class    text.Class // of the label's word
}

// view is what stands around one candidate. It is filled once, then the features only read it.
type view struct {
	*page
	c             *candidate
	ctx           *context
	ln            *text.Line
	left          [2]sign // neighbours, the nearest first
	right         sign
	before, after side
	above         tie
	seenL, seenR  bag         // of its sentence before and behind it
	order         int         // which candidate of the page it is
	alike         int         // how many others of the page look the same
	again         int         // 1 when it stands in the mail again, 2 when in the subject
	topic         concept.Set // of its line and the one above
}

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

// filler tells what may stand between a code and the word that says what it is.
func filler(s sign) bool {
	switch s {
	case sign(text.ClassIs), sign(text.ClassOf), sign(text.ClassFresh), signQuote, signStar, signOpen, signClose, signColon, signDash, sign(text.ClassNumber), signPunct, signHash:
		return true
	}
	return false
}

// side is what a view meets on one side of its candidate.
type side struct {
	tie
	words [2]sign // nearest neighbours that are no filling
	enter int     // words to the verb "enter", 0 for none
}

// walk goes from the candidate to the next label, backwards or forwards, at most over the end of one line that was
// broken by its length.
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

// note takes note of a sign that stands between a candidate and its label.
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

// lookUp finds the next line above with a label, and whether that speaks of one code, which is not another one.
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

// wraps tells whether line li was broken by its length, and goes on in the next.
func (p *page) wraps(li int32) bool {
	if li < 0 || int(li+1) >= len(p.Lines) || p.Lines[li+1].Paragraph {
		return false
	}
	ln := &p.Lines[li]
	return ln.End-ln.Start >= fullLine
}

const fullLine = 24 // bytes; a shorter line was not broken by its length
