package html

import (
	"bytes"
	"html"
	"slices"
	"strings"
	"unicode"
)

// Options says which results RenderText produces.
type Options struct {
	MaxBytes   int           // maximum length of the text in bytes; 0 for no text
	ForReaders bool          // the text is for readers: links are written as "text (URL)"
	Links      *Links        // receives the links, nil if they are not needed
	View       *RenderedView // receives the visible text, nil if it is not needed

	linkTexts map[string]string // receives the texts of the links that are its keys; see LinkTexts
}

// element is an open element.
type element struct {
	tag             elementTag
	visibilityBits  visibilityBits
	isQuoted        bool  // inside a quoted message
	foregroundColor color // of the text
	backgroundColor color // of the background
}

// renderer reads HTML once. One call of RenderText owns it. Its stack of open elements follows the HTML
// standard as far as needed to know where a hidden element ends, also in invalid HTML.
type renderer struct {
	Options
	textWriter     layoutWriter // writes the text, at most MaxBytes bytes
	visibleWriter  layoutWriter // writes View.VisibleText
	previewWriter  layoutWriter // writes View.PreviewText
	sheet          stylesheet
	openElements   [maxOpen]element // open[0] stands for the message itself
	depth          int              // index of the innermost open element
	overflowDepth  int              // number of open elements that did not fit into open
	openParagraphs int              // number of open p elements
	href           string           // URL of the open link, "" outside of a link
	linkAt         int              // length of the text at the start of the link
	seenAt         int              // length of the visible text at the start of the link
	inStyle        bool             // the next text is a style sheet
	indentDepth    int              // depth of the outermost blockquote that is not marked as a quotation, 0 outside
	indentedAt     int              // length of the visible text at the start of that blockquote
	currentRun     textRun
	isDisguised    bool // see RenderText
}

// RenderText returns the text of HTML, which must be valid UTF-8, and whether it was cut at MaxBytes.
// disguised reports whether a text is drawn in a way that makes it invisible, for example white on
// white. Text that a layout does not draw at all does not count, because every preview text of a
// newsletter is hidden like that (ADR 0100).
func RenderText(s string, o Options) (text string, cut, disguised bool) {
	r := renderer{Options: o}
	r.textWriter = newWriter(o.MaxBytes, len(s), o.ForReaders)
	r.visibleWriter.isFull, r.previewWriter.isFull = true, true
	if o.View != nil {
		r.visibleWriter, r.previewWriter = newWriter(maxVisible, len(s), false), newWriter(maxPreview, 0, false)
	}
	r.openElements[0].foregroundColor, r.openElements[0].backgroundColor = opaqueBlack, opaqueWhite
	in := htmlScanner{s: s}
	var t htmlToken
	for in.readToken(&t); t.kind != endOfInput; in.readToken(&t) {
		switch t.kind {
		case textToken:
			r.handleText(t.text)
		case startTag:
			r.startElement(&t)
		case endTag:
			r.endElement(t.tag)
		}
		if r.isFull() && r.isDisguised {
			break
		}
	}
	r.endLink()
	r.currentRun.flushURLs(r.Links)
	r.endIndented()
	if o.View != nil {
		o.View.VisibleText, o.View.PreviewText = string(r.visibleWriter.b), string(r.previewWriter.b)
	}
	return string(r.textWriter.b), r.textWriter.isFull && o.MaxBytes > 0, r.isDisguised
}

// isFull reports whether all results have reached their limits.
func (r *renderer) isFull() bool {
	return r.textWriter.isFull && r.visibleWriter.isFull && r.previewWriter.isFull && r.Links.isFull()
}

// currentElement returns the innermost open element.
func (r *renderer) currentElement() *element { return &r.openElements[r.depth] }

