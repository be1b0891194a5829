package otp

import "inboxd/internal/otp/text"

import "bytes"

// vetoed tells the look-alikes: numbers and words that have the form of a code but mean
// something else. Each rule is about what stands around or inside, never about a sender.
func (p vetoer) vetoed(c *candidate, ctx *context) bool {
	ln := &p.Lines[c.line]
	r := &c.relation
	sure := r.strength == strong && r.direct
	switch {
	case c.listed, p.hidden && !(r.strength >= medium || r.direct):
		return true
	case c.form == formDigits && (p.measured(ln, c) || p.sentTo(ln, c) || p.dialled(ln, c)), p.refused(ln, c):
		return true
	case p.masked(ln, c), p.handed(ln, c), p.tagged(ln, c, sure), p.compared(ln, c), p.bracketed(ln, c), p.named(ln, c), p.reported(ln, c), p.numbered(ln, c.first), p.spoilt(ln, c), p.aside(ln, c):
		return true
	case ln.Place && !sure && !c.own && !(r.joined && r.strength >= medium), p.placed(ln, c):
		return true
	case year(c) && !(r.behind && r.joined && c.first == ln.First || r.direct && r.joined || sure || c.own && (r.direct && r.strength == strong || ctx.subject > 0 && len(p.Lines) == 1)), date(c) && !sure:
		return true
	case c.form == formDigits && zeros(c) && !(r.direct && r.joined), p.example(ln, c), counting(c) && r.strength < strong && (r.behind || !r.joined && !c.own):
		return true
	case p.misused(c, ctx), r.strength < strong && p.percent(ln, c):
		return true
	case c.form == formChain:
		return r.strength < strong || !r.direct
	case c.form == formMixed:
		return p.mixedVeto(c, ctx)
	case c.form == formLetters:
		return r.strength < medium && !((c.split && r.direct || r.joined) && ctx.entering > 0) || !r.joined && !r.direct
	case c.n > 8: // telephones have as many
		whole := ln.Label == ln.First && ln.First+1 == c.first && c.last+1 == ln.Last // "PIN 4829137755" on a line
		return !(r.direct && (r.joined || c.own || whole)) && !(r.behind && r.joined)
	}
	return false
}

// measured tells a number that counts something: "184220 attempts", "5000 EUR", "$5000",
// "15 %". Its unit may stand before or behind it.
func (p vetoer) measured(ln *text.Line, c *candidate) bool {
	if k := c.first - 1; k >= ln.First {
		t := &p.Tokens[k]
		if t.Class == text.ClassMoney || t.Kind == text.KindPunct && p.Lower[t.Start] == '$' {
			return true
		}
		if t.Kind == text.KindPunct && p.Lower[t.Start] == '.' && k > ln.First && p.Tokens[k-1].Class == text.ClassMoney {
			return true // "Rs. 5000"
		}
	}
	k := c.last + 1
	if k >= ln.Last {
		return false
	}
	t := &p.Tokens[k]
	if t.Kind == text.KindPunct {
		b := p.Lower[t.Start]
		return b == '%' || b == '$'
	}
	if t.Class == text.ClassTimeUnit {
		return c.n < 6 || t.Gap // "４８２９１３分" would be odd, "482913 min" too
	}
	return t.Class == text.ClassMoney || t.Class == text.ClassUnit
}

// refused tells "code 482913 does not work".
func (p vetoer) refused(ln *text.Line, c *candidate) bool {
	k := c.last + 1
	if k < ln.Last && p.Lower[p.Tokens[k].Start] == '"' {
		k++
	}
	return k < ln.Last && p.Tokens[k].Class == text.ClassStale
}

// masked tells the visible end of a hidden number: "****1234", ".... 7461", "xxxx1234".
func (p vetoer) masked(ln *text.Line, c *candidate) bool {
	marks := 0
	for k := c.first - 1; k >= ln.First && p.Tokens[k].Kind == text.KindPunct; k-- {
		b := p.Lower[p.Tokens[k].Start]
		if b == '-' || b == ')' || b == '(' {
			continue // "***-***-4213"
		}
		if b != '*' && b != '.' && b != '#' && b != 'x' {
			break
		}
		if b == '*' && k+1 == c.first && p.Tokens[c.first].Gap {
			continue // "** ABC123 **" is emphasis
		}
		marks++
	}
	if marks >= 2 && (c.n <= 5 || !p.Tokens[c.first].Gap) {
		return !p.emphasized(ln, c, marks)
	}
	if k := c.last + 1; k < ln.Last && !p.Tokens[k].Gap && p.Tokens[k].Kind == text.KindPunct && p.Lower[p.Tokens[k].Start] == '*' {
		return k+1 < ln.Last && !p.Tokens[k+1].Gap && !p.emphasized(ln, c, marks)
	}
	return false
}

