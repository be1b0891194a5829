package text

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"
)

// verdict says whose words a line is.
type verdict uint8

const (
	own    verdict = iota // the sender's
	quoted                // an older mail's; the next line may be the sender's again
	rest                  // an older mail's, and so is all that follows
)

// quotes finds the older mail that a mail carries: lines marked with ">", what follows
// "On ... wrote:", and what follows the head of a mail as Outlook quotes it.
type quotes struct {
	forward bool // an older mail was passed on on purpose: its head ends nothing
	from    bool // the line before named a sender, as the head of a quoted mail does
}

func (q *quotes) judge(p *Page, start, end int) verdict {
	l := p.Lower[start:end]
	from := q.from
	q.from = false
	switch {
	case l[0] == '>', l[0] == '|' && len(l) > 1 && l[1] == ' ':
		return quoted
	case l[0] == '-' && len(l) > 6 && len(l) <= 120 && hasAny(l, forwarded):
		q.forward = true
	case !q.forward && (l[0] == '-' && separator(l) || from && fieldLine(l, sentFields)):
		return rest
	case l[len(l)-1] == ':' && attribution(p.Lower, start, end):
		if marked(p.Lower, end) {
			return quoted // the marks say how far it goes
		}
		return rest
	}
	q.from = fieldLine(l, fromFields) && bytes.IndexByte(l, '@') >= 0
	return own
}

// separator tells "-----Original Message-----" in the languages of the big mail programs.
func separator(l []byte) bool {
	if len(l) < 6 || l[1] != '-' || len(l) > 120 {
		return false
	}
	return hasAny(l, originals)
}

// attribution tells the line above a quotation: "On 2 March 2026, A <a@b> wrote:". It may
// be broken in two. A date or an address must stand in it, or it is somebody's prose.
func attribution(b []byte, start, end int) bool {
	l := b[start:end]
	if len(l) > 300 || !hasAny(l, wrotes) {
		return false
	}
	if dated(l) {
		return true
	}
	if start < 2 {
		return false
	}
	above := bytes.LastIndexByte(b[:start-1], '\n') + 1
	return start-above <= 200 && dated(b[above:start])
}

func dated(l []byte) bool {
	digits := 0
	for _, c := range l {
		if c == '@' {
			return true
		}
		if IsDigit(c) {
			digits++
		}
	}
	return digits >= 3
}

// marked tells whether the next line with text in it starts with a quotation mark.
func marked(b []byte, i int) bool {
	for i < len(b) && b[i] == '\n' {
		i++
	}
	return i < len(b) && b[i] == '>'
}

// fieldLine tells a line that starts with one of the field names and a colon.
func fieldLine(l []byte, fields [][]byte) bool {
	if bytes.IndexByte(l[:min(len(l), 32)], ':') < 0 {
		return false
	}
	l = bytes.TrimLeft(l, "* ")
	for _, f := range fields {
		if len(l) > len(f) && l[0] == f[0] && bytes.HasPrefix(l, f) {
			r := bytes.TrimLeft(l[len(f):], "* ")
			if len(r) > 0 && r[0] == ':' {
				return true
			}
		}
	}
	return false
}

//go:embed quotes.tsv
var quoteTable string

// marks are the texts that mark an older mail, by their names in quotes.tsv.
var marks = func() map[string][][]byte {
	m := map[string][][]byte{}
	for line := range strings.Lines(quoteTable) {
		if name, list, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			m[name] = FoldList(strings.Split(list, ", ")...)
		}
	}
	return m
}()

var originals, forwarded, wrotes, fromFields, sentFields = marks["original"], marks["forwarded"], marks["wrote"], marks["from"], marks["sent"]

// Prefix tells from a subject whether a mail was passed on, or is an answer.
func Prefix(subject string) (forward, reply bool) {
	head, _, ok := strings.Cut(subject, ":")
	if !ok || len(head) > 12 {
		return false, false
	}
	word := FoldList(strings.TrimSpace(head))[0]
	is := func(list string) bool {
		return slices.ContainsFunc(marks[list], func(w []byte) bool { return bytes.Equal(w, word) })
	}
	return is("fwd"), is("re")
}

// hasAny tells whether one of the texts stands in l.
func hasAny(l []byte, texts [][]byte) bool {
	return slices.ContainsFunc(texts, func(t []byte) bool { return bytes.Contains(l, t) })
}

// FoldList folds each of the words.
func FoldList(list ...string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		var f Folded
		f.Fold(s)
		out[i] = f.Lower
	}
	return out
}
