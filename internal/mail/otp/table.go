package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/text"
)

// This file handles tables, in which a code may be far from its label.

// maxColumns is the largest number of columns of a table whose heading is searched.
const maxColumns = 6

// isBelowLabel reports whether the candidate is in a table below a label.
func (v *candidateView) isBelowLabel() bool { return v.belowCell() || v.belowWord() }

// belowCell reports whether the candidate is in the first row of a table that has one cell on each
// line, and the heading of its column has a label.
func (v *candidateView) belowCell() bool {
	for n := int32(2); v.c.isAlone && n <= min(maxColumns, v.c.line); n++ {
		// n is the number of columns, first the line of the first cell of the row.
		for first := v.c.line; v.lineHasLabel(v.c.line-n) && first > v.c.line-n && first >= n; first-- {
			if v.canBeHeadings(first-n, first, 3) {
				return true
			}
			if v.Lines[first-1].WordCount > 4 {
				break
			}
		}
	}
	return false
}

// lineHasLabel reports whether line li has a label of one code.
func (p *sourcePage) lineHasLabel(li int32) bool {
	return text.InRange(p.Lines[li].LabelStrength, weakLabel, strongLabel) && !p.isPlural(p.Lines[li].LabelToken)
}

// canBeHeadings reports whether the lines [from, to) can be the headings of a table: none has more than
// most words, and none has a number.
func (p *sourcePage) canBeHeadings(from, to, most int32) bool {
	for li := from; li < to; li++ {
		if p.Lines[li].WordCount > most || p.bagOf(li)&(1<<signNumber|1<<signMixed|1<<signFigure|1<<signFew) != 0 {
			return false
		}
	}
	return true
}

// maxRows is the number of lines above a row that are searched for its headings.
const maxRows = 4

// belowWord reports whether the candidate is in a row of a plain text table, and the line of the
// headings has a label in the same column and the same number of columns.
func (v *candidateView) belowWord() bool {
	at, of := v.cellPosition(v.c.line, v.c.first)
	for li := v.c.line - 1; of > 1 && li >= max(0, v.c.line-maxRows); li-- {
		if v.lineHasLabel(li) {
			head, heads := v.cellPosition(li, v.Lines[li].LabelToken)
			return head == at && heads == of && v.canBeHeadings(li, li+1, 12)
		}
	}
	return false
}

// cellPosition returns the column of token k in line li, counted from 0, and the number of columns.
// Columns are separated by vertical bars or by wide gaps.
func (p *sourcePage) cellPosition(li, k int32) (at, of int) {
	ln := &p.Lines[li]
	bars := p.Lower[ln.Start] == '|' || bytes.Contains(p.Lower[ln.Start:ln.End], []byte(" | "))
	for i := ln.FirstToken; i < ln.EndToken; i++ {
		parts := p.Tokens[i].WideGapBefore && i > ln.FirstToken
		if bars {
			parts = p.Lower[p.Tokens[i].Start] == '|' && i > ln.FirstToken && i < ln.EndToken-1
		}
		of += boolToInt(parts)
		if i == k {
			at = of
		}
	}
	return at, of + 1
}
