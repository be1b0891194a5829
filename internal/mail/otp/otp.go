// Package otp finds the one-time code of a message in its subject, its plain text and the visible
// text of its HTML. It does not parse messages, uses neither storage nor network, and has no list
// of senders.
//
// The search has three steps. It splits each text into tokens (package text) and collects the
// candidates that have the form of a code. A neural network with one hidden layer (package model)
// scores each candidate by its features. The best candidate is the result if its share of the softmax
// over all candidates reaches a threshold; otherwise the result has no code. A wrong code is worse
// than none: the thresholds, one for messages with few candidates and one for those with many, have
// the largest utility on held-out messages if a wrong code costs as much as five missing ones (ADR
// 0127). No message is left out before its candidates are scored (ADR 0126).
package otp

import (
	"inboxd/internal/mail/otp/link"
	"inboxd/internal/mail/otp/quote"
)

// Input is what the recipient sees of a message, plus the header fields that can declare a code.
type Input struct {
	Subject string
	Text    string // the plain text part, or empty
	// VisibleText is the visible text of the HTML part, or empty. Each block element and
	// table cell is on a line of its own.
	VisibleText string
	// PreviewText is hidden text at the top of the HTML, which e-mail clients show in the list of
	// messages. It is the last source in order.
	PreviewText string
	Links       []string
	Anchors     []link.Anchor // visible links with a short text; their URLs are also in Links
	AltTexts    []string      // alternative texts of visible images; they are also in VisibleText
	IsReply     bool          // the header names the message that this one replies to

	IndentedSpans []quote.TextSpan // parts of VisibleText in blockquotes that are not marked as quotations

	// DeclaredCodes has the values of the OTP-Token and One-Time-Code header fields. The caller must
	// fill it only after it verified their origin (specification, Codes).
	DeclaredCodes []string
}

// Source is the part of a message in which a code was found.
type Source string

// The sources in the order of trust (specification, Codes). The values are part of the public API.
const (
	SourceHeader     Source = "header"
	SourceOriginLine Source = "origin_line"
	SourceSubject    Source = "subject"
	SourceText       Source = "text"
	SourceHTML       Source = "html"
	SourceAlt        Source = "alt"
)

// CodeResult is the result for one message. The zero CodeResult means no code and no link.
type CodeResult struct {
	Code       string  // empty if none reaches the threshold
	Confidence float64 // calibrated probability that Code is right, 0 to 1
	Source     Source
	Origin     string // host that a declared code is bound to, otherwise empty
	// Candidates are the other plausible codes, best first, at most 5. It may have elements while
	// Code is empty.
	Candidates       []string
	VerificationLink string // the only link that confirms or signs in, otherwise empty
}
