package message

import (
	"bytes"
	"strings"
)

// mimePart is one leaf of the MIME tree, its body still in its transfer encoding.
type mimePart struct {
	mediaType string // type/subtype, lower-case
	charset   string
	filename  string // decoded, as the sender wrote it; "" when none
	contentID string // without angle brackets; "" when none
	method    string // of what may be a calendar file
	boundary  string // of a multipart
	body      []byte

	parent *multipart // nil for the root
	index  int        // among the parts of parent, from 1

	encoding     transferEncoding
	isAttachment bool // Content-Disposition: attachment
	isInline     bool // Content-Disposition: inline
	isFlowed     bool // format=flowed (RFC 3676)
	delsp        bool
	isRoot       bool // the whole message is this one part, or all that is in an opaque signature
	isSigned     bool // it is inside an opaque signature
}

// multipart is the state of one multipart that its leaves need.
type multipart struct {
	subtype   string     // mixed, alternative, ...
	parent    *multipart // nil: it is the whole message
	index     int        // among the parts of parent, from 1
	partCount int        // so far
}

// delimiter is the line that ended a body: the boundary of the multipart at level (0 is the
// outermost), or the end of the message, level -1.
type delimiter struct {
	level     int
	isClosing bool
}

// walker parses a message once, front to back, and passes each leaf to a function. Every line that
// could be a delimiter is looked up among the boundaries of all open multiparts at once, so that
// nesting costs nothing extra. One call of walkLeaves owns it.
type walker struct {
	raw            []byte
	pos            int
	openBoundaries map[string]int // boundary to level; an inner one hides an equal outer one
	depth          int
	partCount      int
	fields         [32]headerField // buffer for the header being parsed
	headerBudget   int             // bytes of headers that may still be parsed
	searchBudget   int             // bytes that may still be searched for a boundary
	limitReached   bool            // maxParts was reached
	isDegraded     bool

	signatureDepth int // nested opaque signatures around raw
}

// headerBlock reads up to the empty line and moves after it. A delimiter ends a header without a
// body.
func (w *walker) headerBlock() []byte {
	start := w.pos
	for w.pos < len(w.raw) {
		line := w.lineAt(w.pos)
		if string(line) == "\n" || string(line) == "\r\n" {
			block := w.raw[start:w.pos]
			w.pos += len(line)
			return block
		}
		if _, ok := w.delimiterAt(w.pos); ok {
			break
		}
		w.pos += len(line)
	}
	return w.raw[start:w.pos]
}

// readFields appends the fields of the header block at pos, within the limits.
func (w *walker) readFields(fields []headerField) []headerField {
	start := w.pos
	block, cut := w.headerBlock(), false
	if max := min(maxHeaderBytes, w.headerBudget); len(block) > max {
		block, cut = block[:bytes.LastIndexByte(block[:max], '\n')+1], true
	}
	w.headerBudget -= len(block)
	fields, clean := parseFields(fields, block)
	if !clean && !cut {
		if text := textStart(block); text < len(block) && isText(fieldValue(fields, "Content-Transfer-Encoding")) {
			w.pos = start + text
		}
	}
	w.isDegraded = w.isDegraded || cut || !clean
	return fields
}

// isText reports whether an additional line is harmless in a transfer encoding.
func isText(encoding string) bool {
	t := parseTransfer(encoding)
	return t == identityEncoding || t == quotedPrintable
}

// lineAt returns the line at pos with its end.
func (w *walker) lineAt(pos int) []byte {
	if i := bytes.IndexByte(w.raw[pos:], '\n'); i >= 0 {
		return w.raw[pos : pos+i+1]
	}
	return w.raw[pos:]
}

// delimiterAt reports whether the line at pos delimits an open multipart. The exact name is tried
// first, because a boundary may itself end in two hyphens.
func (w *walker) delimiterAt(pos int) (delimiter, bool) {
	if len(w.openBoundaries) == 0 || pos+2 > len(w.raw) || w.raw[pos] != '-' || w.raw[pos+1] != '-' {
		return delimiter{}, false
	}
	name := w.lineAt(pos + 2)
	for len(name) > 0 && (isBlank(name[len(name)-1]) || name[len(name)-1] == '\r' || name[len(name)-1] == '\n') {
		name = name[:len(name)-1] // bytes.TrimRight costs more than all of the rest
	}
	if len(name) == 0 { // many lines "--" need no lookups; no boundary is empty
		return delimiter{}, false
	}
	if level, ok := w.openBoundaries[string(name)]; ok {
		return delimiter{level, false}, true
	}
	if name, ok := bytes.CutSuffix(name, []byte("--")); ok {
		if level, ok := w.openBoundaries[string(name)]; ok {
			return delimiter{level, true}, true
		}
	}
	return delimiter{}, false
}

