package otp

import "inboxd/internal/otp/text"

// above looks for a label on the lines above c. Only what stands alone on its line may
// reach further than one line.
func (p *page) above(c *candidate) (r relation) {
	r.at = -1
	ln := &p.Lines[c.line]
	if !c.own && c.first != firstSolid(p, ln) {
		return r
	}
	for d := int32(1); d <= aboveMost && c.line >= d; d++ {
		up := &p.Lines[c.line-d]
		switch {
		case up.Other && (d == 1 && (up.Words <= 6 || up.Colon)):
			return relation{veto: true, at: c.line - d}
		case d == 1 && (up.Strength == 0 && p.numbers(up) || up.Strength == weak && p.entry(c.line-d)):
			return relation{veto: true, at: c.line - d}
		case up.Strength == 0 || up.Claimed || up.Footer:
		case !up.Colon && p.plural(up.Label):
		case up.Strength == weak && !up.Heading && (d > 1 || p.Tokens[up.Label].Class == text.ClassPassword):
		case !c.own:
			if d == 1 && (up.Colon || up.Last-up.Label <= 4) {
				r = relation{score: headOf + 4*int(up.Strength-1), strength: up.Strength, at: c.line - d}
			}
			return r
		default:
			r.score = aboveNear - aboveStep*int(d-1) - 6*int(strong-up.Strength)
			if up.Colon {
				r.score += 6
			}
			r.strength, r.at, r.direct, r.joined = up.Strength, c.line-d, d == 1, d == 1 && up.Colon
			return r
		}
		if !c.own {
			return r
		}
	}
	return r
}

func firstSolid(p *page, ln *text.Line) int32 {
	for k := ln.First; k < ln.Last && k < ln.First+16; k++ {
		if p.Tokens[k].Kind != text.KindPunct {
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
		if int(li) >= len(p.Lines) {
			return r
		}
		down := &p.Lines[li]
		if down.Other && d == 1 && down.Words <= 3 {
			return relation{veto: true, at: li}
		}
		if down.Strength > 0 && !down.Claimed && !down.Footer && !down.Colon && !p.plural(down.Label) && !p.claims(down, down.Label) {
			if p.warned(down) && p.caption(c.line-1) {
				return r // "Session / 482913 / Never share your code"
			}
			r.score = belowNear - 10*int(d-1) - 5*int(strong-down.Strength)
			r.strength, r.at = down.Strength, li
			return r
		}
	}
	return r
}

// lineOf gives the line that token k is on, which is not before line li.
func (p *page) lineOf(k, li int32) int32 {
	for p.Lines[li].Last <= k {
		li++
	}
	return li
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
	if !c.own || ctx.strength < strong || c.form != formDigits || c.n != 6 && !((ctx.expiry || ctx.subject == strong) && c.n > 4 && c.n <= 8) {
		return r
	}
	from := max(0, c.line-loneMost)
	if c.line > 0 && p.caption(c.line-1) {
		from = c.line
	}
	for li := from; li < c.line; li++ {
		if ln := &p.Lines[li]; ln.Strength == strong && !ln.Claimed && !p.plural(ln.Label) {
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
	for li := from; int(li) < len(p.Lines) && li < from+loneMost; li++ {
		if ln := &p.Lines[li]; ln.Strength == strong && !ln.Claimed && !ln.Colon && p.told(ln, ln.Label) && !p.claims(ln, ln.Label) {
			return true
		}
	}
	return false
}

// bare tells the subject "Fennel: 482913" of a mail that explains below which code that is.
func (p *page) bare(c *candidate, ctx *context) bool {
	ln := &p.Lines[c.line]
	if ctx.strength < strong || ctx.trade || c.form != formDigits || c.n != 6 && (!c.own || c.n > 8 || year(c)) || ln.Words > 2 {
		return false
	}
	for k := c.last + 1; k < ln.Last; k++ {
		if p.Tokens[k].Kind != text.KindPunct {
			return false
		}
	}
	joined, from := p.joint(ln, c.first)
	return c.own || joined && p.Tokens[from].Kind == text.KindPunct || p.sender(ln, c.first)
}

// subjectAlone tells a mail whose subject speaks of a code that only the subject names:
// "Here's your code", and a number alone on its line near the top.
func (p *page) subjectAlone(c *candidate, ctx *context) bool {
	if ctx.subject == 0 && ctx.subjectVerify && ctx.strength > 0 && ctx.expiry && ctx.goods < 2 && c.n == 6 && c.line > 0 && !p.caption(c.line-1) && !p.Lines[c.line-1].Colon {
		return c.form == formDigits && ctx.others+ctx.promo+ctx.meeting+ctx.booking == 0 && c.line < loneMost
	}
	if ctx.subject > 0 && c.line == 0 && c.form == formDigits && c.n <= 8 && !year(c) && ctx.others+ctx.promo+ctx.meeting+ctx.booking+ctx.parcel == 0 {
		return true // the first thing that the mail says
	}
	return ctx.subject > 0 && ctx.subject < strong && (ctx.expiry || ctx.verify > 0 || len(p.Lines) == 1 || c.line > 0 && (p.Lines[c.line-1].Colon || ctx.subject == medium && !p.caption(c.line-1))) &&
		ctx.others+ctx.promo+ctx.meeting+ctx.booking == 0 &&
		c.form == formDigits && (c.n >= 6 || c.n == 5 && ctx.subject == medium || len(p.Lines) == 1) && c.n <= 8 && c.line < loneMost
}
