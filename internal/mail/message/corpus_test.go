package message

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"inboxd/internal/mail/message/html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// corpora returns the folder of messages from other sources, or skips the test.
func corpora(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("INBOX_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpora")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpora: set INBOX_CORPORA, or put them at %s", dir)
	}
	return dir
}

func messages(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.eml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no mails in %s: %v", dir, err)
	}
	return files
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkDocument checks invariants of every ParsedMessage.
func checkDocument(t testing.TB, raw []byte, doc *ParsedMessage) {
	t.Helper()
	valid := func(what string, values ...string) {
		t.Helper()
		for _, v := range values {
			if !utf8.ValidString(v) {
				t.Errorf("%s is not UTF-8: %.80q", what, v)
			}
		}
	}
	valid("bodies", doc.Text, doc.HTML, viewOf(doc.HTML).VisibleText, viewOf(doc.HTML).PreviewText)
	valid("ids", doc.MessageID, doc.InReplyTo, doc.Subject)
	valid("references", doc.References...)
	valid("links", doc.Links...)
	for _, list := range [][]Mailbox{{doc.From}, doc.To, doc.Cc, doc.ReplyTo} {
		for _, m := range list {
			valid("mailbox", m.Email, m.Name)
		}
	}
	for _, h := range doc.Headers {
		valid("header", h.Name, h.Value)
		if strings.ContainsAny(h.Value, "\r\n\x00") {
			t.Errorf("header %s breaks its line: %q", h.Name, h.Value)
		}
	}
	if len(doc.Text) > MaxText || len(doc.HTML) > maxHTML || len(doc.Links) > html.MaxLinks {
		t.Errorf("caps passed: %d text, %d html, %d links", len(doc.Text), len(doc.HTML), len(doc.Links))
	}
	checkAttachments(t, raw, doc)
}

func checkAttachments(t testing.TB, raw []byte, doc *ParsedMessage) {
	t.Helper()
	for i, a := range doc.Attachments {
		if doc.AttachmentsOmitted == 0 && a.ID != i+1 || a.Filename == "" || a.ContentType == "" || strings.ContainsAny(a.Filename, "/\\\x00\n") {
			t.Errorf("attachment %d: %+v", i, a)
		}
		if !utf8.ValidString(a.Filename) || utf8.RuneCountInString(a.Filename) > maxFilename {
			t.Errorf("attachment %d has the name %q", i, a.Filename)
		}
		content, ok := AttachmentBytes(raw, a.ID)
		if !ok && !a.Truncated || ok && a.Size > maxFileSize || ok && int64(len(content)) != a.Size {
			t.Errorf("attachment %d: %d bytes, %t, of %+v", i, len(content), ok, a)
		}
		checkPieces(t, raw, a.ID, content, ok)
	}
	if len(doc.Attachments) < maxFiles && doc.AttachmentsOmitted != 0 {
		t.Errorf("%d of %d attachments omitted", doc.AttachmentsOmitted, len(doc.Attachments))
	}
	if _, ok := AttachmentBytes(raw, len(doc.Attachments)+doc.AttachmentsOmitted+1); ok {
		t.Error("there are bytes of an attachment that is not there")
	}
}

// checkPieces checks that an attachment read in pieces of any size is the same.
func checkPieces(t testing.TB, raw []byte, id int, content []byte, ok bool) {
	t.Helper()
	file, found := FindAttachment(raw, id)
	if found != ok {
		t.Fatalf("attachment %d: found %t in pieces, %t whole", id, found, ok)
	}
	for _, size := range []int{1, 3, 7, 64, 4096} {
		if !ok || len(content) > 4096*size {
			continue
		}
		var got []byte
		r, piece := file.OpenReader(bytes.NewReader(raw)), make([]byte, size)
		for {
			n, err := r.Read(piece)
			if got = append(got, piece[:n]...); err != nil {
				break
			}
		}
		if !bytes.Equal(got, content) || file.Size != int64(len(content)) {
			t.Errorf("attachment %d: %d of %d bytes in pieces of %d, or others", id, len(got), len(content), size)
		}
	}
}

