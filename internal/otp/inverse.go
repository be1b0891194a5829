package otp

// after looks for a label behind c: "482913 is your code".
func (p *page) after(c *candidate) (r relation) {
	r.at = -1
	li := c.line
	ln := &p.lines[li]
	dist, wrapped, parted, limit := 0, false, false, reachBack
	if p.opens(c) {
		limit = reachOpen
	}
	for k := c.last + 1; dist <= limit; k++ {
		if k >= ln.last {
			if wrapped || c.own || int(li+1) >= len(p.lines) || p.lines[li+1].paragraph || ln.end-ln.start < fullLine {
				return r
			}
			li++
			ln, wrapped = &p.lines[li], true
			k = ln.first - 1
			dist += 2
			continue
		}
		t := &p.tokens[k]
		switch {
		case t.kind == kindPunct:
			parted = parted || p.lower[t.start] == ','
			r.joined = r.joined || k == c.last+1 && p.lower[t.start] == '-'
			pause := p.pause(t, k, ln)
			if pause >= sentence && k == c.last+1 && k+1 < ln.last && p.tokens[k+1].class == classIs {
				pause = 0 // "482913. Es tu código"
			}
			if dist += pause; dist > 0 {
				dist += pause
			}
		case t.kind == kindMixed && p.branded(k):
			dist++
		case t.kind == kindNumber || t.kind == kindMixed || t.kind == kindFigure:
			dist += 3
		case t.class.other() && !wrapped && !p.infinitive(k) && (dist <= 1 || dist <= 3 && r.joined):
			if joined, _ := p.joint(&p.lines[c.line], c.first); parted && joined {
				return r // "Code: 482913, Ref: 7719"
			}
			return relation{veto: true, far: dist > 1, at: li}
		case t.class == classIs && dist == 0:
			r.joined = true
		case t.class == classStale && dist <= 1:
			return relation{veto: true, at: li} // "code 482913 rejected"
		case t.class.label():
			if !p.claims(ln, k) && !p.plural(k) {
				p.inverse(c, &r, k, dist, parted)
				r.at = li
			}
			return r
		case t.class == classOf && r.joined:
		default:
			dist += int(t.weight)
		}
	}
	return r
}

// infinitive tells "to claim" and "to book", which are verbs.
func (p *page) infinitive(k int32) bool {
	return k > 0 && p.length(k-1) == 2 && string(p.raw(k-1)) == "to"
}

// opens tells whether c is the first word of its sentence: many languages put the noun at the end.
func (p *page) opens(c *candidate) bool {
	k := c.first - 1
	return k < p.lines[c.line].first || p.tokens[k].kind == kindPunct
}

// inverse rates a label at k, dist words behind the candidate and perhaps parted from it by a comma.
func (p *page) inverse(c *candidate, r *relation, k int32, dist int, parted bool) {
	r.strength, r.behind = p.tokens[k].strength, true
	if !r.joined && (dist > 0 || parted) && (p.called(c) || p.tokens[max(0, c.first-1)].class == classIs && p.owned(c)) {
		return
	}
	score, step := labelScore(r.strength)
	r.score = score - 8 - step*dist*2/3
	if r.joined || k+1 < p.lines[c.line].last && p.tokens[k+1].class == classIs {
		r.score += inverseIs
	}
	if r.joined && p.says(&p.lines[c.line], c.last+1, k) {
		r.score += 10 // "482913 - confirm your number with this code"
	}
	switch {
	case c.first == p.lines[c.line].first:
		r.score += 6
	case dist == 0:
		r.score += 2
	}
	if r.joined && p.titled(c) {
		r.score, r.strength = max(r.score, ledBySender+8), max(r.strength, medium)
	}
	if k > 0 && p.tokens[k-1].class == classStale {
		r.score += staleWord
	}
}

// titled tells the start of a line "482913 - Acme login.": a title that speaks of signing in.
func (p *page) titled(c *candidate) bool {
	ln := &p.lines[c.line]
	for k := c.last + 2; c.first == ln.first && k < ln.last && k < c.last+7; k++ {
		switch t := &p.tokens[k]; {
		case t.class == classVerify:
			return true
		case t.kind != kindWord:
			return false
		}
	}
	return false
}

