package otp

import (
	"bytes"
	"slices"

	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/text"
)

// Strengths of a label: how clearly a word for "code" announces a one-time code.
const (
	weakLabel        = 1 // "code", "password", "PIN"
	mediumLabel      = 2 // "passcode", "confirmation code": meetings and orders also have them
	strongLabel      = 3 // "verification code", "OTP"
	pluralLabel      = 4 // only of a label above the candidate: it is a plural, "codes"
	interruptedLabel = 5 // only of a label above the candidate: another number is between them
)

// messageContext holds the features of the whole message. search.eachCandidate fills it before it
// scores the first candidate; after that it is read only.
type messageContext struct {
	maxStrength     uint8 // of the strongest label in the message
	subjectStrength uint8 // of the strongest label in the subject
	mentionsExpiry  bool  // the message has a unit of time, so something may expire
	wordCount       int   // number of words of the message
	links           []string

	wordCounts       [text.ClassCount]int // number of words of each class
	labelsAfterEnter int                  // number of labels behind a verb such as "enter"
	otherCodeWords   int                  // number of words for codes of another kind: "stock code"

	seenSigns       signSet     // signs of the whole message
	subjectSeen     signSet     // signs of the subject
	subjectConcepts concept.Set // concepts of the subject
}

// setLabelStrengths sets the strength of every label from the words around it, and the summary
// fields of every line. It reads each token once, and a few neighbours of each label.
func (p *sourcePage) setLabelStrengths(ctx *messageContext) {
	for i := range p.Lines {
		ln := &p.Lines[i]
		ln.ColonAtEnd = p.EndsWithColon(ln)
		for k := ln.FirstToken; k < ln.EndToken; k++ {
			t := &p.Tokens[k]
			if t.Class.IsLabel() {
				p.qualifyLabel(ln, k, ctx)
			}
			if t.Kind == text.KindPunct {
				switch p.Lower[t.Start] {
				case '$':
					ctx.wordCounts[text.ClassMoney]++
				case '%':
					ctx.wordCounts[text.ClassPromo]++
				}
				continue
			}
			if t.Class != text.ClassNone {
				ctx.countWord(p, t)
			}
			if t.Kind == text.KindWord || t.Kind == text.KindRef {
				recordLabel(ln, t, k)
			}
		}
		ctx.wordCount += int(ln.WordCount)
		ln.IsHeading = ln.LabelToken >= 0 && (ln.ColonAtEnd || ln.WordCount <= 5)
	}
}

// recordLabel adds the word t, which is token k, to the summary of its line. A label that is at least
// as strong replaces the one before, and so does any label that is more than 12 tokens behind it.
func recordLabel(ln *text.TokenLine, t *text.Token, k int32) {
	ln.WordCount += int32(t.WordWeight)
	switch {
	case t.Class == text.ClassNone:
	case t.Class.IsLabel():
		if t.LabelStrength >= ln.LabelStrength || k-ln.LabelToken > 12 {
			ln.LabelStrength, ln.LabelToken = t.LabelStrength, k
		}
	case t.Class == text.ClassPlace:
		ln.IsAddress = true
	}
}

// countVerifyWords returns the number of words for verification and login.
func (c *messageContext) countVerifyWords() int {
	return c.wordCounts[text.ClassVerify] + c.wordCounts[text.ClassOnce]
}

// countWord counts the word t, which has a class.
func (c *messageContext) countWord(p *sourcePage, t *text.Token) {
	c.wordCounts[t.Class]++
	switch w := p.Lower[t.Start:t.End]; t.Class {
	case text.ClassOther:
		c.otherCodeWords += boolToInt(bytes.HasSuffix(w, codeWord))
	case text.ClassTimeUnit:
		c.mentionsExpiry = true
	}
	if t.Class.IsLabel() {
		c.maxStrength = max(c.maxStrength, t.LabelStrength)
	}
}

