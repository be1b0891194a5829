package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/text"
)

// This file recognizes numbers that are masked, that are part of a program, or that belong to a
// thing.

// numberedThing reports whether the candidate is the code of a thing that has a small number
// itself: "Locker 14, code 4829".
func (p *sourcePage) numberedThing(c *candidate) bool {
	ln, labelled := &p.Lines[c.line], false
	for k := c.first - 1; k > ln.FirstToken && k > c.first-9; k-- {
		t := &p.Tokens[k]
		if labelled = labelled || t.Class.IsLabel(); !labelled || t.Kind != text.KindNumber || p.TokenLength(k) > 3 {
			continue
		}
		if p.Tokens[k-1].Kind != text.KindWord || !t.GapBefore && p.Lower[p.Tokens[k-1].Start] < 0xE0 {
			continue
		}
		q := p.Tokens[k-1].Class
		return (q == text.ClassNone || q.IsOther()) && p.Lower[p.Tokens[k+1].Start] != ':'
	}
	return false
}

// textAround returns the text before and behind a candidate on its line, at most 64 bytes of each.
func (p *sourcePage) textAround(ln *text.TokenLine, c *candidate) (before, behind []byte) {
	start, end := p.Tokens[c.first].Start, p.Tokens[c.last].End
	return p.Lower[max(ln.Start, start-64):start], p.Lower[end:max(end, min(ln.End, end+64))]
}

// isMasked reports whether the candidate is the visible end of a masked number: "****1234", "....
// 7461", "***-***-4213". Leader dots ("code ........ 7719") and emphasis ("**482913**") are not
// masks.
func (p *sourcePage) isMasked(ln *text.TokenLine, c *candidate) bool {
	before, behind := p.textAround(ln, c)
	hidden := before[len(bytes.TrimRight(before, "*.#-() ")):]
	dots, stars := bytes.Count(hidden, []byte(".")), bytes.Count(hidden, []byte("*"))+bytes.Count(hidden, []byte("#"))
	more := len(behind) - len(bytes.TrimLeft(behind, "* "))
	more = bytes.Count(behind[:more], []byte("*"))
	switch {
	case dots > 4, stars > 0 && stars == more:
		return false
	case dots+stars >= 2 && (c.n <= 5 || !p.Tokens[c.first].GapBefore):
		return true
	}
	return more >= 2
}

// isProgramText reports whether the candidate is part of a program: code == 482913, code = 482913;
// code="482913", {"code": "482913"}.
func (v *candidateView) isProgramText() bool {
	before, behind := v.textAround(v.ln, v.c)
	name := bytes.TrimRight(before, ` "`)
	quoted := bytes.HasSuffix(before, []byte(`"`))
	switch {
	case bytes.HasSuffix(name, []byte(":")):
		return quoted && bytes.IndexByte(name, '{') >= 0
	case bytes.HasSuffix(name, []byte("=")):
		return quoted || bytes.HasPrefix(behind, []byte(";")) || bytes.HasSuffix(name, []byte("==")) || bytes.HasSuffix(name, []byte("!="))
	}
	return false
}

// isContiguous reports whether the tokens first to last follow each other without white space, also
// before the first one.
func (p *sourcePage) isContiguous(first, last int32) bool {
	for k := first; k <= last; k++ {
		if p.Tokens[k].GapBefore {
			return false
		}
	}
	return true
}
