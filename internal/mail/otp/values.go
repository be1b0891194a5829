package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/model"
	"inboxd/internal/mail/otp/text"
)

// Values of features, and how features are written down.

type feature = model.Feature[view]

func of(name, says string, values []string, value func(*view) int) feature {
	return feature{Name: name, Says: says, Values: values, Of: value}
}

func ofSign(name, says string, which func(*view) sign) feature {
	values := append([]string{""}, signNames[:]...)
	return of(name, says, values, func(v *view) int { return 1 + int(which(v)) })
}

func bagOf(name, says string, which func(*view) bag) model.Bag[view] {
	return model.Bag[view]{Name: name, Says: says, Values: signNames[:], Of: func(v *view) uint64 { return uint64(which(v)) }}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tied is a feature of the word for code that stands on some side: its strength, how far away it is, and two more things.
func tied(name, says string, which func(*view) *tie, dists []string, steps []int, more ...feature) feature {
	return model.Grid(name, says, append([]feature{
		of("", "", []string{"none", "weak", "medium", "strong", "plural", "taken"}, func(v *view) int { return int(which(v).strength) }),
		of("", "", dists, func(v *view) int { return model.Step(which(v).dist, steps...) }),
		of("", "", []string{"", "joined"}, func(v *view) int { return bit(which(v).joined) }),
	}, more...)...)
}

// years tells 1900 to 2099, and 2026-7714: the number of a document.
func years(c *candidate) int {
	is := func(b []byte) bool { return string(b[:2]) == "19" || string(b[:2]) == "20" }
	switch b := c.text[:c.n]; {
	case c.form != formDigits:
	case c.n == 4 && !c.split:
		return bit(is(b))
	case c.n > 6 && c.split:
		return 2 * bit(is(b) || is(b[c.n-4:]))
	}
	return 0
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

// looks are what is seen of a code itself.
var looks = []string{"lower", "vowel", "hyphen", "jumble", "digits-first", "many-letters"}

func look(c *candidate) (set uint64) {
	digits, changes, b := 0, 0, c.text[:c.n]
	for i := range b {
		digits += bit(text.IsDigit(b[i]))
		changes += bit(i > 0 && text.IsDigit(b[i]) != text.IsDigit(b[i-1]))
	}
	for i, seen := range []bool{
		bytes.ContainsAny(b, "abcdefghijklmnopqrstuvwxyz"),
		bytes.ContainsAny(b, "AEIOUaeiou"),
		bytes.IndexByte(b, '-') >= 0,
		changes > 2,
		text.IsDigit(b[0]),
		len(b)-digits > 3,
	} {
		set |= uint64(bit(seen)) << i
	}
	return set
}
