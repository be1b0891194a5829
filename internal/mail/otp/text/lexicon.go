package text

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

// Entry is a word of a lexicon, or the beginning of words.
type Entry struct {
	Word   string // folded
	Means  uint32 // value of the word, not 0
	Begins bool   // the word may have any ending
	Tail   bool   // the word may end a compound
}

// Lexicon is a trie over the bytes of its words. It is immutable, and any goroutine may use it.
type Lexicon struct {
	nodes  []node
	labels []byte // for each node, the byte that leads to it
}

// node is a node of the trie. Its children are consecutive in Lexicon.nodes, sorted by their bytes,
// so that a bit count finds the child of a letter.
type node struct {
	first    int32  // the first child
	letters  uint32 // bit n is set if there is a child for letter 'a'+n
	branches uint8  // number of children
	signs    uint8  // number of children with bytes below 'a'
	tail     bool   // the word that ends here may end a compound
	begins   bool   // the word that ends here may have any ending
	means    uint32 // value of the word that ends here, 0 for none
}

// NewLexicon makes a lexicon of the entries, which it sorts in place. If entries have the same
// word, the first value counts.
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

// take adds an entry that ends at the node.
func (n *node) take(e Entry) {
	n.means = cmp.Or(n.means, e.Means)
	n.begins = n.begins || e.Begins
	n.tail = n.tail || e.Tail
}

// branch adds a child for byte c. The children must be added in order.
func (n *node) branch(c byte) {
	n.branches++
	if Between(c, 'a', 'z') {
		n.letters |= 1 << (c - 'a')
	} else if c < 'a' {
		n.signs++
	}
}

// Found is the result of a look-up: the longest word at a position.
type Found struct {
	End    int    // position behind the word
	Means  uint32 // value of the word, 0 if no word was found
	Begins bool   // the word may have any ending
}

// which says what words a look-up accepts.
type which uint8

// What words a look-up accepts.
const (
	Words    which = iota // words that end at the end of a word in the text, or may have any ending
	Anywhere              // all words, for scripts without spaces
	Tails                 // words that may end a compound
)

// At returns the longest word of the lexicon at b[i]. A space in the word also matches a hyphen or
// a tab, which is what several spaces are folded to.
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

// step returns the child of n for byte c, or 0.
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

// sign is step for a byte that is not an ASCII letter.
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

// ends reports whether a word may end before b[i].
func ends(b []byte, i int) bool { return !inWord(b[i]) || unspaced(b, i) }

// inWord reports whether a folded byte continues a word.
func inWord(b byte) bool {
	return isLetter(b) || IsDigit(b) || b == '_'
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 0x80 }

// IsDigit reports whether b is an ASCII digit.
func IsDigit(b byte) bool { return b >= '0' && b <= '9' }

// IsAlnum reports whether b is a lower-case ASCII letter or an ASCII digit.
func IsAlnum(b byte) bool { return b >= 'a' && b <= 'z' || IsDigit(b) }
