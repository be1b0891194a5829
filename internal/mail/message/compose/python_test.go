package compose

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"inboxd/internal/mail/message"
	"inboxd/internal/testutil/testtools"
)

// seenByPython is a line of testdata/readmail.py.
type seenByPython struct {
	Subject    string
	People     map[string][][2]string
	Date       string
	ID         string
	References []string
	Text, HTML string
	Files      [][3]string
	Defects    []string
}

// TestComposeForPython parses 200 composed messages with the e-mail package of Python, an
// independent parser.
func TestComposeForPython(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var drafts []Draft
	var in bytes.Buffer
	for range 200 {
		d := plainDraft(r)
		raw, err := WriteMessage(d)
		if err != nil {
			t.Fatal(err)
		}
		checkParsed(t, d, raw)
		drafts = append(drafts, d)
		in.WriteString(base64.StdEncoding.EncodeToString(raw) + "\n")
	}
	cmd := exec.Command(testtools.ProgramPath(t, "python3"), "testdata/readmail.py")
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(drafts) {
		t.Fatalf("%d of %d mails were read", len(lines), len(drafts))
	}
	for i, line := range lines {
		var got seenByPython
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if want := meantForPython(drafts[i]); !reflect.DeepEqual(got, want) {
			t.Fatalf("mail %d\n got %+q\nwant %+q", i, got, want)
		}
	}
}

// plainDraft returns a random message of realistic texts. Names fit into one encoded word: up to
// Python 3.12 its parser adds spaces between the words of one phrase, contrary to RFC 2047
// section 6.2.
func plainDraft(r *rand.Rand) Draft {
	pick := func(of []string) string { return of[r.IntN(len(of))] }
	texts := []string{
		"Hello", "Grüße aus dem Süden", "日本語の件名です", "Re: [ticket #1] (urgent) \"quoted\" a=b", "😀 party", "=?utf-8?q?x?=", "Ünï, \"cödé\" <x@y>",
		strings.Repeat("A long subject of many words ", 8) + "end", strings.Repeat("Ein langer Betreff für alle ", 8) + "Ende", strings.Repeat("漢字", 60), "a.b@c, d;e:f",
	}
	bodies := []string{"Hi\n", "Grüße\n\n.\n..\nFrom me\n", strings.Repeat("word ", 300) + "\n", strings.Repeat("漢字かな交じり文\n", 40), "=C3=A9\ttab \n--=_1_x\n", strings.Repeat("z", 3000) + "\n"}
	addresses := []string{"a@b.example", "info@bücher.example", "o'neil+tag@x.example", "very.long.local.part.of.an.address@sub.domain.of.some.example"}
	mailbox := func() message.Mailbox {
		m := message.Mailbox{Email: pick(addresses)}
		if r.IntN(3) > 0 {
			m.Name = pick(texts[:7])
		}
		return m
	}
	d := Draft{From: mailbox(), To: []message.Mailbox{mailbox(), mailbox()}, Cc: []message.Mailbox{mailbox()}, Subject: pick(texts), Text: pick(bodies), MessageID: "m@x.example", Date: composeDate}
	if r.IntN(2) == 0 {
		d.HTML = "<p>" + pick(bodies) + "</p>\n"
		d.InReplyTo, d.References = "p@x.example", []string{"o1@x.example", strings.Repeat("o", 70) + "@x.example"}
	}
	if r.IntN(3) == 0 {
		d.Calendar = &CalendarPart{"REQUEST", "BEGIN:VCALENDAR\nSUMMARY:ü\nEND:VCALENDAR\n"}
	}
	for range r.IntN(3) {
		name := pick([]string{"plan.pdf", "größe & maß.txt", "a b;c=\"d\".csv", strings.Repeat("漢", 60) + ".png", strings.Repeat("long ", 20) + ".txt", "=?utf-8?q?x?=.txt"})
		d.Attachments = append(d.Attachments, DraftAttachment{name, pick([]string{"", "application/pdf", "text/csv"}), []byte(pick(bodies))})
	}
	for i := range d.BoundarySeed {
		d.BoundarySeed[i] = byte(r.Uint32())
	}
	return d
}

func meantForPython(d Draft) seenByPython {
	people := func(list ...message.Mailbox) (out [][2]string) {
		for _, m := range asWritten(list) {
			out = append(out, [2]string{m.Name, m.Email})
		}
		return out
	}
	want := seenByPython{
		Subject: oneLine(d.Subject), Date: "2026-11-21T09:08:07+00:00", ID: "<m@x.example>", References: []string{},
		People: map[string][][2]string{"from": people(d.From), "to": people(d.To...), "cc": people(d.Cc...)},
		Text:   d.Text, HTML: d.HTML, Files: [][3]string{}, Defects: []string{},
	}
	for _, id := range threadReferences(d.References, d.InReplyTo) {
		want.References = append(want.References, "<"+id+">")
	}
	if d.Calendar != nil {
		want.Files = append(want.Files, [3]string{d.Calendar.Method, "text/calendar", ""})
	}
	for _, f := range d.Attachments {
		sum := sha256.Sum256(f.Bytes)
		kind := f.ContentType
		if kind == "" {
			kind = "application/octet-stream"
		}
		want.Files = append(want.Files, [3]string{f.Filename, kind, hex.EncodeToString(sum[:])})
	}
	return want
}

func BenchmarkCompose(b *testing.B) {
	d := Draft{
		From: message.Mailbox{Email: "agent@inbox.example", Name: "Amber Falcon"}, To: []message.Mailbox{{Email: "bob@x.example", Name: "Bøb"}},
		Subject: "Your report for November", Text: strings.Repeat("A line of a mail, as people write it — or nearly so.\n", 38),
		MessageID: "m1@inbox.example", Date: composeDate,
	}
	b.SetBytes(int64(len(d.Text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := WriteMessage(d); err != nil {
			b.Fatal(err)
		}
	}
}
