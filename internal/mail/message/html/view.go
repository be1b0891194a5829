// Package html reads the HTML of mail in one pass: the text that a person would see of it, the
// one to read on, what is hidden in front of it, and the links. It knows HTML's tokens, and of
// styles what hides text; it refuses to know MIME and what a code is. Nothing is fetched.
package html

// The caps on what HTML may cost; see limits.go of package message.
const (
	maxVisible    = 64 << 10
	maxPreview    = 1 << 10
	maxAnchors    = 64
	maxAnchorText = 80
	maxAlts       = 64 // texts of images that are told apart
	maxIndented   = 64
	maxUnseen     = 64
	maxOpen       = 128 // elements whose hiddenness is tracked
	maxClasses    = 512 // classes of style sheets that are remembered, and elements

	// MaxLinks is how many links of one mail are told.
	MaxLinks   = 1000
	maxLinkLen = 8 << 10
)

// View is what a person would see of HTML.
type View struct {
	// Visible has block elements, rows and cells on lines of their own, inline elements joined
	// without a space, alternative texts of images, no scripts, styles, comments, titles and
	// hidden elements. Zero-width characters are dropped, blanks collapsed, lines of a quoted
	// mail begin with "> ". At most 64 KiB.
	Visible string
	// Preview is the text that a list of mails shows and an opened mail hides: the hidden text
	// in front of everything visible, at most 1 KiB. It is a sender's own words, but weaker
	// evidence than Visible.
	Preview string
	// Alt holds the alternative texts of visible images that have one, in order, at most 64.
	Alt []string
	// Anchors are the visible links that have a short text, in order, at most 64.
	Anchors []Anchor
	// Indented are the pieces of Visible that stand in blockquotes whose lines do not begin with
	// "> ", because nothing marks them as quotations, in order, at most 64.
	Indented []Span
	// Unseen are the links that nobody can follow, because they stand in hidden elements only, at
	// most 64. They are in Links all the same. It is filled only where Options.Links are, which
	// may have them from other parts: then somebody can.
	Unseen []string
}

// Anchor is a link to an http(s) URL and its visible text, at most 80 bytes, which begins at a
// byte of Visible.
type Anchor struct {
	URL, Text string
	At        int
}

// Span is a piece of a text, in bytes.
type Span struct{ Start, End int }
