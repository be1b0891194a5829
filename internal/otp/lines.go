package otp

import "bytes"

// footers marks the lines with a notice of copyright. Few mails have more than one, so the page is
// searched rather than each of its lines.
func (p *page) footers() {
	for _, notice := range footerNotices {
		for li, at := 0, 0; ; {
			found := bytes.Index(p.lower[at:], notice)
			if found < 0 {
				break
			}
			at += found
			for li < len(p.lines) && int(p.lines[li].end) <= at {
				li++
			}
			if li == len(p.lines) {
				break
			}
			if ln := &p.lines[li]; int(ln.start) <= at {
				ln.footer = true
				at = int(ln.end)
			} else {
				at = int(ln.start) // it stands in a quoted line
			}
		}
	}
}

// endsWithColon tells a line whose last signs hold a colon, and no end of a sentence behind it.
func (p *page) endsWithColon(ln *line) bool {
	for k := ln.last - 1; k >= ln.first && p.tokens[k].kind == kindPunct; k-- {
		switch p.lower[p.tokens[k].start] {
		case ':':
			return true
		case '.', '?', '!':
			return false
		}
	}
	return false
}

var footerNotices = [][]byte{[]byte("(c)"), []byte("copyright"), []byte("rights reserved")}

// add notes what the word t, token k, announces for the lines below.
func (ln *line) add(t *token, k int32) {
	ln.words += int32(t.weight)
	switch {
	case t.class == classNone:
	case t.class.label():
		password := t.class == classPassword && !ln.password && t.strength == ln.strength // "Use this code to choose a password:"
		if t.strength >= ln.strength && !password || k-ln.label > 12 {
			ln.strength, ln.label, ln.password = t.strength, k, t.class == classPassword
		}
		ln.other = false
	case t.class.other():
		ln.other = true
	case t.class == classPlace:
		ln.place = true
	}
}

// conclude sums up a line whose words were all added.
func (p *page) conclude(ln *line) {
	if ln.other && ln.strength >= medium && !p.ended(ln) {
		ln.other = false
	}
	if ln.strength > 0 && ln.other && ln.colon && p.told(ln, ln.label) {
		ln.other = false // "Enter this code to confirm your order:"
	}
	if ln.label >= 0 && p.disclaimed(ln) {
		ln.strength, ln.label = 0, -1
	}
	if ln.label >= 0 {
		ln.heading = ln.colon || ln.words <= 5
	}
}

// ended tells whether the sentence of a line's label ends before the line does.
func (p *page) ended(ln *line) bool {
	for k := ln.label + 1; k+1 < ln.last; k++ {
		if t := &p.tokens[k]; t.kind == kindPunct && p.pause(t, k, ln) >= sentence {
			return true
		}
	}
	return false
}
