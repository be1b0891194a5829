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
