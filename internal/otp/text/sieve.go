package text

// sieve tells most words that are not in the vocabulary from their first letters, without following
// them to where they part from it. It is a set of hashes: it lets too much through, never too little.
// It holds, up to their eighth letter, words after whose letters something listed ends or goes on,
// and, marked as heads, the first four letters of words that take any ending.
type sieve [1 << 11]uint64

const (
	headLetters = 4
	headMask    = 1<<(8*headLetters) - 1
	headMark    = 1 << 63
)

// passes tells whether a word of n letters (eight stand for more) may be listed. Its letters are the
// bytes of w, the first the lowest.
func (s *sieve) passes(w uint64, n int) bool {
	return s.has(w) || n >= headLetters && s.has(w&headMask|headMark)
}

func (s *sieve) has(key uint64) bool {
	h := hash(key)
	return s[h>>6]&(1<<(h&63)) != 0
}

func (s *sieve) add(key uint64) {
	h := hash(key)
	s[h>>6] |= 1 << (h & 63)
}

// hash gives a place among the bits of a sieve.
func hash(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> (64 - 17) }

// addEndings lets every word through that begins with the n letters of w.
func (s *sieve) addEndings(w uint64, n int) {
	if n >= headLetters {
		s.add(w&headMask | headMark)
		return
	}
	for c := uint64('a'); c <= 'z'; c++ {
		longer := w | c<<(8*n)
		s.add(longer)
		s.addEndings(longer, n+1)
	}
}

// sift fills the sieve with what stands under a node, to which n letters lead.
func (x *lexicon) sift(at int32, w uint64, n int) {
	node := &x.nodes[at]
	if node.class != ClassNone || node.others > 0 {
		x.sieve.add(w)
	}
	if node.class != ClassNone && node.flags&flagEnding != 0 {
		x.sieve.addEndings(w, n)
	}
	for c := byte('a'); c <= 'z'; c++ {
		next, longer := x.step(at, c), w
		if n < 8 {
			longer |= uint64(c) << (8 * n)
		}
		if next != 0 {
			x.sift(next, longer, n+1)
		}
	}
}
