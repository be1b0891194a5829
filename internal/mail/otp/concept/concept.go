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

// The concepts, and unions of them. The order is that of NamesByBit.
const (
	Confirm Set = 1 << iota
	SignIn
	Reset
	Activate
	Join
	Approve
	FollowLink     // click, link, button, continue
	IgnoreNotice   // "if you did not ask for this"
	ExpiryNotice   // "valid for ten minutes"
	Decline        // cancel, reject, block
	NotMe          // "this wasn't me"
	HelpContact    // help, contact
	LegalTerms     // terms, privacy
	Settings       // settings, profile
	OrderOrPayment // what is bought, booked, sent or paid
	Survey
	Unsubscribe
	ReadContent // what is read, shared or downloaded
	AlreadyDone // what has already happened
	Password
	Email

	EveryConcept = Email<<1 - 1 // all concepts
	// ActionRequests are the concepts of an action that a message asks for: see package link.
	ActionRequests = Confirm | SignIn | Reset | Activate | Join | Approve
	// OtherPurposes are the concepts of links with another purpose.
	OtherPurposes = Decline | NotMe | HelpContact | LegalTerms | Settings | OrderOrPayment | Survey | Unsubscribe | ReadContent
)

// HasAny reports whether s contains at least one concept of any.
func (s Set) HasAny(any Set) bool { return s&any != 0 }

// LeaningIndex summarizes s as an index into LeaningValues.
func (s Set) LeaningIndex() int {
	switch asks, others := s.HasAny(ActionRequests), s.HasAny(OtherPurposes); {
	case asks && others:
		return 3
	case others:
		return 2
	case asks:
		return 1
	case s.HasAny(AlreadyDone):
		return 5
	case s.HasAny(FollowLink):
		return 4
	}
	return 0
}

// LeaningValues are the values of a feature that LeaningIndex computes.
var LeaningValues = []string{"", "asks", "other", "both", "go", "done"}

// NamesByBit are the names of the concepts in the word lists and in the files of weights;
// NamesByBit[i] is bit i.
var NamesByBit = []string{"confirm", "signin", "reset", "activate", "join", "approve", "go", "ignore", "expires", "decline", "notme", "help", "legal",
	"settings", "order", "survey", "unsubscribe", "read", "done", "password", "email"}

//go:embed words/*.txt
var conceptFiles embed.FS

// knownWords has the words of all languages.
var knownWords = readConcepts(conceptFiles)

// readConcepts parses the word lists. It panics on an invalid one, since they are part of the
// program.
//
// A line is "concept: word, word". A word matches with any ending, unless it ends in "$". Words
// that several languages share get the union of their concepts.
func readConcepts(files fs.FS) *text.Lexicon {
	means, all := map[string]Set{}, map[string]text.LexiconEntry{}
	for i, name := range NamesByBit {
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
				word = string(NormalizeText(nil, word))
				e := all[word]
				all[word] = text.LexiconEntry{Word: word, WordValue: e.WordValue | uint32(means[key]), AnyEnding: e.AnyEnding || !whole}
			}
		}
	}
	return text.NewLexicon(slices.Collect(maps.Values(all)))
}

// NormalizeText normalizes a text in the way of the word lists: it folds it, and replaces optional
// separators of words, such as hyphens, by one space. It overwrites and returns to.
func NormalizeText(to []byte, s string) []byte {
	f := text.Folded{Lower: to[:0]}
	f.Fold(s)
	return NormalizeFolded(f.Lower[:0], f.Lower)
}

// NormalizeFolded is NormalizeText for a text that is already folded. It overwrites and returns to,
// which may be the same slice as folded.
func NormalizeFolded(to, folded []byte) []byte {
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

// InText returns the concepts of the words in a text that NormalizeText has normalized.
func InText(b []byte) Set { return in(b, inText) }

// InURL returns the concepts of the words in the parts of a URL that NormalizeText has normalized.
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
		starts := !isLetter(before) || b[i] >= 0xC0 && inside == inText
		if before = b[i]; !isLetter(before) || !utf8.RuneStart(before) {
			continue
		}
		if !starts && (i+inside > len(b) || !isLetter(b[i+inside-1])) { // too short a rest for a match inside a word
			continue
		}
		if f := knownWords.At(b, i, text.WholeWords); f.WordValue != 0 && (starts || f.End-i >= inside) {
			all |= Set(f.WordValue)
			i, before = f.End-1, b[f.End-1]
		}
	}
	return all
}

// isLetter reports whether c belongs to a letter in folded text.
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 0x80 }
