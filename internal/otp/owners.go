package otp

import "inboxd/internal/otp/text"

// Numbers that belong to somebody else: a noun beside the number says whose it is, known or not.

// owners are what a word may look like that says whose a number is.
var owners = []string{"", "numbered", "lower", "capital", "foreign", "short"}

// owner tells "Device 482913" and "Session: 482913": a noun nobody knows says what the number is, so a
// word for "code" in the sentence before does not.
func (p *page) owner(c *candidate) int {
	const none, numbered, lower, capitals, foreign, shorts = 0, 1, 2, 3, 4, 5
	short := 0
	for k := c.first - 1; k >= p.Lines[c.line].First && k > c.first-9; k-- {
		switch t := &p.Tokens[k]; {
		case t.Kind == text.KindPunct && p.pause(t, k, &p.Lines[c.line]) < sentence, t.Class == text.ClassIs, t.Class == text.ClassOf:
		case t.Kind == text.KindWord && (t.Class == text.ClassNone || t.Class == text.ClassAccount):
			if idWord(p.Lower[t.Start:t.End]) {
				return numbered
			}
			if p.countWord(k) {
				return numbered * bit(k > p.Lines[c.line].First && p.Tokens[k-1].Class == text.ClassNone && p.numberOf(k-1))
			}
			switch n, b := t.End-t.Start, p.Lower[t.Start]; {
			case n <= 3 || n <= 6 && b >= 0x80 && b < 0xE0: // three letters, but one of a script without short words
				short++
			case b >= 0x80:
				return foreign
			case capital(p.Plain[t.Start]):
				return capitals
			default:
				return lower
			}
		default:
			verb := k == c.first-1 && (t.Class == text.ClassVerify || t.Class == text.ClassConfirm) // "Registro 482913"
			return shorts * bit(short > 1 || verb)
		}
	}
	return shorts * bit(short > 1)
}

// countWord tells the words for any number, and those that show something: "the number 482913", "here".
func (p *page) countWord(k int32) bool {
	t := &p.Tokens[k]
	switch string(p.Lower[t.Start:t.End]) {
	case "number", "numero", "nummer", "zahl", "numer", "cislo", "numara", "номер", "число", "here", "hier", "aqui", "voici", "voila", "ecco", "eccolo", "eccola", "esta", "вот", "ось", "ето", "αριθμο", "szamot", "numarul", "numarayi", "rakami", "rakamlari", "angka", "nomor", "so", "الرقم", "המספר", "cyfry", "cislice", "siffrorna", "tallene", "tallet", "numeron", "luku", "luvun":
		return true
	}
	return false
}

// called tells "the request 482913 for a code" and "device (482913) used a code": a noun nobody knows
// stands before the number, and is no name.
func (p *page) called(c *candidate) bool {
	k, first := c.first-1, p.Lines[c.line].First
	if k > first && p.Lower[p.Tokens[k].Start] == '(' {
		k--
	}
	if k < first || p.Tokens[k].Kind != text.KindWord {
		return false
	}
	if p.countWord(k) {
		return k > first && p.numberOf(k-1)
	}
	t := &p.Tokens[k]
	b := p.Plain[t.Start]
	if n := c.last + 1; p.upper2(k) && p.Lower[p.Tokens[min(n, int32(len(p.Tokens))-1)].Start] == ':' {
		return true // "PR 482913: ..."
	}
	return t.Class == text.ClassAccount || t.Class == text.ClassNone && t.End-t.Start > 3 && text.Between(b, 'a', 'z')
}

// numberOf tells the "lot" of "lot number".
func (p *page) numberOf(k int32) bool {
	t := &p.Tokens[k]
	if t.Kind != text.KindWord || t.End-t.Start <= 2 || p.countWord(k) {
		return false
	}
	return t.Class == text.ClassNone || t.Class == text.ClassAccount
}

func capital(b byte) bool { return b >= 'A' && b <= 'Z' }

// upper2 tells "PR" and "MR".
func (p *page) upper2(k int32) bool {
	w := p.Raw(k)
	return len(w) == 2 && capital(w[0]) && capital(w[1])
}

// numbered tells "contract no. 482913": the number at k is that of a noun, unless the noun is a label.
func (p *page) numbered(ln *text.Line, k int32) bool {
	dot := false
	for k--; k >= ln.First && p.Tokens[k].Kind == text.KindPunct; k-- {
		b := p.Lower[p.Tokens[k].Start]
		if b == '#' {
			return k > ln.First && p.Tokens[k-1].Kind == text.KindWord && !p.Tokens[k-1].Class.Label()
		}
		if b != '.' && b != '*' && b != ':' {
			return false
		}
		dot = dot || b != ':'
	}
	if k < ln.First || p.Tokens[k].Kind != text.KindWord || k > ln.First && p.Tokens[k-1].Class.Label() {
		return false
	}
	behind := k > ln.First && p.Tokens[k-1].Kind == text.KindWord
	switch w := p.Lower[p.Tokens[k].Start:p.Tokens[k].End]; string(w) {
	case "n", "c", "br", "sz": // in most languages a dot or a ring follows
		return dot && behind
	case "no", "num":
		return behind
	default:
		return idWord(w)
	}
}

// branded tells "Auth0" and "Web3": a name of small letters that ends in a digit or two.
func (p *page) branded(k int32) bool {
	b := p.Raw(k)
	n := len(b)
	for n > 0 && text.IsDigit(b[n-1]) {
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

// numbers tells the caption of somebody's number: "Sign-in ID", "Device no.".
func (p *page) numbers(ln *text.Line) bool {
	if ln.Words < 2 || ln.Words > 4 {
		return false
	}
	k := ln.Last - 1
	for k > ln.First && p.Tokens[k].Kind == text.KindPunct {
		k--
	}
	t := &p.Tokens[k]
	return t.Kind == text.KindWord && idWord(p.Lower[t.Start:t.End])
}

// idWord tells the words behind a noun that say it is numbered.
func idWord(w []byte) bool {
	switch string(w) {
	case "id", "no", "nr", "num":
		return true
	}
	return false
}
