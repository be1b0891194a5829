// Package concept maps words of many languages to concepts: to confirm, to sign in, an order,
// something that has expired. It embeds one word list for each language. It does not know what its
// callers search for.
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

// Set is a set of concepts.
type Set uint32

// The concepts, and unions of them. The order is that of Names.
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
	Help     // help, contact
	Legal    // terms, privacy
	Settings // settings, profile
	Order    // what is bought, booked, sent or paid
	Survey
	Unsubscribe
	Read // what is read, shared or downloaded
	Done // what has already happened
	Password
	Email

	Every = Email<<1 - 1 // all concepts
	// Asks are the concepts of an action that a message asks for: see package link.
	Asks = Confirm | SignIn | Reset | Activate | Join | Approve
	// Others are the concepts of links with another purpose.
	Others = Decline | NotMe | Help | Legal | Settings | Order | Survey | Unsubscribe | Read
)

// Has reports whether s contains at least one concept of any.
func (s Set) Has(any Set) bool { return s&any != 0 }

// Says summarizes s as an index into Leanings.
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

// Leanings are the values of a feature that Says computes.
var Leanings = []string{"", "asks", "other", "both", "go", "done"}

// Names are the names of the concepts in the word lists and in the files of weights; Names[i] is
// bit i.
var Names = []string{"confirm", "signin", "reset", "activate", "join", "approve", "go", "ignore", "expires", "decline", "notme", "help", "legal",
	"settings", "order", "survey", "unsubscribe", "read", "done", "password", "email"}

//go:embed words/*.txt
var conceptFiles embed.FS

// known has the words of all languages.
var known = readConcepts(conceptFiles)

// readConcepts parses the word lists. It panics on an invalid one, since they are part of the
// program.
//
// A line is "concept: word, word". A word matches with any ending, unless it ends in "$". Words
// that several languages share get the union of their concepts.
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

// Spell normalizes a text in the way of the word lists: it folds it, and replaces optional
// separators of words, such as hyphens, by one space. It overwrites and returns to.
func Spell(to []byte, s string) []byte {
	f := text.Folded{Lower: to[:0]}
	f.Fold(s)
	return Respell(f.Lower[:0], f.Lower)
}

// Respell is Spell for a text that is already folded. It overwrites and returns to, which may be
// the same slice as folded.
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

// InText returns the concepts of the words in a text that Spell has normalized.
func InText(b []byte) Set { return in(b, inText) }

// InURL returns the concepts of the words in the parts of a URL that Spell has normalized.
func InURL(b []byte) Set { return in(b, inURL) }

// Patterns of at least this many bytes also match inside a word: in compounds, and in words written
// without spaces.
const (
	inText = 7
	inURL  = 5
)

// in returns the concepts of the words in b. The longest pattern at a position wins. Patterns of at
// least inside bytes match anywhere in a word.
func in(b []byte, inside int) (all Set) {
	before := byte(' ')
	for i := 0; i < len(b); i++ {
		starts := !letter(before) || b[i] >= 0xC0 && inside == inText
		if before = b[i]; !letter(before) || !utf8.RuneStart(before) {
			continue
		}
		if !starts && (i+inside > len(b) || !letter(b[i+inside-1])) { // too short a rest for a match inside a word
			continue
		}
		if f := known.At(b, i, text.Words); f.Means != 0 && (starts || f.End-i >= inside) {
			all |= Set(f.Means)
			i, before = f.End-1, b[f.End-1]
		}
	}
	return all
}

// letter reports whether c belongs to a letter in folded text.
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 0x80 }
