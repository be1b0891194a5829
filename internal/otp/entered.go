package otp

import "bytes"

// Numbers that somebody is told to enter, or that speak for themselves: no word for "code" needed.

// entered finds "enter 482913 to sign in", which needs no word for "code".
func (p *page) entered(c *candidate, ctx *context) (r relation) {
	r.at = -1
	ln := &p.lines[c.line]
	if p.asks(c, ctx) {
		r.at, r.score, r.strength = c.line-1, enterVerb+14, medium
		r.direct, r.joined = true, p.lines[c.line-1].colon
		return r
	}
	k := c.first - 1
	for k >= ln.first && k >= c.first-4 && p.small(k) {
		k--
	}
	if k < ln.first || p.tokens[k].class != classEnter && p.tokens[k].class != classBy {
		if !p.enterBehind(ln, c) {
			return r
		}
		k = c.first
	}
	if c.n != 6 && ctx.goods > 0 && !ctx.subjectVerify && ctx.subject < medium && !p.labelled(ln, c) && !p.toVerify(c) && !(p.enterBehind(ln, c) && ctx.verify+ctx.confirm > 0) {
		return r // "Issue 7: enter 57031, press verify"
	}
	by := p.tokens[k].class == classBy
	r.score, r.at = enterVerb, c.line
	for i := max(ln.first, c.first-12); i < ln.last && i <= c.last+14; i++ {
		t := &p.tokens[i]
		if t.class == classVerify || t.class == classConfirm {
			r.score += 14
			r.strength = medium
			break
		}
		if i > c.last+9 && t.kind == kindPunct && p.pause(t, i, ln) >= sentence {
			break
		}
	}
	switch {
	case r.strength == 0 && p.labelled(ln, c):
		r.score, r.strength = r.score+10, weak
		if ctx.subjectVerify {
			r.score += 8
		}
	case r.strength == 0 && (by || k == c.first):
		return relation{at: -1}
	case r.strength == 0 && (ctx.subjectVerify || ctx.subject >= medium || c.n == 6 && (ctx.subject > 0 || ctx.secret) && ctx.goods+ctx.promo+ctx.booking+ctx.meeting == 0 || p.source == SourceSubject && c.n == 6 && !ctx.trade && !ctx.advert):
		r.score += 8
	}
	if r.strength > 0 {
		r.strength = max(r.strength, min(ctx.strength, medium))
	}
	return r
}

// toVerify tells "use 4829 to verify your phone".
func (p *page) toVerify(c *candidate) bool {
	ln, k := &p.lines[c.line], c.last+2
	return k < ln.last && c.first > ln.first && p.tokens[c.first-1].class == classEnter && p.tokens[k-1].kind == kindWord && (p.tokens[k].class == classVerify || p.tokens[k].class == classConfirm)
}

// asks tells "Pop this into the sign-up form:" and "Go to acme.example and enter" above a code that
// stands alone: a line that asks to enter what follows, and speaks of signing in or confirming.
func (p *page) asks(c *candidate, ctx *context) bool {
	if !c.own || c.line == 0 || p.lines[c.line-1].other {
		return false
	}
	up := &p.lines[c.line-1]
	says, asked := ctx.subjectVerify, int32(-1)
	for k := up.first; k < up.last; k++ {
		switch t := &p.tokens[k]; {
		case t.class == classVerify, t.class == classConfirm, t.class == classAccount:
			says = true
		case t.class == classPromo:
			return false
		case t.class == classEnter, t.class == classBy && up.colon && k+2 == up.last:
			asked = k
		}
	}
	return asked >= 0 && says && (up.colon || asked+1 == up.last || p.shows(asked+1))
}

// shows tells "this" and "these".
func (p *page) shows(k int32) bool {
	switch t := &p.tokens[k]; string(p.lower[t.start:t.end]) {
	case "this", "these":
		return true
	}
	return false
}

