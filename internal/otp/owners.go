package otp

import "inboxd/internal/otp/text"

// owners are what a word may look like that says whose a number is.
var owners = []string{"", "numbered", "lower", "capital", "foreign", "short"}

// owner tells "Device 482913" and "Session: 482913": a noun nobody knows says what the number is, so a
// word for "code" in the sentence before does not.
func (v *view) owner() int {
	const numbered, lower, capitals, foreign, shorts = 1, 2, 3, 4, 5
	short := 0
	for k := v.c.first - 1; k >= v.ln.First && k > v.c.first-9; k-- {
		switch t := &v.Tokens[k]; {
		case t.Kind == text.KindPunct && v.signs[k] != signPeriod, t.Class == text.ClassIs, t.Class == text.ClassOf:
		case t.Class == text.ClassID:
			return numbered
		case t.Class == text.ClassNumber:
			return numbered * bit(v.signIn(v.ln.First, k, k-1) >= signLower)
		case t.Kind != text.KindWord || t.Class != text.ClassNone && t.Class != text.ClassAccount && t.Class != text.ClassTo:
			return shorts * bit(short > 1)
		case t.End-t.Start <= 3 || v.Lower[t.Start] >= 0x80 && v.Lower[t.Start] < 0xE0 && t.End-t.Start <= 6: // three letters, but one of a script without short words
			short++
		case v.Lower[t.Start] >= 0x80:
			return foreign
		case capital(v.Plain[t.Start]):
			return capitals
		default:
			return lower
		}
	}
	return shorts * bit(short > 1)
}
