package text

import "bytes"

// Footers marks the lines with a notice of copyright. Few mails have more than one, so the page is
// searched rather than each of its lines.
func (p *Page) Footers() {
	for _, notice := range footerNotices {
		for li, at := 0, 0; ; {
			found := bytes.Index(p.Lower[at:], notice)
			if found < 0 {
				break
			}
			at += found
			for li < len(p.Lines) && int(p.Lines[li].End) <= at {
				li++
			}
			if li == len(p.Lines) {
				break
			}
			if ln := &p.Lines[li]; int(ln.Start) <= at {
				ln.Footer = true
				at = int(ln.End)
			} else {
				at = int(ln.Start) // it stands in a quoted line
			}
		}
	}
}

// EndsWithColon tells a line whose last signs hold a colon, and no end of a sentence behind it.
func (p *Page) EndsWithColon(ln *Line) bool {
	for k := ln.Last - 1; k >= ln.First && p.Tokens[k].Kind == KindPunct; k-- {
		switch p.Lower[p.Tokens[k].Start] {
		case ':':
			return true
		case '.', '?', '!':
			return false
		}
	}
	return false
}

var footerNotices = [][]byte{[]byte("(c)"), []byte("copyright"), []byte("rights reserved")}
