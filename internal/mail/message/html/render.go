package html

import (
	"bytes"
	"html"
	"slices"
	"strings"
	"unicode"
)

// Options says what a rendering is for.
type Options struct {
	Max      int    // bytes of text; 0 makes none
	Readable bool   // for reading on: links are kept as "text (URL)"
	Links    *Links // collects what can be followed, nil for nobody
	View     *View  // is given what a person sees, nil for nobody
}

// element is an open element.
type element struct {
	tag    tag
	looks  looks
	quoted bool  // inside a quoted mail
	text   color // of letters
	ground color // behind them
}

// renderer walks over HTML once; one call of Render owns it. Its stack of open elements
// follows the HTML standard as far as needed to know where a hidden element ends, also in
// sloppy mail.
type renderer struct {
	Options
	out        writer // of max bytes
	seen       writer // of view.Visible
	hidden     writer // of view.Preview
	sheet      stylesheet
	open       [maxOpen]element // open[0] is the mail itself
	depth      int
	deeper     int    // elements inside that found no room
	paragraphs int    // open p elements
	href       string // of the open link, "" outside
	linkAt     int    // length of the text at its start
	seenAt     int    // length of the visible text at its start
	inStyle    bool
	indented   int // depth of the outermost blockquote that nothing marks as a quotation, 0 outside
	indentedAt int // length of the visible text at its start
	run        textRun
	disguised  bool // text was drawn so that nobody sees it
}

// Render returns the text of valid UTF-8, whether it was cut, and whether a text was disguised: drawn, but so
// that nobody sees it. What layouts switch off is not, or every newsletter's preview would be (ADR 0100).
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

// full reports that nobody wants more text or links.
func (r *renderer) full() bool {
	return r.out.full && r.seen.full && r.hidden.full && r.Links.full()
}

func (r *renderer) top() *element { return &r.open[r.depth] }

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

// write adds what a person sees; nothing behind it is a preview any more.
func (r *renderer) write(s string, e *element) {
	r.out.write(s, e)
	r.seen.write(s, e)
	r.hidden.full = r.hidden.full || strings.TrimSpace(s) != ""
}

// boundary is the begin or end of an element.
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

// image adds the text that stands for an image, or a field's value.
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
		if seen || t.tag == tagImg && e.looks&unshown == 0 { // a picture has colours of its own
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

// onScreens reports whether a style element counts on every screen, not only on small or dark ones.
func onScreens(media string) bool {
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "", "all", "screen":
		return true
	}
	return false
}

// newElement works out how an element looks inside the open ones.
func (r *renderer) newElement(t *token) element {
	s := r.sheet.of(t, t.hints())
	e := element{tag: t.tag, looks: s.inside(r.top().looks), quoted: r.top().quoted || t.isQuote()}
	switch {
	case t.tag.has(unseen):
		e.looks |= noContent
	case t.attr.hidden && s.on&(blockBox|inlineBox) == 0:
		e.looks |= displayNone
	case t.tag == tagA && s.on&outlookHide != 0:
		// A button that is hidden from Outlook alone, which gets it as a drawing.
		e.looks = e.looks&^outlookHide | r.top().looks&outlookHide
	case t.tag == tagPre && s.declared&preformatted == 0:
		e.looks |= preformatted
	}
	e.paint(s, r.top())
	return e
}

// hints is what attributes other than style, and browsers by themselves, declare of colours.
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

// paint works out the colours of an element, and whether its text differs from what is behind it.
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

// isQuote reports whether an element holds the mail that is being answered.
func (t *token) isQuote() bool {
	return t.tag == tagBlockquote &&
		(t.attr.cite != "" || strings.EqualFold(t.attr.kind, "cite") || strings.Contains(t.attr.class, "quote"))
}

// shown is the text a person sees in place of an image or in a field.
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

// endIndented notes the blockquote that ends.
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

// end closes the nearest element of this tag. An inline end tag doesn't reach out of a
// block, nor any end tag out of a cell or table; those of rows and the like reach up to
// their table.
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

// closeImplied closes what the start of t ends without an end tag.
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

// closeUpTo closes the nearest element a or b, unless a wall stands before it.
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

// startLink notes a link, hidden ones too, since every URL counts (specification, Messages).
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

// noteUnseen notes a link that is hidden, unless a person sees it elsewhere.
func (r *renderer) noteUnseen(url string, seen bool) {
	switch v := r.View; {
	case v == nil:
	case seen:
		v.Unseen = slices.DeleteFunc(v.Unseen, func(u string) bool { return u == url })
	case len(v.Unseen) < maxUnseen && !r.Links.has(url):
		v.Unseen = append(v.Unseen, strings.Clone(url))
	}
}

// endLink writes the target behind the text of a link that doesn't show it.
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
