package otp

import (
	"inboxd/internal/otp/model"
	"inboxd/internal/otp/text"
)

// lineKind is what a neighbouring line is for a candidate.
type lineKind uint8

const (
	lineNone lineKind = iota
	lineLabel
	lineOther
	lineCaption // a word or two that nobody knows
	lineNumber  // a number alone
	lineAsks    // tells to enter something
	lineVerifies
	linePlain
	linePlace
	lineShort
	lineID // "Sign-in ID"
	lineKinds
)

func (v *view) kindOf(li int32) lineKind {
	p, ln := v.page, &v.Lines[li]
	switch {
	case ln.Place:
		return linePlace
	case ln.Other && ln.Strength == 0 && (ln.Words <= 6 || ln.Colon):
		return lineOther
	case p.numbers(ln):
		return lineID
	case ln.Strength > 0:
		return lineLabel
	case p.caption(li):
		return lineCaption
	case ln.Words == 0:
		return lineNumber
	}
	asks, says := false, false
	for k := ln.First; k < ln.Last && k < ln.First+40; k++ {
		switch text.Class(p.signs[k]) {
		case text.ClassEnter:
			asks = true
		case text.ClassVerify, text.ClassConfirm:
			says = true
		}
	}
	switch {
	case asks:
		return lineAsks
	case says:
		return lineVerifies
	case ln.Words <= 4:
		return lineShort
	}
	return linePlain
}

func (v *view) lookUp() {
	li := v.c.line
	if li > 0 {
		v.lineUp = v.kindOf(li - 1)
	}
	cells := v.c.own
	for d := int32(1); d <= viewAbove && li >= d; d++ {
		up := &v.Lines[li-d]
		cells = cells && up.Words <= 3 && !up.Colon
		if v.lineHasNumber(up) {
			v.above.taken = true
		}
		if up.Strength == 0 || up.Footer {
			v.above.other = v.above.other || up.Other && d > 1
			continue
		}
		v.above.strength, v.above.dist, v.above.joined = up.Strength, int(d), up.Colon
		v.above.plural, v.above.heading, v.above.class = v.plural(up.Label), up.Heading, v.Tokens[up.Label].Class
		if cells && d > 1 {
			v.column = 1 + model.Step(int(d), 2, 3, 4, 5)
		}
		return
	}
}

// lineHasNumber tells a line that has a candidate of its own.
func (v *view) lineHasNumber(ln *text.Line) bool {
	for k := ln.First; k < ln.Last && k < ln.First+40; k++ {
		if s := v.signs[k]; s == signNumber || s == signMixed {
			return true
		}
	}
	return false
}

func (v *view) lookDown() {
	li := v.lineOf(v.c.last, v.c.line)
	if int(li+1) < len(v.Lines) {
		v.lineDown = v.kindOf(li + 1)
	}
	for d := int32(1); d <= viewBelow && int(li+d) < len(v.Lines); d++ {
		down := &v.Lines[li+d]
		if v.lineHasNumber(down) {
			v.below.taken = true
		}
		if down.Strength == 0 || down.Footer {
			continue
		}
		v.below.strength, v.below.dist, v.below.joined = down.Strength, int(d), down.Colon
		v.below.plural, v.below.taken = v.plural(down.Label), v.below.taken || v.claims(down, down.Label)
		v.below.heading = v.warned(down)
		return
	}
}
