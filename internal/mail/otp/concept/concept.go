// Package concept tells what words ask for or speak of, in any language that we know: to confirm, to sign in,
// what was ordered, what is over. It has one file a language. What is read with it is another's business.
package concept

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"inboxd/internal/mail/otp/text"
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

// readConcepts panics on a file that is wrong: it is part of the program.
func readConcepts(files fs.FS) *text.Lexicon {
	means, all := map[string]Set{}, map[string]text.Entry{}
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
			for word := range strings.SplitSeq(words, ", ") {
				word, whole := strings.CutSuffix(word, "$")
				word = string(Spell(nil, word))
				e := all[word]
				all[word] = text.Entry{Word: word, Means: e.Means | uint32(means[key]), Begins: e.Begins || !whole}
			}
		}
	}
	return text.NewLexicon(slices.Collect(maps.Values(all)))
}

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
func InText(b []byte) Set { return in(b, inText) }
func InURL(b []byte) Set  { return in(b, inURL) }

// Patterns of so many bytes count inside of words too: compounds, and what is written in one.
const (
	inText = 7
	inURL  = 5
)

// in gives what the words of a spelled text stand for. Of two patterns at one place the longer counts.
func in(b []byte, inside int) (all Set) {
	before := byte(' ')
	for i := 0; i < len(b); i++ {
		starts := !letter(before) || b[i] >= 0xC0 && inside == inText
		if before = b[i]; !letter(before) || !utf8.RuneStart(before) {
			continue
		}
		if !starts && (i+inside > len(b) || !letter(b[i+inside-1])) { // the rest of the word is too short
			continue
		}
		if f := known.At(b, i, text.Words); f.Means != 0 && (starts || f.End-i >= inside) {
			all |= Set(f.Means)
			i, before = f.End-1, b[f.End-1]
		}
	}
	return all
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 0x80 }
