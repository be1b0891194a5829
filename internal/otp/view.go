package otp

import (
	"inboxd/internal/otp/concept"
	"inboxd/internal/otp/text"
)

// How far a view looks.
const (
	viewLeft  = 26 // words before the candidate
	viewRight = 16
	viewAbove = 8 // lines
	viewBelow = 3
)

// tie is a label that a view met, and how far away. The zero tie is none.
type tie struct {
	strength uint8
	dist     int  // words, or lines
	joined   bool // a colon or "is" stands between
	crossed  bool // the end of a sentence lies between
	taken    bool // another number lies between
	other    bool // something else is announced between
	heading  bool // the line is what its label is about
	plural   bool
	class    text.Class // of the label's word
	is       bool       // between them stands such a word
}

// view is what stands around one candidate. It is filled once, then the features only read it.
type view struct {
	*page
	c                *candidate
	ctx              *context
	ln               *text.Line
	left, right      [3]sign // neighbours, the nearest first
	wordL, wordR     sign    // nearest neighbours that are no filling
	wordL2, wordR2   sign    // and the next ones
	before, after    tie
	above, below     tie
	seenL, seenR     uint64 // classes of the sentence before and behind it
	enter            int    // words to the verb "enter" before it, 0 for none
	enterR           int    // ... and behind it
	lineUp, lineDown lineKind
	column           int         // see findColumn
	order            int         // which candidate of the page it is
	topic            concept.Set // of its line and the one above
}

func (v *view) fill(p *page, c *candidate, ctx *context) {
	*v = view{page: p, c: c, ctx: ctx, ln: &p.Lines[c.line]}
	v.neighbours()
	v.walkLeft()
	v.walkRight()
	v.lookUp()
	if v.c.own {
		v.findColumn()
	}
	v.lookDown()
}

func (v *view) neighbours() {
	first, last := v.ln.First, v.Lines[v.lineOf(v.c.last, v.c.line)].Last
	for i := range v.left {
		if k := v.c.first - 1 - int32(i); k >= first {
			v.left[i] = v.signs[k]
		} else {
			break
		}
	}
	for i := range v.right {
		if k := v.c.last + 1 + int32(i); k < last {
			v.right[i] = v.signs[k]
		} else {
			break
		}
	}
}

// filler tells what may stand between a code and the word that says what it is.
func filler(s sign) bool {
	switch s {
	case sign(text.ClassIs), sign(text.ClassOf), sign(text.ClassFresh), signQuote, signStar, signOpen, signClose, signColon, signDash, signCount, signPunct, signHash:
		return true
	}
	return false
}

func (v *view) walkLeft() {
	p, li, ln := v.page, v.c.line, v.ln
	joined, k := p.joint(ln, v.c.first)
	wrapped, crossed, dist := false, false, 0
	t := &v.before
	for ; dist <= viewLeft; k-- {
		if k < ln.First {
			if wrapped || v.c.own || dist > 4 || !p.wraps(li-1) {
				break
			}
			li--
			ln, wrapped, k = &p.Lines[li], true, p.Lines[li].Last
			dist++
			continue
		}
		s := p.signs[k]
		nearest(s, &v.wordL, &v.wordL2)
		if !crossed && s < signWeak {
			v.seenL |= 1 << s
		}
		t.is = t.is || s == sign(text.ClassIs)
		switch {
		case s == signPeriod:
			if crossed && dist > 12 {
				return
			}
			crossed = true
		case text.Between(s, signWeak, signStrong), s == signPlural && joined && dist == 0:
			t.strength, t.dist, t.joined, t.crossed = uint8(s-signWeak)+1, dist, joined, crossed
			if s == signPlural {
				t.strength = 1
			}
			t.class = v.Tokens[k].Class
			return
		case s == signNumber || s == signMixed:
			t.taken = true
			dist++
		case s >= sign(text.ClassOther) && s <= sign(text.ClassMeeting):
			t.other = t.other || !t.taken
			dist++
		case s == sign(text.ClassEnter):
			if v.enter == 0 && !crossed {
				v.enter = dist + 1
			}
			dist++
		case s >= signLower && s <= signUpper || s == signForeign:
			dist += int(v.Tokens[k].Weight)
		case s < signColon:
			dist += int(v.Tokens[k].Weight)
		}
	}
}

// nearest takes note of a sign among the two nearest words of a side; fillers are none.
func nearest(s sign, first, second *sign) {
	switch {
	case filler(s):
	case *first == signEdge:
		*first = s
	case *second == signEdge:
		*second = s
	}
}

func (v *view) walkRight() {
	p, li := v.page, v.lineOf(v.c.last, v.c.line)
	ln := &p.Lines[li]
	crossed, wrapped, dist := false, false, 0
	t := &v.after
	for k := v.c.last + 1; dist <= viewRight; k++ {
		if k >= ln.Last {
			if wrapped || v.c.own || !p.wraps(li) {
				return
			}
			li++
			ln, wrapped, k = &p.Lines[li], true, p.Lines[li].First-1
			dist += 2
			continue
		}
		s := p.signs[k]
		nearest(s, &v.wordR, &v.wordR2)
		if !crossed && s < signWeak {
			v.seenR |= 1 << s
		}
		t.is = t.is || s == sign(text.ClassIs)
		switch {
		case s == signPeriod:
			crossed = true
		case s == sign(text.ClassIs) && dist == 0, s == signDash && k == v.c.last+1:
			t.joined = true
		case s >= signWeak && s <= signStrong:
			if !p.claims(ln, k) {
				t.strength, t.dist, t.crossed = uint8(s-signWeak)+1, dist, crossed
				t.class = v.Tokens[k].Class
			}
			return
		case s == signNumber || s == signMixed || s == signFigure:
			t.taken = true
			dist++
		case s >= sign(text.ClassOther) && s <= sign(text.ClassMeeting):
			t.other = true
			dist++
		case s == sign(text.ClassEnter):
			if v.enterR == 0 && !crossed {
				v.enterR = dist + 1
			}
			dist++
		case s < signColon:
			dist += int(v.Tokens[k].Weight)
		}
	}
}

// wraps tells whether line li was broken by its length, and goes on in the next.
func (p *page) wraps(li int32) bool {
	if li < 0 || int(li+1) >= len(p.Lines) || p.Lines[li+1].Paragraph {
		return false
	}
	ln := &p.Lines[li]
	return !ln.Footer && ln.End-ln.Start >= fullLine
}

const (
	sentence = 4  // the end of a sentence, in words
	fullLine = 24 // bytes; a shorter line was not broken by its length
)
