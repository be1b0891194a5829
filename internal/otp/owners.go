package otp

// Numbers that belong to somebody else: a noun beside the number says whose it is, known or not.

// owned tells "Device 482913" and "Session: 482913": a noun nobody knows says what the number is, so a
// word for "code" in the sentence before does not.
func (p *page) owned(c *candidate) bool {
	short := 0
	for k := c.first - 1; k >= p.lines[c.line].first && k > c.first-9; k-- {
		switch t := &p.tokens[k]; {
		case t.kind == kindPunct && p.pause(t, k, &p.lines[c.line]) < sentence, t.class == classIs, t.class == classOf:
		case t.kind == kindWord && (t.class == classNone || t.class == classAccount):
			if idWord(p.lower[t.start:t.end]) {
				return true
			}
			if p.countWord(k) {
				return k > p.lines[c.line].first && p.tokens[k-1].class == classNone && p.numberOf(k-1)
			}
			if n, b := t.end-t.start, p.lower[t.start]; n > 3 && (n > 6 || b < 0x80 || b >= 0xE0) {
				return true // more than three letters, or any of a script without short words
			}
			short++
		default:
			return short > 1 || k == c.first-1 && (t.class == classVerify || t.class == classConfirm) // "Registro 482913"
		}
	}
	return short > 1
}

// countWord tells the words for any number, and those that show something: "the number 482913", "here".
func (p *page) countWord(k int32) bool {
	t := &p.tokens[k]
	switch string(p.lower[t.start:t.end]) {
	case "number", "numero", "nummer", "zahl", "numer", "cislo", "numara", "номер", "число", "here", "hier", "aqui", "voici", "voila", "ecco", "eccolo", "eccola", "esta", "вот", "ось", "ето", "αριθμο", "szamot", "numarul", "numarayi", "rakami", "rakamlari", "angka", "nomor", "so", "الرقم", "המספר", "cyfry", "cislice", "siffrorna", "tallene", "tallet", "numeron", "luku", "luvun":
		return true
	}
	return false
}

// signed tells "[Acme Card] 482913": a line that begins with its sender.
func (p *page) signed(c *candidate) bool {
	return c.first > 0 && p.lower[p.tokens[c.first-1].start] == ']' && p.lower[p.lines[c.line].start] == '['
}

// named tells "Event 482913.": a sentence that is only a noun nobody knows and a number
// gives that noun's number, though the sentence before it spoke of a code.
func (p *page) named(ln *line, c *candidate) bool {
	k := c.first - 1
	if k < ln.first || !p.noun(k) || c.relation.at < 0 || c.relation.joined || c.relation.direct {
		return false
	}
	if n := c.last + 1; n < ln.last && (p.tokens[n].kind != kindPunct || p.pause(&p.tokens[n], n, ln) < sentence) {
		return false
	}
	return k == ln.first || p.tokens[k-1].kind == kindPunct && p.pause(&p.tokens[k-1], k-1, ln) >= sentence
}

// noun tells a word without a meaning here that is written in Latin letters, the first a capital.
func (p *page) noun(k int32) bool {
	t := &p.tokens[k]
	b := p.plain[t.start]
	return t.kind == kindWord && t.class == classNone && t.end-t.start > 2 && b >= 'A' && b <= 'Z'
}

// placed tells "code for 2041 Elm Street": a house number, unless "is" or a colon stands before it.
func (p *page) placed(ln *line, c *candidate) bool {
	if c.relation.joined && c.relation.direct || !ln.place {
		return false
	}
	for k := c.last + 1; k < ln.last && k <= c.last+3 && p.tokens[k].kind == kindWord; k++ {
		if p.tokens[k].class == classPlace {
			return true
		}
	}
	return false
}

