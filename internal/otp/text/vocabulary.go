package text

import (
	_ "embed"
	"fmt"
	"strings"
)

// vocabulary is one row of the word table: what the words mean, and the words as their
// language writes them.
type vocabulary struct {
	class Class
	words []string
}

//go:embed vocabulary.tsv
var wordTable string

var words = NewLexicon(entries(readVocabulary(wordTable)))

// entries reads the signs that the table has at its words:
//
//	word     the whole word
//	word*    the word and whatever ending it takes
//	~word    also as the later part of a compound whose first part is known ("login|code")
//	two words: a blank matches a blank or a hyphen
//
// Scripts that do not part words by blanks match at every letter.
func entries(table []vocabulary) (all []Entry) {
	var f Folded
	for _, v := range table {
		for _, word := range v.words {
			e := Entry{Means: uint32(v.class)}
			word, e.Tail = strings.CutPrefix(word, "~")
			word, e.Begins = strings.CutSuffix(word, "*")
			f.reset()
			f.Fold(word)
			e.Word = string(f.Lower)
			all = append(all, e)
		}
	}
	return all
}

// found is a word of the vocabulary.
type found struct {
	end    int
	class  Class
	ending bool // it takes endings
}

func lookup(b []byte, i int, take which) found {
	f := words.At(b, i, take)
	return found{f.End, Class(f.Means), f.Begins}
}

// classNames are the classes as the table names them.
var classNames = map[string]Class{
	"code": ClassCode, "password": ClassPassword, "passcode": ClassPasscode, "otp": ClassOTP, "approval": ClassApproval,
	"verify": ClassVerify, "confirm": ClassConfirm, "once": ClassOnce, "enter": ClassEnter, "is": ClassIs, "of": ClassOf,
	"other": ClassOther, "promo": ClassPromo, "booking": ClassBooking, "parcel": ClassParcel, "meeting": ClassMeeting, "account": ClassAccount,
	"place": ClassPlace, "money": ClassMoney, "unit": ClassUnit, "long-unit": ClassLongUnit, "time-unit": ClassTimeUnit, "paper": ClassPaper, "by": ClassBy,
	"digits": ClassDigits, "fresh": ClassFresh, "example": ClassExample, "stale": ClassStale, "spoilt": ClassSpoilt, "secret": ClassSecret,
	"never": ClassNever, "id": ClassID, "number": ClassNumber, "to": ClassTo, "harmless": ClassHarmless,
}

// readVocabulary panics on a table that is wrong: it is part of the program.
func readVocabulary(table string) (rows []vocabulary) {
	for line := range strings.Lines(table) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		columns := strings.Split(line, "\t")
		class, known := classNames[columns[0]]
		if !known || len(columns) != 3 {
			panic(fmt.Sprintf("vocabulary: %q", line))
		}
		rows = append(rows, vocabulary{class, strings.Split(columns[2], ", ")})
	}
	return rows
}

// ClassNames gives the classes by their names in the table.
func ClassNames() map[string]Class { return classNames }
