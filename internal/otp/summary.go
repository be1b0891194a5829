package otp

import "inboxd/internal/otp/text"

// announce notes what the word t, token k, announces for the lines below.
func announce(ln *text.Line, t *text.Token, k int32) {
	ln.Words += int32(t.Weight)
	switch {
	case t.Class == text.ClassNone:
	case t.Class.Label():
		password := t.Class == text.ClassPassword && !ln.Password && t.Strength == ln.Strength // "Use this code to choose a password:"
		if t.Strength >= ln.Strength && !password || k-ln.Label > 12 {
			ln.Strength, ln.Label, ln.Password = t.Strength, k, t.Class == text.ClassPassword
		}
		ln.Other = false
	case t.Class.Other():
		ln.Other = true
	case t.Class == text.ClassPlace:
		ln.Place = true
	}
}

// conclude sums up a line whose words were all added.
func (p labels) conclude(ln *text.Line) {
	if ln.Other && ln.Strength >= medium && !p.ended(ln) {
		ln.Other = false
	}
	if ln.Strength > 0 && ln.Other && ln.Colon && p.told(ln, ln.Label) {
		ln.Other = false // "Enter this code to confirm your order:"
	}
	if ln.Label >= 0 && p.disclaimed(ln) {
		ln.Strength, ln.Label = 0, -1
	}
	if ln.Label >= 0 {
		ln.Heading = ln.Colon || ln.Words <= 5
	}
}

// ended tells whether the sentence of a line's label ends before the line does.
func (p labels) ended(ln *text.Line) bool {
	for k := ln.Label + 1; k+1 < ln.Last; k++ {
		if t := &p.Tokens[k]; t.Kind == text.KindPunct && p.pause(t, k, ln) >= sentence {
			return true
		}
	}
	return false
}