// called tells "the request 482913 for a code" and "device (482913) used a code": a noun nobody knows
// stands before the number, and is no name.
func (p *page) called(c *candidate) bool {
	k, first := c.first-1, p.lines[c.line].first
	if k > first && p.lower[p.tokens[k].start] == '(' {
		k--
	}
	if k < first || p.tokens[k].kind != kindWord {
		return false
	}
	if p.countWord(k) {
		return k > first && p.numberOf(k-1)
	}
	t := &p.tokens[k]
	b := p.plain[t.start]
	if n := c.last + 1; p.upper2(k) && p.lower[p.tokens[min(n, int32(len(p.tokens))-1)].start] == ':' {
		return true // "PR 482913: ..."
	}
	return t.class == classAccount || t.class == classNone && t.end-t.start > 3 && b >= 'a' && b <= 'z'
}

// numberOf tells the "lot" of "lot number".
func (p *page) numberOf(k int32) bool {
	t := &p.tokens[k]
	return t.kind == kindWord && (t.class == classNone || t.class == classAccount) && t.end-t.start > 2 && !p.countWord(k)
}

// upper2 tells "PR" and "MR".
func (p *page) upper2(k int32) bool {
	w := p.raw(k)
	return len(w) == 2 && w[0] >= 'A' && w[0] <= 'Z' && w[1] >= 'A' && w[1] <= 'Z'
}

// reported tells "the code for customer 482913 was not delivered": a noun's number, of which the
// sentence goes on to tell.
func (p *page) reported(ln *line, c *candidate) bool {
	k := c.last + 1
	if k >= ln.last || c.relation.joined || !p.called(c) {
		return false
	}
	switch t := &p.tokens[k]; string(p.lower[t.start:t.end]) {
	case "was", "has", "had", "were", "did", "could", "wurde", "konnte", "hat", "fue", "foi", "werd", "blev", "ble":
		return true
	}
	return false
}

// numbered tells "contract no. 482913": the number at k is that of a noun, unless the noun is a label.
func (p *page) numbered(ln *line, k int32) bool {
	dot := false
	for k--; k >= ln.first && p.tokens[k].kind == kindPunct; k-- {
		b := p.lower[p.tokens[k].start]
		if b == '#' {
			return k > ln.first && p.tokens[k-1].kind == kindWord && !p.tokens[k-1].class.label()
		}
		if b != '.' && b != '*' && b != ':' {
			return false
		}
		dot = dot || b != ':'
	}
	if k < ln.first || p.tokens[k].kind != kindWord || k > ln.first && p.tokens[k-1].class.label() {
		return false
	}
	behind := k > ln.first && p.tokens[k-1].kind == kindWord
	switch w := p.lower[p.tokens[k].start:p.tokens[k].end]; string(w) {
	case "n", "c", "br", "sz": // in most languages a dot or a ring follows
		return dot && behind
	case "no", "num":
		return behind
	default:
		return idWord(w)
	}
}

// spoilt tells "a wrong code was entered for request 482913": the sentence is about a code that failed.
func (p *page) spoilt(ln *line, c *candidate) bool {
	if c.own || c.relation.joined {
		return false
	}
	for k := c.first - 1; k >= ln.first && k > c.first-16; k-- {
		if t := &p.tokens[k]; t.class == classSpoilt {
			return true
		} else if t.kind == kindPunct && p.pause(t, k, ln) >= sentence {
			break
		}
	}
	for k := c.last + 1; k < ln.last && k < c.last+16; k++ {
		if t := &p.tokens[k]; t.class == classSpoilt {
			return true
		} else if t.kind == kindPunct && p.pause(t, k, ln) >= sentence {
			break
		}
	}
	return false
}

// branded tells "Auth0" and "Web3": a name of small letters that ends in a digit or two.
func (p *page) branded(k int32) bool {
	b := p.raw(k)
	n := len(b)
	for n > 0 && isDigit(b[n-1]) {
		n--
	}
	if n < 3 || n == len(b) || len(b)-n > 2 {
		return false
	}
	for _, c := range b[1:n] {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// aside tells "iPhone (482913)": a number in brackets behind a noun nobody knows.
func (p *page) aside(ln *line, c *candidate) bool {
	k, n := c.first-2, c.last+1
	if k < ln.first || n >= ln.last || p.lower[p.tokens[k+1].start] != '(' || p.lower[p.tokens[n].start] != ')' || p.tokens[k].kind != kindWord {
		return false
	}
	q := p.tokens[k].class
	return q == classAccount || q == classNone
}
