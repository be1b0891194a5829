// Package quote finds the parts that a message quotes from older messages, so that their codes and
// links are not taken for those of the message. A quotation is a line that begins with ">", a
// blockquote, or the text below an attribution line or header that an e-mail client inserts, in any
// language. The package does not know what a code is.
//
// A forwarded message is not a quotation, because it is the content of the message (ADR 0100).
package quote

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"inboxd/internal/mail/otp/text"
)

// TextSpan is a part of a text, from byte Start to before byte End.
type TextSpan struct{ Start, End int }

// SearchInput is the part of a message that Find reads.
type SearchInput struct {
	Subject     string
	IsReply     bool   // its header names the message that it replies to
	Text        string // the plain text part
	VisibleText string // visible text of the HTML part; lines of marked quotations begin with ">"
	// IndentedSpans are the parts of VisibleText in blockquotes without such a mark, in order. Some
	// of these are not quotations, because layouts also use blockquotes.
	IndentedSpans []TextSpan
}

// Find returns the quotations in the text and in the visible text of a message, in order.
// Its work is linear in what it reads, which is text.MaxScan bytes of each.
func Find(m *SearchInput) (inText, inVisible []TextSpan) {
	reply, forward, stem := ParsePrefixes(m.Subject)
	f := finderPool.Get().(*finder)
	defer finderPool.Put(f)
	if f.isReply, f.isForward, f.subjectStem = reply || m.IsReply, forward, ""; f.isReply {
		f.subjectStem = string(f.foldLine(stem))
	}
	inText = f.findQuotations(m.Text, nil)
	f.isForward = forward
	inVisible = f.findQuotations(m.VisibleText, m.IndentedSpans)
	if f.isReply && (inText != nil) != (inVisible != nil) && m.Text != "" && m.VisibleText != "" {
		// Only one part marks its quotation; the other one has the same lines without a mark.
		if inText == nil {
			inText = repeatedLines(m.Text, m.VisibleText, inVisible)
		} else {
			inVisible = repeatedLines(m.VisibleText, m.Text, inText)
		}
	}
	return inText, inVisible
}

// RemoveSpans returns s without the spans.
func RemoveSpans(s string, spans []TextSpan) string {
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	from := 0
	for _, span := range spans {
		b.WriteString(s[from:span.Start])
		from = span.End
	}
	b.WriteString(s[from:])
	return b.String()
}

// InSpans reports whether position at is in one of the spans, which must be in order.
func InSpans(spans []TextSpan, at int) bool {
	_, found := slices.BinarySearchFunc(spans, at, func(s TextSpan, at int) int {
		switch {
		case s.End <= at:
			return -1
		case s.Start > at:
			return 1
		}
		return 0
	})
	return found
}

// finderPool is a pool of working memory. No message can see data of an earlier one, because every
// field is written before it is read.
var finderPool = sync.Pool{New: func() any { return new(finder) }}

// finder searches the texts of one message. Find owns it from finders.Get until finders.Put.
type finder struct {
	isReply     bool   // the message replies to another one
	isForward   bool   // it forwards another one, whose header is not a quotation
	subjectStem string // its subject without prefixes, folded; empty if it is not a reply

	folded text.Folded
	page   text.Page
}

// lineAuthor says who wrote a line.
type lineAuthor uint8

const (
	ownLine    lineAuthor = iota // the sender of this message
	quotedLine                   // the sender of an older message; the next line may be from the sender of this one
	quotedRest                   // the sender of an older message, and so is all text behind it
)

// lineCursor is the position in a text, one line at a time.
type lineCursor struct {
	s          string
	at, end    int    // of the line
	line       string // without the white space around it
	lineAbove  string // the line before that is not empty, "" at the start
	isAdjacent bool   // no empty line is between them
	hasOwnLine bool   // the sender of this message wrote an earlier line

	indentedSpans []TextSpan // blockquotes that are ahead or contain the line
	isAttributed  bool       // an attribution line is above the next blockquote
}

// nextLine moves to the next line that is not empty. It returns false at the end.
func (r *lineCursor) nextLine() bool {
	r.lineAbove, r.isAdjacent = r.line, true
	for at := r.end; at < min(len(r.s), text.MaxScan); at = r.end + 1 {
		r.at, r.end = at, len(r.s)
		if n := strings.IndexByte(r.s[at:], '\n'); n >= 0 {
			r.end = at + n
		}
		if r.line = trimLine(r.s[at:r.end]); r.line != "" {
			r.end++
			return true
		}
		r.isAdjacent = false
	}
	return false
}

// followingLine moves to the next line and returns it, or "" at the end.
func (r *lineCursor) followingLine() string {
	if !r.nextLine() {
		return ""
	}
	return r.line
}

// trimLine returns a line without the white space and the invisible characters around it.
func trimLine(l string) string {
	if l = strings.TrimSpace(l); l != "" && (l[0] >= 0x80 || l[len(l)-1] >= 0x80) {
		l = strings.TrimFunc(l, func(r rune) bool { return unicode.In(r, unicode.Cf, unicode.White_Space) })
	}
	return l
}

