package otp

import (
	"bytes"

	"inboxd/internal/mail/otp/model"
	"inboxd/internal/mail/otp/text"
)

// This file has the constructors of features, and the functions that compute feature values.

type feature = model.Feature[view]

// of returns a feature whose value has the index that value returns.
func of(name, says string, values []string, value func(*view) int) feature {
	return feature{Name: name, Says: says, Values: values, Of: value}
}

// ofSign returns a feature whose value is a sign.
func ofSign(name, says string, which func(*view) sign) feature {
	values := append([]string{""}, signNames[:]...)
	return of(name, says, values, func(v *view) int { return 1 + int(which(v)) })
}

// bagOf returns a bag feature of signs.
func bagOf(name, says string, which func(*view) bag) model.Bag[view] {
	return model.Bag[view]{Name: name, Says: says, Values: signNames[:], Of: func(v *view) uint64 { return uint64(which(v)) }}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tied returns a feature that combines the strength of the label on one side, its distance, whether
// a colon or "is" joins it to the candidate, and more.
func tied(name, says string, which func(*view) *tie, dists []string, steps []int, more ...feature) feature {
	return model.Grid(name, says, append([]feature{
		of("", "", []string{"none", "weak", "medium", "strong", "plural", "taken"}, func(v *view) int { return int(which(v).strength) }),
		of("", "", dists, func(v *view) int { return model.Step(which(v).dist, steps...) }),
		of("", "", []string{"", "joined"}, func(v *view) int { return bit(which(v).joined) }),
	}, more...)...)
}

// years returns 1 if the candidate can be a year from 1900 to 2099, 2 if it starts or ends with one
// as the number of a document does (2026-7714), otherwise 0.
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

// counting reports whether the characters count up or down: 123456, 4321. Such numbers are
// examples.
func counting(c *candidate) bool {
	up, down := true, true
	for i := 1; i < int(c.n); i++ {
		up = up && c.text[i] == c.text[i-1]+1
		down = down && c.text[i]+1 == c.text[i-1]
	}
	return up || down
}

// looks are the values of the bag feature look, the shape of the candidate itself.
var looks = []string{"lower", "vowel", "hyphen", "jumble", "digits-first", "many-letters"}

// look returns the set of looks that hold for the candidate: bit i stands for looks[i].
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
