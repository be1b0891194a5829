// Package quote finds the older messages that a message quotes, so that neither their codes nor their links are
// taken for its own. A quotation is a line that begins with ">", a blockquote, or what follows the line or the
// header that a mail program puts above it, in whatever language. It refuses to know what a code is.
//
// Forwarded messages are no quotations: they are what the message is about (ADR 0100).
package quote

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"inboxd/internal/mail/otp/text"
)

// Span is a piece of a text, in bytes.
type Span struct{ Start, End int }

// Message is what is read of a message.
type Message struct {
	Subject string
	Answers bool   // its header names the message that it answers
	Text    string // the plain text part
	Visible string // visible text of the HTML part, lines of marked quotations beginning with ">"
	// Indented are the pieces of Visible in blockquotes without such a mark, in order. Layouts use them, too.
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
		// One part shows what it quotes, the other one has the same lines without a mark.
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

// Within reports whether a place lies in one of the spans, which are in order.
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

// finders keeps the working memory of past calls: every piece of it is written before it is read.
var finders = sync.Pool{New: func() any { return new(finder) }}

// finder reads the texts of one message. Find owns it until it goes back to finders.
type finder struct {
	reply   bool   // the message answers another one
	forward bool   // it forwards one, whose header is no quotation
	stem    string // its subject without prefixes, folded

	folded text.Folded
	page   text.Page
}

// verdict says whose words a line is.
type verdict uint8

const (
	own    verdict = iota // the sender's
	quoted                // an older message's; the next line may be the sender's again
	rest                  // an older message's, and so is all that follows
)

// reading is how far one text has been read.
type reading struct {
	s        string
	at, end  int    // of the line
	line     string // without the blanks around it
	above    string // the line before, "" at the start
	adjacent bool   // no empty line lies between them
	own      bool   // the sender has said something

	indented   []Span // blockquotes that lie ahead, or around the line
	attributed bool   // a line has announced the next one
}

// next goes to the next line that is not empty.
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

// following goes to the next line and returns it, "" at the end.
func (r *reading) following() string {
	if !r.next() {
		return ""
	}
	return r.line
}

// trimmed is a line without the blanks and the signs of no width around it.
func trimmed(l string) string {
	if l = strings.TrimSpace(l); l != "" && (l[0] >= 0x80 || l[len(l)-1] >= 0x80) {
		l = strings.TrimFunc(l, func(r rune) bool { return unicode.In(r, unicode.Cf, unicode.White_Space) })
	}
	return l
}

// blockquote returns the blockquote that the line lies in.
func (r *reading) blockquote() (Span, bool) {
	for len(r.indented) > 0 && r.indented[0].End <= r.at {
		r.indented, r.attributed = r.indented[1:], false
	}
	if len(r.indented) == 0 || r.indented[0].Start > r.at {
		return Span{}, false
	}
	return r.indented[0], true
}

// read finds the quotations of one text. A blockquote is one if a line announces it, or if the message answers
// another one and the sender says something outside of it: one that all of the message stands in is a layout.
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

// quotes reports whether the blockquote of the line may be a quotation. It is none where the line above presents a code.
func (f *finder) quotes(r *reading) bool {
	quotes := r.attributed || f.reply && !f.presents(r.above)
	if quotes = quotes && !f.forward; !quotes {
		r.indented = r.indented[1:]
	}
	return quotes
}

func (f *finder) presents(line string) bool { return endsWithColon(line) && f.announces(line) }

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// settled adds the blockquotes to the other quotations if the sender said something.
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

// judge tells whose words a line is that lies in no blockquote.
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

// marked reports whether a line is marked as a quotation; ">>> 482913 <<<" is not, nor is the row of a table.
func marked(l string) bool {
	if strings.HasPrefix(l, "＞") {
		return true
	}
	return l[0] == '>' && l[len(l)-1] != '<' || strings.HasPrefix(l, "| ") && strings.Count(l, "|") == 1
}

// initialed reports whether a line is marked as a quotation with the name of who wrote it before the sign: "AB> ...".
func initialed(l string) bool {
	name, _, ok := strings.Cut(l[:min(len(l), maxInitials)], "> ")
	return ok && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

// maxInitials is the length of the longest name before such a sign, with the sign.
const maxInitials = 12

// behind returns what an attribution is: marks or a blockquote behind it say how far the quotation goes.
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

// repeated returns the lines of s that stand in the quotations of another text, and not outside of them.
func repeated(s, other string, spans []Span) (lines []Span) {
	all := map[string]bool{} // lines of the other text, whether they are quoted only
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
