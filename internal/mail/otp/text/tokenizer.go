// Package text reads a text the way the rules of codes want it: folded to one spelling, cut
// into lines and tokens, each word with what it means in any language that we know. It refuses to know what a code is.
package text

import "bytes"

// Kind is the shape of a token.
type Kind uint8

const (
	KindWord   Kind = iota
	KindNumber      // digits, perhaps in groups parted by hyphens
	KindMixed       // ASCII letters and digits, perhaps with hyphens
	KindFigure      // digits with points, commas, colons or slashes: price, date, time, IP
	KindRef         // URL, mail address, host, file name, identifier
	KindPunct       // one sign
)

// Token is a piece of a line. Start and End are byte offsets into the folded text.
type Token struct {
	Start, End int32
	Kind       Kind
	Class      Class
	Strength   uint8 // of a label, 0 to 3; see compose
	Weight     uint8 // how many words it counts for in distances
	Gap        bool  // white space, or the start of the line, before it
	Wide       bool  // several blanks before it
}

// Line is a visible line that is not empty.
type Line struct {
	Start, End  int32 // bytes
	First, Last int32 // tokens
	Paragraph   bool  // an empty line stands above it
	Place       bool  // a street address
	Colon       bool  // ends with a colon
	Starts      bool  // a code may start in it
	Heading     bool  // its label is what it is about: a heading, or the last words before a colon
	Strength    uint8 // of its best label that is not spoken for
	Label       int32 // the token of that label, or -1
	Words       int32
}

// Page is one text, read. Whoever made it owns it: it is read by one goroutine, and used
// again for the next text.
type Page struct {
	Folded
	Tokens []Token
	Lines  []Line
	Seen   uint64 // bit n: there is a word of class n
}

// Read folds s, for Split to go on with. The work of both is linear in len(s).
func (p *Page) Read(s string) {
	p.reset()
	p.Tokens, p.Lines, p.Seen = p.Tokens[:0], p.Lines[:0], 0
	p.Fold(s)
}

// Split cuts the text into lines, and these into tokens.
func (p *Page) Split() {
	b := p.Lower
	paragraph := false
	for i := 0; i < len(b); {
		if b[i] == '\n' {
			paragraph = true
			i++
			continue
		}
		end := lineEnd(b, i)
		p.tokenize(i, end, paragraph)
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

func (p *Page) tokenize(start, end int, paragraph bool) {
	first := len(p.Tokens)
	gap, wide, starts := true, false, false
	b := p.Lower[:end]
	for i := start; i < end; {
		c := b[i]
		if c == ' ' || c == '\t' {
			gap, wide = true, c == '\t'
			i++
			continue
		}
		n := len(p.Tokens)
		switch {
		case IsAlnum(c):
			i = p.chunk(b, i)
		case c >= 0x80:
			i = p.foreignWord(b, i)
		default:
			p.put(i, i+1, KindPunct, ClassNone, 0)
			i++
		}
		p.Tokens[n].Gap, p.Tokens[n].Wide = gap, wide
		gap, wide = false, false
		for ; n < len(p.Tokens); n++ {
			starts = starts || p.MayStart(int32(n))
		}
	}
	starts = starts || len(p.Tokens)-first >= ChainTokens && Chained(p.Plain[start:end])
	p.Lines = append(p.Lines, Line{Start: int32(start), End: int32(end), First: int32(first),
		Last: int32(len(p.Tokens)), Paragraph: paragraph, Starts: starts, Label: -1})
}

// put adds a token and returns its end.
func (p *Page) put(start, end int, k Kind, c Class, weight int) int {
	p.Tokens = append(p.Tokens, Token{Start: int32(start), End: int32(end), Kind: k, Class: c, Weight: uint8(weight)})
	p.Seen |= 1 << (c & 63)
	return end
}

// MayStart passes over most words quickly.
func (p *Page) MayStart(k int32) bool {
	switch t := &p.Tokens[k]; t.Kind {
	case KindNumber, KindMixed:
		return true
	case KindWord:
		last := p.Plain[t.End-1]
		return t.End-t.Start == 1 && IsAlnum(p.Lower[t.Start]) || Between(last, 'A', 'Z') && t.Class == ClassNone
	}
	return false
}

// Raw gives the bytes of a token as written, save for accents.
func (p *Page) Raw(k int32) []byte { t := &p.Tokens[k]; return p.Plain[t.Start:t.End] }

func (p *Page) Length(k int32) int { t := &p.Tokens[k]; return int(t.End - t.Start) }

// EndsWithColon tells a line whose last signs hold a colon, and no end of a sentence behind it.
func (p *Page) EndsWithColon(ln *Line) bool {
	for k := ln.Last - 1; k >= ln.First && p.Tokens[k].Kind == KindPunct; k-- {
		switch p.Lower[p.Tokens[k].Start] {
		case ':':
			return true
		case '.', '?', '!':
			return false
		}
	}
	return false
}
