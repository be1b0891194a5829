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
	forward bool   // an older mail was passed on on purpose: its head ends nothing
	above   []byte // the line before
}

// judge tells whose words line l is, behind which behind stands.
func (q *quotes) judge(l, behind []byte) verdict {
	above := q.above
	q.above = l
	switch {
	case l[0] == '>' && l[len(l)-1] != '<', bytes.HasPrefix(l, []byte("| ")) && bytes.Count(l, []byte("|")) == 1: // but not ">>> 482913 <<<", nor a row of a table
		return quoted
	case ruled(l, "forwarded"):
		q.forward = true
	case !q.forward && (ruled(l, "original") || names(above) && named(l, "sent")):
		return rest
	case l[len(l)-1] == ':' && (dated(l) || dated(above)) && hasAny(l, "wrote"): // or it is somebody's prose
		if bytes.HasPrefix(bytes.TrimLeft(behind, "\n"), []byte(">")) {
			return quoted // the marks say how far it goes
		}
		return rest
	}
	return own
}

// names tells a line that names a sender, as the head of a quoted mail does.
func names(l []byte) bool { return bytes.IndexByte(l, '@') >= 0 && named(l, "from") }

// ruled tells "-----Original Message-----" in the languages of the big mail programs.
func ruled(l []byte, which string) bool {
	return l[0] == '-' && len(l) > 6 && hasAny(l, which)
}

// dated tells a line with a date or an address in it.
func dated(l []byte) bool {
	digits := 0
	for _, c := range l {
		if IsDigit(c) {
			digits++
		}
	}
	return digits >= 3 || bytes.IndexByte(l, '@') >= 0
}

//go:embed quotes.tsv
var quoteTable string

// marks are the texts that mark an older mail, by their names in quotes.tsv.
var marks = func() map[string][][]byte {
	m := map[string][][]byte{}
	for columns := range Rows(quoteTable) {
		for word := range strings.SplitSeq(columns[1], ", ") {
			m[columns[0]] = append(m[columns[0]], Fold(word).Lower)
		}
	}
	return m
}()

// named tells a line that starts with one of the names of a field and a colon.
func named(l []byte, field string) bool {
	name, _, ok := bytes.Cut(l[:min(len(l), 32)], []byte(":"))
	name = bytes.Trim(name, "* ")
	return ok && slices.ContainsFunc(marks[field], func(w []byte) bool { return bytes.Equal(w, name) })
}

// hasAny tells whether one of the texts stands in l, which is no longer than such lines are.
func hasAny(l []byte, which string) bool {
	return len(l) <= 300 && slices.ContainsFunc(marks[which], func(w []byte) bool { return bytes.Contains(l, w) })
}

// Forwarded tells from a subject, which p is, whether a mail was passed on.
func (p *Page) Forwarded() bool { return named(p.Lower, "fwd") }
