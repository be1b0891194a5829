package otp

import (
	"bytes"
	"unicode/utf8"

	"inboxd/internal/mail/otp/text"
)

// sign is the category of a token as a feature of the candidates around it: the class of its word
// in the vocabulary, or the shape of the token.
type sign uint8

// Signs below signWeak are vocabulary classes of words that do not announce a code. Bags use a sign
// as the number of a bit, so there can be at most 64.
const (
	signEdge sign = 0 // start or end of the line
	signWeak sign = sign(text.ClassHarmless) + 1 + iota
	signMedium
	signStrong
	signPlural  // "codes"
	signLower   // an unknown word in lower case
	signCapital // ... with a capital first letter
	signUpper   // ... in capitals
	signShort   // ... of at most three letters
	signForeign // ... in another script
	signFew     // a number of one to three digits
	signNumber
	signMixed
	signFigure
	signRef
	signColon
	signPeriod
	signComma
	signDash
	signOpen
	signClose
	signQuote
	signMoney
	signPercent
	signHash
	signSlash
	signStar
	signPunct
	signCount
)

// signNames are the names of the signs in weights.txt.
var signNames = func() (names [signCount]string) {
	copy(names[:], text.ClassNames)
	copy(names[signWeak:], []string{"code-weak", "code-medium", "code-strong", "codes", "lower", "capital", "upper", "short", "foreign",
		"few-digits", "number", "mixed", "figure", "ref", "colon", "period", "comma", "dash", "open", "close", "quote", "currency", "percent", "hash", "slash", "star", "punct"})
	names[signEdge] = "edge"
	return names
}()

// readSigns sets the sign of every token and the bag of every line, and returns the bag of the
// page. It needs the strengths that compose sets.
func (p *sourcePage) readSigns() (all signSet) {
	p.signs, p.bags = p.signs[:0], p.bags[:0]
	for i := range p.Lines {
		ln, b := &p.Lines[i], signSet(0)
		for k := ln.FirstToken; k < ln.EndToken; k++ {
			s := p.signOf(ln, k)
			p.signs = append(p.signs, s)
			b |= 1 << s
		}
		p.bags = append(p.bags, b)
		all |= b
	}
	return all
}

// signOf returns the sign of token k.
func (p *sourcePage) signOf(ln *text.TokenLine, k int32) sign {
	t := &p.Tokens[k]
	switch t.Kind {
	case text.KindPunct:
		return p.punctuationSign(ln, k)
	case text.KindNumber:
		if p.TokenLength(k) < minCode {
			return signFew
		}
		return signNumber
	case text.KindMixed:
		if p.isBrandName(k) {
			return signLower
		}
		return signMixed
	case text.KindFigure:
		return signFigure
	case text.KindRef:
		return signRef
	}
	switch {
	case t.LabelStrength > 0 && p.isPlural(k):
		return signPlural
	case t.LabelStrength > 0:
		return signWeak + sign(t.LabelStrength) - 1
	case t.Class.IsLabel():
		return signWeak
	case t.Class != text.ClassNone:
		return sign(t.Class)
	}
	return p.unknownSign(k)
}

// unknownSign returns the sign of a word that is not in the vocabulary, by its shape.
func (p *sourcePage) unknownSign(k int32) sign {
	switch b := p.RawToken(k); {
	case p.Lower[p.Tokens[k].Start] >= 0x80:
		return signForeign
	case len(b) <= 3 && !(len(b) == 2 && isCapital(b[0]) && isCapital(b[1])): // "PR" and "MR" are signUpper
		return signShort
	case isCapital(b[0]) && isCapital(b[len(b)-1]):
		return signUpper
	case isCapital(b[0]):
		return signCapital
	}
	return signLower
}

// punctuations maps an ASCII punctuation character to its sign.
var punctuations = func() (table [utf8.RuneSelf]sign) {
	for s, all := range map[sign]string{signColon: ":=", signPeriod: ".!?", signComma: ",;", signDash: "-", signOpen: "([{<", signClose: ")]}>", signQuote: "\"'`",
		signMoney: "$", signPercent: "%", signHash: "#", signSlash: `/\|`, signStar: "*_~", signPunct: "@^&+"} {
		for _, c := range all {
			table[c] = s
		}
	}
	return table
}()

// punctuationSign returns the sign of the punctuation token k. A point that does not end a sentence is
// signPunct.
func (p *sourcePage) punctuationSign(ln *text.TokenLine, k int32) sign {
	s := punctuations[p.Lower[p.Tokens[k].Start]]
	if s == signPeriod && !p.endsSentence(ln, k) {
		return signPunct
	}
	return s
}

// isBrandName reports whether token k is a name that ends in one or two digits: "Auth0", "Web3".
func (p *sourcePage) isBrandName(k int32) bool {
	b := p.RawToken(k)
	name := bytes.TrimRight(b, "0123456789")
	return len(name) >= 3 && text.InRange(len(b)-len(name), 1, 2) && isLower(name[1:])
}