// qualifyLabel sets the strength of the label at k. If the words around it name another kind of number
// ("promo code", "code postal"), it changes the class of the token instead, which then is not a
// label.
func (p *sourcePage) qualifyLabel(ln *text.TokenLine, k int32, ctx *messageContext) {
	t := &p.Tokens[k]
	if p.followsEnterVerb(ln, k) {
		ctx.labelsAfterEnter++
	}
	before, after := p.findQualifier(ln, k, -1, 3), p.findQualifier(ln, k, 1, 6)
	switch {
	// "TAN" and "TAC" are ordinary words in lower case, so only capitals count.
	case t.Class == text.ClassOTP, t.Class == text.ClassApproval, t.Class == text.ClassPasscode && bytes.HasPrefix(p.RawToken(k), []byte("TA")):
		t.LabelStrength = strongLabel
		return
	case before == text.ClassPromo || after == text.ClassPromo:
		t.Class = text.ClassPromo
		return
	case before.IsOther() || after.IsOther():
		t.Class = text.ClassOther
		ctx.otherCodeWords++
		return
	}
	t.LabelStrength = weakLabel
	if t.Class == text.ClassPasscode {
		t.LabelStrength = mediumLabel
	}
	for _, q := range [2]text.Class{before, after} {
		switch {
		case q == text.ClassOnce, q == text.ClassVerify && t.Class != text.ClassPassword:
			t.LabelStrength = strongLabel
		case (q == text.ClassConfirm || q == text.ClassDigits) && t.Class != text.ClassPassword:
			t.LabelStrength = max(t.LabelStrength, mediumLabel)
		}
	}
}

// followsEnterVerb reports whether a verb such as "enter" is among the six tokens before the label
// at k: "enter the following code".
func (p *sourcePage) followsEnterVerb(ln *text.TokenLine, k int32) bool {
	for i := k - 1; i >= ln.FirstToken && i >= k-6; i-- {
		if p.Tokens[i].Class == text.ClassEnter {
			return true
		}
	}
	return false
}

// findQualifier returns the class of the word that says what the label at k is for: "verification
// code", "code 482913 to log in". It searches backwards if step is -1 and forwards if it is 1, over
// at most far words. A word for another kind of number counts only next to the label; before the
// label, "confirmation" may be between them, and behind it, "of".
func (p *sourcePage) findQualifier(ln *text.TokenLine, k, step int32, far int) (q text.Class) {
	words, beside, between := 0, true, text.ClassConfirm
	if step > 0 {
		between = text.ClassOf
	}
	for i := k + step; i >= ln.FirstToken && i < ln.EndToken && words < far; i += step {
		t := &p.Tokens[i]
		switch {
		case t.Kind == text.KindPunct:
			if bytes.IndexByte([]byte(`-"'/(`), p.Lower[t.Start]) < 0 {
				return q
			}
			continue
		case t.Class.IsOther():
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
		case stopsQualifier(t, step, words):
			return q
		}
		beside = beside && t.Class == between
		words += int(max(t.WordWeight, 1))
	}
	return q
}

// stopsQualifier reports whether the search of qualifier stops at t: words beyond it do not qualify the
// label.
func stopsQualifier(t *text.Token, step int32, words int) bool {
	if step < 0 {
		return t.Kind != text.KindWord || t.Class == text.ClassIs || t.Class == text.ClassEnter || t.Class.IsLabel() && words > 0
	}
	return t.Class.IsLabel() || t.Class == text.ClassIs && words > 2
}

// codeWord ends the words for codes of another kind: "postcode".
var codeWord = []byte("code")

// isPlural reports whether token k is a plural such as "codes", which does not announce one code.
func (p *sourcePage) isPlural(k int32) bool {
	t := &p.Tokens[k]
	w := p.Lower[t.Start:t.End]
	return slices.ContainsFunc(codePlurals, func(s []byte) bool { return bytes.HasSuffix(w, s) })
}

// codePlurals are the folded plurals of words for "code"; they also match as the end of a compound.
var codePlurals = bytes.Fields(text.Fold("codes códigos claves contraseñas passwords otps pins codici tokens коды kódy kody").Lower)
