package message

import (
	"bytes"
	"strings"
	"sync"

	"inboxd/internal/mail/message/html"
)

// Parse reads one message (RFC 5322, RFC 2045–2049). It never fails: what can't be read is
// left out and Degraded is set. Its cost is linear in len(raw) and bounded by the caps in
// limits.go. The Document keeps no reference to raw.
func Parse(raw []byte) *Document {
	doc := new(Document)
	doc.parse(raw, nil)
	return doc
}

// ParseView is Parse into an empty Document. It also returns what a person would see of the HTML,
// from the same walk, and the leaves that may be calendar files, in order.
func ParseView(doc *Document, raw []byte) (view html.View, calendars []Calendar) {
	calendars = doc.parse(raw, &view)
	return view, calendars
}

// ParseCalendars is Parse into an empty Document, with the leaves that may be calendar files.
func ParseCalendars(doc *Document, raw []byte) []Calendar { return doc.parse(raw, nil) }

// ParseFacts parses the header and counts the attachments into an empty Document. The contents of
// the parts are skipped.
func ParseFacts(doc *Document, raw []byte) {
	var sort sorter
	files := new(ledger)
	doc.Degraded = walkLeaves(raw, doc, func(p part) {
		if sort.role(&p) == attached {
			files.add(&p)
		}
	}) || doc.Degraded
	doc.Attachments, doc.AttachmentsOmitted = files.list(pageOf(raw))
}

func (d *Document) parse(raw []byte, view *html.View) []Calendar {
	r := reader{doc: d}
	d.Degraded = walkLeaves(raw, d, r.read) || d.Degraded
	r.finish(view)
	return r.calendars
}

// readable is raw with LF line endings if it has only CR, and without a byte order mark.
func readable(raw []byte) []byte {
	raw = bytes.TrimPrefix(raw, []byte(byteOrderMark))
	if bytes.IndexByte(raw, '\n') < 0 { // lines that end in CR alone
		raw = bytes.ReplaceAll(raw, []byte("\r"), []byte("\n"))
	}
	return raw
}

// walkLeaves walks a whole message. It fills doc, unless nil, with the top header, and calls leaf
// for every leaf in order. Parse and AttachmentBytes share it, so they use the same ids. The walker
// stays on the stack as long as it points to nothing that is allocated there, leaf included.
func walkLeaves(raw []byte, doc *Document, leaf func(part)) (degraded bool) {
	w := walker{raw: readable(raw), headers: maxHeadersSize, looks: maxLooks}
	fields := w.readFields(w.fields[:0])
	if doc != nil {
		doc.readHeader(fields)
	}
	top := w.newPart(fields)
	top.root = true
	w.entity(top, leaf)
	return w.degraded
}

// role is the use of a leaf for the reader of a message.
type role uint8

const (
	ignored role = iota
	textBody
	htmlBody
	attached
)

// sorter decides the role of each leaf, in order, from the headers alone. One walk owns it.
type sorter struct {
	leaves int // seen before
}

func (s *sorter) role(p *part) role {
	s.leaves++
	alternative := p.parent != nil && p.parent.subtype == "alternative"
	named := p.filename != "" && s.leaves > 1 && !alternative && !p.root
	switch {
	case strings.HasPrefix(p.mediaType, "multipart/"):
		return ignored // nested too deep
	case p.attachment:
		return attached
	case p.mediaType == "text/plain" && !named:
		return textBody
	case p.mediaType == "text/html" && !named:
		return htmlBody
	case p.mediaType == "text/calendar" || p.filename != "" || !strings.HasPrefix(p.mediaType, "text/"):
		return attached
	case p.root:
		return textBody
	case alternative:
		return ignored // another rendering of the same text, such as text/x-amp-html
	}
	return attached
}

// reader collects the bodies and the attachments of a message. One Parse owns it and its contents
// until the Document is returned.
type reader struct {
	doc    *Document
	sorter sorter
	files  ledger
	text   body
	html   body

	calendars []Calendar // nil for nearly all messages
}

// body holds the parts of one role, in order.
type body struct {
	first string
	more  []string
	count int // of them all
	size  int
	cut   bool // max was reached

	of     *multipart // the alternative that the parts from mark on are of; nil: none
	branch int        // which part of it they are in
	mark   int
}

// add appends a text of p. Of an alternative, the last branch with content counts (RFC 2046 section
// 5.1.4). It replaces the text of an earlier branch, whose size still counts, so that the work
// stays limited.
func (b *body) add(p *part, text string) {
	alternative, branch := p.branch()
	switch {
	case alternative == nil || alternative != b.of:
		b.of, b.branch, b.mark = alternative, branch, b.count
	case branch == b.branch:
	case !hasContent(p.mediaType, text):
		return
	default:
		b.branch, b.count = branch, b.mark
		b.more = b.more[:max(b.mark-1, 0)]
	}
	if b.count++; b.count == 1 {
		b.first = text
		return
	}
	b.more = append(b.more, text)
}