// handleText handles a text between two tags.
func (r *renderer) handleText(s string) {
	if r.inStyle {
		r.inStyle = false
		r.sheet.parseSheet(s)
		return
	}
	e := r.currentElement()
	switch {
	case e.visibilityBits&noContent != 0:
	case e.visibilityBits&hidingBits == 0:
		s = html.UnescapeString(s)
		if r.href == "" {
			r.currentRun.addText(s, r.Links)
		}
		r.writeVisible(s, e)
	case e.visibilityBits&legitimateHiding == 0:
		r.isDisguised = r.isDisguised || strings.IndexFunc(html.UnescapeString(s), isWordRune) >= 0
	case !r.previewWriter.isFull:
		r.previewWriter.writeText(html.UnescapeString(s), e)
	}
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// writeVisible adds visible text. Hidden text behind visible text is not a preview.
func (r *renderer) writeVisible(s string, e *element) {
	r.textWriter.writeText(s, e)
	r.visibleWriter.writeText(s, e)
	r.previewWriter.isFull = r.previewWriter.isFull || strings.TrimSpace(s) != ""
}

// handleBoundary handles the start or the end of an element.
func (r *renderer) handleBoundary(e *element) {
	if e.visibilityBits&unshown != 0 {
		r.previewWriter.handleBoundary(e)
		return
	}
	if e.tag.hasTrait(block) || e.visibilityBits&blockBox != 0 {
		r.currentRun.flushURLs(r.Links)
	}
	r.textWriter.handleBoundary(e)
	r.visibleWriter.handleBoundary(e)
}

// handleImage adds the alternative text of an image, or the value of a form field.
func (r *renderer) handleImage(t *htmlToken, e *element) {
	s := unescapeAttribute(t.attr.alternativeText(t.tag))
	if s == "" {
		return
	}
	r.currentRun.addText(" ", r.Links)
	r.textWriter.writeApart(s, e)
	r.visibleWriter.writeApart(s, e)
	r.previewWriter.isFull = r.previewWriter.isFull || strings.TrimSpace(s) != ""
	if r.View != nil && t.tag == tagImg && len(r.View.AltTexts) < maxAlts && !r.visibleWriter.isFull {
		r.View.AltTexts = append(r.View.AltTexts, s)
	}
}

// startElement opens an element.
func (r *renderer) startElement(t *htmlToken) {
	if t.tag == tagA {
		r.endLink()
	}
	r.closeImplied(t.tag)
	e := r.newElement(t)
	seen := e.visibilityBits&hidingBits == 0
	r.handleBoundary(&e)
	switch t.tag {
	case tagBR:
		if e.visibilityBits&unshown == 0 {
			r.currentRun.addText("\n", r.Links)
			r.textWriter.addNewline()
			r.visibleWriter.addNewline()
		}
	case tagImg, tagInput:
		if seen || t.tag == tagImg && e.visibilityBits&unshown == 0 { // an image has colors of its own
			r.handleImage(t, &e)
		}
	case tagA, tagArea:
		r.startLink(t, seen)
	case tagStyle:
		r.inStyle = onScreens(t.attr.media)
	}
	if !t.tag.hasTrait(void) {
		r.pushElement(e)
	}
}

// onScreens reports whether a style element applies to every screen, not only to small or dark
// ones.
func onScreens(media string) bool {
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "", "all", "screen":
		return true
	}
	return false
}

// newElement computes the looks of an element inside the open elements.
func (r *renderer) newElement(t *htmlToken) element {
	s := r.sheet.of(t, t.attributeStyle())
	e := element{tag: t.tag, visibilityBits: s.resolveInside(r.currentElement().visibilityBits), isQuoted: r.currentElement().isQuoted || t.isQuote()}
	switch {
	case t.tag.hasTrait(neverVisible):
		e.visibilityBits |= noContent
	case t.attr.isHidden && s.on&(blockBox|inlineBox) == 0:
		e.visibilityBits |= displayNone
	case t.tag == tagA && s.on&outlookHide != 0:
		// A button that only Outlook hides; Outlook shows a VML drawing instead of it.
		e.visibilityBits = e.visibilityBits&^outlookHide | r.currentElement().visibilityBits&outlookHide
	case t.tag == tagPre && s.declared&preformatted == 0:
		e.visibilityBits |= preformatted
	}
	e.computeColors(s, r.currentElement())
	return e
}

