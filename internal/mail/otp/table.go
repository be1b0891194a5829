package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/text"
)

// This file handles tables, in which a code may be far from its label.

// maxColumns is the largest number of columns of a table whose heading is searched.
const maxColumns = 6

// column reports whether the candidate is in a table below a label.
func (v *view) column() bool { return v.belowCell() || v.belowWord() }

// belowCell reports whether the candidate is in the first row of a table that has one cell on each
// line, and the heading of its column has a label.
func (v *view) belowCell() bool {
	for n := int32(2); v.c.own && n <= min(maxColumns, v.c.line); n++ {
		// n is the number of columns, first the line of the first cell of the row.
		for first := v.c.line; v.names(v.c.line-n) && first > v.c.line-n && first >= n; first-- {
			if v.heads(first-n, first, 3) {
				return true
			}
			if v.Lines[first-1].Words > 4 {
				break
			}
		}
	}
	return false
}

// names reports whether line li has a label of one code.
func (p *page) names(li int32) bool {
	return text.Between(p.Lines[li].Strength, weak, strong) && !p.plural(p.Lines[li].Label)
}

// heads reports whether the lines [from, to) can be the headings of a table: none has more than
// most words, and none has a number.
func (p *page) heads(from, to, most int32) bool {
	for li := from; li < to; li++ {
		if p.Lines[li].Words > most || p.bagOf(li)&(1<<signNumber|1<<signMixed|1<<signFigure|1<<signFew) != 0 {
			return false
		}
	}
	return true
}

// maxRows is the number of lines above a row that are searched for its headings.
const maxRows = 4

// belowWord reports whether the candidate is in a row of a plain text table, and the line of the
// headings has a label in the same column and the same number of columns.
func (v *view) belowWord() bool {
	at, of := v.cell(v.c.line, v.c.first)
	for li := v.c.line - 1; of > 1 && li >= max(0, v.c.line-maxRows); li-- {
		if v.names(li) {
			head, heads := v.cell(li, v.Lines[li].Label)
			return head == at && heads == of && v.heads(li, li+1, 12)
		}
	}
	return false
}

// cell returns the column of token k in line li, counted from 0, and the number of columns. Columns
// are separated by vertical bars or by wide gaps.
func (p *page) cell(li, k int32) (at, of int) {
	ln := &p.Lines[li]
	bars := p.Lower[ln.Start] == '|' || bytes.Contains(p.Lower[ln.Start:ln.End], []byte(" | "))
	for i := ln.First; i < ln.Last; i++ {
		parts := p.Tokens[i].Wide && i > ln.First
		if bars {
			parts = p.Lower[p.Tokens[i].Start] == '|' && i > ln.First && i < ln.Last-1
		}
		of += bit(parts)
		if i == k {
			at = of
		}
	}
	return at, of + 1
}
