package otp

import "bytes"

// vetoed tells the look-alikes: numbers and words that have the form of a code but mean
// something else. Each rule is about what stands around or inside, never about a sender.
func (p *page) vetoed(c *candidate, ctx *context) bool {
	ln := &p.lines[c.line]
	r := &c.relation
	sure := r.strength == strong && r.direct
	switch {
	case c.listed, p.hidden && !(r.strength >= medium || r.direct):
		return true
	case c.form == formDigits && (p.measured(ln, c) || p.sentTo(ln, c) || p.dialled(ln, c)), p.refused(ln, c):
		return true
	case p.masked(ln, c), p.handed(ln, c), p.tagged(ln, c, sure), p.compared(ln, c), p.bracketed(ln, c), p.named(ln, c), p.reported(ln, c), p.numbered(ln, c.first), p.spoilt(ln, c), p.aside(ln, c):
		return true
	case ln.place && !sure && !c.own && !(r.joined && r.strength >= medium), p.placed(ln, c):
		return true
	case year(c) && !(r.behind && r.joined && c.first == ln.first || r.direct && r.joined || sure || c.own && (r.direct && r.strength == strong || ctx.subject > 0 && len(p.lines) == 1)), date(c) && !sure:
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
		whole := ln.label == ln.first && ln.first+1 == c.first && c.last+1 == ln.last // "PIN 4829137755" on a line
		return !(r.direct && (r.joined || c.own || whole)) && !(r.behind && r.joined)
	}
	return false
}

// measured tells a number that counts something: "184220 attempts", "5000 EUR", "$5000",
// "15 %". Its unit may stand before or behind it.
func (p *page) measured(ln *line, c *candidate) bool {
	if k := c.first - 1; k >= ln.first {
		t := &p.tokens[k]
		if t.class == classMoney || t.kind == kindPunct && p.lower[t.start] == '$' {
			return true
		}
		if t.kind == kindPunct && p.lower[t.start] == '.' && k > ln.first && p.tokens[k-1].class == classMoney {
			return true // "Rs. 5000"
		}
	}
	k := c.last + 1
	if k >= ln.last {
		return false
	}
	t := &p.tokens[k]
	if t.kind == kindPunct {
		b := p.lower[t.start]
		return b == '%' || b == '$'
	}
	if t.class == classTimeUnit {
		return c.n < 6 || t.gap // "４８２９１３分" would be odd, "482913 min" too
	}
	return t.class == classMoney || t.class == classUnit
}

// refused tells "code 482913 does not work".
func (p *page) refused(ln *line, c *candidate) bool {
	k := c.last + 1
	if k < ln.last && p.lower[p.tokens[k].start] == '"' {
		k++
	}
	return k < ln.last && p.tokens[k].class == classStale
}

// masked tells the visible end of a hidden number: "****1234", ".... 7461", "xxxx1234".
func (p *page) masked(ln *line, c *candidate) bool {
	marks := 0
	for k := c.first - 1; k >= ln.first && p.tokens[k].kind == kindPunct; k-- {
		b := p.lower[p.tokens[k].start]
		if b == '-' || b == ')' || b == '(' {
			continue // "***-***-4213"
		}
		if b != '*' && b != '.' && b != '#' && b != 'x' {
			break
		}
		if b == '*' && k+1 == c.first && p.tokens[c.first].gap {
			continue // "** ABC123 **" is emphasis
		}
		marks++
	}
	if marks >= 2 && (c.n <= 5 || !p.tokens[c.first].gap) {
		return !p.emphasized(ln, c, marks)
	}
	if k := c.last + 1; k < ln.last && !p.tokens[k].gap && p.tokens[k].kind == kindPunct && p.lower[p.tokens[k].start] == '*' {
		return k+1 < ln.last && !p.tokens[k+1].gap && !p.emphasized(ln, c, marks)
	}
	return false
}

// emphasized tells "**482913**": as many asterisks behind as before.
func (p *page) emphasized(ln *line, c *candidate, marks int) bool {
	behind := 0
	for k := c.last + 1; k < ln.last && p.tokens[k].kind == kindPunct && p.lower[p.tokens[k].start] == '*'; k++ {
		behind++
	}
	return behind > 0 && behind == marks
}

// tagged tells numbers with a sign that makes them something else: "#482913" is an issue
// or a colour, "482913=" and "/482913" part of some syntax.
func (p *page) tagged(ln *line, c *candidate, sure bool) bool {
	if k := c.first - 1; k >= ln.first && !p.tokens[c.first].gap && p.tokens[k].kind == kindPunct {
		switch p.lower[p.tokens[k].start] {
		case '#':
			return !(sure && c.relation.joined)
		case '@', '&', '\\', '^', '+', '~':
			return true
		case '/', '-', '.':
			return k > ln.first && !p.tokens[k].gap && p.tokens[k-1].kind != kindPunct && !p.tokens[k-1].class.label()
		}
	}
	if k := c.last + 1; k+1 < ln.last && p.lower[p.tokens[k].start] == '=' && p.thing(k+1) {
		return true // "4829 = overtime"
	}
	if k := c.last + 1; k < ln.last && !p.tokens[k].gap && p.tokens[k].kind == kindPunct {
		switch p.lower[p.tokens[k].start] {
		case '@', '&', '=', '\\', '+', '#': // "482913#" is dialled
			return true
		case '/':
			return k+1 < ln.last && !p.tokens[k+1].gap
		}
	}
	return false
}

