package otp

import "inboxd/internal/otp/text"

// after looks for a label behind c: "482913 is your code".
func (p *page) after(c *candidate) (r relation) {
	r.at = -1
	li := c.line
	ln := &p.Lines[li]
	dist, wrapped, parted, limit := 0, false, false, reachBack
	if p.opens(c) {
		limit = reachOpen
	}
	for k := c.last + 1; dist <= limit; k++ {
		if k >= ln.Last {
			if wrapped || c.own || int(li+1) >= len(p.Lines) || p.Lines[li+1].Paragraph || ln.End-ln.Start < fullLine {
				return r
			}
			li++
			ln, wrapped = &p.Lines[li], true
			k = ln.First - 1
			dist += 2
			continue
		}
		t := &p.Tokens[k]
		switch {
		case t.Kind == text.KindPunct:
			parted = parted || p.Lower[t.Start] == ','
			r.joined = r.joined || k == c.last+1 && p.Lower[t.Start] == '-'
			pause := p.pause(t, k, ln)
			if pause >= sentence && k == c.last+1 && k+1 < ln.Last && p.Tokens[k+1].Class == text.ClassIs {
				pause = 0 // "482913. Es tu código"
			}
			if dist += pause; dist > 0 {
				dist += pause
			}
		case t.Kind == text.KindMixed && p.branded(k):
			dist++
		case t.Kind == text.KindNumber || t.Kind == text.KindMixed || t.Kind == text.KindFigure:
			dist += 3
		case t.Class.Other() && !wrapped && !p.infinitive(k) && (dist <= 1 || dist <= 3 && r.joined):
			if joined, _ := p.joint(&p.Lines[c.line], c.first); parted && joined {
				return r // "Code: 482913, Ref: 7719"
			}
			return relation{veto: true, far: dist > 1, at: li}
		case t.Class == text.ClassIs && dist == 0:
			r.joined = true
		case t.Class == text.ClassStale && dist <= 1:
			return relation{veto: true, at: li} // "code 482913 rejected"
		case t.Class.Label():
			if !p.claims(ln, k) && !p.plural(k) {
				p.inverse(c, &r, k, dist, parted)
				r.at = li
			}
			return r
		case t.Class == text.ClassOf && r.joined:
		default:
			dist += int(t.Weight)
		}
	}
	return r
}

// infinitive tells "to claim" and "to book", which are verbs.
func (p *page) infinitive(k int32) bool {
	return k > 0 && p.Length(k-1) == 2 && string(p.Raw(k-1)) == "to"
}

// opens tells whether c is the first word of its sentence: many languages put the noun at the end.
func (p *page) opens(c *candidate) bool {
	k := c.first - 1
	return k < p.Lines[c.line].First || p.Tokens[k].Kind == text.KindPunct
}

// inverse rates a label at k, dist words behind the candidate and perhaps parted from it by a comma.
func (p *page) inverse(c *candidate, r *relation, k int32, dist int, parted bool) {
	r.strength, r.behind = p.Tokens[k].Strength, true
	if !r.joined && (dist > 0 || parted) && (p.called(c) || p.Tokens[max(0, c.first-1)].Class == text.ClassIs && p.owned(c)) {
		return
	}
	score, step := labelScore(r.strength)
	r.score = score - 8 - step*dist*2/3
	if r.joined || k+1 < p.Lines[c.line].Last && p.Tokens[k+1].Class == text.ClassIs {
		r.score += inverseIs
	}
	if r.joined && p.says(&p.Lines[c.line], c.last+1, k) {
		r.score += 10 // "482913 - confirm your number with this code"
	}
	switch {
	case c.first == p.Lines[c.line].First:
		r.score += 6
	case dist == 0:
		r.score += 2
	}
	if r.joined && p.titled(c) {
		r.score, r.strength = max(r.score, ledBySender+8), max(r.strength, medium)
	}
	if k > 0 && p.Tokens[k-1].Class == text.ClassStale {
		r.score += staleWord
	}
}