func TestCorporaAreReadable(t *testing.T) {
	root := corpora(t)
	for _, dir := range []string{"mime", "otp", "cal"} {
		for _, name := range messages(t, filepath.Join(root, dir)) {
			raw := readFile(t, name)
			doc := Parse(raw)
			checkDocument(t, raw, doc)
			if doc.From == (Mailbox{}) && len(doc.HeaderValues("From")) > 0 && doc.HeaderValues("From")[0] != "" {
				t.Errorf("%s: From %q was not read", name, doc.HeaderValues("From"))
			}
			if t.Failed() {
				t.Fatalf("in %s", name)
			}
		}
	}
}

// TestCodesOfTheCorpusAreVisible checks that the codes are in the texts that code detection gets.
func TestCodesOfTheCorpusAreVisible(t *testing.T) {
	dir := filepath.Join(corpora(t), "otp")
	digits := strings.NewReplacer(" ", "", "-", "", "\n", "", "\u00a0", "")
	for _, line := range strings.Split(string(readFile(t, filepath.Join(dir, "expected.tsv"))), "\n")[1:] {
		row := strings.Split(line, "\t")
		if len(row) < 4 || row[1] == "NULL" {
			continue
		}
		doc := Parse(readFile(t, filepath.Join(dir, row[0])))
		seen := digits.Replace(strings.ToUpper(strings.Join([]string{doc.Subject, doc.Text, viewOf(doc.HTML).VisibleText, viewOf(doc.HTML).PreviewText}, "|")))
		found := false
		for _, form := range strings.Split(row[2], "|") {
			found = found || strings.Contains(seen, digits.Replace(strings.ToUpper(form)))
		}
		if !found {
			t.Errorf("%s: the code %s is not in %q", row[0], row[1], seen)
		}
	}
}

// otherParser is the result of another parser for a message; it may be wrong.
type otherParser struct {
	File        string
	Origin      string
	Subject     *string
	TextBody    []string `json:"text_body"`
	Attachments []struct {
		Filename    string
		ContentType string `json:"content_type"`
		Size        int64
		Kind        string
	}
}

// agreementFloor is just below the measured value (94 of 115). The remaining differences are
// matters of interpretation: the other parser leaves uuencoded files in the text, lists the broken
// multiparts of malformed messages as attachments, and does not guess the charset of raw 8-bit
// headers.
const agreementFloor = 0.81

func TestAgreementWithAnotherParser(t *testing.T) {
	dir := filepath.Join(corpora(t), "mime")
	lines := bufio.NewScanner(strings.NewReader(string(readFile(t, filepath.Join(dir, "expected.jsonl")))))
	lines.Buffer(nil, 1<<20)
	var right, all int
	check := func(file, what string, got, want any, ok bool) {
		all++
		if ok {
			right++
			return
		}
		t.Logf("%s: %s is %.90s, the other parser says %.90s", file, what, fmt.Sprint(got), fmt.Sprint(want))
	}
	for lines.Scan() {
		var other otherParser
		if err := json.Unmarshal(lines.Bytes(), &other); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(other.Origin, "stalwart") {
			continue
		}
		raw := readFile(t, filepath.Join(dir, other.File))
		doc := Parse(raw)
		if other.Subject != nil {
			check(other.File, "subject", doc.Subject, *other.Subject, doc.Subject == *other.Subject)
		}
		check(other.File, "number of attachments", len(doc.Attachments), len(other.Attachments), len(doc.Attachments) == len(other.Attachments))
		if len(other.TextBody) > 0 {
			want := squeeze(strings.Join(other.TextBody, "\n"))
			got := squeeze(doc.Text)
			if doc.TextFromHTML {
				got = squeeze(doc.HTML)
			}
			check(other.File, "text", got, want, got == want)
		}
		for i, a := range doc.Attachments[:min(len(doc.Attachments), len(other.Attachments))] {
			want := other.Attachments[i]
			check(other.File, "name", a.Filename, want.Filename, want.Filename == "" || a.Filename == want.Filename)
			if want.Kind == "Binary" { // the other parser counts texts after conversion
				check(other.File, "size", a.Size, want.Size, a.Size == want.Size)
			}
		}
	}
	rate := float64(right) / float64(all)
	t.Logf("agreement with the other parser: %d of %d, %.3f", right, all, rate)
	if rate < agreementFloor {
		t.Errorf("agreement %.3f is below %.2f", rate, agreementFloor)
	}
}

// squeeze makes texts comparable that differ only in whitespace.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