// thing tells a word that neither announces a code nor says which one.
func (p *page) thing(k int32) bool {
	q := p.tokens[k].class
	return p.tokens[k].kind == kindWord && (q == classNone || q == classHarmless || q.other())
}

// bracketed tells "[Request 482913]": a name and a number in brackets are somebody's
// filing, unless the name is the label.
func (p *page) bracketed(ln *line, c *candidate) bool {
	k := c.last + 1
	if k >= ln.last || p.lower[p.tokens[k].start] != ']' {
		return false
	}
	words := 0
	for k = c.first - 1; k >= ln.first && words < 4; k-- {
		switch t := &p.tokens[k]; {
		case t.kind == kindPunct && p.lower[t.start] == '[':
			return words > 0
		case t.class.label():
			return false
		case t.kind == kindWord:
			words++
		}
	}
	return false
}

// compared tells "code == 482913": a piece of a program.
func (p *page) compared(ln *line, c *candidate) bool {
	k := c.first - 2
	if k >= ln.first && p.lower[p.tokens[k+1].start] == '"' {
		if p.lower[p.tokens[k].start] == ':' && bytes.IndexByte(p.lower[max(ln.start, p.tokens[k].start-64):p.tokens[k].start], '{') >= 0 {
			return true // {"code": "482913"}
		}
		k--
	}
	if k >= ln.first && k+1 < c.first-1 && p.lower[p.tokens[k+1].start] == '=' && !p.tokens[k+1].gap && !p.tokens[k+2].gap && !p.tokens[c.first].gap {
		return true // code="482913"
	}
	if k < ln.first || p.tokens[k+1].gap || p.tokens[k].kind != kindPunct || p.lower[p.tokens[k+1].start] != '=' {
		return false
	}
	b := p.lower[p.tokens[k].start]
	return b == '=' || b == '!'
}

// example tells "such as 482913" and "e.g. code 482913".
func (p *page) example(ln *line, c *candidate) bool {
	for k := c.first - 1; k >= ln.first && k >= c.first-9; k-- {
		if t := &p.tokens[k]; t.class == classExample {
			return true
		} else if t.kind == kindPunct && p.pause(t, k, ln) >= sentence {
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
	t := &c.page.tokens[c.first]
	return c.first == c.last && t.end-t.start == 8 && // 31-03-26
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
func (p *page) mixedVeto(c *candidate, ctx *context) bool {
	r := &c.relation
	if r.behind && !r.joined && !c.own && p.tokens[max(0, c.first-1)].class != classEnter {
		return true // an issue: "AUTH-482 login code not sent"
	}
	backed := r.strength >= medium || r.strength == weak && ctx.strength >= medium && ctx.promo == 0
	if r.strength == weak && !backed {
		backed = (r.joined && (r.direct || ctx.entering > 0) || c.own && r.joined) && ctx.promo+ctx.booking+ctx.others == 0 &&
			(ctx.verify+ctx.entering > 0 || r.direct && ctx.others+ctx.goods+ctx.parcel == 0 && (ctx.subject > 0 || ctx.expiry || ctx.secret || ctx.confirm > 0))
		backed = backed || r.direct && ctx.verify > 0 && ctx.promo+ctx.booking+ctx.others+ctx.parcel+ctx.meeting == 0
	}
	backed = backed || r.direct && ctx.entering > 0 && (ctx.expiry || ctx.secret) && ctx.promo+ctx.booking+ctx.others+ctx.parcel+ctx.meeting == 0
	if !backed && !(p.tokens[max(0, c.first-1)].class == classEnter && ctx.verify+ctx.confirm > 0 && ctx.promo+ctx.booking+ctx.others+ctx.meeting == 0) {
		return true
	}
	letters, digits, changes, hyphens, lower := 0, 0, 0, 0, false
	for i := 0; i < int(c.n); i++ {
		b := c.text[i]
		switch {
		case isDigit(b):
			digits++
		case b == '-':
			hyphens++
		default:
			letters++
			lower = lower || b >= 'a'
		}
		if i > 0 && isDigit(b) != isDigit(c.text[i-1]) {
			changes++
		}
	}
	tied := r.joined || r.direct || c.own && r.score >= belowNear-20
	switch {
	case changes == 1 && letters > 3 && digits <= 2 && hyphens == 0 && !isDigit(c.text[0]) && r.strength == weak && ctx.verify == 0 && !jumbled(c.text[:letters]):
		return true // "HELLO10"
	case letters == 0 || digits == 0, hyphens > 1 && r.strength == weak && ctx.verify == 0:
		return true
	case changes == 1 && isDigit(c.text[0]) && letters <= 3 && lower:
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
