package otp

import "bytes"

// Numbers that somebody is told to enter: no word for "code" needed.

// entered finds "enter 482913 to sign in", which needs no word for "code".
func (p *page) entered(c *candidate, ctx *context) (r relation) {
	r.at = -1
	ln := &p.lines[c.line]
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
	if c.n != 6 && ctx.goods > 0 && !ctx.subjectVerify && ctx.subject < medium && !p.labelled(ln, c) {
		return r // "Issue 7: enter 57031, press verify"
	}
	by := p.tokens[k].class == classBy
	r.score, r.at = enterVerb, c.line
	for i := max(ln.first, c.first-12); i < ln.last && i <= c.last+9; i++ {
		if q := p.tokens[i].class; q == classVerify || q == classConfirm {
			r.score += 14
			r.strength = medium
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

// enterBehind tells languages that put the verb behind: "482913 girin", "482913 दर्ज करें".
func (p *page) enterBehind(ln *line, c *candidate) bool {
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
