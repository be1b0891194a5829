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

// words are what the words of all languages mean.
var words = NewLexicon(readVocabulary(wordTable))

// readVocabulary panics on a table that is wrong: it is part of the program. Its signs:
//
//	word     the whole word
//	word*    the word and whatever ending it takes
//	~word    also as the later part of a compound whose first part is known ("login|code")
//	two words: a blank matches a blank or a hyphen
//
// Scripts that do not part words by blanks match at every letter.
func readVocabulary(table string) (all []Entry) {
	for columns := range Rows(table) {
		class := slices.Index(ClassNames, columns[0])
		if class <= 0 || len(columns) != 3 {
			panic(fmt.Sprintf("vocabulary: %q", columns))
		}
		for word := range strings.SplitSeq(columns[2], ", ") {
			word, tail := strings.CutPrefix(word, "~")
			word, begins := strings.CutSuffix(word, "*")
			all = append(all, Entry{string(Fold(word).Lower), uint32(class), begins, tail})
		}
	}
	return all
}

// Rows gives the columns of a table, without its comments.
func Rows(table string) iter.Seq[[]string] {
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
