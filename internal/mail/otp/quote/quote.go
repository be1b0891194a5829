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

// Span is a part of a text, from byte Start to before byte End.
type Span struct{ Start, End int }

// Message is the part of a message that Find reads.
type Message struct {
	Subject string
	Answers bool   // its header names the message that it replies to
	Text    string // the plain text part
	Visible string // visible text of the HTML part; lines of marked quotations begin with ">"
	// Indented are the parts of Visible in blockquotes without such a mark, in order. Some of these
	// are not quotations, because layouts also use blockquotes.
	Indented []Span
}

// Find returns the quotations in the text and in the visible text of a message, in order.
// Its work is linear in what it reads, which is text.MaxScan bytes of each.
func Find(m *Message) (inText, inVisible []Span) {
	reply, forward, stem := Prefixed(m.Subject)
	f := finders.Get().(*finder)
	defer finders.Put(f)
	if f.reply, f.forward, f.stem = reply || m.Answers, forward, ""; f.reply {
		f.stem = string(f.fold(stem))
	}
	inText = f.read(m.Text, nil)
	f.forward = forward
	inVisible = f.read(m.Visible, m.Indented)
	if f.reply && (inText != nil) != (inVisible != nil) && m.Text != "" && m.Visible != "" {
		// Only one part marks its quotation; the other one has the same lines without a mark.
		if inText == nil {
			inText = repeated(m.Text, m.Visible, inVisible)
		} else {
			inVisible = repeated(m.Visible, m.Text, inText)
		}
	}
	return inText, inVisible
}

