package otp

import "inboxd/internal/otp/text"

// Codes of other trades than signing in: whose a code is, is said by the noun beside the
// word for "code", or by what the whole mail is about.

// misused tells codes of other trades: a shop's, a hotel's, a conference's. A word like
// "code" alone does not save them, "verification code" does.
func (p vetoer) misused(c *candidate, ctx *context) bool {
	s := c.relation.strength
	if ctx.paper() || c.form != formDigits && ctx.promo > 0 && ctx.entering == 0 && !ctx.secret && p.near(c, text.ClassPromo) {
		return true
	}
	if s == strong {
		return ctx.receipt() && p.Tokens[max(0, c.first-1)].Class != text.ClassIs && p.Tokens[max(0, c.first-2)].Class != text.ClassBy && !(c.relation.behind && c.relation.joined)
	}
	silent := ctx.verify+ctx.purpose == 0 && !ctx.secret && ctx.subject < strong // the mail never speaks of verifying or signing in
	switch {
	case ctx.meeting > 0, ctx.booking > 1 && ctx.strength < strong && !(ctx.subjectVerify && ctx.verify > 1) && !(ctx.entering > 0 && ctx.verify > 0), s == medium && c.form != formDigits && ctx.trade && ctx.goods > 1 && ctx.entering == 0 && !ctx.expiry:
		return true
	case silent && (ctx.trade && !(ctx.subjectVerify && (ctx.entering > 0 || c.first > 0 && (p.Tokens[c.first-1].Class == text.ClassEnter || p.Tokens[c.first-1].Class == text.ClassBy))) || ctx.parcel > 0 && !ctx.subjectVerify && ctx.subject < medium || ctx.booking > 0 && ctx.booking+ctx.goods > 1):
		return true
	case silent && s == weak && (ctx.others > 0 || p.acronym(c) || ctx.subject < strong && !ctx.expiry && p.numberedThing(c) || ctx.subject == 0 && !ctx.expiry && p.password(c) && !p.payment(c, ctx) || ctx.confirm+ctx.entering == 0 && p.tradeBetween(c)),
		s == weak && !c.relation.joined && ctx.subject+ctx.strength/strong == 0 && ctx.entering == 0 && !ctx.expiry && !ctx.secret && p.tradeBetween(c):
		return true
	case s == medium && ctx.entering == 0 && !ctx.expiry && !ctx.secret && (ctx.booking > 0 && ctx.goods > 0 || silent && ctx.goods > 1 && !c.relation.joined):
		return true
	case ctx.promo > 0 && (c.form != formDigits || p.near(c, text.ClassPromo)):
		return true
	}
	return silent && s == weak && (ctx.promo > 1 || ctx.advert)
}

// receipt tells a mail about goods that has an "authorization code": the card terminal's.
func (c *context) receipt() bool {
	if c.terminal > 0 && c.money > 0 && c.goods > 1 && c.verify-c.authority+c.entering == 0 && !c.expiry && !c.secret {
		return true
	}
	least := 3
	if c.subject == 0 && c.confirm == 0 {
		least = 1
	}
	return c.approvals > 0 && c.verify+c.entering == 0 && !c.expiry && c.goods+c.booking >= least
}

// paper tells a mail about a certificate that has a "verification code": with it anybody can check the
// certificate.
func (c *context) paper() bool {
	return c.papers > 0 && c.subject == 0 && c.entering+c.purpose == 0 && !c.expiry && !c.secret
}

// near tells whether a word of class q stands on the line of c or next to it.
func (p vetoer) near(c *candidate, q text.Class) bool {
	for li := max(0, c.line-1); li <= c.line+1 && int(li) < len(p.Lines); li++ {
		ln := &p.Lines[li]
		for k := max(ln.First, c.first-40); k < ln.Last && k < c.last+40; k++ {
			if p.Tokens[k].Class == q {
				return true
			}
		}
	}
	return false
}

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

// tradeBetween tells "código de cita 482913" and "kod kursu: 4829": between the label and the
// number stands a noun that nobody knows, not a name.
func (p vetoer) tradeBetween(c *candidate) bool {
	ln := &p.Lines[c.line]
	noun := int32(-1)
	for k := c.first - 1; k >= ln.First && k >= c.first-5; k-- {
		switch t := &p.Tokens[k]; {
		case t.Class.Label():
			return noun > 0
		case noun > 0 && (t.Kind == text.KindPunct && p.Lower[t.Start] == '-' || p.Length(k) == 1): // "e-"
		case t.Kind == text.KindPunct && noun < 0 && p.Lower[t.Start] == ':', t.Class == text.ClassOf, noun > 0 && p.english(noun-1) && string(p.Lower[t.Start:t.End]) == "for", t.Class == text.ClassIs && noun < 0:
		case t.Kind == text.KindWord && t.Class == text.ClassNone && noun < 0 && t.End-t.Start >= 4 && p.Plain[t.Start] >= 'a' && p.Plain[t.Start] <= 'z':
			noun = k
		default:
			return false
		}
	}
	return false
}

// password tells "Password: 48291377", which may be anything's.
func (p vetoer) password(c *candidate) bool {
	for k := c.first - 1; k >= p.Lines[c.line].First && k > c.first-5; k-- {
		if t := &p.Tokens[k]; t.Kind != text.KindPunct && t.Class != text.ClassIs {
			return t.Class == text.ClassPassword
		}
	}
	return false
}

// payment tells "Password: 4829. Purchase of 1 890 RUB": a message of a line or two in which a bank
// asks to allow a payment.
func (p vetoer) payment(c *candidate, ctx *context) bool {
	return ctx.money > 0 && c.n <= 8 && len(p.Lines) <= 3
}

// numberedThing tells "Locker 14, code 4829": the code of a thing that has a small number itself.
func (p vetoer) numberedThing(c *candidate) bool {
	ln, labelled := &p.Lines[c.line], false
	for k := c.first - 1; k > ln.First && k > c.first-9; k-- {
		t := &p.Tokens[k]
		labelled = labelled || t.Class.Label()
		if !labelled || t.Kind != text.KindNumber || p.Length(k) > 3 || p.Tokens[k-1].Kind != text.KindWord || !t.Gap && p.Lower[p.Tokens[k-1].Start] < 0xE0 {
			continue
		}
		q := p.Tokens[k-1].Class
		return (q == text.ClassNone || q.Other()) && !p.countWord(k-1) && p.Lower[p.Tokens[k+1].Start] != ':'
	}
	return false
}

// acronym tells "CPT code 99213".
func (p vetoer) acronym(c *candidate) bool {
	k := c.first - 2
	return k >= p.Lines[c.line].First && p.Tokens[k+1].Class == text.ClassCode && p.upper(k) && p.Length(k) <= 4
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

// elsewhere counts the words for things whose numbers are no one-time codes.
func (c *context) elsewhere() int {
	return c.others + c.goods + c.promo + c.booking + c.parcel + c.meeting
}

// percent tells "10 % with the code HELLO10": a share of a price in the same sentence.
func (p vetoer) percent(ln *text.Line, c *candidate) bool {
	for k := c.first - 1; k > ln.First && k > c.first-14; k-- {
		switch t := &p.Tokens[k]; {
		case t.Kind != text.KindPunct:
		case p.Lower[t.Start] == '%':
			return true
		case p.pause(t, k, ln) >= sentence:
			return false
		}
	}
	return false
}
