package otp

import "inboxd/internal/otp/text"

// sentTo tells "text CODE 4829 to 77192": what is sent, and where.
func (p vetoer) sentTo(ln *text.Line, c *candidate) bool {
	k := c.last + 2
	if k >= ln.Last || p.Tokens[k].Kind != text.KindNumber || p.Length(k) < minCode {
		if k = c.first; k-2 < ln.First || p.Tokens[k-2].Kind != text.KindNumber || p.Length(k-2) < minCode {
			return false
		}
	}
	return p.towards(k - 1)
}

// towards tells words that name a receiver.
func (p vetoer) towards(k int32) bool {
	switch t := &p.Tokens[k]; string(p.Lower[t.Start:t.End]) {
	case "to", "an", "au", "al", "para", "naar", "til", "на":
		return true
	}
	return false
}

// dialled tells "send VERIFY to 48291".
func (p vetoer) dialled(ln *text.Line, c *candidate) bool {
	k := c.first - 1
	if k < ln.First || !p.towards(k) {
		return false
	}
	for k--; k >= ln.First && k > c.first-6; k-- {
		switch t := &p.Tokens[k]; string(p.Lower[t.Start:t.End]) {
		case "send", "text", "sms", "reply", "sende", "envoyez", "envia":
			return true
		}
	}
	return false
}

// handed tells "share the code 4829 with our driver": it is told to somebody, not typed in.
func (p vetoer) handed(ln *text.Line, c *candidate) bool {
	k := c.last + 1
	if k+1 >= ln.Last || p.Tokens[k+1].Class != text.ClassOf {
		return false
	}
	if w := string(p.Lower[p.Tokens[k].Start:p.Tokens[k].End]); w != "with" && w != "to" {
		return false
	}
	for k = c.first - 1; k >= ln.First && k > c.first-5; k-- {
		switch t := &p.Tokens[k]; string(p.Lower[t.Start:t.End]) {
		case "share", "give", "tell", "show":
			return true
		}
	}
	return false
}
