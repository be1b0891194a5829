package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inboxd/bench/report"
)

func folderOf(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func codeMail(code string) string {
	return "From: a@b.example\nSubject: Sign in\n\n.Your verification code is " + code + ".\n"
}

func TestOTPCountsByCategory(t *testing.T) {
	bed := fakeBed(t)
	dir := folderOf(t, map[string]string{
		"expected.tsv": "file\tcode\tcategory\taccept\tdoubtful\n" +
			"a.eml\t482913\tgiven\t482913\t-\n" +
			"b.eml\tABC\tgiven\tABC|551234\t-\n" +
			"c.eml\tNULL\tnone\tNULL\t-\n" +
			"d.eml\t999999\tgiven\t\t-\n" +
			"e.eml\t999999\tgiven\t\tlabel unclear\n",
		"a.eml": codeMail("482913"), "b.eml": codeMail("551234"), "c.eml": codeMail("none"),
		"d.eml": codeMail("771100"), "e.eml": codeMail("771100"),
	})
	if err := OTP(t.Context(), bed, OTPOptions{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	r := bed.Report
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	want := []report.Codes{
		{Category: "given", Messages: 3, Right: 2, Wrong: 1, Wanted: 3, Found: 2, Precision: 2. / 3, Recall: 2. / 3},
		{Category: "none", Messages: 1, Right: 1, Precision: 1, Recall: 1},
		{Category: "all", Messages: 4, Right: 3, Wrong: 1, Wanted: 3, Found: 2, Precision: 2. / 3, Recall: 2. / 3},
		{Category: "doubtful", Messages: 1, Wrong: 1, Wanted: 1},
	}
	if len(r.Codes) != len(want) {
		t.Fatalf("%+v", r.Codes)
	}
	for i, c := range r.Codes {
		if c != want[i] {
			t.Errorf("%+v, want %+v", c, want[i])
		}
	}
	if len(r.Misses) != 2 || r.Misses[0] != (report.Miss{File: "d.eml", Want: "999999", Got: "771100"}) {
		t.Errorf("%+v", r.Misses)
	}
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil || !strings.Contains(table.String(), "given     3         2      1            0.667      0.667") {
		t.Errorf("%v\n%s", err, table.String())
	}
}

func TestOTPFindsLostMail(t *testing.T) {
	bed := fakeBed(t, "--fake-lose-mail")
	files := map[string]string{"a.eml": codeMail("482913")}
	rows := "file\tcode\n" + strings.Repeat("a.eml\t482913\n", 12)
	files["expected.tsv"] = rows
	err := OTP(t.Context(), bed, OTPOptions{Dir: folderOf(t, files)})
	if err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("error %v", err)
	}
}

func TestExpectationsOutsideTheFolder(t *testing.T) {
	for _, table := range []string{"file\tcode\n../a.eml\t1\n", "code\n482913\n", "file\tcode\n"} {
		if rows, err := readExpectations(filepath.Join(folderOf(t, map[string]string{"x": table}), "x")); err == nil {
			t.Errorf("%q: %+v", table, rows)
		}
	}
}

func TestOnTheWire(t *testing.T) {
	for in, want := range map[string]string{
		"a: b\n\nc\n":     "a: b\r\n\r\nc\r\n.\r\n",
		"a\r\n.b\r\n..":   "a\r\n..b\r\n...\r\n.\r\n",
		"a\rb":            "a\r\nb\r\n.\r\n",
		"a\n\n":           "a\r\n\r\n.\r\n",
		"caf\xe9\r\n\r\n": "caf\xe9\r\n\r\n.\r\n",
	} {
		if got := string(onTheWire([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
