package text

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

// LexiconEntry is a word of a lexicon, or the beginning of words.
type LexiconEntry struct {
	Word         string // folded
	WordValue    uint32 // value of the word, not 0
	AnyEnding    bool   // the word may have any ending
	EndsCompound bool   // the word may end a compound
}

// Lexicon is a trie over the bytes of its words. It is immutable, and any goroutine may use it.
type Lexicon struct {
	nodes     []trieNode
	nodeBytes []byte // for each node, the byte that leads to it
}

// trieNode is a node of the trie. Its children are consecutive in Lexicon.nodes, sorted by their bytes,
// so that a bit count finds the child of a letter.
type trieNode struct {
	firstChild   int32  // the first child
	letterBits   uint32 // bit n is set if there is a child for letter 'a'+n
	childCount   uint8  // number of children
	signCount    uint8  // number of children with bytes below 'a'
	endsCompound bool   // the word that ends here may end a compound
	anyEnding    bool   // the word that ends here may have any ending
	wordValue    uint32 // value of the word that ends here, 0 for none
}

// NewLexicon makes a lexicon of the entries, which it sorts in place. If entries have the same
// word, the first value counts.
func NewLexicon(entries []LexiconEntry) *Lexicon {
	slices.SortStableFunc(entries, func(a, b LexiconEntry) int { return cmp.Compare(a.Word, b.Word) })
	x := &Lexicon{nodes: make([]trieNode, 1), nodeBytes: make([]byte, 1)}
	under := [][]LexiconEntry{entries} // of each node
	depth := []int{0}
	for at := 0; at < len(x.nodes); at++ {
		rest, n := under[at], depth[at]
		for ; len(rest) > 0 && len(rest[0].Word) == n; rest = rest[1:] {
			x.nodes[at].addEntry(rest[0])
		}
		x.nodes[at].firstChild = int32(len(x.nodes))
		for len(rest) > 0 {
			k := slices.IndexFunc(rest, func(e LexiconEntry) bool { return e.Word[n] != rest[0].Word[n] })
			if k < 0 {
				k = len(rest)
			}
			x.nodes, x.nodeBytes = append(x.nodes, trieNode{}), append(x.nodeBytes, rest[0].Word[n])
			under, depth = append(under, rest[:k]), append(depth, n+1)
			x.nodes[at].addChild(rest[0].Word[n])
			rest = rest[k:]
		}
	}
	return x
}

// addEntry adds an entry that ends at the node.
func (n *trieNode) addEntry(e LexiconEntry) {
	n.wordValue = cmp.Or(n.wordValue, e.WordValue)
	n.anyEnding = n.anyEnding || e.AnyEnding
	n.endsCompound = n.endsCompound || e.EndsCompound
}

// addChild adds a child for byte c. The children must be added in order.
func (n *trieNode) addChild(c byte) {
	n.childCount++
	if InRange(c, 'a', 'z') {
		n.letterBits |= 1 << (c - 'a')
	} else if c < 'a' {
		n.signCount++
	}
}

// FoundWord is the result of a look-up: the longest word at a position.
type FoundWord struct {
	End       int    // position behind the word
	WordValue uint32 // value of the word, 0 if no word was found
	AnyEnding bool   // the word may have any ending
}

// wordMatch says what words a look-up accepts.
type wordMatch uint8

// What words a look-up accepts.
const (
	WholeWords    wordMatch = iota // words that end at the end of a word in the text, or may have any ending
	AnyPosition                    // all words, for scripts without spaces
	CompoundTails                  // words that may end a compound
)

// At returns the longest word of the lexicon at b[i]. A space in the word also matches a hyphen or
// a tab, which is what several spaces are folded to.
func (x *Lexicon) At(b []byte, i int, take wordMatch) (best FoundWord) {
	n := &x.nodes[0]
	for ; i < len(b); i++ {
		at := x.childFor(n, b[i])
		if at == 0 {
			break
		}
		n = &x.nodes[at]
		if n.wordValue == 0 || take == CompoundTails && !n.endsCompound {
			continue
		}
		if n.anyEnding || take == AnyPosition || i+1 >= len(b) || mayEndBefore(b, i+1) {
			best = FoundWord{i + 1, n.wordValue, n.anyEnding}
		}
	}
	return best
}

// childFor returns the child of n for byte c, or 0.
func (x *Lexicon) childFor(n *trieNode, c byte) int32 {
	if letter := c - 'a'; letter < 26 {
		bit := uint32(1) << letter
		if n.letterBits&bit == 0 {
			return 0
		}
		return n.firstChild + int32(n.signCount) + int32(bits.OnesCount32(n.letterBits&(bit-1)))
	}
	return x.childForSign(n, c)
}

// childForSign is step for a byte that is not an ASCII letter.
func (x *Lexicon) childForSign(n *trieNode, c byte) int32 {
	branches := x.nodeBytes[n.firstChild:][:n.childCount]
	k := bytes.IndexByte(branches, c)
	if k < 0 && (c == '-' || c == '\t') {
		k = bytes.IndexByte(branches, ' ')
	}
	if k < 0 {
		return 0
	}
	return n.firstChild + int32(k)
}

// mayEndBefore reports whether a word may end before b[i].
func mayEndBefore(b []byte, i int) bool { return !inWord(b[i]) || unspaced(b, i) }

// inWord reports whether a folded byte continues a word.
func inWord(b byte) bool {
	return isLetter(b) || IsDigit(b) || b == '_'
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 0x80 }

// IsDigit reports whether b is an ASCII digit.
func IsDigit(b byte) bool { return b >= '0' && b <= '9' }

// IsAlnum reports whether b is a lower-case ASCII letter or an ASCII digit.
func IsAlnum(b byte) bool { return b >= 'a' && b <= 'z' || IsDigit(b) }
