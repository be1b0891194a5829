package persist

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// formatRecords are the records by their names in docs/storage-format.md.
var formatRecords = map[string]any{
	"profile": profileRecord{}, "message": messageRecord{}, "content": contentRecord{}, "sending (in message)": sendingRecord{},
	"recipient (in sending)": recipientRecord{}, "queue": mailDueRecord{}, "suppression": suppressionRecord{}, "usage": usageRecord{},
	"attachment (in content)": attachmentRecord{}, "spam verdict (in content)": spamRecord{}, "code (in content)": otpRecord{},
	"auth (in content)": authRecord{}, "signature (in auth)": signatureRecord{}, "public": publicRecord{}, "meeting (also in public, content)": meetingRecord{},
	"calendar": calendarRecord{}, "feed (in calendar)": feedRecord{}, "said (in content)": saidRecord{}, "recurrence (in meeting)": recurrenceRecord{},
	"override (in recurrence)": overrideRecord{}, "observance (in meeting)": observanceRecord{}, "answer (in meeting)": answerRecord{}, "occurrence (in meeting)": occurrenceRecord{}, "detail (in occurrence)": detailRecord{}, "revision (in meeting)": revisionRecord{},
	"attendee (in public, meeting)": attendeeRecord{}, "account": accountRecord{}, "key": keyRecord{}, "session": sessionRecord{},
	"reserved": reservedRecord{}, "claim": claimRecord{}, "domain": domainRecord{}, "key (in domain)": domainKeyPart{}, "reset": resetRecord{}, "request": requestRecord{},
	"webhook": webhookRecord{}, "last call": lastCallRecord{}, "delivery": deliveryRecord{}, "attempt (in delivery)": tryRecord{}, "blob": blobRecord{}, "sealed (in message)": sealedRecord{},
}

// TestStorageFormat compares the tables of the document with the code: every kind, every part of an
// account's rows, every record and the numbers of its members.
func TestStorageFormat(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "storage-format.md"))
	must(t, err)
	kinds, parts := map[string]bool{}, map[string]bool{}
	for _, row := range rowsOf(t, string(text), "| kind | key behind kind | value |") {
		number, _, _ := strings.Cut(row[0], " ")
		kinds[number] = true
		if part := regexp.MustCompile(`^partition, id, (\d+)`).FindStringSubmatch(row[1]); number == "6" && part != nil {
			parts[part[1]] = true
		}
	}
	if want := constants(t, "kind"); !reflect.DeepEqual(kinds, want) {
		t.Errorf("the document has kinds %v, the code %v", kinds, want)
	}
	if want := constants(t, "part"); !reflect.DeepEqual(parts, want) {
		t.Errorf("the document has parts %v of an account's rows, the code %v", parts, want)
	}
	reported := map[string]bool{}
	for _, row := range rowsOf(t, string(text), "| record | members |") {
		reported[row[0]] = true
		record, known := formatRecords[row[0]]
		if !known {
			t.Errorf("the document has a record %q, which the code has not", row[0])
			continue
		}
		if got, want := documented(row[1]), cborMembers(record); !slices.Equal(got, want) {
			t.Errorf("%s: the document has members %v, the code %v", row[0], got, want)
		}
	}
	for name := range formatRecords {
		if !reported[name] {
			t.Errorf("the document lacks the record %q", name)
		}
	}
	if n := countRecords(t); n != len(formatRecords) {
		t.Errorf("the code has %d records, this test knows %d", n, len(formatRecords))
	}
}

// rowsOf splits the rows of the table with this head into cells. The table ends at an empty line.
func rowsOf(t *testing.T, text, head string) (rows [][]string) {
	_, table, found := strings.Cut(text, head+"\n")
	if !found {
		t.Fatalf("there is no table %q", head)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n")[1:] {
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), " | ") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}

var (
	inParentheses = regexp.MustCompile(`\([^()]*(\([^()]*\)[^()]*)*\)`)
	memberNumber  = regexp.MustCompile(`(?:^|[,;] |[a-z]:? )(\d+) [A-Za-z]`)
)

func documented(cell string) (numbers []string) {
	for _, m := range memberNumber.FindAllStringSubmatch(inParentheses.ReplaceAllString(cell, ""), -1) {
		numbers = append(numbers, m[1])
	}
	return numbers
}

func cborMembers(record any) (numbers []string) {
	for f := range reflect.TypeOf(record).Fields() {
		number, _, _ := strings.Cut(f.Tag.Get("cbor"), ",")
		numbers = append(numbers, number)
	}
	return numbers
}

// constants returns the numbers of the constants in keys.go whose names have this prefix.
func constants(t *testing.T, prefix string) map[string]bool {
	file, err := parser.ParseFile(token.NewFileSet(), "keys.go", nil, 0)
	must(t, err)
	out := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && len(spec.Values) == 1 && strings.HasPrefix(spec.Names[0].Name, prefix) {
			if number, ok := spec.Values[0].(*ast.BasicLit); ok {
				out[number.Value] = true
			}
		}
		return true
	})
	return out
}

// countRecords counts the structs with integer keys. deliveryHead is a part of another.
func countRecords(t *testing.T) (n int) {
	files, err := filepath.Glob("*.go")
	must(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		must(t, err)
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok || spec.Name.Name == "deliveryHead" {
				return true
			}
			if body, ok := spec.Type.(*ast.StructType); ok && len(body.Fields.List) > 0 {
				if tag := body.Fields.List[0].Tag; tag != nil && strings.Contains(tag.Value, "keyasint") {
					n++
				}
			}
			return true
		})
	}
	return n
}