// Cut returns s without the spans.
func Cut(s string, spans []Span) string {
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

// Within reports whether position at is in one of the spans, which must be in order.
func Within(spans []Span, at int) bool {
	_, found := slices.BinarySearchFunc(spans, at, func(s Span, at int) int {
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

// finders is a pool of working memory. No message can see data of an earlier one, because every
// field is written before it is read.
var finders = sync.Pool{New: func() any { return new(finder) }}

// finder searches the texts of one message. Find owns it from finders.Get until finders.Put.
type finder struct {
	reply   bool   // the message replies to another one
	forward bool   // it forwards another one, whose header is not a quotation
	stem    string // its subject without prefixes, folded; empty if it is not a reply

	folded text.Folded
	page   text.Page
}

// verdict says who wrote a line.
type verdict uint8

const (
	own    verdict = iota // the sender of this message
	quoted                // the sender of an older message; the next line may be from the sender of this one
	rest                  // the sender of an older message, and so is all text behind it
)

// reading is the position in a text, one line at a time.
type reading struct {
	s        string
	at, end  int    // of the line
	line     string // without the white space around it
	above    string // the line before that is not empty, "" at the start
	adjacent bool   // no empty line is between them
	own      bool   // the sender of this message wrote an earlier line

	indented   []Span // blockquotes that are ahead or contain the line
	attributed bool   // an attribution line is above the next blockquote
}

// next moves to the next line that is not empty. It returns false at the end.
func (r *reading) next() bool {
	r.above, r.adjacent = r.line, true
	for at := r.end; at < min(len(r.s), text.MaxScan); at = r.end + 1 {
		r.at, r.end = at, len(r.s)
		if n := strings.IndexByte(r.s[at:], '\n'); n >= 0 {
			r.end = at + n
		}
		if r.line = trimmed(r.s[at:r.end]); r.line != "" {
			r.end++
			return true
		}
		r.adjacent = false
	}
	return false
}

// following moves to the next line and returns it, or "" at the end.
func (r *reading) following() string {
	if !r.next() {
		return ""
	}
	return r.line
}

// trimmed returns a line without the white space and the invisible characters around it.
func trimmed(l string) string {
	if l = strings.TrimSpace(l); l != "" && (l[0] >= 0x80 || l[len(l)-1] >= 0x80) {
		l = strings.TrimFunc(l, func(r rune) bool { return unicode.In(r, unicode.Cf, unicode.White_Space) })
	}
	return l
}

// blockquote returns the blockquote that contains the line.
func (r *reading) blockquote() (Span, bool) {
	for len(r.indented) > 0 && r.indented[0].End <= r.at {
		r.indented, r.attributed = r.indented[1:], false
	}
	if len(r.indented) == 0 || r.indented[0].Start > r.at {
		return Span{}, false
	}
	return r.indented[0], true
}

// read finds the quotations of one text. A blockquote is a quotation if an attribution line is
// above it. In a reply it is one also if the sender wrote something outside of it; a blockquote
// around the whole message is a layout.
func (f *finder) read(s string, indented []Span) (spans []Span) {
	var blocks []Span
	for r := (reading{s: s, indented: indented}); ; {
		if !r.next() {
			return f.settled(s, spans, blocks, r.own)
		}
		if block, ok := r.blockquote(); ok && f.quotes(&r) {
			if block.Start = r.at; r.attributed {
				spans = append(spans, block)
			} else {
				blocks = append(blocks, block)
			}
			r.end = max(r.end, block.End)
			continue
		}
		switch f.judge(&r) {
		case own:
			r.own = r.own || strings.IndexFunc(r.line, isWord) >= 0
		case quoted:
			spans = append(spans, Span{r.at, min(r.end, len(s))})
		case rest:
			return f.settled(s, append(spans, Span{r.at, len(s)}), blocks, r.own)
		}
	}
}

// quotes reports whether the blockquote of the line may be a quotation. It is not if the line above
// announces a code. quotes removes a blockquote that is not a quotation.
func (f *finder) quotes(r *reading) bool {
	quotes := r.attributed || f.reply && !f.presents(r.above)
	if quotes = quotes && !f.forward; !quotes {
		r.indented = r.indented[1:]
	}
	return quotes
}

// presents reports whether a line announces a code and ends with a colon.
func (f *finder) presents(line string) bool { return endsWithColon(line) && f.announces(line) }

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// settled adds the blockquotes to the other quotations if the sender wrote something outside of
// them (own). Otherwise they are a layout, and it reads the text again as if they were not there.
func (f *finder) settled(s string, spans, blocks []Span, own bool) []Span {
	switch {
	case len(blocks) == 0:
		return spans
	case !own:
		return f.read(s, nil)
	}
	spans = append(spans, blocks...)
	slices.SortFunc(spans, func(a, b Span) int { return a.Start - b.Start })
	return spans
}

// judge returns who wrote a line that is not in a blockquote.
func (f *finder) judge(r *reading) verdict {
	l := r.line
	switch {
	case marked(l), f.reply && initialed(l):
		return quoted
	case startsWithDash(l):
		return f.judgeRule(r)
	case endsWithColon(l) && f.attributes(r):
		return r.behind()
	case !f.forward && f.header(r):
		return rest
	}
	return own
}

// marked reports whether a line is marked as a quotation. ">>> 482913 <<<" is not, and neither is
// the row of a table.
func marked(l string) bool {
	if strings.HasPrefix(l, "＞") {
		return true
	}
	return l[0] == '>' && l[len(l)-1] != '<' || strings.HasPrefix(l, "| ") && strings.Count(l, "|") == 1
}

// initialed reports whether a line is marked as a quotation with the name of its author before ">":
// "AB> ...".
func initialed(l string) bool {
	name, _, ok := strings.Cut(l[:min(len(l), maxInitials)], "> ")
	return ok && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

// maxInitials is the length of the longest such name together with ">", in bytes.
const maxInitials = 12

// behind returns the verdict on an attribution line. If the next line is marked or in a blockquote,
// this limits the quotation; otherwise all text behind the attribution is quoted.
func (r *reading) behind() verdict {
	next := *r
	if !next.next() || marked(next.line) {
		return quoted
	}
	if _, ok := next.blockquote(); ok {
		r.indented, r.attributed = next.indented, true
		return quoted
	}
	return rest
}

// repeated returns the lines of s that are in the quotations of another text, and not also outside
// of them.
func repeated(s, other string, spans []Span) (lines []Span) {
	all := map[string]bool{} // for each line of the other text, whether it is only in quotations
	for r := (reading{s: other}); r.next(); {
		line, in := trimmed(strings.TrimLeft(r.line, "> ")), Within(spans, r.at)
		if known, ok := all[line]; !ok || known {
			all[line] = in
		}
	}
	for r := (reading{s: s}); r.next(); {
		if all[r.line] {
			lines = append(lines, Span{r.at, min(r.end, len(s))})
		}
	}
	return lines
}