// readBody reads up to the next delimiter and moves after it. The line break before a delimiter belongs
// to the delimiter (RFC 2046 section 5.1.1).
func (w *walker) readBody() ([]byte, delimiter) {
	start := w.pos
	for at := start; len(w.openBoundaries) > 0; {
		if d, ok := w.delimiterAt(at); ok {
			w.pos = at + len(w.lineAt(at))
			return trimLineEnd(w.raw[start:at]), d
		}
		i := bytes.Index(w.raw[at:], []byte("\n--"))
		if i < 0 {
			break
		}
		at += i + 1
	}
	w.pos = len(w.raw)
	return w.raw[start:], delimiter{level: -1}
}

func trimLineEnd(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}

// parseEntity parses one part, whose header was already parsed, with all its content.
func (w *walker) parseEntity(p mimePart, leaf func(mimePart)) delimiter {
	if w.partCount++; w.partCount > maxParts {
		w.limitReached, w.isDegraded = true, true
		return delimiter{level: -1}
	}
	isMultipart := strings.HasPrefix(p.mediaType, "multipart/")
	if isMultipart {
		p.boundary = w.resolveBoundary(p.boundary)
	}
	if isMultipart && p.boundary != "" && w.depth < maxDepth {
		return w.multipart(p, leaf)
	}
	if isMultipart {
		w.isDegraded = true
		if p.boundary == "" {
			p.mediaType = "text/plain"
		}
	}
	body, d := w.readBody()
	p.body = body
	files := inlineFiles(&p)
	leaf(p)
	for _, file := range files {
		leaf(*file)
	}
	if p.isSMIME() {
		w.parseSigned(&p, leaf)
	}
	return d
}

// unnamedBoundary finds the boundary of a multipart whose declared one does not occur or is
// missing. It is that of the first line that could be a delimiter and is followed by a MIME field,
// otherwise "". The declared boundary ends the search.
func (w *walker) unnamedBoundary(declared string) string {
	head := w.raw[w.pos:min(len(w.raw), w.pos+maxPreamble)]
	for len(head) > 0 {
		line := lineOf(head)
		head = head[len(line):]
		name, ok := bytes.CutPrefix(line, []byte("--"))
		if name = bytes.TrimRight(name, " \t\r\n"); !ok || len(name) == 0 || len(name) > 70 {
			continue
		}
		if string(name) == declared {
			return declared
		}
		if _, outer := w.openBoundaries[string(name)]; outer {
			return ""
		}
		if len(head) >= 8 && strings.EqualFold(string(head[:8]), "Content-") {
			return string(name)
		}
	}
	return ""
}

// resolveBoundary is the boundary in the body: the declared one if it occurs, else the one found.
func (w *walker) resolveBoundary(declared string) string {
	found := w.unnamedBoundary(declared)
	if declared == "" || found != "" && found != declared && !w.boundaryOccurs(declared) {
		w.isDegraded = true
		return found
	}
	return declared
}

// boundaryOccurs reports whether a delimiter line of the boundary is in the rest of the message. All
// searches of one walk together read at most maxLooks bytes.
func (w *walker) boundaryOccurs(boundary string) bool {
	at := w.pos
	for delimiter := []byte("--" + boundary); w.searchBudget > 0; {
		ahead := w.raw[at:min(len(w.raw), at+w.searchBudget)]
		i := bytes.Index(ahead, delimiter)
		if i < 0 {
			w.searchBudget -= len(ahead)
			return false
		}
		w.searchBudget -= i + 1
		at += i
		if at == 0 || w.raw[at-1] == '\n' {
			return true
		}
		at++
	}
	return false
}