// attributeStyle returns the colors that attributes other than style declare, and those of the
// style sheet of a browser.
func (t *htmlToken) attributeStyle() (s style) {
	unknown := color{kind: unknownColor}
	switch t.tag {
	case tagA:
		return style{declared: hasColor, on: hasColor, foregroundColor: unknown}
	case tagButton, tagInput, tagMark, tagSelect, tagTextarea:
		return style{declared: hasColor | hasBackground, on: hasColor | hasBackground, foregroundColor: unknown, backgroundColor: unknown}
	case tagFont:
		if t.attr.color != "" {
			return style{declared: hasColor, on: hasColor, foregroundColor: attributeColor(unescapeAttribute(t.attr.color))}
		}
	case tagBody, tagTable, tagTBody, tagTD, tagTFoot, tagTH, tagTHead, tagTR:
		if t.attr.bgcolor != "" {
			s = style{declared: hasBackground, on: hasBackground, backgroundColor: attributeColor(unescapeAttribute(t.attr.bgcolor))}
		}
		if t.attr.background != "" {
			s.declared, s.on = s.declared|hasBackgroundImage, s.on|hasBackgroundImage
		}
		if t.attr.text != "" && t.tag == tagBody {
			s.declared, s.on, s.foregroundColor = s.declared|hasColor, s.on|hasColor, attributeColor(unescapeAttribute(t.attr.text))
		}
	}
	return s
}

// computeColors computes the colors of an element, and whether its text is invisible on its background.
func (e *element) computeColors(s style, parent *element) {
	e.foregroundColor, e.backgroundColor = parent.foregroundColor, parent.backgroundColor
	if s.declared&paintBits == 0 {
		e.visibilityBits |= parent.visibilityBits & faintText
		return
	}
	if s.declared&hasColor != 0 && s.foregroundColor.kind != inheritColor {
		e.foregroundColor = s.foregroundColor
	}
	switch {
	case s.on&hasBackgroundImage != 0:
		e.backgroundColor = color{kind: unknownColor}
	case s.declared&hasBackground != 0 && s.backgroundColor.kind != inheritColor:
		e.backgroundColor = s.backgroundColor.on(parent.backgroundColor)
	}
	if e.visibilityBits&paintedText == 0 && e.foregroundColor.unseenOn(e.backgroundColor) {
		e.visibilityBits |= faintText
	}
}

// isQuote reports whether an element is marked as a quotation of an older message.
func (t *htmlToken) isQuote() bool {
	return t.tag == tagBlockquote &&
		(t.attr.cite != "" || strings.EqualFold(t.attr.kind, "cite") || strings.Contains(t.attr.class, "quote"))
}

// alternativeText returns the text that is visible in place of an image or in a form field.
func (a *attributes) alternativeText(t elementTag) string {
	if t == tagImg {
		return a.alt
	}
	switch strings.ToLower(a.kind) {
	case "", "text", "button", "submit", "reset", "tel", "number", "email", "url":
		return a.value
	}
	return ""
}

// pushElement opens an element. Beyond maxOpen elements it only counts them.
func (r *renderer) pushElement(e element) {
	if r.depth+1 == len(r.openElements) {
		r.overflowDepth++
		return
	}
	r.depth++
	r.openElements[r.depth] = e
	switch {
	case e.tag == tagP:
		r.openParagraphs++
	case e.tag == tagBlockquote && !e.isQuoted && r.indentDepth == 0:
		r.indentDepth, r.indentedAt = r.depth, len(r.visibleWriter.b)
	}
}

// endIndented adds the blockquote that ends to View.IndentedSpans.
func (r *renderer) endIndented() {
	if r.indentDepth != 0 && r.View != nil && len(r.View.IndentedSpans) < maxIndented && len(r.visibleWriter.b) > r.indentedAt {
		r.View.IndentedSpans = append(r.View.IndentedSpans, TextSpan{r.indentedAt, len(r.visibleWriter.b)})
	}
	r.indentDepth = 0
}

// popElements closes the elements from open[i] on.
func (r *renderer) popElements(i int) {
	for ; r.depth >= i; r.depth-- {
		e := r.currentElement()
		r.handleBoundary(e)
		if e.tag == tagP {
			r.openParagraphs--
		}
		if r.depth == r.indentDepth {
			r.endIndented()
		}
	}
}

