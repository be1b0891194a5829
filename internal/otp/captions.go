package otp

// Lines that say of the number under them that it is something else.

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