// contentType is the value of the Content-Type field. Of several, the one whose boundary occurs in
// the body counts, else the first that is not empty.
func (w *walker) contentType(fields []headerField) (first string) {
	for i := range fields {
		switch value := fields[i].value; {
		case value == "" || !fields[i].is("Content-Type"):
		case first == "":
			first = value
		case w.hasBoundary(first):
			return first
		case w.hasBoundary(value):
			return value
		}
	}
	return first
}

func (w *walker) hasBoundary(contentType string) bool {
	boundary := boundaryOf(contentType)
	return boundary != "" && strings.HasPrefix(MediaType(contentType), "multipart/") && w.boundaryOccurs(boundary)
}

func boundaryOf(contentType string) string {
	boundary := Param(contentType, "boundary")
	if boundary == "" {
		boundary = decodedParam(contentType, "boundary")
	}
	return strings.TrimRight(boundary, " \t")
}

// multipart parses the parts of p. A missing close delimiter is tolerated: the parts before it
// count, and the delimiter of an outer multipart also ends this one.
func (w *walker) multipart(p mimePart, leaf func(mimePart)) delimiter {
	level := w.depth
	outer, hidden := w.openBoundaries[p.boundary]
	w.openMultipart(p.boundary, level)
	m := &multipart{subtype: strings.TrimPrefix(p.mediaType, "multipart/"), parent: p.parent, index: p.index}
	preamble, d := w.readBody()
	if d.level != level { // no part at all: show what is there
		leaf(mimePart{mediaType: "text/plain", body: preamble, isRoot: p.isRoot, parent: p.parent, index: p.index, isSigned: p.isSigned})
	}
	for d.level == level && !d.isClosing && !w.limitReached {
		d = w.parseEntity(w.partHeader(m), leaf)
	}
	w.closeMultipart(p.boundary, level, outer, hidden)
	if d.level != level {
		w.isDegraded = true
		return d
	}
	_, d = w.readBody() // the epilogue
	return d
}

func (w *walker) openMultipart(boundary string, level int) {
	if w.openBoundaries == nil {
		w.openBoundaries = make(map[string]int, 4)
	}
	w.openBoundaries[boundary] = level
	w.depth++
}

func (w *walker) closeMultipart(boundary string, level, outer int, hidden bool) {
	delete(w.openBoundaries, boundary)
	if hidden {
		w.openBoundaries[boundary] = outer
	}
	w.depth = level
}

// partHeader parses the header of a part of m. In a digest, a part without a type is a message (RFC
// 2046 section 5.1.5).
func (w *walker) partHeader(m *multipart) mimePart {
	fields := w.readFields(w.fields[:0])
	p := w.newPart(fields)
	m.partCount++
	p.parent, p.index = m, m.partCount
	p.contentID = firstMessageID(fieldValue(fields, "Content-ID"))
	if m.subtype == "digest" && fieldValue(fields, "Content-Type") == "" {
		p.mediaType = "message/rfc822"
	}
	return p
}

// newPart parses the MIME fields of a header whose body begins at pos.
func (w *walker) newPart(fields []headerField) mimePart {
	contentType := w.contentType(fields)
	p := mimePart{
		mediaType: MediaType(contentType),
		charset:   Param(contentType, "charset"),
		encoding:  parseTransfer(fieldValue(fields, "Content-Transfer-Encoding")),
		isSigned:  w.signatureDepth > 0,
	}
	switch {
	case strings.HasPrefix(p.mediaType, "multipart/"):
		p.boundary = boundaryOf(contentType)
	case p.mediaType == "text/plain" && strings.EqualFold(Param(contentType, "format"), "flowed"):
		p.isFlowed, p.delsp = true, strings.EqualFold(Param(contentType, "delsp"), "yes")
	}
	if disposition := fieldValue(fields, "Content-Disposition"); disposition != "" {
		kind, _, _ := strings.Cut(disposition, ";")
		kind = strings.TrimSpace(kind)
		p.isAttachment, p.isInline = strings.EqualFold(kind, "attachment"), strings.EqualFold(kind, "inline")
		p.filename = decodedParam(disposition, "filename")
	}
	if p.filename == "" {
		p.filename = decodedParam(contentType, "name")
	}
	if p.isCalendar() {
		p.method = Param(contentType, "method")
	}
	return p
}
