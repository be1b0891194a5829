package text

// chunk reads the token that starts with the ASCII letter or digit at b[i] and returns
// the place behind it.
func (p *Page) chunk(b []byte, i int) int {
	if head, n := letters(p.Lower, i); n > 0 {
		if k := lettersEnd(b, i+n); k == len(b) || !joins(b, k) {
			return p.word(b, i, k, words.sieve.passes(head, n))
		}
	}
	s := p.survey(b, i)
	switch {
	case s.ref && s.end-i < 6 && words.lookup(b, i, false, false).class == ClassExample: // "e.g."
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
	f := words.lookup(b, i, false, false)
	if f.class != ClassNone && !(s.digits && f.end-i == 1) { // "K-482913" is no Slovak
		return p.known(b, i, f)
	}
	if s.digits {
		if label := gluedLabel(b, i, s.end); label.class != ClassNone {
			p.put(i, label.end, KindWord, label.class, 1)
			return label.end
		}
		p.put(i, s.end, KindMixed, ClassNone, 1)
		return s.end
	}
	end := wordEnd(b, i)
	p.put(i, end, KindWord, ClassNone, 1)
	return end
}

// word reads a word whose ASCII letters end at b[k], where nothing joins it to more. It may be
// listed, or begin something that is, only when listed is set.
func (p *Page) word(b []byte, i, k int, listed bool) int {
	if listed {
		if f := words.lookup(b, i, false, false); f.class != ClassNone {
			return p.known(b, i, f)
		}
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
	return IsDigit(b[i]) && k < end && words.lookup(b, k, false, false).class == ClassDigits
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
			_, n := letters(b, i)
			i += n - 1
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
			if c == ',' && i-start >= 4 && timeBehind(b, i+1) {
				break
			}
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

// timeBehind tells the "5分钟" of "验证码为830271,5分钟内有效".
func timeBehind(b []byte, i int) bool {
	k := i
	for k < len(b) && k < i+3 && IsDigit(b[k]) {
		k++
	}
	return k < len(b) && b[k] >= 0x80 && words.lookup(b, k, false, false).class == ClassTimeUnit
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
	if f.flags&flagEnding != 0 {
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
		if f := words.lookup(b, k, false, true); f.class.Label() {
			if c == ClassConfirm {
				return ClassPasscode
			}
			return ClassOTP
		}
	}
	return c
}

// gluedLabel finds a label written without a blank before its code: "otp482913".
func gluedLabel(b []byte, i, end int) found {
	k := i
	for k < end && isLetter(b[k]) {
		k++
	}
	if k-i < 3 || k == end {
		return found{}
	}
	f := words.lookup(b[:k], i, false, false)
	if !f.class.Label() || f.end != k {
		return found{}
	}
	if b[k] == '-' {
		k++
	}
	if end-k < 4 {
		return found{}
	}
	for ; k < end; k++ {
		if !IsDigit(b[k]) {
			return found{}
		}
	}
	return f
}
