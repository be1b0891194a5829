package otp

import "bytes"

// Strengths of a label.
const (
	weak   = 1 // "code", "password", "PIN"
	medium = 2 // "passcode", "confirmation code": meetings and orders have them too
	strong = 3 // "verification code", "OTP"
)

// context is what the whole mail says about itself.
type context struct {
	strength      uint8 // of the best label anywhere
	subject       uint8 // of the best label of the subject
	subjectVerify bool  // the subject speaks of confirmation or login
	secret        bool  // somebody is told to keep it to himself
	expiry        bool  // something is valid for minutes
	advert        bool  // the subject promises a discount
	trade         bool  // the subject announces something else, and no code

	// How often the mail uses words ...
	verify    int // for verification and login
	confirm   int // for confirmation and access
	purpose   int // for a code "to confirm" something
	entering  int // for a code that somebody is told to enter
	approvals int // for authorization codes
	terminal  int // ... that a card terminal may give
	authority int // for authorization: counted by verify too
	others    int // for codes of other trades: "stock code"
	goods     int // for other things that have numbers
	parcel    int
	promo     int
	booking   int
	meeting   int
	papers    int // for certificates and the like
	money     int // for amounts
}

// compose gives every label its strength from the words around it, and every line its
// summary. It reads each token once, and a few neighbours of each label.
func (p *page) compose(ctx *context) {
	p.footers()
	for i := range p.lines {
		ln := &p.lines[i]
		ln.colon = p.endsWithColon(ln)
		for k := ln.first; k < ln.last; k++ {
			t := &p.tokens[k]
			if t.class.label() {
				p.qualify(ln, k, ctx)
			}
			if t.kind == kindPunct {
				if p.lower[t.start] == '$' {
					ctx.money++
				}
				continue
			}
			if k > ln.first && p.percentOff(k) {
				t.class = classPromo
			}
			if t.class != classNone && !ln.footer {
				ctx.note(p, t)
			}
			if t.kind == kindWord || t.kind == kindRef {
				ln.add(t, k)
			}
		}
		p.conclude(ln)
	}
}

// percentOff tells the "off" of "20% off".
func (p *page) percentOff(k int32) bool {
	t, sign := &p.tokens[k], &p.tokens[k-1]
	return t.end-t.start == 3 && string(p.lower[t.start:t.end]) == "off" && sign.kind == kindPunct && p.lower[sign.start] == '%'
}

func (c *context) note(p *page, t *token) {
	switch t.class {
	case classVerify, classOnce:
		if p.source != SourceSubject || !p.guards(t) {
			c.verify++
		}
		if w := p.lower[t.start:t.end]; bytes.HasPrefix(w, authori) || bytes.HasPrefix(w, autori) {
			c.authority++
		}
	case classMoney:
		c.money++
	case classConfirm:
		c.confirm++
	case classPromo:
		c.promo++
	case classBooking:
		c.booking++
	case classOther:
		c.goods++
		if w := p.lower[t.start:t.end]; bytes.HasSuffix(w, codeWord) {
			c.others++
		}
	case classParcel:
		c.parcel++
	case classMeeting:
		c.meeting++
	case classPaper:
		c.papers++
	case classTimeUnit:
		c.expiry = c.expiry || !p.long(t)
	case classSecret:
		c.secret = true
	}
	if t.class == classApproval {
		c.approvals++
		if !bytes.HasPrefix(p.lower[t.start:t.end], securityWord) {
			c.terminal++
		}
	}
	if t.class.label() {
		c.strength = max(c.strength, t.strength)
	}
}

// long tells days and more: a code does not last that long, a refund takes it.
func (p *page) long(t *token) bool {
	return longUnits[string(p.lower[t.start:t.end])]
}

var longUnits = foldSet("day", "days", "week", "weeks", "month", "months", "years", "tage", "tagen", "wochen", "monate", "monaten", "jahre", "jours", "semaines", "mois", "ans",
	"días", "dias", "semanas", "meses", "años", "anos", "giorni", "settimane", "mesi", "anni", "dagen", "weken", "dage", "dager", "dagar", "päivää", "dni", "dnů", "dní", "nap", "gün",
	"дней", "дня", "днів", "дні", "ημέρες", "أيام", "روز", "ימים", "दिन", "วัน", "ngày", "hari", "天", "일", "日間", "週間", "個月", "个月", "개월", "년")

func foldSet(list ...string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, w := range foldList(list...) {
		set[string(w)] = true
	}
	return set
}