// titled tells the start of a line "482913 - Acme login.": a title that speaks of signing in.
func (p *page) titled(c *candidate) bool {
	ln := &p.Lines[c.line]
	for k := c.last + 2; c.first == ln.First && k < ln.Last && k < c.last+7; k++ {
		switch t := &p.Tokens[k]; {
		case t.Class == text.ClassVerify:
			return true
		case t.Kind != text.KindWord:
			return false
		}
	}
	return false
}

// says tells whether the tokens from first up to last are of one sentence that speaks of confirming
// or signing in.
func (p *page) says(ln *text.Line, first, last int32) (says bool) {
	for k := first; k < last; k++ {
		switch t := &p.Tokens[k]; {
		case t.Class == text.ClassVerify, t.Class == text.ClassConfirm:
			says = true
		case t.Kind == text.KindPunct && p.pause(t, k, ln) >= sentence:
			return false
		}
	}
	return says
}

// claims tells whether the label at k announces a code that follows it.
func (p *page) claims(ln *text.Line, k int32) bool {
	for i := k + 1; i < ln.Last && i <= k+3; i++ {
		switch t := &p.Tokens[i]; {
		case t.Kind == text.KindNumber:
			return p.Length(i) >= minCode
		case t.Kind == text.KindMixed:
			return !p.branded(i)
		case t.Kind == text.KindPunct && p.Lower[t.Start] != '.', t.Class == text.ClassIs:
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
	ln := &p.Lines[c.line]
	if c.form != formDigits || c.n > 8 || year(c) || c.line > 1 || ctx.elsewhere() > 0 || !p.sender(ln, c.first) {
		return r
	}
	next := p.lineOf(c.last, c.line) + 1
	if k := c.last + 1; k < ln.Last {
		if t := &p.Tokens[k]; t.Kind != text.KindPunct || p.Lower[t.Start] == ',' {
			return r
		}
		if p.used(ln, k+1) {
			r.score, r.strength = ledBySender, medium
			return r
		}
		if !ctx.expiry && !ctx.secret && !(k+1 < ln.Last && p.Tokens[k+1].Class.Label() && p.Tokens[k+1].Strength >= medium) {
			return r
		}
		for ; k < ln.Last && k < c.last+8; k++ {
			if p.Tokens[k].Class.Label() && !p.plural(k) && !p.claims(ln, k) {
				r.score, r.strength = ledBySender, p.Tokens[k].Strength
				return r
			}
		}
	} else if int(next) < len(p.Lines) && (ctx.expiry || ctx.secret) {
		if down := &p.Lines[next]; down.Strength > 0 && !down.Other && !down.Colon && !p.plural(down.Label) && !p.claims(down, down.Label) {
			r.score, r.strength = ledBySender, down.Strength
		}
	}
	return r
}

// opensDoor tells "482913 will sign you in. Keep it to yourself."
func (p *page) opensDoor(c *candidate, ctx *context) bool {
	ln := &p.Lines[c.line]
	if c.first != ln.First || c.own || c.form != formDigits || c.n != 6 || !ctx.subjectVerify || !(ctx.secret || ctx.expiry) || ctx.elsewhere() > 0 {
		return false
	}
	for k := c.last + 1; k < ln.Last && k < c.last+5 && p.Tokens[k].Kind == text.KindWord; k++ {
		if p.Tokens[k].Class == text.ClassVerify {
			return true
		}
	}
	return false
}

// used tells "Use this to verify your login" from token k on.
func (p *page) used(ln *text.Line, k int32) bool {
	return k+3 < ln.Last && p.Tokens[k].Class == text.ClassEnter && p.shows(k+1) && p.says(ln, k+2, min(k+6, ln.Last))
}

// sender tells "Acme:", "[Acme]" and "Acme reset -" from the start of a line up to token end.
func (p *page) sender(ln *text.Line, end int32) bool {
	words := 0
	for k := ln.First; k < end; k++ {
		switch t := &p.Tokens[k]; {
		case k > ln.First+8:
			return false
		case t.Kind == text.KindPunct && p.Lower[t.Start] != '#':
		case t.Kind == text.KindWord && (t.Class == text.ClassNone || t.Class == text.ClassVerify):
			words++
		default:
			return false
		}
	}
	return words > 0 && words <= 3 && p.Tokens[end-1].Kind == text.KindPunct
}
