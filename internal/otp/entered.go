package otp

import "inboxd/internal/otp/text"

import "bytes"

// Numbers that somebody is told to enter, or that speak for themselves: no word for "code" needed.

// entered finds "enter 482913 to sign in", which needs no word for "code".
func (p *page) entered(c *candidate, ctx *context) (r relation) {
	r.at = -1
	ln := &p.Lines[c.line]
	if p.asks(c, ctx) {
		r.at, r.score, r.strength = c.line-1, enterVerb+14, medium
		r.direct, r.joined = true, p.Lines[c.line-1].Colon
		return r
	}
	k := c.first - 1
	for k >= ln.First && k >= c.first-4 && p.small(k) {
		k--
	}
	if k < ln.First || p.Tokens[k].Class != text.ClassEnter && p.Tokens[k].Class != text.ClassBy {
		if !p.enterBehind(ln, c) {
			return r
		}
		k = c.first
	}
	if c.n != 6 && ctx.goods > 0 && !ctx.subjectVerify && ctx.subject < medium && !p.labelled(ln, c) && !p.toVerify(c) && !(p.enterBehind(ln, c) && ctx.verify+ctx.confirm > 0) {
		return r // "Issue 7: enter 57031, press verify"
	}
	by := p.Tokens[k].Class == text.ClassBy
	r.score, r.at = enterVerb, c.line
	for i := max(ln.First, c.first-12); i < ln.Last && i <= c.last+14; i++ {
		t := &p.Tokens[i]
		if t.Class == text.ClassVerify || t.Class == text.ClassConfirm {
			r.score += 14
			r.strength = medium
			break
		}
		if i > c.last+9 && t.Kind == text.KindPunct && p.pause(t, i, ln) >= sentence {
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
	ln, k := &p.Lines[c.line], c.last+2
	return k < ln.Last && c.first > ln.First && p.Tokens[c.first-1].Class == text.ClassEnter && p.Tokens[k-1].Kind == text.KindWord && (p.Tokens[k].Class == text.ClassVerify || p.Tokens[k].Class == text.ClassConfirm)
}

// asks tells "Pop this into the sign-up form:" and "Go to acme.example and enter" above a code that
// stands alone: a line that asks to enter what follows, and speaks of signing in or confirming.
func (p *page) asks(c *candidate, ctx *context) bool {
	if !c.own || c.line == 0 || p.Lines[c.line-1].Other {
		return false
	}
	up := &p.Lines[c.line-1]
	says, asked := ctx.subjectVerify, int32(-1)
	for k := up.First; k < up.Last; k++ {
		switch t := &p.Tokens[k]; {
		case t.Class == text.ClassVerify, t.Class == text.ClassConfirm, t.Class == text.ClassAccount:
			says = true
		case t.Class == text.ClassPromo:
			return false
		case t.Class == text.ClassEnter, t.Class == text.ClassBy && up.Colon && k+2 == up.Last:
			asked = k
		}
	}
	return asked >= 0 && says && (up.Colon || asked+1 == up.Last || p.shows(asked+1))
}

// shows tells "this" and "these".
func (p *page) shows(k int32) bool {
	switch t := &p.Tokens[k]; string(p.Lower[t.Start:t.End]) {
	case "this", "these":
		return true
	}
	return false
}

// enterBehind tells languages that put the verb behind: "482913 girin", "482913 दर्ज करें".
func (p *page) enterBehind(ln *text.Line, c *candidate) bool {
	if k := c.last + 1; k+2 < ln.Last && p.Lower[p.Tokens[k].Start] == '-' && p.Tokens[k+1].Class == text.ClassEnter && string(p.Raw(k+2)) == "to" {
		return true // "482913 - enter to continue"
	}
	if k := c.last + 2; k < ln.Last && p.Tokens[k].Class == text.ClassVerify && string(p.Raw(k-1)) == "से" {
		return true // "482913 से लॉगिन": log in with it
	}
	for k := c.last + 1; k < ln.Last && k <= c.last+2 && p.Tokens[k].Kind == text.KindWord; k++ {
		if w := p.Lower[p.Tokens[k].Start:p.Tokens[k].End]; p.Tokens[k].Class == text.ClassEnter {
			return w[0] >= 0x80 || bytes.HasPrefix(w, girin) || bytes.HasPrefix(w, kullanin)
		}
	}
	return false
}

var girin, kullanin = []byte("girin"), []byte("kullanin")

// small tells quotation marks, colons, "the number" and what politeness puts behind a verb: "geben Sie bitte".
func (p *page) small(k int32) bool {
	t := &p.Tokens[k]
	c := p.Lower[t.Start]
	return t.Class == text.ClassOf || t.Class == text.ClassFresh || p.countWord(k) || t.Kind == text.KindPunct && (c == '"' || c == '\'' || c == ':')
}

// labelled tells "use 482913 as your password": a label within eight tokens behind c.
func (p *page) labelled(ln *text.Line, c *candidate) bool {
	for k := c.last + 1; k < ln.Last && k <= c.last+8; k++ {
		if p.Tokens[k].Class.Label() && !p.plural(k) {
			return true
		}
	}
	return false
}

// glossed tells "482913 (Acme login verification)".
func (p *page) glossed(c *candidate) (r relation) {
	r.at = -1
	ln := &p.Lines[c.line]
	k := c.last + 1
	if k >= ln.Last || p.Lower[p.Tokens[k].Start] != '(' || c.form != formDigits {
		return r
	}
	for k++; k < ln.Last && k < c.last+9; k++ {
		switch t := &p.Tokens[k]; {
		case t.Class.Other():
			return r
		case t.Class == text.ClassVerify:
			r.strength = medium
		case t.Kind == text.KindPunct && p.Lower[t.Start] == ')':
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
	ln, k := &p.Lines[c.line], c.first-2
	if len(p.Lines) > 2 || k < ln.First || c.form != formDigits || c.n > 8 || year(c) || p.Lower[p.Tokens[k+1].Start] != ':' || p.Tokens[k].Class != text.ClassVerify ||
		ctx.elsewhere()+ctx.papers > 0 {
		return r
	}
	if verifications[string(p.Lower[p.Tokens[k].Start:p.Tokens[k].End])] {
		r.score, r.strength, r.joined, r.direct = enterVerb+14, medium, true, true
	}
	return r
}

var verifications = text.FoldSet("verification", "authentication", "vérification", "verificación", "verificação", "verifica", "verificatie", "verifizierung", "bestätigung", "verifiering", "verificering", "weryfikacja", "ověření", "overenie", "verificare", "doğrulama", "верификация", "проверка", "verifikasi")

// displayed tells a number that a mail about signing in or confirming shows in a paragraph of its own
// under a whole sentence, whatever that calls it: captions of other numbers are shorter.
func (p *page) displayed(c *candidate, ctx *context) (r relation) {
	r.at = -1
	ln := &p.Lines[c.line]
	if !c.own || c.form != formDigits || c.n < 5 || c.n > 8 || c.line == 0 || !ln.Paragraph ||
		ctx.verify+ctx.confirm == 0 || !(ctx.subjectVerify || ctx.subject > 0) || !(ctx.expiry || ctx.secret || ctx.entering > 0) ||
		ctx.elsewhere() > 0 {
		return r
	}
	up := &p.Lines[c.line-1]
	if up.Words < 5 || up.Other || up.Place || up.Footer {
		return r
	}
	r.score, r.strength = enterVerb, medium
	return r
}
