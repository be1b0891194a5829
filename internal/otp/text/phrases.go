package text

// phrases are texts to look for in other texts. Each stands in the bucket of its first two
// bytes, so that one pass over a text finds any of them.
type phrases [256][]string

// NewPhrases takes phrases of two bytes or more.
func NewPhrases(list ...string) *phrases {
	var p phrases
	for _, w := range list {
		k := bucket(w[0], w[1])
		p[k] = append(p[k], w)
	}
	return &p
}

// FoldPhrases takes phrases as people write them.
func FoldPhrases(list ...string) *phrases {
	folded := make([]string, len(list))
	for i, w := range FoldList(list...) {
		folded[i] = string(w)
	}
	return NewPhrases(folded...)
}

func bucket(a, b byte) byte { return a<<3 ^ b }

// In tells whether one of the phrases stands in text.
func (p *phrases) In(text []byte) bool {
	for i := 0; i+1 < len(text); i++ {
		for _, w := range p[bucket(text[i], text[i+1])] {
			if len(text)-i >= len(w) && string(text[i:i+len(w)]) == w {
				return true
			}
		}
	}
	return false
}

// FoldList folds each of the words.
func FoldList(list ...string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		var f Folded
		f.Fold(s)
		out[i] = f.Lower
	}
	return out
}

// FoldSet is foldList for look-ups.
func FoldSet(list ...string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, w := range FoldList(list...) {
		set[string(w)] = true
	}
	return set
}
