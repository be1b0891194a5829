package otp

// Codes of other trades than signing in: whose a code is, is said by the noun beside the
// word for "code", or by what the whole mail is about.

// misused tells codes of other trades: a shop's, a hotel's, a conference's. A word like
// "code" alone does not save them, "verification code" does.
func (p *page) misused(c *candidate, ctx *context) bool {
	s := c.relation.strength
	if ctx.paper() || c.form != formDigits && ctx.promo > 0 && ctx.entering == 0 && !ctx.secret && p.near(c, classPromo) {
		return true
	}
	if s == strong {
		return ctx.receipt() && p.tokens[max(0, c.first-1)].class != classIs && p.tokens[max(0, c.first-2)].class != classBy && !(c.relation.behind && c.relation.joined)
	}
	silent := ctx.verify+ctx.purpose == 0 && !ctx.secret && ctx.subject < strong // the mail never speaks of verifying or signing in
	switch {
	case ctx.meeting > 0, ctx.booking > 1 && ctx.strength < strong && !(ctx.subjectVerify && ctx.verify > 1) && !(ctx.entering > 0 && ctx.verify > 0), s == medium && c.form != formDigits && ctx.trade && ctx.goods > 1 && ctx.entering == 0 && !ctx.expiry:
		return true
	case silent && (ctx.trade && !(ctx.subjectVerify && (ctx.entering > 0 || c.first > 0 && (p.tokens[c.first-1].class == classEnter || p.tokens[c.first-1].class == classBy))) || ctx.parcel > 0 && !ctx.subjectVerify && ctx.subject < medium || ctx.booking > 0 && ctx.booking+ctx.goods > 1):
		return true
	case silent && s == weak && (ctx.others > 0 || p.acronym(c) || ctx.subject < strong && !ctx.expiry && p.numberedThing(c) || ctx.subject == 0 && !ctx.expiry && p.password(c) && !p.payment(c, ctx) || ctx.confirm+ctx.entering == 0 && p.tradeBetween(c)),
		s == weak && !c.relation.joined && ctx.subject+ctx.strength/strong == 0 && ctx.entering == 0 && !ctx.expiry && !ctx.secret && p.tradeBetween(c):
		return true
	case s == medium && ctx.entering == 0 && !ctx.expiry && !ctx.secret && (ctx.booking > 0 && ctx.goods > 0 || silent && ctx.goods > 1 && !c.relation.joined):
		return true
	case ctx.promo > 0 && (c.form != formDigits || p.near(c, classPromo)):
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
func (p *page) near(c *candidate, q class) bool {
	for li := max(0, c.line-1); li <= c.line+1 && int(li) < len(p.lines); li++ {
		ln := &p.lines[li]
		for k := max(ln.first, c.first-40); k < ln.last && k < c.last+40; k++ {
			if p.tokens[k].class == q {
				return true
			}
		}
	}
	return false
}

// trade tells "survey code": a noun nobody knows says in which trade the code is used. A
// name, which has a capital letter, does not.
func (p *page) trade(ln *line, k int32) bool {
	if k == ln.first || p.tokens[k].class != classCode {
		return false
	}
	t := &p.tokens[k-1]
	if t.kind != kindWord || t.class != classNone || t.end-t.start < 4 {
		return false
	}
	for _, c := range p.plain[t.start:t.end] {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return k-2 >= ln.first && (p.english(k-2) || p.tokens[k-2].class == classEnter)
}

// english tells the articles of the language in which the trade goes before "code".
func (p *page) english(k int32) bool {
	switch t := &p.tokens[k]; string(p.lower[t.start:t.end]) {
	case "your", "the", "a", "an", "our", "its", "my", "their", "with":
		return true
	}
	return false
}

// tradeBetween tells "código de cita 482913" and "kod kursu: 4829": between the label and the
// number stands a noun that nobody knows, not a name.
func (p *page) tradeBetween(c *candidate) bool {
	ln := &p.lines[c.line]
	noun := int32(-1)
	for k := c.first - 1; k >= ln.first && k >= c.first-5; k-- {
		switch t := &p.tokens[k]; {
		case t.class.label():
			return noun > 0
		case noun > 0 && (t.kind == kindPunct && p.lower[t.start] == '-' || p.length(k) == 1): // "e-"
		case t.kind == kindPunct && noun < 0 && p.lower[t.start] == ':', t.class == classOf, noun > 0 && p.english(noun-1) && string(p.lower[t.start:t.end]) == "for", t.class == classIs && noun < 0:
		case t.kind == kindWord && t.class == classNone && noun < 0 && t.end-t.start >= 4 && p.plain[t.start] >= 'a' && p.plain[t.start] <= 'z':
			noun = k
		default:
			return false
		}
	}
	return false
}

// password tells "Password: 48291377", which may be anything's.
func (p *page) password(c *candidate) bool {
	for k := c.first - 1; k >= p.lines[c.line].first && k > c.first-5; k-- {
		if t := &p.tokens[k]; t.kind != kindPunct && t.class != classIs {
			return t.class == classPassword
		}
	}
	return false
}

// payment tells "Password: 4829. Purchase of 1 890 RUB": a message of a line or two in which a bank
// asks to allow a payment.
func (p *page) payment(c *candidate, ctx *context) bool {
	return ctx.money > 0 && c.n <= 8 && len(p.lines) <= 3
}

// numberedThing tells "Locker 14, code 4829": the code of a thing that has a small number itself.
func (p *page) numberedThing(c *candidate) bool {
	ln, labelled := &p.lines[c.line], false
	for k := c.first - 1; k > ln.first && k > c.first-9; k-- {
		t := &p.tokens[k]
		labelled = labelled || t.class.label()
		if !labelled || t.kind != kindNumber || p.length(k) > 3 || p.tokens[k-1].kind != kindWord || !t.gap && p.lower[p.tokens[k-1].start] < 0xE0 {
			continue
		}
		q := p.tokens[k-1].class
		return (q == classNone || q.other()) && !p.countWord(k-1) && p.lower[p.tokens[k+1].start] != ':'
	}
	return false
}

// acronym tells "CPT code 99213".
func (p *page) acronym(c *candidate) bool {
	k := c.first - 2
	return k >= p.lines[c.line].first && p.tokens[k+1].class == classCode && p.upper(k) && p.length(k) <= 4
}

// told tells "enter the following code".
func (p *page) told(ln *line, k int32) bool {
	for i := k - 1; i >= ln.first && i >= k-6; i-- {
		if p.tokens[i].class == classEnter {
			return true
		}
	}
	return false
}

// announcesOther tells a page that has a word for something else and no label.
func (p *page) announcesOther() bool {
	for i := range p.lines {
		if ln := &p.lines[i]; ln.other && ln.strength == 0 {
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
func (p *page) percent(ln *line, c *candidate) bool {
	for k := c.first - 1; k > ln.first && k > c.first-14; k-- {
		switch t := &p.tokens[k]; {
		case t.kind != kindPunct:
		case p.lower[t.start] == '%':
			return true
		case p.pause(t, k, ln) >= sentence:
			return false
		}
	}
	return false
}
