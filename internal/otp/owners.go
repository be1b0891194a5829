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
		case t.Class == text.ClassID:
			return numbered
		case t.Class == text.ClassNumber:
			return numbered * bit(k > p.Lines[c.line].First && p.numberOf(k-1))
		case t.Kind == text.KindWord && (t.Class == text.ClassNone || t.Class == text.ClassAccount || t.Class == text.ClassTo):
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

// numberOf tells the "lot" of "lot number".
func (p *page) numberOf(k int32) bool {
	t := &p.Tokens[k]
	return t.Kind == text.KindWord && t.Class == text.ClassNone && t.End-t.Start > 2
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
	}
	return p.Tokens[k].Class == text.ClassID
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
