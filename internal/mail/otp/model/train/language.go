package train

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"
)

// GuessLanguage guesses the language of a text by its script and by frequent short words (stop
// words). It returns the name of the script if it finds no such words.
func GuessLanguage(s string) string {
	counts := map[string]int{}
	for _, r := range s {
		if r < 0x80 || !unicode.IsLetter(r) {
			continue
		}
		if i := slices.IndexFunc(scriptNames, func(name string) bool { return unicode.Is(unicode.Scripts[name], r) }); i >= 0 {
			counts[scriptNames[i]]++
		}
	}
	script, most := "Latin", 7
	for _, name := range scriptNames {
		if counts[name] > most {
			script, most = name, counts[name]
		}
	}
	if script == "Han" && counts["Hiragana"] > 2 {
		script = "Hiragana"
	}
	return byWords(s, script)
}

// byWords returns the language of the script of which the text contains the most stop words, or the
// script if it contains none. If several languages have the same number, the first one in
// tongues.tsv wins.
func byWords(s, script string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) })
	best, most := script, 0
	for line := range strings.Lines(languageTable) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if columns[0] != script {
			continue
		}
		small, n := strings.Fields(columns[2]), 0
		for _, w := range words {
			if slices.Contains(small, w) {
				n++
			}
		}
		if n > most {
			best, most = columns[1], n
		}
	}
	return best
}

// languageTable has the columns script, language and stop words.
//
//go:embed tongues.tsv
var languageTable string

// scriptNames are the scripts that decide, as unicode.Scripts names them.
var scriptNames = []string{"Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Bengali", "Gujarati", "Gurmukhi", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Thai", "Lao", "Khmer", "Myanmar", "Georgian", "Armenian", "Ethiopic", "Hangul", "Hiragana", "Katakana", "Han", "Mongolian", "Oriya"}
