package otp

import "inboxd/internal/otp/text"

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
	for d := int32(1); d <= viewAbove && li >= d; d++ {
		up := &v.Lines[li-d]
		if v.lineHasNumber(up) {
			v.above.taken = true
		}
		if up.Strength == 0 || up.Footer {
			v.above.other = v.above.other || up.Other && d > 1
			continue
		}
		v.above.strength, v.above.dist, v.above.joined = up.Strength, int(d), up.Colon
		v.above.plural, v.above.heading, v.above.class = v.plural(up.Label), up.Heading, v.Tokens[up.Label].Class
		return
	}
}

// Values of a column: see findColumn.
const (
	columnNone = iota
	columnUnder
	columnBeside
)

// findColumn tells whether a candidate stands in a table under a header row that names a code, in its column
// or in another one. A page has the cells of a table on lines of their own: a run of short lines makes a
// table if they fill whole rows, of which the first has no number.
func (v *view) findColumn() {
	const look, most = 12, 5
	first, last, label, plain := v.c.line, v.c.line, int32(-1), int32(0)
	for ; first > 0 && v.c.line-first < look && v.cell(first-1); first-- {
		if v.Lines[first-1].Strength > 0 {
			label = first - 1
		}
	}
	for int(last+1) < len(v.Lines) && last-v.c.line < look && v.cell(last+1) {
		last++
	}
	for plain < most && first+plain < v.c.line && !v.lineHasDigits(first+plain) {
		plain++
	}
	for n := min(plain, (last+1-first)/2); label >= 0 && n > 1; n-- {
		switch {
		case (last+1-first)%n != 0 || label >= first+n || v.c.line < first+n:
		case (v.c.line-first)%n == label-first:
			v.column, v.above.strength = columnUnder, max(v.above.strength, v.Lines[label].Strength)
			return
		default:
			v.column = columnBeside
			return
		}
	}
}

// cell tells a line that may be the cell of a table: a few words, and no sentence.
func (v *view) cell(li int32) bool {
	ln := &v.Lines[li]
	if ln.Words > 2 && v.signs[ln.Last-1] == signPeriod {
		return false
	}
	return ln.Words <= 5 && !ln.Colon && !ln.Footer
}

func (v *view) lineHasDigits(li int32) bool {
	for k := v.Lines[li].First; k < v.Lines[li].Last; k++ {
		if v.Tokens[k].Kind != text.KindWord && text.IsDigit(v.Lower[v.Tokens[k].Start]) {
			return true
		}
	}
	return false
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
