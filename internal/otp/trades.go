package otp

import (
	"bytes"

	"inboxd/internal/otp/text"
)

// told tells "enter the following code".
func (p *page) told(ln *text.Line, k int32) bool {
	for i := k - 1; i >= ln.First && i >= k-6; i-- {
		if p.Tokens[i].Class == text.ClassEnter {
			return true
		}
	}
	return false
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
