package text

import (
	"math/bits"
	"sort"
	"strings"
)

// Class is what a word of the vocabulary means for the search.
type Class uint8

const (
	ClassNone     Class = iota
	ClassCode           // "code": says little unless the words around it say which code
	ClassPassword       // "password": a one-time one only with a classOnce word
	ClassPasscode       // "passcode", "access code": may also belong to a meeting or a door
	ClassOTP            // cannot mean anything else
	ClassApproval       // "authorization code": in a receipt it is the card terminal's
	ClassVerify         // verification, login, security
	ClassConfirm        // confirmation, access, activation: orders and bookings have them too
	ClassOnce           // one-time, temporary, dynamic
	ClassEnter          // enter, use, type
	ClassIs             // is, ist, es
	ClassOf             // de, of, der: joins "code" with the word that says which
	ClassOther          // order, invoice, phone, error: names a number that is no code
	ClassPromo          // coupon, discount, checkout
	ClassBooking        // reservation, flight
	ClassParcel         // parcel, courier: handed over against a code
	ClassMeeting        // meeting id, webinar
	ClassAccount        // account: may have a number, but codes are for it too
	ClassPlace          // street, suite: the line is an address
	ClassMoney          // currency, before or after its amount
	ClassUnit           // minutes, points: after a number
	ClassTimeUnit       // minutes, hours, days; a unit that also tells an expiry
	ClassPaper          // certificate, diploma: checked by a code of its own
	ClassBy             // with, by: joins "confirm" with the code
	ClassDigits         // digits, "-stellig": "the 6-digit code" is hardly a shop's
	ClassFresh          // new, following, unique: says nothing about the code behind it
	ClassExample        // "such as", "e.g."
	ClassStale          // old, previous, expired
	ClassSpoilt         // wrong, expired: said of a code that somebody entered
	ClassSecret         // "never share it", "if this wasn't you": said of one-time codes, hardly of others
	ClassNever          // "will never ask for": what follows is not announced
	ClassHarmless       // begins like a word of the vocabulary, but is none

	Classes = iota // how many there are
)

// Label tells whether a word of class c can announce a code.
func (c Class) Label() bool { return c >= ClassCode && c <= ClassApproval }

// Other tells whether a word of class c announces a number that is no code.
func (c Class) Other() bool { return c >= ClassOther && c <= ClassMeeting }

// Patterns of the vocabulary, after folding:
//
//	word     the whole word
//	word*    the word and whatever ending it takes
//	~word    also as the later part of a compound whose first part is known ("login|code")
//	two words: a blank matches a blank or a hyphen
//
// Scripts that do not part words by blanks match at every letter.
const (
	flagWhole  = 1 << iota // complete only at the end of a word
	flagEnding             // may take endings
	flagTail               // may end a compound
)

// lexicon is a trie over the bytes of the folded words. It never changes once built.
type lexicon struct {
	sieve sieve
	root  [256]int32
	nodes []lexNode
	tails []uint64 // of each node, bit n: an edge for byte 0x80+n
	edges []lexEdge
}

// lexNode has its edges in one run: those of letters, of continuation bytes, then the rest,
// each in order, so that counting the bits below one gives the place of its edge. The node
// that its first edge leads to stands right behind it, so most words are read in one go.
type lexNode struct {
	letters uint32 // bit n: an edge for letter 'a'+n
	first   int32  // edge
	class   Class
	flags   uint8
	others  uint8 // edges that are of no letter
}

type lexEdge struct {
	b  byte
	to int32
}

type lexBuild struct {
	next  map[byte]*lexBuild
	class Class
	flags uint8
}

// newLexicon compiles the vocabulary. A word listed twice keeps its first meaning.
func newLexicon(table []vocabulary) *lexicon {
	top := &lexBuild{next: map[byte]*lexBuild{}}
	var f Folded
	for _, v := range table {
		for _, word := range v.words {
			top.add(&f, word, v.class)
		}
	}
	x := &lexicon{nodes: make([]lexNode, 1), tails: make([]uint64, 1)}
	for b, child := range top.next {
		x.root[b] = x.flatten(child)
	}
	for c := byte('a'); c <= 'z'; c++ {
		x.sift(x.root[c], uint64(c), 1)
	}
	return x
}

