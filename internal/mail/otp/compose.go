package otp

import (
	"bytes"
	"slices"

	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/text"
)

// Strengths of a label.
const (
	weak   = 1 // "code", "password", "PIN"
	medium = 2 // "passcode", "confirmation code": meetings and orders have them too
	strong = 3 // "verification code", "OTP"
	plural = 4 // seen from below: "codes"
	taken  = 5 // ... of another number
)

// context is what the whole mail says about itself. The search fills it, then only reads.
type context struct {
	strength uint8 // of the best label anywhere
	subject  uint8 // of the best label of the subject
	expiry   bool  // something is valid for minutes

	words    [text.Classes]int // how often the mail uses a word of each class
	entering int               // ... speaks of a code that somebody is told to enter
	others   int               // ... of codes of other trades: "stock code"

	seen        bag         // of the whole mail
	subjectSeen bag         // of the subject
	topic       concept.Set // likewise
}

// compose gives every label its strength from the words around it, and every line its
// summary. It reads each token once, and a few neighbours of each label.
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

// announce notes what the word t, token k, announces for the lines below.
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

// verify counts the words for verification and login.
func (c *context) verify() int { return c.words[text.ClassVerify] + c.words[text.ClassOnce] }

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

// qualify sets the strength of the label at k, or turns it into the announcement of
// something else: "promo code", "code postal".
func (p *page) qualify(ln *text.Line, k int32, ctx *context) {
	t := &p.Tokens[k]
	if p.told(ln, k) {
		ctx.entering++
	}
	before, after := p.qualifier(ln, k, -1, 3), p.qualifier(ln, k, 1, 6)
	switch {
	case t.Class == text.ClassOTP, t.Class == text.ClassApproval, t.Class == text.ClassPasscode && bytes.HasPrefix(p.Raw(k), []byte("TA")): // "TAN" and "TAC", which in small letters are words
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

// told tells "enter the following code".
func (p *page) told(ln *text.Line, k int32) bool {
	for i := k - 1; i >= ln.First && i >= k-6; i-- {
		if p.Tokens[i].Class == text.ClassEnter {
			return true
		}
	}
	return false
}

// qualifier looks from the label at k, back or on, for the word that says of what it is: "verification code", "code
// 482913 to log in". A word for something else counts only beside it: in front, "confirmation" may stand between,
// behind it, "of".
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

// ends tells a word behind which nothing says any more of what a label is.
func ends(t *text.Token, step int32, words int) bool {
	if step < 0 {
		return t.Kind != text.KindWord || t.Class == text.ClassIs || t.Class == text.ClassEnter || t.Class.Label() && words > 0
	}
	return t.Class.Label() || t.Class == text.ClassIs && words > 2
}

var codeWord = []byte("code")

// plural tells "codes", which announces many or none.
func (p *page) plural(k int32) bool {
	t := &p.Tokens[k]
	w := p.Lower[t.Start:t.End]
	return slices.ContainsFunc(plurals, func(s []byte) bool { return bytes.HasSuffix(w, s) })
}

var plurals = bytes.Fields(text.Fold("codes códigos claves contraseñas passwords otps pins codici tokens коды kódy kody").Lower)
