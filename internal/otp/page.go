package otp

import "inboxd/internal/otp/text"

// page is one source, read. The search it belongs to owns it; no other goroutine touches it.
type page struct {
	text.Page
	source Source
	hidden bool   // nobody sees it in the opened mail
	signs  []sign // of each token
	bags   []bag  // of each line
}

func (p *page) read(source Source, s string, forward bool) {
	p.source, p.hidden = source, false
	p.Page.Read(s)
	p.Split(forward)
}
