package otp

import "bytes"

// Lines that say of the number under them that it is something else, and those that speak of a code
// without giving one.

// numbers tells the caption of somebody's number: "Sign-in ID", "Device no.".
func (p *page) numbers(ln *line) bool {
	if ln.words < 2 || ln.words > 4 {
		return false
	}
	k := ln.last - 1
	for k > ln.first && p.tokens[k].kind == kindPunct {
		k--
	}
	t := &p.tokens[k]
	return t.kind == kindWord && idWord(p.lower[t.start:t.end])
}

// entry tells "Purpose code" in a table whose entry before it is another number's.
func (p *page) entry(li int32) bool {
	ln := &p.lines[li]
	k := ln.label - 1
	return li > 1 && p.lines[li-2].other && p.lines[li-2].words <= 4 && k == ln.first && ln.last == k+2 &&
		p.tokens[k].kind == kindWord && p.tokens[k].class == classNone && p.length(k) > 3
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
	ln, nouns := &p.lines[li], 0
	for k := ln.first; k < ln.last; k++ {
		switch t := &p.tokens[k]; {
		case t.kind == kindPunct && k+1 == ln.last && p.lower[t.start] == ':', t.kind == kindPunct && p.lower[t.start] == '\'', t.class == classOf && k > ln.first:
		case t.kind == kindWord && (t.class == classNone || t.class == classAccount || t.class == classHarmless):
			nouns++
		default:
			return false
		}
	}
	return nouns > 0 && nouns <= 2 && ln.words <= 4
}

// warned tells "Never share your code", which says nothing of the number above it.
func (p *page) warned(ln *line) bool {
	for k := ln.first; k < ln.label; k++ {
		if q := p.tokens[k].class; q == classSecret || q == classNever {
			return !p.pointed(ln.label - 1)
		}
	}
	return false
}

// pointed tells "this" and its kin before a label: it speaks of a code that the mail has.
func (p *page) pointed(k int32) bool {
	return p.tokens[k].class == classFresh || p.shows(k)
}

// disclaimed tells "we will never ask you for your code", which announces none; "this code" is one
// that the mail has.
func (p *page) disclaimed(ln *line) bool {
	if p.seen&(1<<classNever|1<<classSecret) == 0 {
		return false
	}
	for k := ln.label - 1; k >= ln.first && k > ln.label-14; k-- {
		switch t := &p.tokens[k]; {
		case t.class == classNever, t.class == classSecret && bytes.Contains(p.lower[t.start:t.end], never):
			return !p.pointed(ln.label - 1)
		case t.kind == kindPunct && p.pause(t, k, ln) >= sentence:
			return false
		}
	}
	return false
}

var never = []byte("never ask")