// qualify sets the strength of the label at k, or turns it into the announcement of
// something else: "promo code", "code postal".
func (p *page) qualify(ln *line, k int32, ctx *context) {
	t := &p.tokens[k]
	if p.told(ln, k) {
		ctx.entering++
	}
	before, promo := p.qualifierBefore(ln, k)
	after := p.qualifierAfter(ln, k)
	if after == classConfirm {
		ctx.purpose++
	}
	switch {
	case t.class == classOTP, t.class == classApproval, t.class == classPasscode && p.abbreviated(t):
		t.strength = strong
		return
	case promo == classPromo || after == classPromo:
		t.class = classPromo
		return
	case before.other() || after.other():
		t.class = classOther
		ctx.others++
		return
	case before == classNone && p.trade(ln, k):
		ctx.others++
	}
	t.strength = weak
	if t.class == classPasscode {
		t.strength = medium
	}
	for _, q := range [2]class{before, after} {
		switch {
		case q == classOnce, q == classVerify && t.class != classPassword:
			t.strength = strong
		case (q == classConfirm || q == classDigits) && t.class != classPassword:
			t.strength = max(t.strength, medium)
		}
	}
}

// abbreviated tells "TAN" and "TAC", which in small letters are words.
func (p *page) abbreviated(t *token) bool {
	w := string(p.plain[t.start:t.end])
	return w == "TAN" || w == "TAC"
}

// qualifierBefore looks at up to three words before a label. A word for something else
// counts only when it stands directly before it, or before "confirmation".
func (p *page) qualifierBefore(ln *line, k int32) (q, promo class) {
	words := 0
	for i := k - 1; i >= ln.first && words < 3; i-- {
		t := &p.tokens[i]
		switch {
		case t.kind == kindPunct:
			if c := p.lower[t.start]; c != '-' && c != '"' && c != '\'' && c != '/' {
				return q, promo
			}
			continue
		case t.kind != kindWord:
			return q, promo
		case t.class.other():
			if q == classNone && words == 0 || q == classConfirm && words == 1 {
				q = t.class
				promo = t.class
			}
			return q, promo
		case t.class == classVerify || t.class == classOnce:
			return t.class, promo
		case t.class == classOTP && words == 0:
			return classOnce, promo // "OTP password"
		case t.class == classConfirm, t.class == classDigits && q == classNone:
			q = t.class
		case t.class == classIs, t.class == classEnter, t.class.label() && words > 0:
			return q, promo
		}
		words += int(max(t.weight, 1))
	}
	return q, promo
}

// qualifierAfter looks at up to five words behind a label, over its code if it stands
// there: "code 482913 to log in", "code de la commande".
func (p *page) qualifierAfter(ln *line, k int32) (q class) {
	words, fillers := 0, true
	for i := k + 1; i < ln.last && words < 6; i++ {
		t := &p.tokens[i]
		switch {
		case t.kind == kindPunct:
			if c := p.lower[t.start]; c != '-' && c != '"' && c != '\'' && c != '(' {
				return q
			}
			continue
		case t.class.other():
			if fillers && q == classNone {
				return t.class
			}
			return q
		case t.class == classVerify || t.class == classOnce:
			return t.class
		case t.class == classOTP && words == 0:
			return classOnce
		case t.class == classConfirm, t.class == classDigits && q == classNone:
			q = t.class
		case t.class.label() || t.class == classIs && words > 2:
			return q
		}
		fillers = fillers && t.class == classOf
		words += int(max(t.weight, 1))
	}
	return q
}

var codeWord, securityWord, authori, autori = []byte("code"), []byte("security"), []byte("authori"), []byte("autori")

// plural tells "codes", which announces many or none.
func (p *page) plural(k int32) bool {
	t := &p.tokens[k]
	w := p.lower[t.start:t.end]
	if bytes.HasPrefix(w, rastau) {
		return false // Kazakh: the code, not codes
	}
	for _, s := range plurals {
		if bytes.HasSuffix(w, s) {
			return true
		}
	}
	return false
}

var rastau = []byte("растау")

var plurals = foldList("codes", "códigos", "claves", "contraseñas", "passwords", "otps", "pins", "codici", "tokens", "коды", "kódy", "kody")

// guards tells the "security" of "Security notification": as a subject it stands above mails of any
// kind, and says nothing about signing in.
func (p *page) guards(t *token) bool {
	return security[string(p.lower[t.start:t.end])]
}

var security = foldSet("security", "sicherheit", "sécurité", "seguridad", "segurança", "sicurezza", "beveiliging", "säkerhet", "sikkerhed", "sikkerhet", "bezpieczeństwa", "bezpečnost", "безопасности", "безпеки", "güvenlik", "安全", "セキュリティ", "보안", "الامان", "אבטחה")
