// Package html reads the HTML of a message in one pass. It returns the text for readers, the
// visible text, the hidden preview text at its start, and the links. It knows the tokens of HTML,
// and the CSS properties that hide text. It does not know MIME or what a code is, and it fetches
// nothing.
package html

// Limits on the cost of HTML; see limits.go of package message.
const (
	maxVisible    = 64 << 10 // bytes
	maxPreview    = 1 << 10  // bytes
	maxAnchors    = 64
	maxAnchorText = 240 // bytes; a label of 60 letters in scripts with four bytes a letter, or a printed URL
	maxAlts       = 64  // elements of View.AltTexts
	maxIndented   = 64
	maxUnseen     = 64
	maxOpen       = 128 // nested elements that are tracked
	maxClasses    = 512 // classes in style sheets that are stored; the same limit applies to elements

	// MaxLinks is the largest number of links of one message that are returned.
	MaxLinks   = 1000
	maxLinkLen = 8 << 10 // bytes; longer links are ignored

	maxLinkText = 500 // bytes; longer texts of links are cut
)

// RenderedView is what the recipient sees of HTML.
type RenderedView struct {
	// VisibleText is the visible text, at most 64 KiB. Block elements, rows and cells are on lines of
	// their own, and inline elements are joined without a space. It includes the alternative texts
	// of images, and excludes scripts, style sheets, comments, titles and hidden elements.
	// Zero-width characters are removed and white space is collapsed. Lines of a quoted message
	// begin with "> ".
	VisibleText string
	// PreviewText is the text that e-mail clients show in the list of messages, but not in the opened
	// message: the hidden text before all visible text, at most 1 KiB. The sender wrote it, but it
	// is weaker evidence than VisibleText.
	PreviewText string
	// AltTexts has the alternative texts of visible images, in order, at most 64.
	AltTexts []string
	// Anchors are the visible links with a short text, in order, at most 64.
	Anchors []Anchor
	// IndentedSpans are the parts of VisibleText in blockquotes that are not marked as quotations,
	// in order, at most 64. Their lines do not begin with "> ".
	IndentedSpans []TextSpan
	// HiddenLinks are the links that appear only in hidden elements, so that nobody can follow them, at
	// most 64. They are also in Links. Unseen is filled only if Options.Links is set. It does not
	// have a link that Options.Links already contains from another part, where it may be visible.
	HiddenLinks []string
}

// Anchor is a link to an HTTP or HTTPS URL with its visible text, at most 240 bytes.
type Anchor struct {
	URL, Text string
	At        int // byte offset of Text in View.VisibleText
}

// TextSpan is a part of a text, from byte Start to before byte End.
type TextSpan struct{ Start, End int }
