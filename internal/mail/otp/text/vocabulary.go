package text

import (
	_ "embed"
	"fmt"
	"iter"
	"slices"
	"strings"
)

//go:embed vocabulary.tsv
var wordTable string

// wordLexicon maps the words of all languages to their classes.
var wordLexicon = NewLexicon(readVocabulary(wordTable))

// readVocabulary parses the table of the vocabulary. It panics on an invalid one, since the table
// is part of the program. The notation of a word:
//
//	word     the whole word
//	word*    the word with any ending
//	~word    also as the later part of a compound whose first part is known ("login|code")
//	two words: a space matches a space or a hyphen
//
// In scripts without spaces between words, a word matches at every letter.
func readVocabulary(table string) (all []LexiconEntry) {
	for columns := range TableRows(table) {
		class := slices.Index(ClassNames, columns[0])
		if class <= 0 || len(columns) != 3 {
			panic(fmt.Sprintf("vocabulary: %q", columns))
		}
		for word := range strings.SplitSeq(columns[2], ", ") {
			word, tail := strings.CutPrefix(word, "~")
			word, begins := strings.CutSuffix(word, "*")
			all = append(all, LexiconEntry{string(Fold(word).Lower), uint32(class), begins, tail})
		}
	}
	return all
}

// TableRows returns the rows of a tab-separated table as their columns, without comments and empty
// lines.
func TableRows(table string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(table) {
			if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
				continue
			}
			if !yield(strings.Split(line, "\t")) {
				return
			}
		}
	}
}