// enterBehind tells languages that put the verb behind: "482913 girin", "482913 दर्ज करें".
func (p *page) enterBehind(ln *line, c *candidate) bool {
	if k := c.last + 1; k+2 < ln.last && p.lower[p.tokens[k].start] == '-' && p.tokens[k+1].class == classEnter && string(p.raw(k+2)) == "to" {
		return true // "482913 - enter to continue"
	}
	if k := c.last + 2; k < ln.last && p.tokens[k].class == classVerify && string(p.raw(k-1)) == "से" {
		return true // "482913 से लॉगिन": log in with it
	}
	for k := c.last + 1; k < ln.last && k <= c.last+2 && p.tokens[k].kind == kindWord; k++ {
		if w := p.lower[p.tokens[k].start:p.tokens[k].end]; p.tokens[k].class == classEnter {
			return w[0] >= 0x80 || bytes.HasPrefix(w, girin) || bytes.HasPrefix(w, kullanin)
		}
	}
	return false
}

var girin, kullanin = []byte("girin"), []byte("kullanin")

// small tells quotation marks, colons, "the number" and what politeness puts behind a verb: "geben Sie bitte".
func (p *page) small(k int32) bool {
	t := &p.tokens[k]
	c := p.lower[t.start]
	return t.class == classOf || t.class == classFresh || p.countWord(k) || t.kind == kindPunct && (c == '"' || c == '\'' || c == ':')
}

// labelled tells "use 482913 as your password": a label within eight tokens behind c.
func (p *page) labelled(ln *line, c *candidate) bool {
	for k := c.last + 1; k < ln.last && k <= c.last+8; k++ {
		if p.tokens[k].class.label() && !p.plural(k) {
			return true
		}
	}
	return false
}

// glossed tells "482913 (Acme login verification)".
func (p *page) glossed(c *candidate) (r relation) {
	r.at = -1
	ln := &p.lines[c.line]
	k := c.last + 1
	if k >= ln.last || p.lower[p.tokens[k].start] != '(' || c.form != formDigits {
		return r
	}
	for k++; k < ln.last && k < c.last+9; k++ {
		switch t := &p.tokens[k]; {
		case t.class.other():
			return r
		case t.class == classVerify:
			r.strength = medium
		case t.kind == kindPunct && p.lower[t.start] == ')':
			if r.strength > 0 {
				r.score = enterVerb + 14
			}
			return r
		}
	}
	return r
}

// verifies tells "Acme account verification: 4829", all that a short message says.
func (p *page) verifies(c *candidate, ctx *context) (r relation) {
	r.at = -1
	ln, k := &p.lines[c.line], c.first-2
	if len(p.lines) > 2 || k < ln.first || c.form != formDigits || c.n > 8 || year(c) || p.lower[p.tokens[k+1].start] != ':' || p.tokens[k].class != classVerify ||
		ctx.elsewhere()+ctx.papers > 0 {
		return r
	}
	if verifications[string(p.lower[p.tokens[k].start:p.tokens[k].end])] {
		r.score, r.strength, r.joined, r.direct = enterVerb+14, medium, true, true
	}
	return r
}

var verifications = foldSet("verification", "authentication", "vérification", "verificación", "verificação", "verifica", "verificatie", "verifizierung", "bestätigung", "verifiering", "verificering", "weryfikacja", "ověření", "overenie", "verificare", "doğrulama", "верификация", "проверка", "verifikasi")

// displayed tells a number that a mail about signing in or confirming shows in a paragraph of its own
// under a whole sentence, whatever that calls it: captions of other numbers are shorter.
func (p *page) displayed(c *candidate, ctx *context) (r relation) {
	r.at = -1
	ln := &p.lines[c.line]
	if !c.own || c.form != formDigits || c.n < 5 || c.n > 8 || c.line == 0 || !ln.paragraph ||
		ctx.verify+ctx.confirm == 0 || !(ctx.subjectVerify || ctx.subject > 0) || !(ctx.expiry || ctx.secret || ctx.entering > 0) ||
		ctx.elsewhere() > 0 {
		return r
	}
	up := &p.lines[c.line-1]
	if up.words < 5 || up.other || up.place || up.footer {
		return r
	}
	r.score, r.strength = enterVerb, medium
	return r
}
