package otp

import "inboxd/internal/mail/otp/text"

// page is one source, read. The search it belongs to owns it; no other goroutine touches it.
type page struct {
	text.Page
	source   Source
	hidden   bool   // nobody sees it in the opened mail
	borrowed bool   // it is the subject of another message, which this one answers: its numbers are no candidates
	signs    []sign // of each token
	bags     []bag  // of each line
}

func (p *page) read(source Source, s string) {
	p.source, p.hidden, p.borrowed = source, false, false
	p.Page.Read(s)
	p.Split()
}
