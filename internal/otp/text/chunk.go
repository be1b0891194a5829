package text

// chunk reads the token that starts with the ASCII letter or digit at b[i] and returns
// the place behind it.
func (p *Page) chunk(b []byte, i int) int {
	if k := lettersEnd(b, i); k > i && (k == len(b) || !joins(b, k)) {
		return p.word(b, i, k)
	}
	s := p.survey(b, i)
	switch {
	case s.ref && s.end-i < 6 && lookup(b, i, Words).class == ClassExample: // "e.g."
		p.put(i, s.end, KindWord, ClassExample, 1)
		return s.end
	case s.ref:
		p.put(i, s.end, KindRef, ClassNone, 1)
		return s.end
	case s.digits && s.letters && p.stellig(b, i, s.end):
		p.put(i, i+1, KindNumber, ClassNone, 1)
		return i + 1
	case s.figure:
		p.put(i, s.end, KindFigure, ClassNone, 1)
		return s.end
	case !s.letters:
		p.put(i, s.end, KindNumber, ClassNone, 1)
		return s.end
	}
	f := lookup(b, i, Words)
	if f.class != ClassNone && !(s.digits && f.end-i == 1) { // "K-482913" is no Slovak
		return p.known(b, i, f)
	}
	if s.digits {
		p.put(i, s.end, KindMixed, ClassNone, 1)
		return s.end
	}
	end := wordEnd(b, i)
	p.put(i, end, KindWord, ClassNone, 1)
	return end
}

// word reads a word whose ASCII letters end at b[k], where nothing joins it to more.
func (p *Page) word(b []byte, i, k int) int {
	if f := lookup(b, i, Words); f.class != ClassNone {
		return p.known(b, i, f)
	}
	end := wordEnd(b, k)
	p.put(i, end, KindWord, ClassNone, 1)
	return end
}

func lettersEnd(b []byte, i int) int {
	for i < len(b) && b[i]-'a' < 26 {
		i++
	}
	return i
}

// joins tells whether b[k], behind a letter, may join it to what follows: see survey, which
// finds out whether it does.
func joins(b []byte, k int) bool {
	switch c := b[k]; c {
	case '-', '.', '@', ':':
		return k+1 < len(b) && (IsAlnum(b[k+1]) || b[k+1] == '/')
	default:
		return c == '_' || IsDigit(c)
	}
}

// stellig tells "6-digit" and "6stellig", whose number counts.
func (p *Page) stellig(b []byte, i, end int) bool {
	k := i + 1
	if k < end && b[k] == '-' {
		k++
	}
	return IsDigit(b[i]) && k < end && lookup(b, k, Words).class == ClassDigits
}

// shape is what survey finds about a run of characters without white space.
type shape struct {
	end                          int
	letters, digits, ref, figure bool
}

// maxChain bounds the look ahead over hyphens, which is repeated for each word between them.
const maxChain = 48

// survey looks ahead over letters, digits and the signs that join them.
func (p *Page) survey(b []byte, i int) (s shape) {
	start := i
	for ; i < len(b); i++ {
		c := b[i]
		switch {
		case IsDigit(c):
			s.digits = true
			continue
		case isLetter(c) && c < 0x80:
			s.letters = true
			i = lettersEnd(b, i) - 1
			continue
		case c == '_':
			s.ref = true
			continue
		}
		if i+1 >= len(b) || !IsAlnum(b[i+1]) && !(c == ':' && b[i+1] == '/') {
			break
		}
		joined := false
		before, after := b[i-1], b[i+1]
		switch c {
		case '@':
			s.ref, joined = true, true
		case '-':
			joined = i-start < maxChain
		case ':':
			if after == '/' {
				s.ref, joined = i+2 < len(b) && b[i+2] == '/', i+2 < len(b) && b[i+2] == '/'
			} else if IsDigit(before) && IsDigit(after) {
				s.figure, joined = true, true
			}
		case '.':
			joined = p.point(&s, i, before, after)
		case ',', '/':
			if IsDigit(before) && IsDigit(after) {
				s.figure, joined = true, true
			}
		}
		if s.ref {
			s.end = refEnd(b, i)
			return s
		}
		if !joined {
			break
		}
	}
	s.end = i
	if s.ref {
		s.end = refEnd(b, i)
	}
	return s
}

// point judges a full stop inside a run: decimals and versions, hosts and files, or the
// end of a sentence without a blank behind it.
func (p *Page) point(s *shape, i int, before, after byte) (joined bool) {
	switch {
	case IsDigit(before) && IsDigit(after):
		s.figure = true
		return true
	case s.letters && p.Plain[i+1] == after: // "example.com", not "code.Enter"
		s.ref = true
		return true
	}
	return false
}

// refEnd finds the end of a URL or the like: white space, quotes or another script.
func refEnd(b []byte, i int) int {
	for i < len(b) {
		switch c := b[i]; {
		case c <= ' ', c >= 0x80, c == '"', c == '<', c == '>':
			return i
		}
		i++
	}
	return i
}

func wordEnd(b []byte, i int) int {
	for i < len(b) && isLetter(b[i]) && !unspaced(b, i) {
		i++
	}
	return i
}

// known puts the word of the vocabulary f, found at b[i]. A word that takes endings
// reaches to its end, and may be the first part of a compound: "login|code".
func (p *Page) known(b []byte, i int, f found) int {
	end := f.end
	if f.ending {
		end = wordEnd(b, end)
		if end > f.end && (f.class == ClassVerify || f.class == ClassConfirm || f.class == ClassOnce) {
			f.class = compound(b[:end], i+2, f.class)
		}
	}
	p.put(i, end, KindWord, f.class, 1)
	return end
}

// compound gives the class of a word whose first part has class c: that of a code when
// its last part is one.
func compound(b []byte, from int, c Class) Class {
	for k := from; k < len(b); k++ {
		if f := lookup(b, k, Tails); f.class.Label() {
			if c == ClassConfirm {
				return ClassPasscode
			}
			return ClassOTP
		}
	}
	return c
}
