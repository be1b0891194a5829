package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/text"
)

// This file recognizes numbers that are masked, that are part of a program, or that belong to a
// thing.

// numberedThing reports whether the candidate is the code of a thing that has a small number
// itself: "Locker 14, code 4829".
func (p *page) numberedThing(c *candidate) bool {
	ln, labelled := &p.Lines[c.line], false
	for k := c.first - 1; k > ln.First && k > c.first-9; k-- {
		t := &p.Tokens[k]
		if labelled = labelled || t.Class.Label(); !labelled || t.Kind != text.KindNumber || p.Length(k) > 3 {
			continue
		}
		if p.Tokens[k-1].Kind != text.KindWord || !t.Gap && p.Lower[p.Tokens[k-1].Start] < 0xE0 {
			continue
		}
		q := p.Tokens[k-1].Class
		return (q == text.ClassNone || q.Other()) && p.Lower[p.Tokens[k+1].Start] != ':'
	}
	return false
}

// around returns the text before and behind a candidate on its line, at most 64 bytes of each.
func (p *page) around(ln *text.Line, c *candidate) (before, behind []byte) {
	start, end := p.Tokens[c.first].Start, p.Tokens[c.last].End
	return p.Lower[max(ln.Start, start-64):start], p.Lower[end:max(end, min(ln.End, end+64))]
}

// masked reports whether the candidate is the visible end of a masked number: "****1234", "....
// 7461", "***-***-4213". Leader dots ("code ........ 7719") and emphasis ("**482913**") are not
// masks.
func (p *page) masked(ln *text.Line, c *candidate) bool {
	before, behind := p.around(ln, c)
	hidden := before[len(bytes.TrimRight(before, "*.#-() ")):]
	dots, stars := bytes.Count(hidden, []byte(".")), bytes.Count(hidden, []byte("*"))+bytes.Count(hidden, []byte("#"))
	more := len(behind) - len(bytes.TrimLeft(behind, "* "))
	more = bytes.Count(behind[:more], []byte("*"))
	switch {
	case dots > 4, stars > 0 && stars == more:
		return false
	case dots+stars >= 2 && (c.n <= 5 || !p.Tokens[c.first].Gap):
		return true
	}
	return more >= 2
}

// compared reports whether the candidate is part of a program: code == 482913, code = 482913;
// code="482913", {"code": "482913"}.
func (v *view) compared() bool {
	before, behind := v.around(v.ln, v.c)
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

// tight reports whether the tokens first to last follow each other without white space, also before
// the first one.
func (p *page) tight(first, last int32) bool {
	for k := first; k <= last; k++ {
		if p.Tokens[k].Gap {
			return false
		}
	}
	return true
}
