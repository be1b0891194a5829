package html

import (
	"bytes"
	"html"
	"slices"
	"strings"
	"unicode"
)

// Options says which results Render produces.
type Options struct {
	Max      int    // maximum length of the text in bytes; 0 for no text
	Readable bool   // the text is for readers: links are written as "text (URL)"
	Links    *Links // receives the links, nil if they are not needed
	View     *View  // receives the visible text, nil if it is not needed
}

// element is an open element.
type element struct {
	tag    tag
	looks  looks
	quoted bool  // inside a quoted message
	text   color // of the text
	ground color // of the background
}

// renderer reads HTML once. One call of Render owns it. Its stack of open elements follows the HTML
// standard as far as needed to know where a hidden element ends, also in invalid HTML.
type renderer struct {
	Options
	out        writer // writes the text, at most Max bytes
	seen       writer // writes View.Visible
	hidden     writer // writes View.Preview
	sheet      stylesheet
	open       [maxOpen]element // open[0] stands for the message itself
	depth      int              // index of the innermost open element
	deeper     int              // number of open elements that did not fit into open
	paragraphs int              // number of open p elements
	href       string           // URL of the open link, "" outside of a link
	linkAt     int              // length of the text at the start of the link
	seenAt     int              // length of the visible text at the start of the link
	inStyle    bool             // the next text is a style sheet
	indented   int              // depth of the outermost blockquote that is not marked as a quotation, 0 outside
	indentedAt int              // length of the visible text at the start of that blockquote
	run        textRun
	disguised  bool // see Render
}

// Render returns the text of HTML, which must be valid UTF-8, and whether it was cut at Max.
// disguised reports whether a text is drawn in a way that makes it invisible, for example white on
// white. Text that a layout does not draw at all does not count, because every preview text of a
// newsletter is hidden like that (ADR 0100).
func Render(s string, o Options) (text string, cut, disguised bool) {
	r := renderer{Options: o}
	r.out = newWriter(o.Max, len(s), o.Readable)
	r.seen.full, r.hidden.full = true, true
	if o.View != nil {
		r.seen, r.hidden = newWriter(maxVisible, len(s), false), newWriter(maxPreview, 0, false)
	}
	r.open[0].text, r.open[0].ground = black, white
	in := scanner{s: s}
	var t token
	for in.next(&t); t.kind != endOfInput; in.next(&t) {
		switch t.kind {
		case textToken:
			r.text(t.text)
		case startTag:
			r.start(&t)
		case endTag:
			r.end(t.tag)
		}
		if r.full() && r.disguised {
			break
		}
	}
	r.endLink()
	r.run.end(r.Links)
	r.endIndented()
	if o.View != nil {
		o.View.Visible, o.View.Preview = string(r.seen.b), string(r.hidden.b)
	}
	return string(r.out.b), r.out.full && o.Max > 0, r.disguised
}

// full reports whether all results have reached their limits.
func (r *renderer) full() bool {
	return r.out.full && r.seen.full && r.hidden.full && r.Links.full()
}

// top returns the innermost open element.
func (r *renderer) top() *element { return &r.open[r.depth] }

