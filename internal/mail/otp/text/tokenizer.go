// Package text splits a text into lines and tokens. It first folds the text to one spelling (lower
// case, without accents), and then looks up the class of each word in a vocabulary of many
// languages. It does not decide which tokens are a code.
package text

import "bytes"

// Kind is the shape of a token.
type Kind uint8

// The kinds of tokens.
const (
	KindWord   Kind = iota
	KindNumber      // digits, with or without hyphens between groups
	KindMixed       // ASCII letters and digits, with or without hyphens
	KindFigure      // digits with points, commas, colons or slashes: price, date, time, IP address
	KindRef         // URL, e-mail address, host, file name, identifier
	KindPunct       // one punctuation character
)

// Token is a piece of a line. Start and End are byte offsets into the folded text.
type Token struct {
	Start, End    int32
	Kind          Kind
	Class         Class
	LabelStrength uint8 // of a label, 0 to 3; the caller sets it
	WordWeight    uint8 // number of words that it counts for in distances
	GapBefore     bool  // white space or the start of the line is before it
	WideGapBefore bool  // a tab, or several spaces, is before it
}

// TokenLine is a line that is not empty. The caller sets IsAddress, ColonAtEnd, IsHeading,
// LabelStrength, Label and Words.
type TokenLine struct {
	Start, End           int32 // bytes of the folded text
	FirstToken, EndToken int32 // tokens, without EndToken
	AfterBlankLine       bool  // an empty line is above it
	IsAddress            bool  // it is a street address
	ColonAtEnd           bool  // it ends with a colon
	MayStartCode         bool  // a code may start in it
	IsHeading            bool  // it has a label, and it is short or ends with a colon
	LabelStrength        uint8 // of its label
	LabelToken           int32 // the token of its strongest label, or -1
	WordCount            int32
}

// Page is one text, split into tokens. It is not safe for concurrent use. Read reuses its memory
// for the next text.
type Page struct {
	Folded
	Tokens      []Token
	Lines       []TokenLine
	SeenClasses uint64 // bit n is set if the text has a word of class n
}

// ReadText folds s; Split must follow. The work of both is linear in len(s).
func (p *Page) ReadText(s string) {
	p.reset()
	p.Tokens, p.Lines, p.SeenClasses = p.Tokens[:0], p.Lines[:0], 0
	p.Fold(s)
}

// SplitTokens cuts the text into lines, and these into tokens.
func (p *Page) SplitTokens() {
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

// lineEnd returns the position of the newline behind b[i], or len(b).
func lineEnd(b []byte, i int) int {
	if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(b)
}

// tokenize splits the line between start and end into tokens, and adds the line.
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
			i = p.readChunk(b, i)
		case c >= 0x80:
			i = p.foreignWord(b, i)
		default:
			p.addToken(i, i+1, KindPunct, ClassNone, 0)
			i++
		}
		p.Tokens[n].GapBefore, p.Tokens[n].WideGapBefore = gap, wide
		gap, wide = false, false
		for ; n < len(p.Tokens); n++ {
			starts = starts || p.MayStart(int32(n))
		}
	}
	starts = starts || len(p.Tokens)-first >= ChainTokens && IsHyphenChain(p.Plain[start:end])
	p.Lines = append(p.Lines, TokenLine{Start: int32(start), End: int32(end), FirstToken: int32(first),
		EndToken: int32(len(p.Tokens)), AfterBlankLine: paragraph, MayStartCode: starts, LabelToken: -1})
}

// addToken adds a token and returns its end.
func (p *Page) addToken(start, end int, k Kind, c Class, weight int) int {
	p.Tokens = append(p.Tokens, Token{Start: int32(start), End: int32(end), Kind: k, Class: c, WordWeight: uint8(weight)})
	p.SeenClasses |= 1 << (c & 63)
	return end
}

// MayStart reports whether a code may start at token k. It is a cheap test that excludes most
// words.
func (p *Page) MayStart(k int32) bool {
	switch t := &p.Tokens[k]; t.Kind {
	case KindNumber, KindMixed, KindFigure:
		return true
	case KindWord:
		last := p.Plain[t.End-1]
		return t.End-t.Start == 1 && IsAlnum(p.Lower[t.Start]) || InRange(last, 'A', 'Z') && t.Class == ClassNone
	}
	return false
}

// RawToken returns the bytes of token k as written, without accents.
func (p *Page) RawToken(k int32) []byte { t := &p.Tokens[k]; return p.Plain[t.Start:t.End] }

// TokenLength returns the length of token k in bytes of the folded text.
func (p *Page) TokenLength(k int32) int { t := &p.Tokens[k]; return int(t.End - t.Start) }

// EndsWithColon reports whether the punctuation at the end of a line has a colon, and no end of a
// sentence behind the colon.
func (p *Page) EndsWithColon(ln *TokenLine) bool {
	for k := ln.EndToken - 1; k >= ln.FirstToken && p.Tokens[k].Kind == KindPunct; k-- {
		switch p.Lower[p.Tokens[k].Start] {
		case ':':
			return true
		case '.', '?', '!':
			return false
		}
	}
	return false
}
