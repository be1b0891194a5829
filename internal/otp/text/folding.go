package text

import (
	_ "embed"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed folding.tsv
var foldingTable string

// foldings tells how characters are folded. It never changes once it is made.
type foldings struct {
	rows []string
	to   [1 << 16]uint16 // of characters of the basic plane: the letter, or below foldedRows the place of a row
}

const (
	foldedRows = 0x80
	asterisk   = 10 // the row of what is neither letter nor digit; those of the digits stand before it
)

var folding = newFoldings(foldingTable)

// newFoldings panics on a table that is wrong: it is part of the program.
func newFoldings(table string) *foldings {
	x := &foldings{rows: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*"}}
	listed := map[rune]uint16{}
	for line := range strings.Lines(table) {
		if line[0] == '#' {
			continue
		}
		written, characters, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		to, size := utf8.DecodeRuneInString(written)
		if written = strings.NewReplacer("␣", " ", "␤", "\n").Replace(written); to < utf8.RuneSelf || size < len(written) || written <= " " {
			to, x.rows = rune(len(x.rows)), append(x.rows, written)
		}
		for _, r := range charactersOf(characters) {
			listed[r] = uint16(to)
		}
	}
	for r := range rune(len(x.to)) {
		to, known := listed[r]
		if !known {
			to, known = listed[unicode.ToLower(r)]
		}
		if !known {
			to = uint16(unlisted(r))
		}
		x.to[r] = to
	}
	return x
}

// charactersOf reads a column of characters, or of numbers: "U+00AD U+0300-036F".
func charactersOf(column string) (all []rune) {
	if !strings.HasPrefix(column, "U+") {
		return []rune(column)
	}
	for word := range strings.FieldsSeq(column) {
		var first, last rune
		if n, _ := fmt.Sscanf(word, "U+%x-%x", &first, &last); n < 2 {
			last = first
		}
		for r := first; r <= last; r++ {
			all = append(all, r)
		}
	}
	return all
}

// of gives the letter that a character is folded to, or the place of its row.
func (x *foldings) of(r rune) rune {
	if r < rune(len(x.to)) {
		return rune(x.to[r])
	}
	return unlisted(r)
}

// unlisted folds a character that stands in no row.
func unlisted(r rune) rune {
	switch {
	case Between(r, 0x3400, 0x9FFF), Between(r, 0xAC00, 0xD7A3): // letters without case, and many
		return r
	case unicode.Is(unicode.Nd, r):
		return digit(r)
	case unicode.IsLetter(r), unicode.IsMark(r):
		return unicode.ToLower(r)
	}
	return asterisk
}

// digit gives the value of a decimal digit of any script. Unicode keeps each set of ten in one run, so
// counting back to its start gives it.
func digit(r rune) (n rune) {
	for n < 9 && unicode.Is(unicode.Nd, r-n-1) {
		n++
	}
	return n
}
