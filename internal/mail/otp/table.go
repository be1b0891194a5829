package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/text"
)

// Tables, in which a code stands far from the word for it.

// maxColumns bounds the columns of a table that is looked at.
const maxColumns = 6

// column tells whether a candidate stands in a table below a word for code.
func (v *view) column() bool { return v.belowCell() || v.belowWord() }

// belowCell tells one in the first row of a table whose cells have lines of their own, when the cell of the heading over
// it has a word for code.
func (v *view) belowCell() bool {
	for n := int32(2); v.c.own && n <= min(maxColumns, v.c.line); n++ {
		for first := v.c.line; v.names(v.c.line-n) && first > v.c.line-n && first >= n; first-- { // of its row
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

// names tells whether line li has a word for one code.
func (p *page) names(li int32) bool {
	return text.Between(p.Lines[li].Strength, weak, strong) && !p.plural(p.Lines[li].Label)
}

// heads tells lines that could be the headings of a table: of so many words at most, and without a number.
func (p *page) heads(from, to, most int32) bool {
	for li := from; li < to; li++ {
		if p.Lines[li].Words > most || p.bagOf(li)&(1<<signNumber|1<<signMixed|1<<signFigure|1<<signFew) != 0 {
			return false
		}
	}
	return true
}

// maxRows bounds the lines above a row in which its headings are looked for.
const maxRows = 4

// belowWord tells one in a row of a table that is written as text, below a line that has a word for code in the same
// column and as many columns.
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

// cell gives the column that token k of line li stands in, and how many there are: parted by bars, or by wide gaps.
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
