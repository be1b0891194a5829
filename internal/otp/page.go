package otp

import "inboxd/internal/otp/text"

// page is one source, read. The search it belongs to owns it; no other goroutine touches it.
type page struct {
	text.Page
	source Source
	reply  bool   // an answer: what looks like a code may be an old one
	hidden bool   // nobody sees it in the opened mail
	signs  []sign // of each token
	bags   []bag  // of each line
}

func (p *page) read(source Source, s string) {
	p.source, p.reply, p.hidden = source, false, false
	p.Page.Read(s)
}

// A page is looked at for three things. Each has its methods on a type of its own, which is
// the page seen from there; what several of them ask is asked of the page.
type (
	labels    struct{ *page } // which words announce a code, and how strongly
	collector struct{ *page } // what has the form of a code
	vetoer    struct{ *page } // what is no code, though it looks like one
)
