package text

import (
	_ "embed"
	"fmt"
	"strings"
)

// vocabulary is one row of the word table: what the words mean, and the words as their
// language writes them. See lexicon.go for the signs.
type vocabulary struct {
	class Class
	words []string
}

//go:embed vocabulary.tsv
var wordTable string

var words = newLexicon(readVocabulary(wordTable))

// classNames are the classes as the table names them.
var classNames = map[string]Class{
	"code": ClassCode, "password": ClassPassword, "passcode": ClassPasscode, "otp": ClassOTP, "approval": ClassApproval,
	"verify": ClassVerify, "confirm": ClassConfirm, "once": ClassOnce, "enter": ClassEnter, "is": ClassIs, "of": ClassOf,
	"other": ClassOther, "promo": ClassPromo, "booking": ClassBooking, "parcel": ClassParcel, "meeting": ClassMeeting, "account": ClassAccount,
	"place": ClassPlace, "money": ClassMoney, "unit": ClassUnit, "time-unit": ClassTimeUnit, "paper": ClassPaper, "by": ClassBy,
	"digits": ClassDigits, "fresh": ClassFresh, "example": ClassExample, "stale": ClassStale, "spoilt": ClassSpoilt, "secret": ClassSecret,
	"never": ClassNever, "harmless": ClassHarmless,
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
