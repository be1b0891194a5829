// Package otp finds the one-time code of a mail in its subject, its text and the text a
// person would see of its HTML. It knows nothing else: no mail parsing, no storage, no
// network, no list of senders. A wrong code is worse than none.
package otp

import (
	"inboxd/internal/mail/otp/link"
	"inboxd/internal/mail/otp/quote"
)

// Input is what a person would see of a mail, plus the headers that can declare a code.
type Input struct {
	Subject string
	Text    string // the plain text part, empty when there is none
	Visible string // visible text of the HTML part, block elements and table cells on lines of their own; empty when there is none
	Preview string // hidden text at the top of the HTML, which a list of mails shows; counts only when nothing else has a code
	Links   []string
	Anchors []link.Anchor // visible links with a short text; their URLs stand in Links too
	Alt     []string      // alternative texts of visible images; they also stand in Visible
	Answers bool          // the header names the message that this one answers

	Indented []quote.Span // pieces of Visible in blockquotes that nothing marks as quotations

	// Declared codes: the values of OTP-Token and One-Time-Code header fields, to be
	// filled by the caller only when it verified their origin (specification, Codes).
	Declared []string
}

// Source says where a code was found.
type Source string

// The sources, in the order of trust (specification, Codes). Wire names.
const (
	SourceHeader     Source = "header"
	SourceOriginLine Source = "origin_line"
	SourceSubject    Source = "subject"
	SourceText       Source = "text"
	SourceHTML       Source = "html"
	SourceAlt        Source = "alt"
)

// Result is the answer for one mail. The zero Result means no code and no link.
type Result struct {
	Code             string  // empty when none
	Confidence       float64 // 0..1
	Source           Source
	Origin           string   // host a declared code is bound to, else empty
	Candidates       []string // other codes that were considered and not vetoed, best first, at most 5; may be there without a Code
	VerificationLink string   // the one link that confirms or signs in, else empty
}
