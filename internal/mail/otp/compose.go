package otp

import (
	"bytes"
	"slices"

	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/text"
)

// Strengths of a label: how clearly a word for "code" announces a one-time code.
const (
	weak   = 1 // "code", "password", "PIN"
	medium = 2 // "passcode", "confirmation code": meetings and orders also have them
	strong = 3 // "verification code", "OTP"
	plural = 4 // only of a label above the candidate: it is a plural, "codes"
	taken  = 5 // only of a label above the candidate: another number is between them
)

// context holds the features of the whole message. search.each fills it before it scores the first
// candidate; after that it is read only.
type context struct {
	strength uint8 // of the strongest label in the message
	subject  uint8 // of the strongest label in the subject
	expiry   bool  // the message has a unit of time, so something may expire

	words    [text.Classes]int // number of words of each class
	entering int               // number of labels behind a verb such as "enter"
	others   int               // number of words for codes of another kind: "stock code"

	seen        bag         // signs of the whole message
	subjectSeen bag         // signs of the subject
	topic       concept.Set // concepts of the subject
}

// compose sets the strength of every label from the words around it, and the summary fields of
// every line. It reads each token once, and a few neighbours of each label.
func (p *page) compose(ctx *context) {
	for i := range p.Lines {
		ln := &p.Lines[i]
		ln.Colon = p.EndsWithColon(ln)
		for k := ln.First; k < ln.Last; k++ {
			t := &p.Tokens[k]
			if t.Class.Label() {
				p.qualify(ln, k, ctx)
			}
			if t.Kind == text.KindPunct {
				switch p.Lower[t.Start] {
				case '$':
					ctx.words[text.ClassMoney]++
				case '%':
					ctx.words[text.ClassPromo]++
				}
				continue
			}
			if t.Class != text.ClassNone {
				ctx.note(p, t)
			}
			if t.Kind == text.KindWord || t.Kind == text.KindRef {
				announce(ln, t, k)
			}
		}
		ln.Heading = ln.Label >= 0 && (ln.Colon || ln.Words <= 5)
	}
}

// announce adds the word t, which is token k, to the summary of its line. A label that is at least
// as strong replaces the one before, and so does any label that is more than 12 tokens behind it.
func announce(ln *text.Line, t *text.Token, k int32) {
	ln.Words += int32(t.Weight)
	switch {
	case t.Class == text.ClassNone:
	case t.Class.Label():
		if t.Strength >= ln.Strength || k-ln.Label > 12 {
			ln.Strength, ln.Label = t.Strength, k
		}
	case t.Class == text.ClassPlace:
		ln.Place = true
	}
}

// verify returns the number of words for verification and login.
func (c *context) verify() int { return c.words[text.ClassVerify] + c.words[text.ClassOnce] }

// note counts the word t, which has a class.
func (c *context) note(p *page, t *text.Token) {
	c.words[t.Class]++
	switch w := p.Lower[t.Start:t.End]; t.Class {
	case text.ClassOther:
		c.others += bit(bytes.HasSuffix(w, codeWord))
	case text.ClassTimeUnit:
		c.expiry = true
	}
	if t.Class.Label() {
		c.strength = max(c.strength, t.Strength)
	}
}

// qualify sets the strength of the label at k. If the words around it name another kind of number
// ("promo code", "code postal"), it changes the class of the token instead, which then is not a
// label.
func (p *page) qualify(ln *text.Line, k int32, ctx *context) {
	t := &p.Tokens[k]
	if p.told(ln, k) {
		ctx.entering++
	}
	before, after := p.qualifier(ln, k, -1, 3), p.qualifier(ln, k, 1, 6)
	switch {
	// "TAN" and "TAC" are ordinary words in lower case, so only capitals count.
	case t.Class == text.ClassOTP, t.Class == text.ClassApproval, t.Class == text.ClassPasscode && bytes.HasPrefix(p.Raw(k), []byte("TA")):
		t.Strength = strong
		return
	case before == text.ClassPromo || after == text.ClassPromo:
		t.Class = text.ClassPromo
		return
	case before.Other() || after.Other():
		t.Class = text.ClassOther
		ctx.others++
		return
	}
	t.Strength = weak
	if t.Class == text.ClassPasscode {
		t.Strength = medium
	}
	for _, q := range [2]text.Class{before, after} {
		switch {
		case q == text.ClassOnce, q == text.ClassVerify && t.Class != text.ClassPassword:
			t.Strength = strong
		case (q == text.ClassConfirm || q == text.ClassDigits) && t.Class != text.ClassPassword:
			t.Strength = max(t.Strength, medium)
		}
	}
}

// told reports whether a verb such as "enter" is among the six tokens before the label at k: "enter
// the following code".
func (p *page) told(ln *text.Line, k int32) bool {
	for i := k - 1; i >= ln.First && i >= k-6; i-- {
		if p.Tokens[i].Class == text.ClassEnter {
			return true
		}
	}
	return false
}

// qualifier returns the class of the word that says what the label at k is for: "verification
// code", "code 482913 to log in". It searches backwards if step is -1 and forwards if it is 1, over
// at most far words. A word for another kind of number counts only next to the label; before the
// label, "confirmation" may be between them, and behind it, "of".
func (p *page) qualifier(ln *text.Line, k, step int32, far int) (q text.Class) {
	words, beside, between := 0, true, text.ClassConfirm
	if step > 0 {
		between = text.ClassOf
	}
	for i := k + step; i >= ln.First && i < ln.Last && words < far; i += step {
		t := &p.Tokens[i]
		switch {
		case t.Kind == text.KindPunct:
			if bytes.IndexByte([]byte(`-"'/(`), p.Lower[t.Start]) < 0 {
				return q
			}
			continue
		case t.Class.Other():
			if beside {
				return t.Class
			}
			return q
		case t.Class == text.ClassVerify || t.Class == text.ClassOnce:
			return t.Class
		case t.Class == text.ClassOTP && words == 0:
			return text.ClassOnce // "OTP password"
		case t.Class == text.ClassConfirm, t.Class == text.ClassDigits && q == text.ClassNone:
			q = t.Class
		case ends(t, step, words):
			return q
		}
		beside = beside && t.Class == between
		words += int(max(t.Weight, 1))
	}
	return q
}

// ends reports whether the search of qualifier stops at t: words beyond it do not qualify the
// label.
func ends(t *text.Token, step int32, words int) bool {
	if step < 0 {
		return t.Kind != text.KindWord || t.Class == text.ClassIs || t.Class == text.ClassEnter || t.Class.Label() && words > 0
	}
	return t.Class.Label() || t.Class == text.ClassIs && words > 2
}

// codeWord ends the words for codes of another kind: "postcode".
var codeWord = []byte("code")

// plural reports whether token k is a plural such as "codes", which does not announce one code.
func (p *page) plural(k int32) bool {
	t := &p.Tokens[k]
	w := p.Lower[t.Start:t.End]
	return slices.ContainsFunc(plurals, func(s []byte) bool { return bytes.HasSuffix(w, s) })
}

// plurals are the folded plurals of words for "code"; they also match as the end of a compound.
var plurals = bytes.Fields(text.Fold("codes códigos claves contraseñas passwords otps pins codici tokens коды kódy kody").Lower)