// says tells whether the tokens from first up to last are of one sentence that speaks of confirming
// or signing in.
func (p *page) says(ln *line, first, last int32) (says bool) {
	for k := first; k < last; k++ {
		switch t := &p.tokens[k]; {
		case t.class == classVerify, t.class == classConfirm:
			says = true
		case t.kind == kindPunct && p.pause(t, k, ln) >= sentence:
			return false
		}
	}
	return says
}

// claims tells whether the label at k announces a code that follows it.
func (p *page) claims(ln *line, k int32) bool {
	for i := k + 1; i < ln.last && i <= k+3; i++ {
		switch t := &p.tokens[i]; {
		case t.kind == kindNumber:
			return p.length(i) >= minCode
		case t.kind == kindMixed:
			return !p.branded(i)
		case t.kind == kindPunct && p.lower[t.start] != '.', t.class == classIs:
			continue
		default:
			return false
		}
	}
	return false
}

// led tells "Acme: 482913. This code expires in 5 minutes.": a sender and a number open the mail, and
// what follows speaks of the code.
func (p *page) led(c *candidate, ctx *context) (r relation) {
	r.at = -1
	if p.opensDoor(c, ctx) {
		r.score, r.strength, r.at = ledBySender, medium, c.line
		return r
	}
	ln := &p.lines[c.line]
	if c.form != formDigits || c.n > 8 || year(c) || c.line > 1 || ctx.elsewhere() > 0 || !p.sender(ln, c.first) {
		return r
	}
	next := p.lineOf(c.last, c.line) + 1
	if k := c.last + 1; k < ln.last {
		if t := &p.tokens[k]; t.kind != kindPunct || p.lower[t.start] == ',' {
			return r
		}
		if p.used(ln, k+1) {
			r.score, r.strength = ledBySender, medium
			return r
		}
		if !ctx.expiry && !ctx.secret && !(k+1 < ln.last && p.tokens[k+1].class.label() && p.tokens[k+1].strength >= medium) {
			return r
		}
		for ; k < ln.last && k < c.last+8; k++ {
			if p.tokens[k].class.label() && !p.plural(k) && !p.claims(ln, k) {
				r.score, r.strength = ledBySender, p.tokens[k].strength
				return r
			}
		}
	} else if int(next) < len(p.lines) && (ctx.expiry || ctx.secret) {
		if down := &p.lines[next]; down.strength > 0 && !down.other && !down.colon && !p.plural(down.label) && !p.claims(down, down.label) {
			r.score, r.strength = ledBySender, down.strength
		}
	}
	return r
}

// opensDoor tells "482913 will sign you in. Keep it to yourself."
func (p *page) opensDoor(c *candidate, ctx *context) bool {
	ln := &p.lines[c.line]
	if c.first != ln.first || c.own || c.form != formDigits || c.n != 6 || !ctx.subjectVerify || !(ctx.secret || ctx.expiry) || ctx.elsewhere() > 0 {
		return false
	}
	for k := c.last + 1; k < ln.last && k < c.last+5 && p.tokens[k].kind == kindWord; k++ {
		if p.tokens[k].class == classVerify {
			return true
		}
	}
	return false
}

// used tells "Use this to verify your login" from token k on.
func (p *page) used(ln *line, k int32) bool {
	return k+3 < ln.last && p.tokens[k].class == classEnter && p.shows(k+1) && p.says(ln, k+2, min(k+6, ln.last))
}

// sender tells "Acme:", "[Acme]" and "Acme reset -" from the start of a line up to token end.
func (p *page) sender(ln *line, end int32) bool {
	words := 0
	for k := ln.first; k < end; k++ {
		switch t := &p.tokens[k]; {
		case k > ln.first+8:
			return false
		case t.kind == kindPunct && p.lower[t.start] != '#':
		case t.kind == kindWord && (t.class == classNone || t.class == classVerify):
			words++
		default:
			return false
		}
	}
	return words > 0 && words <= 3 && p.tokens[end-1].kind == kindPunct
}
