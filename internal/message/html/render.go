package html

import (
	"html"
	"strings"
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
	quoted bool // inside a quoted mail
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
	run        textRun
}

// Render returns the text of valid UTF-8, and whether it was cut.
func Render(s string, o Options) (text string, cut bool) {
	r := renderer{Options: o}
	r.out = newWriter(o.Max, len(s), o.Readable)
	r.seen.full, r.hidden.full = true, true
	if o.View != nil {
		r.seen, r.hidden = newWriter(maxVisible, len(s), false), newWriter(maxPreview, 0, false)
	}
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
		if r.out.full && r.seen.full && r.hidden.full && r.Links.full() {
			break
		}
	}
	r.endLink()
	r.run.end(r.Links)
	if o.View != nil {
		o.View.Visible, o.View.Preview = string(r.seen.b), string(r.hidden.b)
	}
	return string(r.out.b), r.out.full && o.Max > 0
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
	case !r.hidden.full:
		r.hidden.write(html.UnescapeString(s), e)
	}
}

// write adds what a person sees; nothing behind it is a preview any more.
func (r *renderer) write(s string, e *element) {
	r.out.write(s, e)
	r.seen.write(s, e)
	r.hidden.full = r.hidden.full || strings.TrimSpace(s) != ""
}

// boundary is the begin or end of an element.
func (r *renderer) boundary(e *element) {
	if e.looks&hiding != 0 {
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
		if seen {
			r.run.add("\n", r.Links)
			r.out.newline()
			r.seen.newline()
		}
	case tagImg, tagInput:
		if seen {
			r.image(t, &e)
		}
	case tagA, tagArea:
		r.startLink(t, seen)
	case tagStyle:
		r.inStyle = true
	}
	if !t.tag.has(void) {
		r.push(e)
	}
}

// newElement works out how an element looks inside the open ones.
func (r *renderer) newElement(t *token) element {
	s := r.sheet.of(unescapeAttribute(t.attr.class), unescapeAttribute(t.attr.style))
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
	return e
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
	if e.tag == tagP {
		r.paragraphs++
	}
}

// pop closes the elements from open[i] on.
func (r *renderer) pop(i int) {
	for ; r.depth >= i; r.depth-- {
		e := r.top()
		r.boundary(e)
		if e.tag == tagP {
			r.paragraphs--
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
	url := r.Links.addHref(t.attr.href)
	if seen && t.tag == tagA {
		r.href, r.linkAt, r.seenAt = url, len(r.out.b), len(r.seen.b)
	}
}

// endLink writes the target behind the text of a link that doesn't show it.
func (r *renderer) endLink() {
	if r.href != "" && r.View != nil && len(r.View.Anchors) < maxAnchors {
		if text := strings.TrimSpace(string(r.seen.b[r.seenAt:])); text != "" && len(text) <= maxAnchorText {
			r.View.Anchors = append(r.View.Anchors, Anchor{strings.Clone(r.href), text})
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
