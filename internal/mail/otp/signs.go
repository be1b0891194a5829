package otp

import (
	"bytes"
	"unicode/utf8"

	"inboxd/internal/mail/otp/text"
)

// sign is what a token is to a candidate beside it: what its word means, or what it looks like.
type sign uint8

// Signs below signWeak are the classes of the vocabulary, of words that announce no code.
const (
	signEdge sign = 0 // the line ends
	signWeak sign = sign(text.ClassHarmless) + 1 + iota
	signMedium
	signStrong
	signPlural // "codes"
	signLower  // a word nobody knows, in small letters
	signCapital
	signUpper
	signShort // ... of three letters at most
	signForeign
	signFew // a number of one to three digits
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
	signs
)

var signNames = func() (names [signs]string) {
	copy(names[:], text.ClassNames)
	copy(names[signWeak:], []string{"code-weak", "code-medium", "code-strong", "codes", "lower", "capital", "upper", "short", "foreign",
		"few-digits", "number", "mixed", "figure", "ref", "colon", "period", "comma", "dash", "open", "close", "quote", "currency", "percent", "hash", "slash", "star", "punct"})
	names[signEdge] = "edge"
	return names
}()

// readSigns writes the signs of all tokens of the page, and gives all of them. compose must have run.
func (p *page) readSigns() (all bag) {
	p.signs, p.bags = p.signs[:0], p.bags[:0]
	for i := range p.Lines {
		ln, b := &p.Lines[i], bag(0)
		for k := ln.First; k < ln.Last; k++ {
			s := p.signOf(ln, k)
			p.signs = append(p.signs, s)
			b |= 1 << s
		}
		p.bags = append(p.bags, b)
		all |= b
	}
	return all
}

func (p *page) signOf(ln *text.Line, k int32) sign {
	t := &p.Tokens[k]
	switch t.Kind {
	case text.KindPunct:
		return p.punctuation(ln, k)
	case text.KindNumber:
		if p.Length(k) < minCode {
			return signFew
		}
		return signNumber
	case text.KindMixed:
		if p.branded(k) {
			return signLower
		}
		return signMixed
	case text.KindFigure:
		return signFigure
	case text.KindRef:
		return signRef
	}
	switch {
	case t.Strength > 0 && p.plural(k):
		return signPlural
	case t.Strength > 0:
		return signWeak + sign(t.Strength) - 1
	case t.Class.Label():
		return signWeak
	case t.Class != text.ClassNone:
		return sign(t.Class)
	}
	return p.unknown(k)
}

// unknown tells what a word looks like that nobody knows.
func (p *page) unknown(k int32) sign {
	switch b := p.Raw(k); {
	case p.Lower[p.Tokens[k].Start] >= 0x80:
		return signForeign
	case len(b) <= 3 && !(len(b) == 2 && capital(b[0]) && capital(b[1])): // "PR" and "MR"
		return signShort
	case capital(b[0]) && capital(b[len(b)-1]):
		return signUpper
	case capital(b[0]):
		return signCapital
	}
	return signLower
}

// punctuations are what signs of punctuation are.
var punctuations = func() (table [utf8.RuneSelf]sign) {
	for s, all := range map[sign]string{signColon: ":=", signPeriod: ".!?", signComma: ",;", signDash: "-", signOpen: "([{<", signClose: ")]}>", signQuote: "\"'`",
		signMoney: "$", signPercent: "%", signHash: "#", signSlash: `/\|`, signStar: "*_~", signPunct: "@^&+"} {
		for _, c := range all {
			table[c] = s
		}
	}
	return table
}()

func (p *page) punctuation(ln *text.Line, k int32) sign {
	s := punctuations[p.Lower[p.Tokens[k].Start]]
	if s == signPeriod && !p.period(ln, k) {
		return signPunct
	}
	return s
}

// branded tells "Auth0" and "Web3": a name of small letters that ends in a digit or two.
func (p *page) branded(k int32) bool {
	b := p.Raw(k)
	name := bytes.TrimRight(b, "0123456789")
	return len(name) >= 3 && text.Between(len(b)-len(name), 1, 2) && lower(name[1:])
}
