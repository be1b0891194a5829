package otp

import "inboxd/internal/mail/otp/text"

// sourcePage is one source of a message, split into tokens. The search that contains it owns it; no
// other goroutine may use it.
type sourcePage struct {
	text.Page
	source          Source
	isHidden        bool      // the opened message does not show it
	numbersBorrowed bool      // the subject of a reply: its numbers belong to the older message and are not candidates
	signs           []sign    // of each token
	bags            []signSet // of each line
	candidateCount  int
}

// readText splits s into tokens, without their signs.
func (p *sourcePage) readText(source Source, s string) {
	p.source, p.isHidden, p.numbersBorrowed = source, false, false
	p.Page.ReadText(s)
	p.SplitTokens()
}
