package otp

import (
	"bytes"
	"strings"

	"inboxd/internal/mail/otp/model"
	"inboxd/internal/mail/otp/text"
)

// This file has the constructors of features, and the functions that compute feature values.

type feature = model.Feature[candidateView]

// of returns a feature whose value has the index that value returns.
func of(name, says string, values []string, value func(*candidateView) int) feature {
	return feature{Name: name, HelpText: says, Values: values, Of: value}
}

// ofSign returns a feature whose value is a sign.
func ofSign(name, says string, which func(*candidateView) sign) feature {
	values := append([]string{""}, signNames[:]...)
	return of(name, says, values, func(v *candidateView) int { return 1 + int(which(v)) })
}

// bagOf returns a bag feature of signs.
func bagOf(name, says string, which func(*candidateView) signSet) model.BagFeature[candidateView] {
	return model.BagFeature[candidateView]{Name: name, HelpText: says, Values: signNames[:], Of: func(v *candidateView) uint64 { return uint64(which(v)) }}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// labelFeature returns a feature that combines the strength of the label on one side, its distance,
// whether a colon or "is" joins it to the candidate, and more.
func labelFeature(name, says string, which func(*candidateView) *nearbyLabel, dists []string, steps []int, more ...feature) feature {
	return model.CrossProduct(name, says, append([]feature{
		of("", "", []string{"none", "weak", "medium", "strong", "plural", "taken"}, func(v *candidateView) int { return int(which(v).labelStrength) }),
		of("", "", dists, func(v *candidateView) int { return model.BucketIndex(which(v).dist, steps...) }),
		of("", "", []string{"", "joined"}, func(v *candidateView) int { return boolToInt(which(v).isJoined) }),
	}, more...)...)
}

// yearMatch returns 1 if the candidate can be a year from 1900 to 2099, 2 if it starts or ends with one
// as the number of a document does (2026-7714), otherwise 0.
func yearMatch(c *candidate) int {
	is := func(b []byte) bool { return string(b[:2]) == "19" || string(b[:2]) == "20" }
	switch b := c.codeBytes[:c.n]; {
	case c.form != formDigits:
	case c.n == 4 && !c.isSplit:
		return boolToInt(is(b))
	case c.n > 6 && c.isSplit:
		return 2 * boolToInt(is(b) || is(b[c.n-4:]))
	}
	return 0
}

// isSequential reports whether the characters count up or down: 123456, 4321. Such numbers are
// examples.
func isSequential(c *candidate) bool {
	up, down := true, true
	for i := 1; i < int(c.n); i++ {
		up = up && c.codeBytes[i] == c.codeBytes[i-1]+1
		down = down && c.codeBytes[i]+1 == c.codeBytes[i-1]
	}
	return up || down
}

// shapeValues are the values of the bag feature look, the shape of the candidate itself.
var shapeValues = []string{"lower", "vowel", "hyphen", "jumble", "digits-first", "many-letters"}

// shapeSet returns the set of looks that hold for the candidate: bit i stands for looks[i].
func shapeSet(c *candidate) (set uint64) {
	digits, changes, b := 0, 0, c.codeBytes[:c.n]
	for i := range b {
		digits += boolToInt(text.IsDigit(b[i]))
		changes += boolToInt(i > 0 && text.IsDigit(b[i]) != text.IsDigit(b[i-1]))
	}
	for i, seen := range []bool{
		bytes.ContainsAny(b, "abcdefghijklmnopqrstuvwxyz"),
		bytes.ContainsAny(b, "AEIOUaeiou"),
		bytes.IndexByte(b, '-') >= 0,
		changes > 2,
		text.IsDigit(b[0]),
		len(b)-digits > 3,
	} {
		set |= uint64(boolToInt(seen)) << i
	}
	return set
}

// maxLinked is the number of bytes of the links of a message that are searched for a candidate.
const maxLinked = 4096

// linkIndex returns 2 if the candidate, as written, is the value of a parameter in a link of the
// message, 1 if it is in another part of one, and 0 if it is in none.
func (v *candidateView) linkIndex() (index int) {
	code, searched := v.c.codeBytes[:v.c.n], 0
	for _, url := range v.ctx.links {
		if searched += len(url); searched > maxLinked || index == 2 {
			break
		}
		if at := strings.Index(url, string(code)); at >= 0 {
			index = max(index, 1+boolToInt(at > 0 && url[at-1] == '='))
		}
	}
	return index
}