// emphasized tells "**482913**": as many asterisks behind as before.
func (p vetoer) emphasized(ln *text.Line, c *candidate, marks int) bool {
	behind := 0
	for k := c.last + 1; k < ln.Last && p.Tokens[k].Kind == text.KindPunct && p.Lower[p.Tokens[k].Start] == '*'; k++ {
		behind++
	}
	return behind > 0 && behind == marks
}

// tagged tells numbers with a sign that makes them something else: "#482913" is an issue
// or a colour, "482913=" and "/482913" part of some syntax.
func (p vetoer) tagged(ln *text.Line, c *candidate, sure bool) bool {
	if k := c.first - 1; k >= ln.First && !p.Tokens[c.first].Gap && p.Tokens[k].Kind == text.KindPunct {
		switch p.Lower[p.Tokens[k].Start] {
		case '#':
			return !(sure && c.relation.joined)
		case '@', '&', '\\', '^', '+', '~':
			return true
		case '/', '-', '.':
			return k > ln.First && !p.Tokens[k].Gap && p.Tokens[k-1].Kind != text.KindPunct && !p.Tokens[k-1].Class.Label()
		}
	}
	if k := c.last + 1; k+1 < ln.Last && p.Lower[p.Tokens[k].Start] == '=' && p.thing(k+1) {
		return true // "4829 = overtime"
	}
	if k := c.last + 1; k < ln.Last && !p.Tokens[k].Gap && p.Tokens[k].Kind == text.KindPunct {
		switch p.Lower[p.Tokens[k].Start] {
		case '@', '&', '=', '\\', '+', '#': // "482913#" is dialled
			return true
		case '/':
			return k+1 < ln.Last && !p.Tokens[k+1].Gap
		}
	}
	return false
}

// thing tells a word that neither announces a code nor says which one.
func (p vetoer) thing(k int32) bool {
	q := p.Tokens[k].Class
	return p.Tokens[k].Kind == text.KindWord && (q == text.ClassNone || q == text.ClassHarmless || q.Other())
}

// bracketed tells "[Request 482913]": a name and a number in brackets are somebody's
// filing, unless the name is the label.
func (p vetoer) bracketed(ln *text.Line, c *candidate) bool {
	k := c.last + 1
	if k >= ln.Last || p.Lower[p.Tokens[k].Start] != ']' {
		return false
	}
	words := 0
	for k = c.first - 1; k >= ln.First && words < 4; k-- {
		switch t := &p.Tokens[k]; {
		case t.Kind == text.KindPunct && p.Lower[t.Start] == '[':
			return words > 0
		case t.Class.Label():
			return false
		case t.Kind == text.KindWord:
			words++
		}
	}
	return false
}

// compared tells "code == 482913": a piece of a program.
func (p vetoer) compared(ln *text.Line, c *candidate) bool {
	k := c.first - 2
	if k >= ln.First && p.Lower[p.Tokens[k+1].Start] == '"' {
		if p.Lower[p.Tokens[k].Start] == ':' && bytes.IndexByte(p.Lower[max(ln.Start, p.Tokens[k].Start-64):p.Tokens[k].Start], '{') >= 0 {
			return true // {"code": "482913"}
		}
		k--
	}
	if k >= ln.First && k+1 < c.first-1 && p.Lower[p.Tokens[k+1].Start] == '=' && !p.Tokens[k+1].Gap && !p.Tokens[k+2].Gap && !p.Tokens[c.first].Gap {
		return true // code="482913"
	}
	if k < ln.First || p.Tokens[k+1].Gap || p.Tokens[k].Kind != text.KindPunct || p.Lower[p.Tokens[k+1].Start] != '=' {
		return false
	}
	b := p.Lower[p.Tokens[k].Start]
	return b == '=' || b == '!'
}

// example tells "such as 482913" and "e.g. code 482913".
func (p vetoer) example(ln *text.Line, c *candidate) bool {
	for k := c.first - 1; k >= ln.First && k >= c.first-9; k-- {
		if t := &p.Tokens[k]; t.Class == text.ClassExample {
			return true
		} else if t.Kind == text.KindPunct && p.pause(t, k, ln) >= sentence {
			return false
		}
	}
	return false
}

