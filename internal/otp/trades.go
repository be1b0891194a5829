package otp

import (
	"bytes"

	"inboxd/internal/otp/text"
)

// trade tells "survey code": a noun nobody knows says in which trade the code is used. A
// name, which has a capital letter, does not.
func (p *page) trade(ln *text.Line, k int32) bool {
	if k == ln.First || p.Tokens[k].Class != text.ClassCode {
		return false
	}
	t := &p.Tokens[k-1]
	if t.Kind != text.KindWord || t.Class != text.ClassNone || t.End-t.Start < 4 {
		return false
	}
	for _, c := range p.Plain[t.Start:t.End] {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return k-2 >= ln.First && (p.english(k-2) || p.Tokens[k-2].Class == text.ClassEnter)
}

// english tells the articles of the language in which the trade goes before "code".
func (p *page) english(k int32) bool {
	switch t := &p.Tokens[k]; string(p.Lower[t.Start:t.End]) {
	case "your", "the", "a", "an", "our", "its", "my", "their", "with":
		return true
	}
	return false
}

// told tells "enter the following code".
func (p *page) told(ln *text.Line, k int32) bool {
	for i := k - 1; i >= ln.First && i >= k-6; i-- {
		if p.Tokens[i].Class == text.ClassEnter {
			return true
		}
	}
	return false
}

// announcesOther tells a page that has a word for something else and no label.
func (p *page) announcesOther() bool {
	for i := range p.Lines {
		if ln := &p.Lines[i]; ln.Other && ln.Strength == 0 {
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
