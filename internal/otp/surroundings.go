package otp

import "bytes"

// above looks for a label on the lines above c. Only what stands alone on its line may
// reach further than one line.
func (p *page) above(c *candidate) (r relation) {
	r.at = -1
	ln := &p.lines[c.line]
	if !c.own && c.first != firstSolid(p, ln) {
		return r
	}
	for d := int32(1); d <= aboveMost && c.line >= d; d++ {
		up := &p.lines[c.line-d]
		switch {
		case up.other && (d == 1 && (up.words <= 6 || up.colon)):
			return relation{veto: true, at: c.line - d}
		case d == 1 && (up.strength == 0 && p.numbers(up) || up.strength == weak && p.entry(c.line-d)):
			return relation{veto: true, at: c.line - d}
		case up.strength == 0 || up.claimed || up.footer:
		case !up.colon && p.plural(up.label):
		case up.strength == weak && !up.heading && (d > 1 || p.tokens[up.label].class == classPassword):
		case !c.own:
			if d == 1 && (up.colon || up.last-up.label <= 4) {
				r = relation{score: headOf + 4*int(up.strength-1), strength: up.strength, at: c.line - d}
			}
			return r
		default:
			r.score = aboveNear - aboveStep*int(d-1) - 6*int(strong-up.strength)
			if up.colon {
				r.score += 6
			}
			r.strength, r.at, r.direct, r.joined = up.strength, c.line-d, d == 1, d == 1 && up.colon
			return r
		}
		if !c.own {
			return r
		}
	}
	return r
}

// numbers tells the caption of somebody's number: "Sign-in ID", "Device no.".
func (p *page) numbers(ln *line) bool {
	if ln.words < 2 || ln.words > 4 {
		return false
	}
	k := ln.last - 1
	for k > ln.first && p.tokens[k].kind == kindPunct {
		k--
	}
	t := &p.tokens[k]
	return t.kind == kindWord && idWord(p.lower[t.start:t.end])
}

// entry tells "Purpose code" in a table whose entry before it is another number's.
func (p *page) entry(li int32) bool {
	ln := &p.lines[li]
	k := ln.label - 1
	return li > 1 && p.lines[li-2].other && p.lines[li-2].words <= 4 && k == ln.first && ln.last == k+2 &&
		p.tokens[k].kind == kindWord && p.tokens[k].class == classNone && p.length(k) > 3
}

// idWord tells the words behind a noun that say it is numbered.
func idWord(w []byte) bool {
	switch string(w) {
	case "id", "no", "nr", "num":
		return true
	}
	return false
}

func firstSolid(p *page, ln *line) int32 {
	for k := ln.first; k < ln.last && k < ln.first+16; k++ {
		if p.tokens[k].kind != kindPunct {
			return k
		}
	}
	return -1
}

// below looks for a label on the line under c: "482913 / is your code".
func (p *page) below(c *candidate) (r relation) {
	r.at = -1
	if !c.own {
		return r
	}
	for d := int32(1); d <= 2; d++ {
		li := p.lineOf(c.last, c.line) + d
		if int(li) >= len(p.lines) {
			return r
		}
		down := &p.lines[li]
		if down.other && d == 1 && down.words <= 3 {
			return relation{veto: true, at: li}
		}
		if down.strength > 0 && !down.claimed && !down.footer && !down.colon && !p.plural(down.label) && !p.claims(down, down.label) {
			r.score = belowNear - 10*int(d-1) - 5*int(strong-down.strength)
			r.strength, r.at = down.strength, li
			return r
		}
	}
	return r
}

// lineOf gives the line that token k is on, which is not before line li.
func (p *page) lineOf(k, li int32) int32 {
	for p.lines[li].last <= k {
		li++
	}
	return li
}

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

// lone ties a candidate that stands alone to a strong label some lines further up, or in
// the subject.
func (p *page) lone(c *candidate, ctx *context) (r relation) {
	r.at = -1
	if p.source == SourceSubject && p.bare(c, ctx) {
		c.bare = true
		r.score, r.strength = loneInMail, ctx.strength
		return r
	}
	if c.own && p.subjectAlone(c, ctx) {
		r.score, r.strength = loneInMail, ctx.subject
		return r
	}
	if !c.own || ctx.strength < strong || c.form != formDigits || c.n != 6 && !(ctx.expiry && c.n > 4 && c.n <= 8) {
		return r
	}
	from := max(0, c.line-loneMost)
	if c.line > 0 && p.caption(c.line-1) {
		from = c.line
	}
	for li := from; li < c.line; li++ {
		if ln := &p.lines[li]; ln.strength == strong && !ln.claimed && !p.plural(ln.label) {
			r.score, r.strength = loneInMail, strong
		}
	}
	if ctx.subject == strong && c.line < loneMost || c.line < 2 && p.toldBelow(c) {
		r.score, r.strength = loneInMail, strong
	}
	return r
}

// toldBelow tells a strong label some lines under c: "482913 / You asked to sign in. / Enter the
// verification code above."
func (p *page) toldBelow(c *candidate) bool {
	from := p.lineOf(c.last, c.line) + 1
	for li := from; int(li) < len(p.lines) && li < from+loneMost; li++ {
		if ln := &p.lines[li]; ln.strength == strong && !ln.claimed && !ln.colon && p.told(ln, ln.label) && !p.claims(ln, ln.label) {
			return true
		}
	}
	return false
}

// caption tells a line of one or two words that nobody knows and no sign: "Session", above its number.
func (p *page) caption(li int32) bool {
	ln := &p.lines[li]
	for k := ln.first; k < ln.last; k++ {
		if t := &p.tokens[k]; t.kind != kindWord || t.class != classNone && t.class != classAccount {
			return false
		}
	}
	return ln.words <= 2
}

// bare tells the subject "Fennel: 482913" of a mail that explains below which code that is.
func (p *page) bare(c *candidate, ctx *context) bool {
	ln := &p.lines[c.line]
	if ctx.strength < strong || ctx.trade || c.form != formDigits || c.n != 6 && (!c.own || c.n > 8 || year(c)) || ln.words > 2 {
		return false
	}
	for k := c.last + 1; k < ln.last; k++ {
		if p.tokens[k].kind != kindPunct {
			return false
		}
	}
	joined, from := p.joint(ln, c.first)
	return c.own || joined && p.tokens[from].kind == kindPunct || p.sender(ln, c.first)
}

// subjectAlone tells a mail whose subject speaks of a code that only the subject names:
// "Here's your code", and a number alone on its line near the top.
func (p *page) subjectAlone(c *candidate, ctx *context) bool {
	if ctx.subject == 0 && ctx.subjectVerify && ctx.strength > 0 && ctx.expiry && ctx.goods < 2 && c.n == 6 && c.line > 0 && !p.caption(c.line-1) && !p.lines[c.line-1].colon {
		return c.form == formDigits && ctx.others+ctx.promo+ctx.meeting+ctx.booking == 0 && c.line < loneMost
	}
	return ctx.subject > 0 && ctx.subject < strong && (ctx.expiry || ctx.verify > 0 || len(p.lines) == 1) &&
		ctx.others+ctx.promo+ctx.meeting+ctx.booking == 0 &&
		c.form == formDigits && (c.n >= 6 || len(p.lines) == 1 && !year(c)) && c.n <= 8 && c.line < loneMost
}
