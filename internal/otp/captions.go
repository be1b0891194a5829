package otp

import "inboxd/internal/otp/text"

import "bytes"

// Lines that say of the number under them that it is something else, and those that speak of a code
// without giving one.

// numbers tells the caption of somebody's number: "Sign-in ID", "Device no.".
func (p *page) numbers(ln *text.Line) bool {
	if ln.Words < 2 || ln.Words > 4 {
		return false
	}
	k := ln.Last - 1
	for k > ln.First && p.Tokens[k].Kind == text.KindPunct {
		k--
	}
	t := &p.Tokens[k]
	return t.Kind == text.KindWord && idWord(p.Lower[t.Start:t.End])
}

// entry tells "Purpose code" in a table whose entry before it is another number's.
func (p *page) entry(li int32) bool {
	ln := &p.Lines[li]
	k := ln.Label - 1
	return li > 1 && p.Lines[li-2].Other && p.Lines[li-2].Words <= 4 && k == ln.First && ln.Last == k+2 &&
		p.Tokens[k].Kind == text.KindWord && p.Tokens[k].Class == text.ClassNone && p.Length(k) > 3
}

// idWord tells the words behind a noun that say it is numbered.
func idWord(w []byte) bool {
	switch string(w) {
	case "id", "no", "nr", "num":
		return true
	}
	return false
}

// caption tells a line of a few words that nobody knows and no sign but a colon: "Session", "Número de
// socio", above its number.
func (p *page) caption(li int32) bool {
	if li < 0 {
		return false
	}
	ln, nouns := &p.Lines[li], 0
	for k := ln.First; k < ln.Last; k++ {
		switch t := &p.Tokens[k]; {
		case t.Kind == text.KindPunct && k+1 == ln.Last && p.Lower[t.Start] == ':', t.Kind == text.KindPunct && p.Lower[t.Start] == '\'', t.Class == text.ClassOf && k > ln.First:
		case t.Kind == text.KindWord && (t.Class == text.ClassNone || t.Class == text.ClassAccount || t.Class == text.ClassHarmless):
			nouns++
		default:
			return false
		}
	}
	return nouns > 0 && nouns <= 2 && ln.Words <= 4
}

// warned tells "Never share your code", which says nothing of the number above it.
func (p *page) warned(ln *text.Line) bool {
	for k := ln.First; k < ln.Label; k++ {
		if q := p.Tokens[k].Class; q == text.ClassSecret || q == text.ClassNever {
			return !p.pointed(ln.Label - 1)
		}
	}
	return false
}

// pointed tells "this" and its kin before a label: it speaks of a code that the mail has.
func (p *page) pointed(k int32) bool {
	return p.Tokens[k].Class == text.ClassFresh || p.shows(k)
}

// disclaimed tells "we will never ask you for your code", which announces none; "this code" is one
// that the mail has.
func (p labels) disclaimed(ln *text.Line) bool {
	if p.Seen&(1<<text.ClassNever|1<<text.ClassSecret) == 0 {
		return false
	}
	for k := ln.Label - 1; k >= ln.First && k > ln.Label-14; k-- {
		switch t := &p.Tokens[k]; {
		case t.Class == text.ClassNever, t.Class == text.ClassSecret && bytes.Contains(p.Lower[t.Start:t.End], never):
			return !p.pointed(ln.Label - 1)
		case t.Kind == text.KindPunct && p.pause(t, k, ln) >= sentence:
			return false
		}
	}
	return false
}

var never = []byte("never ask")
