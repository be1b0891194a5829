package otp

import (
	"strings"

	"inboxd/internal/otp/model"
	"inboxd/internal/otp/text"
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

var strengths = []string{"none", "weak", "medium", "strong"}

// joined gives each word of the first list with each of the others behind it.
func joined(first []string, others ...[]string) []string {
	for _, list := range others {
		var longer []string
		for _, word := range first {
			for _, end := range list {
				longer = append(longer, word+end)
			}
		}
		first = longer
	}
	return first
}

func tieValues(dists ...string) []string {
	return append([]string{"", "none"}, joined(strengths[1:], dists, []string{"", ",joined"}, []string{"", ",crossed"})...)
}

func tieValue(t *tie, dists int, dist int) int {
	if t.strength == 0 {
		return 1
	}
	return 2 + ((int(t.strength)-1)*dists+dist)*4 + 2*bit(t.joined) + bit(t.crossed)
}

// near is the strength of the labels that are beside the candidate
func (v *view) near() int {
	s := uint8(0)
	if v.before.dist < 7 && !v.before.crossed {
		s = v.before.strength
	}
	if v.after.dist < 7 && !v.after.crossed {
		s = max(s, v.after.strength)
	}
	if v.c.own && v.above.dist < 3 {
		s = max(s, v.above.strength)
	}
	return int(s)
}

var formNames = append([]string{""}, joined([]string{"digits", "mixed", "letters", "chain"}, []string{"4", "5", "6", "7", "8", "9", "more"})...)

func mix(v *view) int {
	c := v.c
	if c.form != formMixed {
		return 0
	}
	letters, digits, changes, hyphens, lower, spoken := 0, 0, 0, 0, false, false
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
			spoken = spoken || strings.IndexByte("AEIOUaeiou", b) >= 0
		}
		if i > 0 && text.IsDigit(b) != text.IsDigit(c.text[i-1]) {
			changes++
		}
	}
	switch {
	case changes == 1 && text.IsDigit(c.text[0]) && letters <= 3 && lower:
		return 2
	case changes == 1 && letters > 2 && spoken && !text.IsDigit(c.text[0]):
		return 1
	case lower:
		return 3
	case hyphens > 0:
		return 5
	case changes > 2:
		return 4
	}
	return 6
}

func aboveValues() []string {
	values := append([]string{"", "none"}, joined(strengths[1:], []string{",1", ",2", ",3", ",far"}, []string{"", ",colon"}, []string{"", ",heading"}, []string{"", ",own"})...)
	return append(values, "plural", "taken", "taken,own")
}

func aboveValue(v *view) int {
	t := &v.above
	switch {
	case t.strength == 0:
		return 1
	case t.plural:
		return 98
	case t.taken:
		return 99 + bit(v.c.own)
	}
	return 2 + ((int(t.strength)-1)*4+model.Step(t.dist, 1, 2, 3))*8 + 4*bit(t.joined) + 2*bit(t.heading) + bit(v.c.own)
}

var labelNames = []string{"", "code", "password", "passcode", "otp", "approval", "other"}
