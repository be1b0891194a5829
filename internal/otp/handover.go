package otp

import (
	"bytes"

	"inboxd/internal/otp/text"
)

// Numbers that are hidden, compared, or belong to a thing.

// numberedThing tells "Locker 14, code 4829": the code of a thing that has a small number itself.
func (p vetoer) numberedThing(c *candidate) bool {
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

// masked tells the visible end of a hidden number: "****1234", ".... 7461", "xxxx1234".
func (p vetoer) masked(ln *text.Line, c *candidate) bool {
	marks := 0
	for k := c.first - 1; k >= ln.First && p.Tokens[k].Kind == text.KindPunct; k-- {
		b := p.Lower[p.Tokens[k].Start]
		if b == '-' || b == ')' || b == '(' {
			continue // "***-***-4213"
		}
		if b != '*' && b != '.' && b != '#' && b != 'x' {
			break
		}
		if b == '*' && k+1 == c.first && p.Tokens[c.first].Gap {
			continue // "** ABC123 **" is emphasis
		}
		marks++
	}
	if marks > 4 && p.Lower[p.Tokens[c.first-1].Start] == '.' {
		return false // "Code ........ 7719"
	}
	if marks >= 2 && (c.n <= 5 || !p.Tokens[c.first].Gap) {
		return !p.emphasized(ln, c, marks)
	}
	if k := c.last + 1; k < ln.Last && !p.Tokens[k].Gap && p.Tokens[k].Kind == text.KindPunct && p.Lower[p.Tokens[k].Start] == '*' {
		return k+1 < ln.Last && !p.Tokens[k+1].Gap && !p.emphasized(ln, c, marks)
	}
	return false
}

// emphasized tells "**482913**": as many asterisks behind as before.
func (p vetoer) emphasized(ln *text.Line, c *candidate, marks int) bool {
	behind := 0
	for k := c.last + 1; k < ln.Last && p.Tokens[k].Kind == text.KindPunct && p.Lower[p.Tokens[k].Start] == '*'; k++ {
		behind++
	}
	return behind > 0 && behind == marks
}

// compared tells "code == 482913": a piece of a program.
func (p vetoer) compared(ln *text.Line, c *candidate) bool {
	k, end := c.first-2, c.last+1
	if k >= ln.First && end < ln.Last && p.Lower[p.Tokens[k+1].Start] == '=' && p.Lower[p.Tokens[end].Start] == ';' {
		return true // code = 482913;
	}
	if k >= ln.First && p.Lower[p.Tokens[k+1].Start] == '"' {
		if p.Lower[p.Tokens[k].Start] == ':' && bytes.IndexByte(p.Lower[max(ln.Start, p.Tokens[k].Start-64):p.Tokens[k].Start], '{') >= 0 {
			return true // {"code": "482913"}
		}
		k--
	}
	if k < ln.First {
		return false
	}
	if k+1 < c.first-1 && p.Lower[p.Tokens[k+1].Start] == '=' && p.tight(k+1, c.first) {
		return true // code="482913"
	}
	if p.Tokens[k+1].Gap || p.Tokens[k].Kind != text.KindPunct || p.Lower[p.Tokens[k+1].Start] != '=' {
		return false
	}
	b := p.Lower[p.Tokens[k].Start]
	return b == '=' || b == '!'
}

// tight tells whether no blank stands before any of the tokens first to last.
func (p *page) tight(first, last int32) bool {
	for k := first; k <= last; k++ {
		if p.Tokens[k].Gap {
			return false
		}
	}
	return true
}
