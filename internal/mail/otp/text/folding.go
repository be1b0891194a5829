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

// foldings maps characters to what they are folded to. It is immutable.
type foldings struct {
	rows []string
	to   [1 << 16]uint16 // for the characters of the Basic Multilingual Plane: see of
}

// The result of foldings.of is an ASCII character below nothing, an index into rows plus nothing
// below letters, and a letter of another script from letters on.
const (
	removedRow     = utf8.RuneSelf // the first row of the table, which removes the character
	firstLetterRow = 0xDF
)

var foldTable = newFoldings()

// newFoldings parses folding.tsv. A character that is not in the table is folded like its
// lower-case form, or else by unlisted.
func newFoldings() *foldings {
	x := new(foldings)
	listed := map[rune]rune{}
	for columns := range TableRows(foldingTable) {
		written := strings.NewReplacer("␣", " ", "␤", "\n").Replace(columns[0])
		to, _ := utf8.DecodeRuneInString(written)
		if to < firstLetterRow || utf8.RuneCountInString(written) != 1 {
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
			to = foldUnlisted(r)
		}
		x.to[r] = uint16(to)
	}
	return x
}

// charactersOf parses a column of the table: characters, or their code points: "U+00AD
// U+0300-036F".
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

// of returns what r is folded to: see nothing and letters.
func (x *foldings) of(r rune) rune {
	if r < rune(len(x.to)) {
		return rune(x.to[r])
	}
	return foldUnlisted(r)
}

// foldUnlisted folds a character that is not in the table.
func foldUnlisted(r rune) rune {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	switch {
	case InRange(r, 0x3400, 0x9FFF), InRange(r, 0xAC00, 0xD7A3): // CJK and Hangul, which have no case
		return r
	case InRange(r, 0xFF01, 0xFF5E): // full-width ASCII
		return r - 0xFEE0
	case InRange(r, 0x1D400, 0x1D6A3): // mathematical letters: bold, italic and others
		return rune(alphabet[(r-0x1D400)%52])
	case InRange(r, 0x1D7CE, 0x1D7FF): // mathematical digits
		return '0' + (r-0x1D7CE)%10
	case r >= 0xE0000: // tags
		return removedRow
	case unicode.Is(unicode.Nd, r):
		return asciiDigit(r)
	case unicode.IsLetter(r), unicode.IsMark(r):
		return unicode.ToLower(r)
	}
	return '*'
}

// asciiDigit returns the ASCII form of a decimal digit of any script. Unicode encodes the ten digits of
// a script consecutively, so the number of digits before r is its value.
func asciiDigit(r rune) rune {
	n := rune(0)
	for n < 9 && unicode.Is(unicode.Nd, r-n-1) {
		n++
	}
	return '0' + n
}
