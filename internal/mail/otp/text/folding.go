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
	to   [1 << 16]uint16 // of characters of the basic plane: see of
}

// What a character is folded to: ASCII below utf8.RuneSelf, a row of the table below letters.
const (
	nothing = utf8.RuneSelf // the first row
	letters = 0xDF
)

var folding = newFoldings()

func newFoldings() *foldings {
	x := new(foldings)
	listed := map[rune]rune{}
	for columns := range Rows(foldingTable) {
		written := strings.NewReplacer("␣", " ", "␤", "\n").Replace(columns[0])
		to, _ := utf8.DecodeRuneInString(written)
		if to < letters || utf8.RuneCountInString(written) != 1 {
			to, x.rows = utf8.RuneSelf+rune(len(x.rows)), append(x.rows, written)
		}
		for _, r := range charactersOf(columns[1]) {
			listed[r] = to
		}
	}
	for r := range rune(len(x.to)) {
		to, known := listed[r]
		if !known {
			to, known = listed[unicode.ToLower(r)]
		}
		if !known {
			to = unlisted(r)
		}
		x.to[r] = uint16(to)
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

// of gives the character that another one is folded to, or its row.
func (x *foldings) of(r rune) rune {
	if r < rune(len(x.to)) {
		return rune(x.to[r])
	}
	return unlisted(r)
}

// unlisted folds a character that stands in no row.
func unlisted(r rune) rune {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	switch {
	case Between(r, 0x3400, 0x9FFF), Between(r, 0xAC00, 0xD7A3): // letters without case, and many
		return r
	case Between(r, 0xFF01, 0xFF5E): // full-width ASCII
		return r - 0xFEE0
	case Between(r, 0x1D400, 0x1D6A3): // bold, italic and other letters of mathematics
		return rune(alphabet[(r-0x1D400)%52])
	case Between(r, 0x1D7CE, 0x1D7FF):
		return '0' + (r-0x1D7CE)%10
	case r >= 0xE0000: // tags
		return nothing
	case unicode.Is(unicode.Nd, r):
		return digit(r)
	case unicode.IsLetter(r), unicode.IsMark(r):
		return unicode.ToLower(r)
	}
	return '*'
}

// digit gives a decimal digit of any script. Unicode keeps each set of ten in one run, so counting back
// to its start gives its value.
func digit(r rune) rune {
	n := rune(0)
	for n < 9 && unicode.Is(unicode.Nd, r-n-1) {
		n++
	}
	return '0' + n
}
