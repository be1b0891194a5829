// Package concept tells what words ask for or speak of, in any language that we know: to confirm, to sign in,
// what was ordered, what is over. It has one file a language. What is read with it is another's business.
package concept

import (
	"embed"
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"

	"inboxd/internal/otp/text"
)

// Set is what words stand for.
type Set uint32

const (
	Confirm Set = 1 << iota
	SignIn
	Reset
	Activate
	Join
	Approve
	Follow   // click, link, button, continue
	Ignore   // "if you did not ask for this"
	Expires  // "valid for ten minutes"
	Decline  // cancel, reject, block
	NotMe    // "this wasn't me"
	Help     // and contact
	Legal    // terms, privacy
	Settings // and profile
	Order    // and what is bought, booked, sent or paid
	Survey
	Unsubscribe
	Read // what is looked at, shared or downloaded
	Done // what has been done already
	Password
	Email

	Every  = Email<<1 - 1
	Asks   = Confirm | SignIn | Reset | Activate | Join | Approve
	Others = Decline | NotMe | Help | Legal | Settings | Order | Survey | Unsubscribe | Read
)

// Has tells whether one of them is in s.
func (s Set) Has(any Set) bool { return s&any != 0 }

// Says tells what s asks for or speaks of, as the place of a word in Leanings.
func (s Set) Says() int {
	switch asks, others := s.Has(Asks), s.Has(Others); {
	case asks && others:
		return 3
	case others:
		return 2
	case asks:
		return 1
	case s.Has(Done):
		return 5
	case s.Has(Follow):
		return 4
	}
	return 0
}

// Leanings are what a set of concepts may ask for.
var Leanings = []string{"", "asks", "other", "both", "go", "done"}

// Names are the concepts as the files name them, in order.
var Names = []string{"confirm", "signin", "reset", "activate", "join", "approve", "go", "ignore", "expires", "decline", "notme", "help", "legal",
	"settings", "order", "survey", "unsubscribe", "read", "done", "password", "email"}

//go:embed words/*.txt
var conceptFiles embed.FS

// known are the words of all languages.
var known = readConcepts(conceptFiles)

// pattern is a word, or the beginning of one, and what it stands for.
type pattern struct {
	word  string
	whole bool
	means Set
}

// lexicon holds patterns by their first letters: of six bytes or more by six, of three or more by three, the
// rest by two. A filter tells most places where none can stand.
type lexicon struct {
	filter  [1 << 12]uint64
	buckets map[uint64][]pattern
}

// sizes are how many bytes of a pattern make its key.
var sizes = [...]int{6, 3, 2}

// readConcepts panics on a file that is wrong: it is part of the program.
func readConcepts(files fs.FS) *lexicon {
	x := &lexicon{buckets: map[uint64][]pattern{}}
	means := map[string]Set{}
	for i, name := range Names {
		means[name] = 1 << i
	}
	names, _ := fs.Glob(files, "words/*.txt")
	for _, name := range names {
		raw, _ := fs.ReadFile(files, name)
		for line := range strings.Lines(string(raw)) {
			if line[0] == '#' {
				continue
			}
			key, words, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			if means[key] == 0 || !ok {
				panic(fmt.Sprintf("%s: %q", name, line))
			}
			for _, word := range strings.Split(words, ", ") {
				x.add(word, means[key])
			}
		}
	}
	return x
}

func (x *lexicon) add(word string, means Set) {
	word, whole := strings.CutSuffix(word, "$")
	w := string(Spell(nil, word))
	key := keyOf(eight([]byte(w), 0), keySize(len(w)))
	bucket := x.buckets[key]
	for i := range bucket {
		if bucket[i].word == w && bucket[i].whole == whole {
			bucket[i].means |= means
			return
		}
	}
	h := filterBit(key)
	x.filter[h>>6] |= 1 << (h & 63)
	x.buckets[key] = append(bucket, pattern{w, whole, means})
}

func keySize(n int) int {
	for _, size := range sizes {
		if n >= size {
			return size
		}
	}
	panic("concept: too short")
}

// eight gives the bytes of b from i on, the first the lowest, zeros behind its end.
func eight(b []byte, i int) (x uint64) {
	if i+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[i:])
	}
	for k := len(b) - 1; k >= i; k-- {
		x = x<<8 | uint64(b[k])
	}
	return x
}

// keyOf gives the key of n bytes.
func keyOf(x uint64, n int) uint64 { return x&(1<<(8*n)-1) | uint64(n)<<56 }

func (x *lexicon) passes(key uint64) bool {
	h := filterBit(key)
	return x.filter[h>>6]&(1<<(h&63)) != 0
}

func filterBit(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> (64 - 18) }

// Spell writes a text as the patterns are written: folded, with one blank for what parts words in some
// places only. It writes over to.
func Spell(to []byte, s string) []byte {
	f := text.Folded{Lower: to[:0]}
	f.Fold(s)
	return Respell(f.Lower[:0], f.Lower)
}

// Respell is Spell for what is folded already. It writes over to, which may be folded itself.
func Respell(to, folded []byte) []byte {
	to = to[:0]
	for _, c := range folded {
		switch c {
		case '-', '_', '\t', '\n', '\'', ',', '(', ')', '"', '*':
			c = ' '
		}
		if c != ' ' || len(to) > 0 && to[len(to)-1] != ' ' {
			to = append(to, c)
		}
	}
	return to
}

// InText gives what the words of a spelled text stand for, InURL what those of an address do.
func InText(b []byte) Set { return known.in(b, inText) }
func InURL(b []byte) Set  { return known.in(b, inURL) }

// Patterns of so many bytes count inside of words too: compounds, and what is written in one.
const (
	inText = 7
	inURL  = 5
)

// in gives what the words of a spelled text stand for. Of two patterns at one place the longer counts.
func (x *lexicon) in(b []byte, inside int) (all Set) {
	before := byte(' ')
	for i := 0; i < len(b); {
		c := b[i]
		starts := !letter(before) || c >= 0xC0 && inside == inText
		if before = c; !letter(c) || c >= 0x80 && c < 0xC0 {
			i++
			continue
		}
		if p := x.longest(b, i, starts); p != nil && (starts || len(p.word) >= inside) {
			all |= p.means
			i += len(p.word)
			before = b[i-1]
			continue
		}
		i++
	}
	return all
}

// at tells whether b begins with the pattern.
func (p *pattern) at(b []byte) bool {
	n := len(p.word)
	if len(b) < n || string(b[:n]) != p.word {
		return false
	}
	return !p.whole || len(b) == n || !letter(b[n])
}

// longest finds the longest pattern at b[i]; short ones only where a word starts.
func (x *lexicon) longest(b []byte, i int, starts bool) (best *pattern) {
	from := eight(b, i)
	for _, n := range sizes {
		key := keyOf(from, n)
		if x.passes(key) {
			bucket := x.buckets[key]
			for k := range bucket {
				p := &bucket[k]
				if (best == nil || len(p.word) > len(best.word)) && p.at(b[i:]) {
					best = p
				}
			}
		}
		if best != nil || !starts && n == 3 {
			return best
		}
	}
	return best
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 0x80 }
