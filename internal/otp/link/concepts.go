package link

import (
	"embed"
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"

	"inboxd/internal/otp/text"
)

// concept is what words stand for, as a set.
type concept uint32

const (
	confirm concept = 1 << iota
	signIn
	reset
	activate
	join
	approve
	follow   // click, link, button, continue
	ignore   // "if you did not ask for this"
	expires  // "valid for ten minutes"
	decline  // cancel, reject, block
	notMe    // "this wasn't me"
	help     // and contact
	legal    // terms, privacy
	settings // and profile
	order    // and what is bought, booked, sent or paid
	survey
	unsubscribe
	read // what is looked at, shared or downloaded
	done // what has been done already
	password
	email

	every  = email<<1 - 1
	asks   = confirm | signIn | reset | activate | join | approve
	others = decline | notMe | help | legal | settings | order | survey | unsubscribe | read
)

// conceptNames are the concepts as the files name them, in order.
var conceptNames = []string{"confirm", "signin", "reset", "activate", "join", "approve", "go", "ignore", "expires", "decline", "notme", "help", "legal",
	"settings", "order", "survey", "unsubscribe", "read", "done", "password", "email"}

//go:embed concepts/*.txt
var conceptFiles embed.FS

// known are the words of all languages.
var known = readConcepts(conceptFiles)

// pattern is a word, or the beginning of one, and what it stands for.
type pattern struct {
	word  string
	whole bool
	means concept
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
	means := map[string]concept{}
	for i, name := range conceptNames {
		means[name] = 1 << i
	}
	names, _ := fs.Glob(files, "concepts/*.txt")
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

func (x *lexicon) add(word string, means concept) {
	word, whole := strings.CutSuffix(word, "$")
	w := string(spell(nil, word))
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
	panic("concepts: too short")
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

// spell writes a text as the patterns are written: folded, with one blank for what parts words in some
// places only. It writes over to.
func spell(to []byte, s string) []byte {
	f := text.Folded{Lower: to[:0]}
	f.Fold(s)
	n := 0
	for _, c := range f.Lower {
		switch c {
		case '-', '_', '\t', '\n', '\'', ',', '(', ')', '"', '*':
			c = ' '
		}
		if c != ' ' || n > 0 && f.Lower[n-1] != ' ' {
			f.Lower[n] = c
			n++
		}
	}
	return f.Lower[:n]
}

// Patterns of so many bytes count inside of words too: compounds, and what is written in one.
const (
	insideText = 7
	insideURL  = 5
)

// in gives what the words of a spelled text stand for. Of two patterns at one place the longer counts.
func (x *lexicon) in(b []byte, inside int) (all concept) {
	before := byte(' ')
	for i := 0; i < len(b); {
		c := b[i]
		starts := !letter(before) || c >= 0xC0 && inside == insideText
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

// longest finds the longest pattern at b[i]; short ones only where a word starts.
func (x *lexicon) longest(b []byte, i int, starts bool) (best *pattern) {
	from := eight(b, i)
	for _, n := range sizes {
		key := keyOf(from, n)
		if x.passes(key) {
			bucket := x.buckets[key]
			for k := range bucket {
				p := &bucket[k]
				if end := i + len(p.word); (best == nil || len(p.word) > len(best.word)) && len(b) >= end && string(b[i:end]) == p.word &&
					(!p.whole || len(b) == end || !letter(b[end])) {
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
