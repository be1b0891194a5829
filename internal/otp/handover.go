package otp

// sentTo tells "text CODE 4829 to 77192": what is sent, and where.
func (p *page) sentTo(ln *line, c *candidate) bool {
	k := c.last + 2
	if k >= ln.last || p.tokens[k].kind != kindNumber || p.length(k) < minCode {
		if k = c.first; k-2 < ln.first || p.tokens[k-2].kind != kindNumber || p.length(k-2) < minCode {
			return false
		}
	}
	return p.towards(k - 1)
}

// towards tells words that name a receiver.
func (p *page) towards(k int32) bool {
	switch t := &p.tokens[k]; string(p.lower[t.start:t.end]) {
	case "to", "an", "au", "al", "para", "naar", "til", "на":
		return true
	}
	return false
}

// dialled tells "send VERIFY to 48291".
func (p *page) dialled(ln *line, c *candidate) bool {
	k := c.first - 1
	if k < ln.first || !p.towards(k) {
		return false
	}
	for k--; k >= ln.first && k > c.first-6; k-- {
		switch t := &p.tokens[k]; string(p.lower[t.start:t.end]) {
		case "send", "text", "sms", "reply", "sende", "envoyez", "envia":
			return true
		}
	}
	return false
}

// handed tells "share the code 4829 with our driver": it is told to somebody, not typed in.
func (p *page) handed(ln *line, c *candidate) bool {
	k := c.last + 1
	if k+1 >= ln.last || p.tokens[k+1].class != classOf {
		return false
	}
	if w := string(p.lower[p.tokens[k].start:p.tokens[k].end]); w != "with" && w != "to" {
		return false
	}
	for k = c.first - 1; k >= ln.first && k > c.first-5; k-- {
		switch t := &p.tokens[k]; string(p.lower[t.start:t.end]) {
		case "share", "give", "tell", "show":
			return true
		}
	}
	return false
}