// counting tells 123456 and 4321, which people write when they mean any code.
func counting(c *candidate) bool {
	up, down := true, true
	for i := 1; i < int(c.n); i++ {
		up = up && c.text[i] == c.text[i-1]+1
		down = down && c.text[i]+1 == c.text[i-1]
	}
	return up || down
}

// year tells 1900 to 2099.
func year(c *candidate) bool {
	return c.form == formDigits && c.n == 4 && !c.split &&
		(c.text[0] == '1' && c.text[1] == '9' || c.text[0] == '2' && c.text[1] == '0')
}

// date tells 20260331, 31032026 and 31-03-26.
func date(c *candidate) bool {
	if c.form != formDigits || c.n != 8 && (c.n != 6 || !c.split) {
		return false
	}
	two := func(i int) int { return int(c.text[i]-'0')*10 + int(c.text[i+1]-'0') }
	day := func(i int) bool { return two(i) >= 1 && two(i) <= 31 }
	month := func(i int) bool { return two(i) >= 1 && two(i) <= 12 }
	century := func(i int) bool { return two(i) == 19 || two(i) == 20 }
	if c.n == 8 {
		return century(0) && month(4) && day(6) || century(4) && (day(0) && month(2) || month(0) && day(2))
	}
	t := &c.page.Tokens[c.first]
	return c.first == c.last && t.End-t.Start == 8 && // 31-03-26
		(day(0) && month(2) || month(0) && day(2) || month(2) && day(4))
}

// zeros tells 000000: a placeholder rather than a code.
func zeros(c *candidate) bool {
	for _, b := range c.text[:c.n] {
		if b != '0' {
			return false
		}
	}
	return true
}

// mixedVeto asks for strong evidence before letters and digits are taken for a code.
func (p vetoer) mixedVeto(c *candidate, ctx *context) bool {
	r := &c.relation
	if r.behind && !r.joined && !c.own && p.Tokens[max(0, c.first-1)].Class != text.ClassEnter {
		return true // an issue: "AUTH-482 login code not sent"
	}
	backed := r.strength >= medium || r.strength == weak && ctx.strength >= medium && ctx.promo == 0
	if r.strength == weak && !backed {
		backed = (r.joined && (r.direct || ctx.entering > 0) || c.own && r.joined) && ctx.promo+ctx.booking+ctx.others == 0 &&
			(ctx.verify+ctx.entering > 0 || r.direct && ctx.others+ctx.goods+ctx.parcel == 0 && (ctx.subject > 0 || ctx.expiry || ctx.secret || ctx.confirm > 0))
		backed = backed || r.direct && ctx.verify > 0 && ctx.promo+ctx.booking+ctx.others+ctx.parcel+ctx.meeting == 0
	}
	backed = backed || r.direct && ctx.entering > 0 && (ctx.expiry || ctx.secret) && ctx.promo+ctx.booking+ctx.others+ctx.parcel+ctx.meeting == 0
	if !backed && !(p.Tokens[max(0, c.first-1)].Class == text.ClassEnter && ctx.verify+ctx.confirm > 0 && ctx.promo+ctx.booking+ctx.others+ctx.meeting == 0) {
		return true
	}
	letters, digits, changes, hyphens, lower := 0, 0, 0, 0, false
	for i := 0; i < int(c.n); i++ {
		b := c.text[i]
		switch {
		case text.IsDigit(b):
			digits++
		case b == '-':
			hyphens++
		default:
			letters++
			lower = lower || b >= 'a'
		}
		if i > 0 && text.IsDigit(b) != text.IsDigit(c.text[i-1]) {
			changes++
		}
	}
	tied := r.joined || r.direct || c.own && r.score >= belowNear-20
	switch {
	case changes == 1 && letters > 3 && digits <= 2 && hyphens == 0 && !text.IsDigit(c.text[0]) && r.strength == weak && ctx.verify == 0 && !text.Jumbled(c.text[:letters]):
		return true // "HELLO10"
	case letters == 0 || digits == 0, hyphens > 1 && r.strength == weak && ctx.verify == 0:
		return true
	case changes == 1 && text.IsDigit(c.text[0]) && letters <= 3 && lower:
		return true // "300s", "10min", "1080p"
	case !r.joined && !c.own && c.first == c.last && p.branded(c.first):
		return true
	case lower && (!tied || r.strength == weak && !r.joined && !c.own):
		return true // "iphone15" in a sentence
	case changes == 1 && letters >= 3 && digits <= 2 && !tied:
		return true // "COVID19"
	case changes == 1 && c.n > 9 && !(r.strength == strong && r.joined):
		return true // "TBA482913774"
	}
	return false
}
