package otp

// backward is a walk from a candidate towards the start of its sentence, in search of its
// label.
type backward struct {
	p   *page
	c   *candidate
	ctx *context
	li  int32 // line, and where on it
	ln  *line
	k   int32

	dist    int  // words so far
	limit   int  // of dist
	joined  bool // a colon or "is" stands before the candidate
	strange int  // words among them that say nothing about a code
	taken   bool // another number was passed: it takes what announces other numbers
	wrapped bool // the walk went on to the line above
	crossed bool // the end of a sentence was passed
	other   bool // something else was announced on the way
	named   bool // ... and nearby: the label must be a strong one to win
	parted  bool // ... and parted from the label by a comma, or by a blank in Thai
	r       relation
}

// before looks for a label in front of c on its line, or on the line above when the text
// runs on.
func (p *page) before(c *candidate, ctx *context) relation {
	w := backward{p: p, c: c, ctx: ctx, li: c.line, ln: &p.lines[c.line], limit: reach, r: relation{at: -1}}
	w.joined, w.k = p.joint(w.ln, c.first)
	if w.joined {
		w.limit = reachIs
	}
	for ; w.dist <= w.limit; w.k-- {
		if w.k < w.ln.first {
			if !w.wrap() {
				break
			}
			continue
		}
		if w.step(&p.tokens[w.k]) {
			return w.r
		}
	}
	w.r.veto = w.named
	return w.r
}

// wrap goes on with the line above, when the text may run on from there.
func (w *backward) wrap() bool {
	if w.wrapped || w.li == 0 || w.ln.paragraph || w.c.own || w.named || w.dist > 4 {
		return false
	}
	above := &w.p.lines[w.li-1]
	if above.footer || above.end-above.start < fullLine && !above.colon {
		return false
	}
	w.li--
	w.ln, w.wrapped, w.k = above, true, above.last
	w.dist++
	return true
}

// step judges one token; done tells that it decides.
func (w *backward) step(t *token) (done bool) {
	switch {
	case t.kind == kindPunct:
		pause := w.p.pause(t, w.k, w.ln)
		if w.sentenceOfItsOwn() {
			pause = min(pause, 1)
		}
		w.dist += pause
		w.crossed = w.crossed || pause >= sentence
		w.parted = w.parted || w.named && w.p.lower[t.start] == ','
		w.r.veto = w.named && pause >= sentence
		return w.r.veto
	case t.kind == kindNumber || t.kind == kindMixed:
		w.number()
	case t.class.label():
		if w.joined && w.dist == 0 || !w.p.plural(w.k) {
			w.label(t)
			return true
		}
		w.dist++
	case t.class.other(), (t.class == classAccount || t.class == classPaper && !w.joined) && w.dist == 0:
		if w.addressed() {
			w.dist++
			return false
		}
		return w.announced(t)
	case t.class == classStale && w.dist <= 4:
		w.r.score += staleWord
		w.dist++
	case t.class == classIs && w.k == w.c.first-1:
	default:
		w.dist += int(t.weight)
		if t.class < classVerify || t.class > classOf {
			w.strange++
		}
	}
	return false
}

// sentenceOfItsOwn tells "Enter this code. 482913", at the end of the line.
func (w *backward) sentenceOfItsOwn() bool {
	return w.k == w.c.first-1 && w.c.last+1 == w.p.lines[w.c.line].last
}

func (w *backward) number() {
	w.dist++
	if next := w.k + 1; next < w.ln.last && (w.p.tokens[next].class == classMoney || w.p.tokens[next].kind == kindPunct && w.p.lower[w.p.tokens[next].start] == '$') {
		w.taken = true // an amount
		return
	}
	if w.p.length(w.k) < minCode || w.p.numbered(w.ln, w.k) {
		return
	}
	w.taken = true
	if !w.joined {
		w.dist += 4
	}
}

// announced meets a word for something else. Next to the number it decides, unless a
// colon stands between them: then the label does, "verification code for order: 482913".
func (w *backward) announced(t *token) (done bool) {
	if w.k == w.c.first-1 && w.p.countWord(w.k) && w.p.entered(w.c, w.ctx).strength >= medium {
		w.dist++
		return false // "Confirm it with the number 482913"
	}
	near := !w.taken && w.dist <= 3 && !w.wrapped
	if near && !w.joined {
		w.r = relation{veto: true, at: w.li}
		return true
	}
	if t.class != classAccount {
		w.named = w.named || near
		w.parted = w.parted || w.named && thai(w.p, w.k)
		w.other = w.other || !w.taken
	}
	w.dist++
	return false
}

// addressed tells "Dear user, 482913 is": whom a mail greets has no number.
func (w *backward) addressed() bool {
	comma, is := w.c.first-1, w.c.last+1
	return w.k == comma-1 && w.p.lower[w.p.tokens[comma].start] == ',' && is < w.p.lines[w.c.line].last && w.p.tokens[is].class == classIs
}

// thai tells a word of Thai after a blank: a new clause, for that language has no full stop.
func thai(p *page, k int32) bool {
	t := &p.tokens[k]
	return t.gap && p.lower[t.start] == 0xE0 && (p.lower[t.start+1] == 0xB8 || p.lower[t.start+1] == 0xB9)
}

// label meets the label: the tie is the stronger the nearer it stands.
func (w *backward) label(t *token) {
	if w.named && (t.strength < strong || w.parted) || w.crossed && w.p.owned(w.c) {
		w.r = relation{veto: true, at: w.li}
		return
	}
	score, step := labelScore(t.strength)
	w.joined = w.joined || w.enclosed()
	w.r.score += score - step*w.dist
	switch {
	case w.joined:
		w.r.score += labelIs + step*max(0, w.dist-3)*2/3
		switch {
		case w.p.told(w.ln, w.k):
			w.r.score += enterLabel
		case w.p.seen&(1<<classSecret) != 0:
			w.r.score += enterLabel + step*min(w.dist, 3) // "Give this code to nobody: 4829"
		}
	case w.taken:
		w.r.score -= 12
	}
	if t.strength == weak && (w.other || w.p.otherNear(w.ln, w.k)) {
		w.r.score += otherInLine
		if w.dist == 0 {
			w.r.score += otherDirect
		}
	}
	if w.p.staleBefore(w.ln, w.k) {
		w.r.score += staleWord
	}
	w.r.strength, w.r.joined, w.r.at = t.strength, w.joined, w.li
	w.r.direct = (w.dist <= 1 || w.strange == 0 && !w.crossed && w.dist <= 3) && !w.taken
}

// enclosed tells "(Code 4829)".
func (w *backward) enclosed() bool {
	k := w.c.last + 1
	return w.dist == 0 && w.k > w.ln.first && w.p.lower[w.p.tokens[w.k-1].start] == '(' &&
		k < w.p.lines[w.c.line].last && w.p.lower[w.p.tokens[k].start] == ')'
}