// branch is the innermost alternative around p, and the index of the part of it that contains p.
func (p *part) branch() (alternative *multipart, index int) {
	index = p.index
	for m := p.parent; m != nil; index, m = m.index, m.parent {
		if m.subtype == "alternative" {
			return m, index
		}
	}
	return nil, 0
}

// hasContent reports whether a text or a page displays anything.
func hasContent(mediaType, text string) bool {
	if mediaType == "text/html" {
		if strings.Contains(strings.ToLower(text), "<img") {
			return true
		}
		text, _, _ = html.Render(text, html.Options{Max: MaxText, Readable: true})
	}
	return strings.TrimSpace(text) != ""
}

func (r *reader) read(p part) {
	if p.isCalendar() && !p.signed && len(r.calendars) < maxCalendars {
		r.calendars = append(r.calendars, p.calendar())
	}
	switch r.sorter.role(&p) {
	case textBody:
		r.decode(&r.text, &p, MaxText)
	case htmlBody:
		r.decode(&r.html, &p, maxHTML)
	case attached:
		r.files.add(&p)
	}
}

// spareSize is enough for the text of most messages.
const spareSize = 8 << 10

// spares are buffers in which text is decoded before it is copied into the final string.
var spares = sync.Pool{New: func() any { return new([spareSize]byte) }}

// decode appends the text of p to b, up to max bytes. Text shrinks to no less than half of its
// encoded size (UTF-16), so reading twice max is sufficient.
func (r *reader) decode(b *body, p *part, max int) {
	max -= b.size + b.count // one line break between two parts
	if max <= 0 {
		b.cut = b.cut || len(p.body) > 0
		return
	}
	d := decoder{src: p.body, encoding: p.encoding}
	if d.encoding == base64Encoding && !isBase64(p.body) {
		d.encoding, r.doc.Degraded = identity, true
	}
	spare := spares.Get().(*[spareSize]byte)
	defer spares.Put(spare)
	raw := spare[:0]
	if room := min(d.room(), 2*max); room > spareSize {
		raw = make([]byte, 0, room)
	}
	raw = d.appendTo(raw, 2*max)
	if len(d.src) > 0 {
		raw, _ = cutText(raw, len(raw)-1) // half a character would make UTF-8 look like something else
	}
	charset := p.charset
	if p.mediaType == "text/html" {
		charset = charsetOfPage(charset, raw)
	}
	text, known := toUTF8(charset, raw)
	text = NormalizeLines(text)
	if p.flowed {
		text = unflow(text, p.delsp)
	}
	text, cut := cutText(text, max)
	b.cut = b.cut || cut || len(d.src) > 0
	b.size += len(text)
	b.add(p, string(text))
	r.doc.Degraded = r.doc.Degraded || !known
}

// String joins the parts, each on lines of its own.
func (b *body) String() string {
	if b.count < 2 {
		return b.first
	}
	var s strings.Builder
	s.Grow(b.size + b.count)
	s.WriteString(b.first)
	before := b.first
	for _, part := range b.more {
		if part != "" && !strings.HasSuffix(before, "\n") {
			s.WriteByte('\n')
		}
		s.WriteString(part)
		before = part
	}
	return s.String()
}

// finish derives what depends on all parts: the links, and the text of a message that has only
// HTML. An empty text part next to HTML counts as missing. view is nil if it is not needed.
func (r *reader) finish(view *html.View) {
	doc := r.doc
	doc.Text, doc.TextCut = r.text.String(), r.text.cut
	doc.HTML, doc.HasHTML = r.html.String(), r.html.count > 0
	doc.Degraded = doc.Degraded || r.html.cut
	doc.Attachments, doc.AttachmentsOmitted = r.files.list(func() string { return doc.HTML })
	var links html.Links
	switch {
	case !doc.HasHTML:
		links.AddText(doc.Text)
	case strings.TrimSpace(doc.Text) != "":
		links.AddText(doc.Text)
		_, _, doc.HiddenText = html.Render(doc.HTML, html.Options{Links: &links, View: view})
	default:
		doc.Text, doc.TextCut, doc.HiddenText = html.Render(doc.HTML, html.Options{Links: &links, Max: MaxText, Readable: true, View: view})
		doc.TextFromHTML = true
	}
	doc.Links, doc.LinksCut = links.List(), links.More()
}
