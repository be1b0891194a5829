package message

import (
	"bytes"
	"strings"
	"sync"

	"inboxd/internal/mail/message/html"
)

// Parse reads one message (RFC 5322, RFC 2045–2049). It never fails: what can't be read is
// left out and IsDegraded is set. Its cost is linear in len(raw) and bounded by the caps in
// limits.go. The ParsedMessage keeps no reference to raw.
func Parse(raw []byte) *ParsedMessage {
	doc := new(ParsedMessage)
	doc.parseRaw(raw, nil)
	return doc
}

// ParseView is Parse into an empty ParsedMessage. It also returns what a person would see of the HTML,
// from the same walk, and the leaves that may be calendar files, in order.
func ParseView(doc *ParsedMessage, raw []byte) (view html.RenderedView, calendars []CalendarCandidate) {
	calendars = doc.parseRaw(raw, &view)
	return view, calendars
}

// ParseCalendars is Parse into an empty ParsedMessage, with the leaves that may be calendar files.
func ParseCalendars(doc *ParsedMessage, raw []byte) []CalendarCandidate {
	return doc.parseRaw(raw, nil)
}

// ParseFacts parses the header and counts the attachments into an empty ParsedMessage. The contents of
// the parts are skipped.
func ParseFacts(doc *ParsedMessage, raw []byte) {
	var sort leafSorter
	files := new(attachmentIndex)
	doc.IsDegraded = walkLeaves(raw, doc, func(p mimePart) {
		if sort.assignRole(&p) == attachedLeaf {
			files.addFile(&p)
		}
	}) || doc.IsDegraded
	doc.Attachments, doc.AttachmentsOmitted = files.describeFiles(pageOf(raw))
}

func (d *ParsedMessage) parseRaw(raw []byte, view *html.RenderedView) []CalendarCandidate {
	r := contentCollector{doc: d}
	d.IsDegraded = walkLeaves(raw, d, r.readPart) || d.IsDegraded
	r.deriveContent(view)
	return r.calendars
}

// normalizeLineEndings is raw with LF line endings if it has only CR, and without a byte order mark.
func normalizeLineEndings(raw []byte) []byte {
	raw = bytes.TrimPrefix(raw, []byte(byteOrderMark))
	if bytes.IndexByte(raw, '\n') < 0 { // lines that end in CR alone
		raw = bytes.ReplaceAll(raw, []byte("\r"), []byte("\n"))
	}
	return raw
}

// walkLeaves walks a whole message. It fills doc, unless nil, with the top header, and calls leaf
// for every leaf in order. Parse and AttachmentBytes share it, so they use the same ids. The walker
// stays on the stack as long as it points to nothing that is allocated there, leaf included.
func walkLeaves(raw []byte, doc *ParsedMessage, leaf func(mimePart)) (degraded bool) {
	w := walker{raw: normalizeLineEndings(raw), headerBudget: maxHeadersSize, searchBudget: maxLooks}
	fields := w.readFields(w.fields[:0])
	if doc != nil {
		doc.readHeader(fields)
	}
	top := w.newPart(fields)
	top.isRoot = true
	w.parseEntity(top, leaf)
	return w.isDegraded
}

// leafRole is the use of a leaf for the reader of a message.
type leafRole uint8

const (
	ignoredLeaf leafRole = iota
	textBody
	htmlBody
	attachedLeaf
)

// leafSorter decides the role of each leaf, in order, from the headers alone. One walk owns it.
type leafSorter struct {
	leafCount int // seen before
}

func (s *leafSorter) assignRole(p *mimePart) leafRole {
	s.leafCount++
	alternative := p.parent != nil && p.parent.subtype == "alternative"
	named := p.filename != "" && s.leafCount > 1 && !alternative && !p.isRoot
	switch {
	case strings.HasPrefix(p.mediaType, "multipart/"):
		return ignoredLeaf // nested too deep
	case p.isAttachment:
		return attachedLeaf
	case p.mediaType == "text/plain" && !named:
		return textBody
	case p.mediaType == "text/html" && !named:
		return htmlBody
	case p.mediaType == "text/calendar" || p.filename != "" || !strings.HasPrefix(p.mediaType, "text/"):
		return attachedLeaf
	case p.isRoot:
		return textBody
	case alternative:
		return ignoredLeaf // another rendering of the same text, such as text/x-amp-html
	}
	return attachedLeaf
}

// contentCollector collects the bodies and the attachments of a message. One Parse owns it and its
// contents until the ParsedMessage is returned.
type contentCollector struct {
	doc       *ParsedMessage
	sorter    leafSorter
	files     attachmentIndex
	textParts bodyText
	htmlParts bodyText

	calendars []CalendarCandidate // nil for nearly all messages
}

// bodyText holds the parts of one role, in order.
type bodyText struct {
	firstText   string
	moreTexts   []string
	partCount   int // of them all
	totalSize   int
	isTruncated bool // max was reached

	of          *multipart // the alternative that the parts from mark on are of; nil: none
	branchIndex int        // which part of it they are in
	branchStart int
}