// endElement closes the nearest open element with this tag. An inline end tag does not close an element
// outside of the current block. No end tag closes an element outside of the current cell or table,
// except that the end tags of rows and other parts of a table close elements up to their table.
func (r *renderer) endElement(t elementTag) {
	if t == tagA {
		r.endLink()
	}
	if r.overflowDepth > 0 {
		r.overflowDepth--
		return
	}
	for i := r.depth; i > 0; i-- {
		open := r.openElements[i].tag
		switch {
		case open == t:
			r.popElements(i)
			return
		case open == tagTable, open.hasTrait(scope) && !t.hasTrait(tablePart), open.hasTrait(block) && !t.hasTrait(block):
			return
		}
	}
}

// closeImplied closes the elements that the start tag t ends implicitly.
func (r *renderer) closeImplied(t elementTag) {
	switch t {
	case tagLI:
		r.closeUpTo(tagLI, tagLI, tagUL, tagOL)
	case tagDT, tagDD:
		r.closeUpTo(tagDT, tagDD, tagDL, tagTable)
	case tagTD, tagTH:
		r.closeUpTo(tagTD, tagTH, tagTR, tagTable)
	case tagTR:
		r.closeUpTo(tagTR, tagTR, tagTable, tagTable)
	case tagTBody, tagTHead, tagTFoot:
		r.closeUpTo(tagTBody, tagTHead, tagTable, tagTable)
	}
	if r.openParagraphs > 0 && t.hasTrait(block) {
		r.closeUpTo(tagP, tagP, tagTable, tagTable)
	}
}

// closeUpTo closes the nearest open element with tag a or b, unless wall1 or wall2 is between.
func (r *renderer) closeUpTo(a, b, wall1, wall2 elementTag) {
	for i := r.depth; i > 0; i-- {
		switch r.openElements[i].tag {
		case a, b:
			r.popElements(i)
			return
		case wall1, wall2:
			return
		}
	}
}

// startLink adds a link, also a hidden one, since every URL counts (specification, Messages).
func (r *renderer) startLink(t *htmlToken, seen bool) {
	if t.attr.href == "" {
		return
	}
	r.currentRun.flushURLs(r.Links)
	url := hrefURL(t.attr.href)
	if url != "" && r.Links != nil {
		r.noteUnseen(url, seen)
		r.Links.addURL(url)
	}
	if seen && t.tag == tagA {
		r.href, r.linkAt, r.seenAt = url, len(r.textWriter.b), len(r.visibleWriter.b)
	}
}

// noteUnseen adds a hidden link to View.HiddenLinks, and removes it when it is also visible elsewhere.
func (r *renderer) noteUnseen(url string, seen bool) {
	switch v := r.View; {
	case v == nil:
	case seen:
		v.HiddenLinks = slices.DeleteFunc(v.HiddenLinks, func(u string) bool { return u == url })
	case len(v.HiddenLinks) < maxUnseen && !r.Links.hasURL(url):
		v.HiddenLinks = append(v.HiddenLinks, strings.Clone(url))
	}
}

// endLink adds the open link to View.Anchors. For readers, it writes the URL behind a text that
// does not show it.
func (r *renderer) endLink() {
	if r.href != "" && r.View != nil && len(r.View.Anchors) < maxAnchors {
		said := r.visibleWriter.b[r.seenAt:]
		if text := strings.TrimSpace(string(said)); text != "" && len(text) <= maxAnchorText {
			at := r.seenAt + bytes.Index(said, []byte(text))
			r.View.Anchors = append(r.View.Anchors, Anchor{strings.Clone(r.href), text, at})
		}
	}
	if text, wanted := r.linkTexts[r.href]; wanted && text == "" {
		r.linkTexts[r.href] = linkText(r.textWriter.b[r.linkAt:])
	}
	if r.href != "" && r.ForReaders {
		shown := strings.TrimRight(strings.TrimSpace(string(r.textWriter.b[r.linkAt:])), "/")
		target := strings.TrimRight(r.href, "/")
		_, bare, _ := strings.Cut(target, "://")
		if shown != target && shown != bare {
			r.textWriter.writeBehind("(" + r.href + ")")
		}
	}
	r.href = ""
}
