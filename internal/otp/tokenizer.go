package otp

import (
	"bytes"
	"slices"
)

// kind is the shape of a token.
type kind uint8

const (
	kindWord   kind = iota
	kindNumber      // digits, perhaps in groups parted by hyphens
	kindMixed       // ASCII letters and digits, perhaps with hyphens
	kindFigure      // digits with points, commas, colons or slashes: price, date, time, IP
	kindRef         // URL, mail address, host, file name, identifier
	kindPunct       // one sign
)

// token is a piece of a line. start and end are byte offsets into the folded text.
type token struct {
	start, end int32
	kind       kind
	class      class
	strength   uint8 // of a label, 0 to 3; see compose
	weight     uint8 // how many words it counts for in distances
	gap        bool  // white space, or the start of the line, before it
	wide       bool  // several blanks before it
}

// line is a visible line that is not empty and not quoted.
type line struct {
	start, end  int32 // bytes
	first, last int32 // tokens
	paragraph   bool  // an empty line stands above it
	footer      bool  // copyright and the like: no code stands here
	place       bool  // a street address
	colon       bool  // ends with a colon
	starts      bool  // a code may start in it
	other       bool  // its last announcing word announces something else
	claimed     bool  // its label has found its code
	heading     bool  // its label is what it is about: a heading, or the last words before a colon
	strength    uint8 // of its best label that is not spoken for
	label       int32 // the token of that label, or -1
	password    bool  // ... is a word for a password
	words       int32
}

// page is one source, read.
type page struct {
	source Source
	reply  bool // an answer: what looks like a code may be an old one
	hidden bool // nobody sees it in the opened mail
	folded
	tokens []token
	lines  []line
	seen   uint64 // bit n: there is a word of class n
}

// read folds s, for split to go on with. The work of both is linear in len(s).
func (p *page) read(source Source, s string) {
	p.source, p.reply, p.hidden = source, false, false
	p.reset()
	p.tokens, p.lines, p.seen = p.tokens[:0], p.lines[:0], 0
	p.fold(s)
}

// split cuts what is the sender's into lines, and these into tokens.
// forward tells that somebody passed an older mail on: then that mail is the message.
func (p *page) split(forward bool) {
	q := quotes{forward: forward}
	b := p.lower
	paragraph := false
	for i := 0; i < len(b); {
		if b[i] == '\n' {
			paragraph = true
			i++
			continue
		}
		end := lineEnd(b, i)
		switch q.judge(p, i, end) {
		case own:
			p.tokenize(i, end, paragraph)
		case rest:
			return
		}
		paragraph = false
		i = end + 1
	}
}

func lineEnd(b []byte, i int) int {
	if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(b)
}

func (p *page) tokenize(start, end int, paragraph bool) {
	first := len(p.tokens)
	gap, wide, starts := true, false, false
	b := p.lower[:end]
	for i := start; i < end; {
		c := b[i]
		if c == ' ' || c == '\t' {
			gap, wide = true, c == '\t'
			i++
			continue
		}
		n := len(p.tokens)
		switch {
		case isAlnum(c):
			i = p.chunk(b, i)
		case c >= 0x80:
			i = p.foreignWord(b, i)
		default:
			p.put(i, i+1, kindPunct, classNone, 0)
			i++
		}
		p.tokens[n].gap, p.tokens[n].wide = gap, wide
		gap, wide = false, false
		for ; n < len(p.tokens); n++ {
			starts = starts || p.mayStart(int32(n))
		}
	}
	starts = starts || len(p.tokens)-first >= chainTokens && chained(p.plain[start:end])
	p.lines = append(p.lines, line{start: int32(start), end: int32(end), first: int32(first),
		last: int32(len(p.tokens)), paragraph: paragraph, starts: starts, label: -1})
}

// put adds a token. It writes field by field: a token that is put together elsewhere and copied
// costs as much as the search for its end.
func (p *page) put(start, end int, k kind, c class, weight int) {
	n := len(p.tokens)
	if n == cap(p.tokens) {
		p.tokens = slices.Grow(p.tokens, 1)
	}
	p.tokens = p.tokens[:n+1]
	t := &p.tokens[n]
	t.start, t.end = int32(start), int32(end)
	t.kind, t.class, t.weight = k, c, uint8(weight)
	t.strength, t.gap, t.wide = 0, false, false
	p.seen |= 1 << (c & 63)
}