// addText appends a text of p. Of an alternative, the last branch with content counts (RFC 2046 section
// 5.1.4). It replaces the text of an earlier branch, whose size still counts, so that the work
// stays limited.
func (b *bodyText) addText(p *mimePart, text string) {
	alternative, branch := p.innermostAlternative()
	switch {
	case alternative == nil || alternative != b.of:
		b.of, b.branchIndex, b.branchStart = alternative, branch, b.partCount
	case branch == b.branchIndex:
	case !hasContent(p.mediaType, text):
		return
	default:
		b.branchIndex, b.partCount = branch, b.branchStart
		b.moreTexts = b.moreTexts[:max(b.branchStart-1, 0)]
	}
	if b.partCount++; b.partCount == 1 {
		b.firstText = text
		return
	}
	b.moreTexts = append(b.moreTexts, text)
}

// innermostAlternative is the innermost alternative around p, and the index of the part of it that
// contains p.
func (p *mimePart) innermostAlternative() (alternative *multipart, index int) {
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
		text, _, _ = html.RenderText(text, html.Options{MaxBytes: MaxText, ForReaders: true})
	}
	return strings.TrimSpace(text) != ""
}

func (r *contentCollector) readPart(p mimePart) {
	if p.isCalendar() && !p.isSigned && len(r.calendars) < maxCalendars {
		r.calendars = append(r.calendars, p.calendarCandidate())
	}
	switch r.sorter.assignRole(&p) {
	case textBody:
		r.decodeText(&r.textParts, &p, MaxText)
	case htmlBody:
		r.decodeText(&r.htmlParts, &p, maxHTML)
	case attachedLeaf:
		r.files.addFile(&p)
	}
}

// spareSize is enough for the text of most messages.
const spareSize = 8 << 10

// bufferPool are buffers in which text is decoded before it is copied into the final string.
var bufferPool = sync.Pool{New: func() any { return new([spareSize]byte) }}

// decodeText appends the text of p to b, up to max bytes. Text shrinks to no less than half of its
// encoded size (UTF-16), so reading twice max is sufficient.
func (r *contentCollector) decodeText(b *bodyText, p *mimePart, max int) {
	max -= b.totalSize + b.partCount // one line break between two parts
	if max <= 0 {
		b.isTruncated = b.isTruncated || len(p.body) > 0
		return
	}
	d := decoder{src: p.body, encoding: p.encoding}
	if d.encoding == base64Encoding && !isBase64(p.body) {
		d.encoding, r.doc.IsDegraded = identityEncoding, true
	}
	spare := bufferPool.Get().(*[spareSize]byte)
	defer bufferPool.Put(spare)
	raw := spare[:0]
	if room := min(d.spaceNeeded(), 2*max); room > spareSize {
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
	if p.isFlowed {
		text = unflow(text, p.delsp)
	}
	text, cut := cutText(text, max)
	b.isTruncated = b.isTruncated || cut || len(d.src) > 0
	b.totalSize += len(text)
	b.addText(p, string(text))
	r.doc.IsDegraded = r.doc.IsDegraded || !known
}

// String joins the parts, each on lines of its own.
func (b *bodyText) String() string {
	if b.partCount < 2 {
		return b.firstText
	}
	var s strings.Builder
	s.Grow(b.totalSize + b.partCount)
	s.WriteString(b.firstText)
	before := b.firstText
	for _, part := range b.moreTexts {
		if part != "" && !strings.HasSuffix(before, "\n") {
			s.WriteByte('\n')
		}
		s.WriteString(part)
		before = part
	}
	return s.String()
}

// deriveContent derives what depends on all parts: the links, and the text of a message that has only
// HTML. An empty text part next to HTML counts as missing. view is nil if it is not needed.
func (r *contentCollector) deriveContent(view *html.RenderedView) {
	doc := r.doc
	doc.Text, doc.TextCut = r.textParts.String(), r.textParts.isTruncated
	doc.HTML, doc.HasHTML = r.htmlParts.String(), r.htmlParts.partCount > 0
	doc.IsDegraded = doc.IsDegraded || r.htmlParts.isTruncated
	doc.Attachments, doc.AttachmentsOmitted = r.files.describeFiles(func() string { return doc.HTML })
	var links html.Links
	switch {
	case !doc.HasHTML:
		links.AddText(doc.Text)
	case strings.TrimSpace(doc.Text) != "":
		links.AddText(doc.Text)
		_, _, doc.HiddenText = html.RenderText(doc.HTML, html.Options{Links: &links, View: view})
	default:
		doc.Text, doc.TextCut, doc.HiddenText = html.RenderText(doc.HTML, html.Options{Links: &links, MaxBytes: MaxText, ForReaders: true, View: view})
		doc.TextFromHTML = true
	}
	doc.Links, doc.LinksCut = links.List(), links.HasMore()
}