// blockquote returns the blockquote that contains the line.
func (r *lineCursor) blockquote() (TextSpan, bool) {
	for len(r.indentedSpans) > 0 && r.indentedSpans[0].End <= r.at {
		r.indentedSpans, r.isAttributed = r.indentedSpans[1:], false
	}
	if len(r.indentedSpans) == 0 || r.indentedSpans[0].Start > r.at {
		return TextSpan{}, false
	}
	return r.indentedSpans[0], true
}

// findQuotations finds the quotations of one text. A blockquote is a quotation if an attribution
// line is above it. In a reply it is one also if the sender wrote something outside of it; a
// blockquote around the whole message is a layout.
func (f *finder) findQuotations(s string, indented []TextSpan) (spans []TextSpan) {
	var blocks []TextSpan
	for r := (lineCursor{s: s, indentedSpans: indented}); ; {
		if !r.nextLine() {
			return f.settleBlocks(s, spans, blocks, r.hasOwnLine)
		}
		if block, ok := r.blockquote(); ok && f.isBlockQuotation(&r) {
			if block.Start = r.at; r.isAttributed {
				spans = append(spans, block)
			} else {
				blocks = append(blocks, block)
			}
			r.end = max(r.end, block.End)
			continue
		}
		switch f.judgeLine(&r) {
		case ownLine:
			r.hasOwnLine = r.hasOwnLine || strings.IndexFunc(r.line, isWord) >= 0
		case quotedLine:
			spans = append(spans, TextSpan{r.at, min(r.end, len(s))})
		case quotedRest:
			return f.settleBlocks(s, append(spans, TextSpan{r.at, len(s)}), blocks, r.hasOwnLine)
		}
	}
}

// isBlockQuotation reports whether the blockquote of the line may be a quotation. It is not if the
// line above announces a code. quotes removes a blockquote that is not a quotation.
func (f *finder) isBlockQuotation(r *lineCursor) bool {
	quotes := r.isAttributed || f.isReply && !f.introducesCode(r.lineAbove)
	if quotes = quotes && !f.isForward; !quotes {
		r.indentedSpans = r.indentedSpans[1:]
	}
	return quotes
}

// introducesCode reports whether a line announces a code and ends with a colon.
func (f *finder) introducesCode(line string) bool {
	return endsWithColon(line) && f.announcesCode(line)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// settleBlocks adds the blockquotes to the other quotations if the sender wrote something outside of
// them (own). Otherwise they are a layout, and it reads the text again as if they were not there.
func (f *finder) settleBlocks(s string, spans, blocks []TextSpan, own bool) []TextSpan {
	switch {
	case len(blocks) == 0:
		return spans
	case !own:
		return f.findQuotations(s, nil)
	}
	spans = append(spans, blocks...)
	slices.SortFunc(spans, func(a, b TextSpan) int { return a.Start - b.Start })
	return spans
}

// judgeLine returns who wrote a line that is not in a blockquote.
func (f *finder) judgeLine(r *lineCursor) lineAuthor {
	l := r.line
	switch {
	case isMarked(l), f.isReply && isInitialed(l):
		return quotedLine
	case startsWithDash(l):
		return f.judgeRule(r)
	case endsWithColon(l) && f.isAttribution(r):
		return r.authorAfter()
	case !f.isForward && f.matchHeader(r):
		return quotedRest
	}
	return ownLine
}

// isMarked reports whether a line is marked as a quotation. ">>> 482913 <<<" is not, and neither is
// the row of a table.
func isMarked(l string) bool {
	if strings.HasPrefix(l, "＞") {
		return true
	}
	return l[0] == '>' && l[len(l)-1] != '<' || strings.HasPrefix(l, "| ") && strings.Count(l, "|") == 1
}

// isInitialed reports whether a line is marked as a quotation with the name of its author before ">":
// "AB> ...".
func isInitialed(l string) bool {
	name, _, ok := strings.Cut(l[:min(len(l), maxInitials)], "> ")
	return ok && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

// maxInitials is the length of the longest such name together with ">", in bytes.
const maxInitials = 12

// authorAfter returns the verdict on an attribution line. If the next line is marked or in a
// blockquote, this limits the quotation; otherwise all text behind the attribution is quoted.
func (r *lineCursor) authorAfter() lineAuthor {
	next := *r
	if !next.nextLine() || isMarked(next.line) {
		return quotedLine
	}
	if _, ok := next.blockquote(); ok {
		r.indentedSpans, r.isAttributed = next.indentedSpans, true
		return quotedLine
	}
	return quotedRest
}

// repeatedLines returns the lines of s that are in the quotations of another text, and not also outside
// of them.
func repeatedLines(s, other string, spans []TextSpan) (lines []TextSpan) {
	all := map[string]bool{} // for each line of the other text, whether it is only in quotations
	for r := (lineCursor{s: other}); r.nextLine(); {
		line, in := trimLine(strings.TrimLeft(r.line, "> ")), InSpans(spans, r.at)
		if known, ok := all[line]; !ok || known {
			all[line] = in
		}
	}
	for r := (lineCursor{s: s}); r.nextLine(); {
		if all[r.line] {
			lines = append(lines, TextSpan{r.at, min(r.end, len(s))})
		}
	}
	return lines
}