func (n *lexBuild) add(f *Folded, word string, c Class) {
	flags := uint8(flagWhole)
	if strings.HasPrefix(word, "~") {
		flags |= flagTail
		word = word[1:]
	}
	if strings.HasSuffix(word, "*") {
		flags = flags&^flagWhole | flagEnding
		word = word[:len(word)-1]
	}
	f.reset()
	f.Fold(word)
	for _, b := range f.Lower {
		if n.next[b] == nil {
			n.next[b] = &lexBuild{next: map[byte]*lexBuild{}}
		}
		n = n.next[b]
	}
	if n.class == ClassNone {
		n.class = c
	}
	n.flags |= flags
}

func (x *lexicon) flatten(n *lexBuild) int32 {
	at := int32(len(x.nodes))
	x.nodes, x.tails = append(x.nodes, lexNode{class: n.class, flags: n.flags}), append(x.tails, 0)
	keys := make([]byte, 0, len(n.next))
	for b := range n.next {
		keys = append(keys, b)
	}
	sort.Slice(keys, func(i, j int) bool { return edgeOrder(keys[i]) < edgeOrder(keys[j]) })
	edges := make([]lexEdge, 0, len(keys))
	for _, b := range keys {
		edges = append(edges, lexEdge{b, x.flatten(n.next[b])})
	}
	node := &x.nodes[at]
	for _, b := range keys {
		switch {
		case b >= 'a' && b <= 'z':
			node.letters |= 1 << (b - 'a')
			continue
		case b >= 0x80 && b < 0xC0:
			x.tails[at] |= 1 << (b - 0x80)
		}
		node.others++
	}
	node.first = int32(len(x.edges))
	x.edges = append(x.edges, edges...)
	return at
}

// edgeOrder puts letters first and continuation bytes second.
func edgeOrder(b byte) int {
	switch {
	case b >= 'a' && b <= 'z':
		return int(b)
	case b >= 0x80 && b < 0xC0:
		return 0x100 + int(b)
	}
	return 0x200 + int(b)
}

// found is the longest word of the vocabulary at some place: its end and its class.
type found struct {
	end   int
	class Class
	flags uint8
}

// ends tells whether a word may end before b[i].
func ends(b []byte, i int) bool { return !inWord(b[i]) || unspaced(b, i) }

// lookup finds the longest word that starts at b[at]. With anywhere set there are no
// word ends to respect. With tail set, only words that can end a compound count.
func (x *lexicon) lookup(b []byte, at int, anywhere, tail bool) (best found) {
	if at >= len(b) {
		return found{}
	}
	n := x.root[b[at]]
	for i := at + 1; n != 0; i++ {
		node := &x.nodes[n]
		if node.class != ClassNone && (!tail || node.flags&flagTail != 0) {
			if anywhere || node.flags&flagEnding != 0 || i >= len(b) || ends(b, i) {
				best = found{i, node.class, node.flags}
			}
		}
		if i >= len(b) {
			break
		}
		n = x.step(n, b[i])
	}
	return best
}

func (x *lexicon) step(at int32, b byte) int32 {
	n := &x.nodes[at]
	letter := b - 'a'
	if letter >= 26 {
		return x.sign(at, b)
	}
	bit := uint32(1) << letter
	if n.letters&bit == 0 {
		return 0
	}
	below := n.letters & (bit - 1)
	if below == 0 {
		return at + 1
	}
	return x.edges[int(n.first)+bits.OnesCount32(below)].to
}

// sign steps over what is no ASCII letter.
func (x *lexicon) sign(at int32, b byte) int32 {
	n, tails := &x.nodes[at], x.tails[at]
	if n.others == 0 {
		return 0
	}
	more := x.edges[int(n.first)+bits.OnesCount32(n.letters):][:n.others]
	if tail := b - 0x80; tail < 0x40 {
		bit := uint64(1) << tail
		if tails&bit == 0 {
			return 0
		}
		return more[bits.OnesCount64(tails&(bit-1))].to
	}
	for _, e := range more[bits.OnesCount64(tails):] {
		if e.b == b {
			return e.to
		}
	}
	if b == '-' || b == '\t' {
		return x.sign(at, ' ')
	}
	return 0
}

// inWord tells whether a folded byte continues a word.
func inWord(b byte) bool {
	return isLetter(b) || IsDigit(b) || b == '_'
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 0x80 }
func IsDigit(b byte) bool  { return b >= '0' && b <= '9' }

// IsAlnum tells the bytes of which codes are made.
func IsAlnum(b byte) bool { return b >= 'a' && b <= 'z' || IsDigit(b) }
