package otp

// phrases are texts to look for in other texts. Each stands in the bucket of its first two
// bytes, so that one pass over a text finds any of them.
type phrases [256][]string

// newPhrases takes phrases of two bytes or more.
func newPhrases(list ...string) *phrases {
	var p phrases
	for _, w := range list {
		k := bucket(w[0], w[1])
		p[k] = append(p[k], w)
	}
	return &p
}

// foldPhrases takes phrases as people write them.
func foldPhrases(list ...string) *phrases {
	folded := make([]string, len(list))
	for i, w := range foldList(list...) {
		folded[i] = string(w)
	}
	return newPhrases(folded...)
}

func bucket(a, b byte) byte { return a<<3 ^ b }

// in tells whether one of the phrases stands in text.
func (p *phrases) in(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		for _, w := range p[bucket(text[i], text[i+1])] {
			if len(text)-i >= len(w) && string(text[i:i+len(w)]) == w {
				return true
			}
		}
	}
	return false
}
