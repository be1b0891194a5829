package text

import "bytes"

// readChunk reads the token that starts with the ASCII letter or digit at b[i], and returns its end.
func (p *Page) readChunk(b []byte, i int) int {
	if k := lettersEnd(b, i); k > i && (k == len(b) || !mayJoin(b, k)) {
		return p.addWord(b, i, wordLexicon.At(b, i, WholeWords))
	}
	s, f := p.surveyRun(b, i), wordLexicon.At(b, i, WholeWords)
	switch {
	case s.isReference && s.end-i < 6 && Class(f.WordValue) == ClassExample: // "e.g."
		return p.addToken(i, s.end, KindWord, ClassExample, 1)
	case s.isReference:
		return p.addToken(i, s.end, KindRef, ClassNone, 1)
	case s.hasDigits && s.hasLetters && p.stellig(b, i, s.end):
		return p.addToken(i, i+1, KindNumber, ClassNone, 1)
	case s.isFigure:
		return p.addToken(i, s.end, KindFigure, ClassNone, 1)
	case !s.hasLetters:
		return p.addToken(i, s.end, KindNumber, ClassNone, 1)
	case s.hasDigits && (f.WordValue == 0 || f.End-i == 1): // "K-482913" does not begin with the Slovak word "k"
		return p.addToken(i, s.end, KindMixed, ClassNone, 1)
	}
	return p.addWord(b, i, f)
}

// lettersEnd returns the end of the run of lower-case ASCII letters at b[i].
func lettersEnd(b []byte, i int) int {
	for i < len(b) && b[i]-'a' < 26 {
		i++
	}
	return i
}

// mayJoin reports whether b[k], behind a letter, may continue the token. It is a quick test before
// survey.
func mayJoin(b []byte, k int) bool {
	return b[k] > ' ' && bytes.IndexByte([]byte("-.@:_0123456789"), b[k]) >= 0
}

// stellig reports whether the token is "6-digit" or "6stellig", whose digit is a token of its own.
func (p *Page) stellig(b []byte, i, end int) bool {
	k := i + 1
	if k < end && b[k] == '-' {
		k++
	}
	return IsDigit(b[i]) && k < end && Class(wordLexicon.At(b, k, WholeWords).WordValue) == ClassDigits
}

// runShape is what survey finds in a run of characters without white space.
type runShape struct {
	end                                          int
	hasLetters, hasDigits, isReference, isFigure bool
}

// maxChain is the largest number of bytes that survey reads ahead over hyphens. It repeats this for
// each word between them, so that the limit keeps the work linear.
const maxChain = 48

// surveyRun reads ahead over letters, digits and the punctuation that joins them.
func (p *Page) surveyRun(b []byte, start int) (s runShape) {
	for s.end = start; s.end < len(b); s.end++ {
		switch c := b[s.end]; {
		case IsDigit(c):
			s.hasDigits = true
		case InRange(c, 'a', 'z'):
			s.hasLetters = true
			s.end = lettersEnd(b, s.end) - 1
		case c == '-' && s.end-start < maxChain && s.end+1 < len(b) && IsAlnum(b[s.end+1]):
		case !p.continuesRun(&s, b, start):
			return s
		}
		if s.isReference {
			s.end = refEnd(b, s.end)
			return s
		}
	}
	return s
}

// continuesRun reports whether the punctuation at s.end continues the run. It sets figure for decimals,
// dates and times, and ref for URLs, hosts, files and addresses. A sentence may also end without a
// space behind it, and then the run ends.
func (p *Page) continuesRun(s *runShape, b []byte, start int) (joined bool) {
	c, before, more := b[s.end], b[s.end-1], b[s.end+1:]
	switch {
	case c == ',' && s.end-start > 4 && !s.isFigure: // not a thousands separator, but the end of a clause
		return false
	case c == '_' || bytes.HasPrefix(b[s.end:], []byte("://")):
		s.isReference = true
	case len(more) == 0 || !IsAlnum(more[0]):
		return false
	case bytes.IndexByte([]byte(".,:/"), c) >= 0 && IsDigit(before) && IsDigit(more[0]):
		s.isFigure = true
	case c == '@', c == '.' && s.hasLetters && p.Plain[s.end+1] == more[0]: // "example.com", not "code.Enter"
		s.isReference = true
	default:
		return false
	}
	return true
}

// refEnd returns the end of a URL or another reference: it ends at white space, a quotation mark,
// an angle bracket or another script, without the punctuation before that.
func refEnd(b []byte, i int) int {
	for i < len(b) && b[i] > ' ' && b[i] < 0x80 && bytes.IndexByte([]byte(`"<>`), b[i]) < 0 {
		i++
	}
	for bytes.IndexByte([]byte(".,:;!?)]'"), b[i-1]) >= 0 {
		i--
	}
	return i
}

// wordEnd returns the end of the run of letters at b[i].
func wordEnd(b []byte, i int) int {
	for i < len(b) && isLetter(b[i]) && !unspaced(b, i) {
		i++
	}
	return i
}

// addWord adds the word at b[i] and returns its end; f is its entry in the vocabulary. A word with any
// ending may be the first part of a compound: "login|code".
func (p *Page) addWord(b []byte, i int, f FoundWord) int {
	end, class := f.End, Class(f.WordValue)
	if f.WordValue == 0 || f.AnyEnding {
		end = wordEnd(b, max(i, f.End))
	}
	if end > f.End && (class == ClassVerify || class == ClassConfirm || class == ClassOnce) {
		class = compoundClass(b[:end], i+2, class)
	}
	return p.addToken(i, end, KindWord, class, 1)
}

// compoundClass returns the class of a word whose first part has class c. If a later part is a label,
// the word is a label, too.
func compoundClass(b []byte, from int, c Class) Class {
	for k := from; k < len(b); k++ {
		if Class(wordLexicon.At(b, k, CompoundTails).WordValue).IsLabel() {
			if c == ClassConfirm {
				return ClassPasscode
			}
			return ClassOTP
		}
	}
	return c
}
