package otp

import "inboxd/internal/otp/text"

// backward is a walk from a candidate towards the start of its sentence, in search of its
// label.
type backward struct {
	p   *page
	c   *candidate
	ctx *context
	li  int32 // line, and where on it
	ln  *text.Line
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
	w := backward{p: p, c: c, ctx: ctx, li: c.line, ln: &p.Lines[c.line], limit: reach, r: relation{at: -1}}
	w.joined, w.k = p.joint(w.ln, c.first)
	if w.joined {
		w.limit = reachIs
	}
	for ; w.dist <= w.limit; w.k-- {
		if w.k < w.ln.First {
			if !w.wrap() {
				break
			}
			continue
		}
		if w.step(&p.Tokens[w.k]) {
			return w.r
		}
	}
	w.r.veto = w.named
	return w.r
}

// wrap goes on with the line above, when the text may run on from there.
func (w *backward) wrap() bool {
	if w.wrapped || w.li == 0 || w.ln.Paragraph || w.c.own || w.named || w.dist > 4 {
		return false
	}
	above := &w.p.Lines[w.li-1]
	if above.Footer || above.End-above.Start < fullLine && !above.Colon {
		return false
	}
	w.li--
	w.ln, w.wrapped, w.k = above, true, above.Last
	w.dist++
	return true
}

// step judges one token; done tells that it decides.
func (w *backward) step(t *text.Token) (done bool) {
	switch {
	case t.Kind == text.KindPunct:
		pause := w.p.pause(t, w.k, w.ln)
		if w.sentenceOfItsOwn() {
			pause = min(pause, 1)
		}
		w.dist += pause
		w.crossed = w.crossed || pause >= sentence
		w.parted = w.parted || w.named && w.p.Lower[t.Start] == ','
		w.r.veto = w.named && pause >= sentence
		return w.r.veto
	case t.Kind == text.KindNumber || t.Kind == text.KindMixed:
		w.number()
	case t.Class.Label():
		if w.joined && w.dist == 0 || !w.p.plural(w.k) {
			w.label(t)
			return true
		}
		w.dist++
	case t.Class.Other(), (t.Class == text.ClassAccount || t.Class == text.ClassPaper && !w.joined) && w.dist == 0:
		if w.addressed() {
			w.dist++
			return false
		}
		return w.announced(t)
	case t.Class == text.ClassStale && w.dist <= 4:
		w.r.score += staleWord
		w.dist++
	case t.Class == text.ClassIs && w.k == w.c.first-1:
	default:
		w.dist += int(t.Weight)
		if t.Class < text.ClassVerify || t.Class > text.ClassOf {
			w.strange++
		}
	}
	return false
}

// sentenceOfItsOwn tells "Enter this code. 482913", at the end of the line.
func (w *backward) sentenceOfItsOwn() bool {
	return w.k == w.c.first-1 && w.c.last+1 == w.p.Lines[w.c.line].Last
}

func (w *backward) number() {
	w.dist++
	if next := w.k + 1; next < w.ln.Last && (w.p.Tokens[next].Class == text.ClassMoney || w.p.Tokens[next].Kind == text.KindPunct && w.p.Lower[w.p.Tokens[next].Start] == '$') {
		w.taken = true // an amount
		return
	}
	if w.p.Length(w.k) < minCode || w.p.numbered(w.ln, w.k) {
		return
	}
	w.taken = true
	if !w.joined {
		w.dist += 4
	}
}

// announced meets a word for something else. Next to the number it decides, unless a
// colon stands between them: then the label does, "verification code for order: 482913".
func (w *backward) announced(t *text.Token) (done bool) {
	if w.k == w.c.first-1 && w.p.countWord(w.k) && w.p.entered(w.c, w.ctx).strength >= medium {
		w.dist++
		return false // "Confirm it with the number 482913"
	}
	near := !w.taken && w.dist <= 3 && !w.wrapped
	if near && !w.joined {
		w.r = relation{veto: true, at: w.li}
		return true
	}
	if t.Class != text.ClassAccount {
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
	return w.k == comma-1 && w.p.Lower[w.p.Tokens[comma].Start] == ',' && is < w.p.Lines[w.c.line].Last && w.p.Tokens[is].Class == text.ClassIs
}

// thai tells a word of Thai after a blank: a new clause, for that language has no full stop.
func thai(p *page, k int32) bool {
	t := &p.Tokens[k]
	return t.Gap && p.Lower[t.Start] == 0xE0 && (p.Lower[t.Start+1] == 0xB8 || p.Lower[t.Start+1] == 0xB9)
}

// label meets the label: the tie is the stronger the nearer it stands.
func (w *backward) label(t *text.Token) {
	if w.named && (t.Strength < strong || w.parted) || w.crossed && w.p.owned(w.c) {
		w.r = relation{veto: true, at: w.li}
		return
	}
	score, step := labelScore(t.Strength)
	w.joined = w.joined || w.enclosed()
	w.r.score += score - step*w.dist
	switch {
	case w.joined:
		w.r.score += labelIs + step*max(0, w.dist-3)*2/3
		switch {
		case w.p.told(w.ln, w.k):
			w.r.score += enterLabel
		case w.p.Seen&(1<<text.ClassSecret) != 0:
			w.r.score += enterLabel + step*min(w.dist, 3) // "Give this code to nobody: 4829"
		}
	case w.taken:
		w.r.score -= 12
	}
	if t.Strength == weak && (w.other || w.p.otherNear(w.ln, w.k)) {
		w.r.score += otherInLine
		if w.dist == 0 {
			w.r.score += otherDirect
		}
	}
	if w.p.staleBefore(w.ln, w.k) {
		w.r.score += staleWord
	}
	w.r.strength, w.r.joined, w.r.at = t.Strength, w.joined, w.li
	w.r.direct = (w.dist <= 1 || w.strange == 0 && !w.crossed && w.dist <= 3) && !w.taken
}

// enclosed tells "(Code 4829)".
func (w *backward) enclosed() bool {
	k := w.c.last + 1
	return w.dist == 0 && w.k > w.ln.First && w.p.Lower[w.p.Tokens[w.k-1].Start] == '(' &&
		k < w.p.Lines[w.c.line].Last && w.p.Lower[w.p.Tokens[k].Start] == ')'
}