// text handles a text between two tags.
func (r *renderer) text(s string) {
	if r.inStyle {
		r.inStyle = false
		r.sheet.read(s)
		return
	}
	e := r.top()
	switch {
	case e.looks&noContent != 0:
	case e.looks&hiding == 0:
		s = html.UnescapeString(s)
		if r.href == "" {
			r.run.add(s, r.Links)
		}
		r.write(s, e)
	case e.looks&quiet == 0:
		r.disguised = r.disguised || strings.IndexFunc(html.UnescapeString(s), isWordRune) >= 0
	case !r.hidden.full:
		r.hidden.write(html.UnescapeString(s), e)
	}
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// write adds visible text. Hidden text behind visible text is not a preview.
func (r *renderer) write(s string, e *element) {
	r.out.write(s, e)
	r.seen.write(s, e)
	r.hidden.full = r.hidden.full || strings.TrimSpace(s) != ""
}

// boundary handles the start or the end of an element.
func (r *renderer) boundary(e *element) {
	if e.looks&unshown != 0 {
		r.hidden.boundary(e)
		return
	}
	if e.tag.has(block) || e.looks&blockBox != 0 {
		r.run.end(r.Links)
	}
	r.out.boundary(e)
	r.seen.boundary(e)
}

// image adds the alternative text of an image, or the value of a form field.
func (r *renderer) image(t *token, e *element) {
	s := unescapeAttribute(t.attr.shown(t.tag))
	if s == "" {
		return
	}
	r.run.add(" ", r.Links)
	r.out.writeApart(s, e)
	r.seen.writeApart(s, e)
	r.hidden.full = r.hidden.full || strings.TrimSpace(s) != ""
	if r.View != nil && t.tag == tagImg && len(r.View.Alt) < maxAlts && !r.seen.full {
		r.View.Alt = append(r.View.Alt, s)
	}
}

// start opens an element.
func (r *renderer) start(t *token) {
	if t.tag == tagA {
		r.endLink()
	}
	r.closeImplied(t.tag)
	e := r.newElement(t)
	seen := e.looks&hiding == 0
	r.boundary(&e)
	switch t.tag {
	case tagBR:
		if e.looks&unshown == 0 {
			r.run.add("\n", r.Links)
			r.out.newline()
			r.seen.newline()
		}
	case tagImg, tagInput:
		if seen || t.tag == tagImg && e.looks&unshown == 0 { // an image has colors of its own
			r.image(t, &e)
		}
	case tagA, tagArea:
		r.startLink(t, seen)
	case tagStyle:
		r.inStyle = onScreens(t.attr.media)
	}
	if !t.tag.has(void) {
		r.push(e)
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
func (r *renderer) newElement(t *token) element {
	s := r.sheet.of(t, t.hints())
	e := element{tag: t.tag, looks: s.inside(r.top().looks), quoted: r.top().quoted || t.isQuote()}
	switch {
	case t.tag.has(unseen):
		e.looks |= noContent
	case t.attr.hidden && s.on&(blockBox|inlineBox) == 0:
		e.looks |= displayNone
	case t.tag == tagA && s.on&outlookHide != 0:
		// A button that only Outlook hides; Outlook shows a VML drawing instead of it.
		e.looks = e.looks&^outlookHide | r.top().looks&outlookHide
	case t.tag == tagPre && s.declared&preformatted == 0:
		e.looks |= preformatted
	}
	e.paint(s, r.top())
	return e
}

// hints returns the colors that attributes other than style declare, and those of the style sheet
// of a browser.
func (t *token) hints() (s style) {
	unknown := color{kind: unknownColor}
	switch t.tag {
	case tagA:
		return style{declared: colored, on: colored, text: unknown}
	case tagButton, tagInput, tagMark, tagSelect, tagTextarea:
		return style{declared: colored | backed, on: colored | backed, text: unknown, ground: unknown}
	case tagFont:
		if t.attr.color != "" {
			return style{declared: colored, on: colored, text: attributeColor(unescapeAttribute(t.attr.color))}
		}
	case tagBody, tagTable, tagTBody, tagTD, tagTFoot, tagTH, tagTHead, tagTR:
		if t.attr.bgcolor != "" {
			s = style{declared: backed, on: backed, ground: attributeColor(unescapeAttribute(t.attr.bgcolor))}
		}
		if t.attr.background != "" {
			s.declared, s.on = s.declared|pictured, s.on|pictured
		}
		if t.attr.text != "" && t.tag == tagBody {
			s.declared, s.on, s.text = s.declared|colored, s.on|colored, attributeColor(unescapeAttribute(t.attr.text))
		}
	}
	return s
}

// paint computes the colors of an element, and whether its text is invisible on its background.
func (e *element) paint(s style, parent *element) {
	e.text, e.ground = parent.text, parent.ground
	if s.declared&paints == 0 {
		e.looks |= parent.looks & faint
		return
	}
	if s.declared&colored != 0 && s.text.kind != inheritColor {
		e.text = s.text
	}
	switch {
	case s.on&pictured != 0:
		e.ground = color{kind: unknownColor}
	case s.declared&backed != 0 && s.ground.kind != inheritColor:
		e.ground = s.ground.on(parent.ground)
	}
	if e.looks&painted == 0 && e.text.unseenOn(e.ground) {
		e.looks |= faint
	}
}

// isQuote reports whether an element is marked as a quotation of an older message.
func (t *token) isQuote() bool {
	return t.tag == tagBlockquote &&
		(t.attr.cite != "" || strings.EqualFold(t.attr.kind, "cite") || strings.Contains(t.attr.class, "quote"))
}

// shown returns the text that is visible in place of an image or in a form field.
func (a *attributes) shown(t tag) string {
	if t == tagImg {
		return a.alt
	}
	switch strings.ToLower(a.kind) {
	case "", "text", "button", "submit", "reset", "tel", "number", "email", "url":
		return a.value
	}
	return ""
}

// push opens an element. Beyond maxOpen elements it only counts them.
func (r *renderer) push(e element) {
	if r.depth+1 == len(r.open) {
		r.deeper++
		return
	}
	r.depth++
	r.open[r.depth] = e
	switch {
	case e.tag == tagP:
		r.paragraphs++
	case e.tag == tagBlockquote && !e.quoted && r.indented == 0:
		r.indented, r.indentedAt = r.depth, len(r.seen.b)
	}
}

// endIndented adds the blockquote that ends to View.Indented.
func (r *renderer) endIndented() {
	if r.indented != 0 && r.View != nil && len(r.View.Indented) < maxIndented && len(r.seen.b) > r.indentedAt {
		r.View.Indented = append(r.View.Indented, Span{r.indentedAt, len(r.seen.b)})
	}
	r.indented = 0
}

// pop closes the elements from open[i] on.
func (r *renderer) pop(i int) {
	for ; r.depth >= i; r.depth-- {
		e := r.top()
		r.boundary(e)
		if e.tag == tagP {
			r.paragraphs--
		}
		if r.depth == r.indented {
			r.endIndented()
		}
	}
}

// end closes the nearest open element with this tag. An inline end tag does not close an element
// outside of the current block. No end tag closes an element outside of the current cell or table,
// except that the end tags of rows and other parts of a table close elements up to their table.
func (r *renderer) end(t tag) {
	if t == tagA {
		r.endLink()
	}
	if r.deeper > 0 {
		r.deeper--
		return
	}
	for i := r.depth; i > 0; i-- {
		open := r.open[i].tag
		switch {
		case open == t:
			r.pop(i)
			return
		case open == tagTable, open.has(scope) && !t.has(tablePart), open.has(block) && !t.has(block):
			return
		}
	}
}

// closeImplied closes the elements that the start tag t ends implicitly.
func (r *renderer) closeImplied(t tag) {
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
	if r.paragraphs > 0 && t.has(block) {
		r.closeUpTo(tagP, tagP, tagTable, tagTable)
	}
}

// closeUpTo closes the nearest open element with tag a or b, unless wall1 or wall2 is between.
func (r *renderer) closeUpTo(a, b, wall1, wall2 tag) {
	for i := r.depth; i > 0; i-- {
		switch r.open[i].tag {
		case a, b:
			r.pop(i)
			return
		case wall1, wall2:
			return
		}
	}
}

// startLink adds a link, also a hidden one, since every URL counts (specification, Messages).
func (r *renderer) startLink(t *token, seen bool) {
	if t.attr.href == "" || r.Links == nil && !r.Readable && r.View == nil {
		return
	}
	r.run.end(r.Links)
	url := hrefURL(t.attr.href)
	if url != "" && r.Links != nil {
		r.noteUnseen(url, seen)
		r.Links.add(url)
	}
	if seen && t.tag == tagA {
		r.href, r.linkAt, r.seenAt = url, len(r.out.b), len(r.seen.b)
	}
}

// noteUnseen adds a hidden link to View.Unseen, and removes it when it is also visible elsewhere.
func (r *renderer) noteUnseen(url string, seen bool) {
	switch v := r.View; {
	case v == nil:
	case seen:
		v.Unseen = slices.DeleteFunc(v.Unseen, func(u string) bool { return u == url })
	case len(v.Unseen) < maxUnseen && !r.Links.has(url):
		v.Unseen = append(v.Unseen, strings.Clone(url))
	}
}

// endLink adds the open link to View.Anchors. For readers, it writes the URL behind a text that
// does not show it.
func (r *renderer) endLink() {
	if r.href != "" && r.View != nil && len(r.View.Anchors) < maxAnchors {
		said := r.seen.b[r.seenAt:]
		if text := strings.TrimSpace(string(said)); text != "" && len(text) <= maxAnchorText {
			at := r.seenAt + bytes.Index(said, []byte(text))
			r.View.Anchors = append(r.View.Anchors, Anchor{strings.Clone(r.href), text, at})
		}
	}
	if r.href != "" && r.Readable {
		shown := strings.TrimRight(strings.TrimSpace(string(r.out.b[r.linkAt:])), "/")
		target := strings.TrimRight(r.href, "/")
		_, bare, _ := strings.Cut(target, "://")
		if shown != target && shown != bare {
			r.out.writeBehind("(" + r.href + ")")
		}
	}
	r.href = ""
}
