package otp

import "inboxd/internal/mail/otp/text"

// page is one source of a message, split into tokens. The search that contains it owns it; no other
// goroutine may use it.
type page struct {
	text.Page
	source   Source
	hidden   bool   // the opened message does not show it
	borrowed bool   // the subject of a reply: its numbers belong to the older message and are not candidates
	signs    []sign // of each token
	bags     []bag  // of each line
}

// read splits s into tokens, without their signs.
func (p *page) read(source Source, s string) {
	p.source, p.hidden, p.borrowed = source, false, false
	p.Page.Read(s)
	p.Split()
}
