package otp

// What a code itself looks like.

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

// withYear tells 2026-7714: the number of a document.
func withYear(c *candidate) bool {
	year := func(s []byte) bool { return s[0] == '1' && s[1] == '9' || s[0] == '2' && s[1] == '0' }
	if c.form != formDigits || !c.split || c.n <= 6 {
		return false
	}
	return year(c.text[:2]) || year(c.text[c.n-4:])
}

// date tells 20260331, 31032026 and 31-03-26.
func date(c *candidate) bool {
	if c.form != formDigits || c.n != 8 && (c.n != 6 || !c.split) {
		return false
	}
	two := func(i int) int { return int(c.text[i]-'0')*10 + int(c.text[i+1]-'0') }
	day := func(i int) bool { return two(i) >= 1 && two(i) <= 31 }
	month := func(i int) bool { return two(i) >= 1 && two(i) <= 12 }
	dayMonth := func(i int) bool { return day(i) && month(i+2) || month(i) && day(i+2) }
	century := func(i int) bool { return two(i) == 19 || two(i) == 20 }
	if c.n == 8 && century(0) && month(4) && day(6) {
		return true
	}
	if c.n == 8 {
		return century(4) && dayMonth(0)
	}
	t := &c.page.Tokens[c.first]
	if c.first != c.last || t.End-t.Start != 8 {
		return false
	}
	return dayMonth(0) || month(2) && day(4) // 31-03-26
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
