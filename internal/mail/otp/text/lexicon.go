package text

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

// Entry is a word of a lexicon, folded, or the beginning of one.
type Entry struct {
	Word   string
	Means  uint32 // not 0
	Begins bool   // it may take any ending
	Tail   bool   // it may end a compound
}

// Lexicon is a tree over the bytes of its words. It never changes once it is made; any goroutine may use it.
type Lexicon struct {
	nodes  []node
	labels []byte // of each node, the byte that leads to it
}

// node has its branches in one run, by their bytes.
type node struct {
	first    int32
	letters  uint32 // bit n: one for letter 'a'+n
	branches uint8
	signs    uint8 // those before the letters
	tail     bool
	begins   bool   // the word that ends here may go on
	means    uint32 // ... and what it means, 0 when none ends
}

// NewLexicon makes a lexicon. An entry that is given twice keeps its first meaning.
func NewLexicon(entries []Entry) *Lexicon {
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Word, b.Word) })
	x := &Lexicon{nodes: make([]node, 1), labels: make([]byte, 1)}
	under := [][]Entry{entries} // of each node
	depth := []int{0}
	for at := 0; at < len(x.nodes); at++ {
		rest, n := under[at], depth[at]
		for ; len(rest) > 0 && len(rest[0].Word) == n; rest = rest[1:] {
			x.nodes[at].take(rest[0])
		}
		x.nodes[at].first = int32(len(x.nodes))
		for len(rest) > 0 {
			k := slices.IndexFunc(rest, func(e Entry) bool { return e.Word[n] != rest[0].Word[n] })
			if k < 0 {
				k = len(rest)
			}
			x.nodes, x.labels = append(x.nodes, node{}), append(x.labels, rest[0].Word[n])
			under, depth = append(under, rest[:k]), append(depth, n+1)
			x.nodes[at].branch(rest[0].Word[n])
			rest = rest[k:]
		}
	}
	return x
}

func (n *node) take(e Entry) {
	n.means = cmp.Or(n.means, e.Means)
	n.begins = n.begins || e.Begins
	n.tail = n.tail || e.Tail
}

func (n *node) branch(c byte) {
	n.branches++
	if Between(c, 'a', 'z') {
		n.letters |= 1 << (c - 'a')
	} else if c < 'a' {
		n.signs++
	}
}

// Found is the longest word of a lexicon at some place.
type Found struct {
	End    int
	Means  uint32 // 0 for none
	Begins bool   // the word may go on
}

// Which words a look-up takes.
type which uint8

const (
	Words    which = iota // that end where a word does, or may go on
	Anywhere              // there are no ends of words
	Tails                 // that may end a compound
)

// At finds the longest word at b[i]. A blank in it stands for a hyphen or several blanks too.
func (x *Lexicon) At(b []byte, i int, take which) (best Found) {
	n := &x.nodes[0]
	for ; i < len(b); i++ {
		at := x.step(n, b[i])
		if at == 0 {
			break
		}
		n = &x.nodes[at]
		if n.means == 0 || take == Tails && !n.tail {
			continue
		}
		if n.begins || take == Anywhere || i+1 >= len(b) || ends(b, i+1) {
			best = Found{i + 1, n.means, n.begins}
		}
	}
	return best
}

func (x *Lexicon) step(n *node, c byte) int32 {
	if letter := c - 'a'; letter < 26 {
		bit := uint32(1) << letter
		if n.letters&bit == 0 {
			return 0
		}
		return n.first + int32(n.signs) + int32(bits.OnesCount32(n.letters&(bit-1)))
	}
	return x.sign(n, c)
}

// sign steps over what is no ASCII letter.
func (x *Lexicon) sign(n *node, c byte) int32 {
	branches := x.labels[n.first:][:n.branches]
	k := bytes.IndexByte(branches, c)
	if k < 0 && (c == '-' || c == '\t') {
		k = bytes.IndexByte(branches, ' ')
	}
	if k < 0 {
		return 0
	}
	return n.first + int32(k)
}

// ends tells whether a word may end before b[i].
func ends(b []byte, i int) bool { return !inWord(b[i]) || unspaced(b, i) }

// inWord tells whether a folded byte continues a word.
func inWord(b byte) bool {
	return isLetter(b) || IsDigit(b) || b == '_'
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 0x80 }
func IsDigit(b byte) bool  { return b >= '0' && b <= '9' }

// IsAlnum tells the bytes of which codes are made.
func IsAlnum(b byte) bool { return b >= 'a' && b <= 'z' || IsDigit(b) }
