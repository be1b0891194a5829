package otp

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"inboxd/internal/mail/message/html"
	"inboxd/internal/mail/otp/model/train"
	"inboxd/internal/mail/otp/quote"
)

// trains is set by make otp-train to train the model again.
var trains = flag.Bool("train", false, "write weights.txt from testdata and print the folds")

// example returns a message as a training example. It collects the candidates and their features in
// the way of Find.
func example(family, want string, weight float64, in Input) *train.Example {
	e := &train.Example{Family: family, Group: train.GuessLanguage(in.Subject + " " + in.Text + " " + in.VisibleText), Weight: weight, WantAnswer: want}
	s := new(searchState)
	in = in.withoutQuotes()
	s.textsMatch = sameWords(in.Text, in.VisibleText)
	s.readPages(in, !s.textsMatch)
	if !s.canAnnounceCode() {
		return e
	}
	s.eachCandidate(func(v *candidateView) {
		e.Answers, e.Places, e.Parts = append(e.Answers, v.c.codeString()), append(e.Places, codeModel.ActivePlaces(v, nil)), append(e.Parts, slices.IndexFunc(s.pages[:], func(p sourcePage) bool { return p.source == v.source && p.isHidden == v.isHidden }))
	})
	return e
}

// sampled is the sampling rate of the digest: it includes the candidates of one in so many
// messages. All of them take too long under the race detector.
const sampled = 16

// data returns every nth training example of testdata: the stories, and messages made from the
// tables of words and phrases. If nth is 1, it adds the data augmentation of vary_test.go.
func data(t testing.TB, nth int) (all []*train.Example) {
	n, stories := 0, []reported(nil)
	add := func(family, want string, weight float64, in func() Input) {
		if n++; n%nth == 0 {
			all = append(all, example(family, want, weight, in()))
		}
	}
	files, _ := filepath.Glob(filepath.Join("testdata", "stories", "*.txt"))
	for _, file := range files {
		for _, m := range readTales(t, file) {
			family := filepath.Base(file) + " " + m.name
			add(family, m.want, 1, m.input)
			if nth == 1 {
				stories = append(stories, reported{all[len(all)-1], m.input()})
			}
			if other, ok := m.rewritten(); ok {
				add(family, other.want, expandedWeight, other.input)
			}
		}
	}
	eachWord(t, "labels.tsv", func(lang, label string) {
		for _, in := range labelMails(label) {
			add("label "+label, "482913", tableWeight, func() Input { return in })
		}
	})
	eachWord(t, "nouns.tsv", func(lang, noun string) {
		for _, in := range nounMails(noun) {
			add("noun "+noun, "", tableWeight, func() Input { return in })
		}
	})
	for _, written := range slices.Sorted(maps.Keys(normalForms)) {
		for _, frame := range formFrames {
			in := Input{Text: strings.Replace(frame, "%", written, 1)}
			add("form "+normalForms[written], normalForms[written], tableWeight, func() Input { return in })
		}
	}
	for i, p := range readPhrases(t) {
		p.messages(i, func(_, want string, in Input) {
			add("phrase "+p.lang, want, phraseWeight, func() Input { return in })
		})
	}
	all = append(all, vary(stories)...)
	t.Logf("%d mails, and %d made from them", n, len(all)-n/nth)
	return all
}

// Weights of generated examples. An example from a story has weight 1.
const (
	tableWeight    = 0.2  // from a table of words
	phraseWeight   = 0.05 // from a table of phrases
	expandedWeight = 0.3  // from a story, with another code: see rewritten
)

// input renders the message for Find.
func (m *taleMail) input() Input {
	v := ViewOf(m.html)
	in := Input{Subject: m.subject, Text: m.text, VisibleText: v.VisibleText + m.visible, PreviewText: v.PreviewText}
	for _, span := range v.IndentedSpans {
		in.IndentedSpans = append(in.IndentedSpans, quote.TextSpan(span))
	}
	return in
}

var someNumber = regexp.MustCompile(`\b[0-9]{4,8}\b`)

// rewritten returns the message with a code of another form, or, in a message without a code, with
// another number. This augmentation teaches the model that the context matters more than the form
// of a code. It reports false if the message does not have a plain number to replace.
func (m taleMail) rewritten() (taleMail, bool) {
	from := m.want
	if from == "" {
		from = someNumber.FindString(m.subject + "\n" + m.text + "\n" + m.html)
	}
	if from == "" || !someNumber.MatchString(from) {
		return m, false
	}
	h := fnv.New64a()
	h.Write([]byte(m.name + m.text + m.html))
	r := rand.New(rand.NewSource(int64(h.Sum64())))
	to := newCode(r)
	whole := regexp.MustCompile(`\b` + from + `\b`)
	before := m.subject + m.text + m.html
	for _, s := range []*string{&m.subject, &m.text, &m.html, &m.visible} {
		*s = whole.ReplaceAllLiteralString(*s, to)
	}
	if m.want != "" {
		m.want = to
		if strings.Trim(to, "0123456789 ") == "" {
			m.want = strings.ReplaceAll(to, " ", "")
		}
	}
	return m, m.subject+m.text+m.html != before
}

// newCode returns a random code of a random form.
func newCode(r *rand.Rand) string {
	const letters, digits = "ABCDEFGHJKLMNPQRSTUVWXYZ", "0123456789"
	some := func(set string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[r.Intn(len(set))]
		}
		return string(b)
	}
	switch r.Intn(8) {
	case 0:
		return some(letters, 1) + some(digits, 1) + some(letters, 2) + some(digits, 1) + some(letters, 1)
	case 1:
		return some(digits, 1) + some(letters, 2) + "-" + some(letters, 1) + some(digits, 1) + some(letters, 1)
	case 2:
		return some(letters, 3) + "-" + some(digits, 3)
	case 3:
		return some(digits, 1+r.Intn(2)) + some(letters, 2) + some(digits, 3) + some(letters, 1)
	case 4:
		return some("123456789", 1) + some(digits, 9)
	case 5:
		return some(digits, 3) + " " + some(digits, 3)
	case 6:
		return some("3456789", 1) + some(digits, 3)
	}
	return some(digits, 8)
}

// taleMail is an invented message with its code, "" for none.
type taleMail struct {
	name, want, subject, text, html, visible string
}

// readTales reads a file of stories: see invented_test.go.
func readTales(t testing.TB, file string) (all []taleMail) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range strings.Split("\n"+string(raw), "\n=== ")[1:] {
		head, body, _ := strings.Cut(s, "\n")
		i := strings.LastIndexByte(head, ' ')
		m := taleMail{name: head[:i], want: head[i+1:]}
		if m.want == "-" {
			m.want = ""
		}
		if rest, ok := strings.CutPrefix(body, "Subject: "); ok {
			m.subject, body, _ = strings.Cut(rest, "\n")
		}
		body = "\n" + body
		body, m.html, _ = strings.Cut(body, "\n--- html\n")
		body, m.visible, _ = strings.Cut(body, "\n--- visible\n")
		m.text = strings.TrimPrefix(body, "\n")
		all = append(all, m)
	}
	return all
}

// TestWeights checks that weights.txt was made from the present training data and features. With
// -train it trains the model and writes the file.
func TestWeights(t *testing.T) {
	if *trains {
		retrain(t, data(t, 1))
		return
	}
	if got := digest(t); got != codeModel.DataDigest() {
		t.Errorf("weights.txt is of other data: %s, want %s; run make otp-train", codeModel.DataDigest(), got)
	}
}

// digest returns a hash of the training data: the files, the names of all feature values, and the
// candidates of a sample of the messages.
func digest(t *testing.T) string {
	h := sha256.New()
	files, _ := filepath.Glob(filepath.Join("testdata", "stories", "*.txt"))
	for _, file := range append(files, "testdata/labels.tsv", "testdata/nouns.tsv", "testdata/phrases.tsv") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(raw)
	}
	fmt.Fprintln(h, codeModel.PlaceNames())
	for _, e := range data(t, sampled) {
		fmt.Fprintln(h, e.Family, e.Group, e.Weight, e.WantAnswer, e.Answers, e.Places)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// retrain runs three kinds of cross-validation: it holds out families, languages, and files of
// stories (batches). It logs the results, sets the threshold and the calibration curve from them,
// trains the model on all data, and writes weights.txt.
func retrain(t *testing.T, all []*train.Example) {
	names := codeModel.PlaceNames()
	var hard []train.Outcome
	left := func(part func(*train.Example) string) (easy []train.Outcome) {
		easy, hard = stories(settings.LeaveOut(all, len(names), part))
		return easy
	}
	families := left(func(e *train.Example) string { return e.Family })
	tongues := left(func(e *train.Example) string { return e.Group })
	batches := left(func(e *train.Example) string { f, _, _ := strings.Cut(e.Family, " "); return f })
	threshold := max(train.FindThreshold(families, mostWrong), train.FindThreshold(tongues, mostWrongTongue))
	sure := train.ReliableShare(threshold, mostWrongSure, families, tongues)
	for _, from := range []float64{0.7, threshold, 0.85} {
		train.LogFigures(t, "leave-family-out", families, from)
		train.LogFigures(t, "leave-language-out", tongues, from)
		train.LogFigures(t, "leave-batch-out", batches, from)
		train.LogFigures(t, "... of hard mails", hard, from)
	}
	train.LogMisses(t, "family", families, threshold)
	train.LogMisses(t, "language", tongues, threshold)
	net := settings.TrainNetwork(all, len(names), func(*train.Example) bool { return true })
	file := train.FormatWeights(digest(t), names, net, threshold, train.CalibrationCurve(tongues, sure))
	t.Logf("%d places, a file of %d bytes", len(names), len(file))
	train.PrintSure(t, "leave-family-out", families, threshold, sure)
	train.PrintSure(t, "leave-language-out", tongues, threshold, sure)
	train.PrintSure(t, "leave-batch-out", batches, threshold, sure)
	if err := os.WriteFile("weights.txt", file, 0o644); err != nil {
		t.Fatal(err)
	}
}

// settings are the hyperparameters of the model.
var settings = train.Settings{InputDropout: 0.4, NoAnswerWeight: 2}

// The largest fractions of wrong answers on held-out folds.
const (
	mostWrong       = 0.003 // of held-out families
	mostWrongTongue = 0.005 // of held-out languages
	mostWrongSure   = 0.002 // of the answers with a confidence of at least train.SureConfidence, in both
)

// stories returns the outcomes of stories, which decide the threshold, and those of adversarial
// messages. It drops generated messages, which are too easy. The adversarial ones are training
// data, but they are more frequent here than in real messages.
func stories(all []train.Outcome) (counted, hard []train.Outcome) {
	for _, o := range all {
		switch {
		case o.Weight != 1:
		case strings.HasPrefix(o.Family, hardFiles):
			hard = append(hard, o)
		default:
			counted = append(counted, o)
		}
	}
	return counted, hard
}

// hardFiles is the prefix of the names of files with adversarial messages: messages of banks with
// ten numbers next to a code without a label, and receipts and notices that resemble a message with
// a code.
const hardFiles = "hard-"

// phrase is one row of testdata/phrases.tsv.
type phrase struct{ lang, subject, lead, below, without string }

// readPhrases reads testdata/phrases.tsv.
func readPhrases(t testing.TB) (all []phrase) {
	raw, err := os.ReadFile(filepath.Join("testdata", "phrases.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 5 && line[0] != '#' {
			all = append(all, phrase{f[0], f[1], f[2], f[3], f[4]})
		}
	}
	return all
}

// ViewOf renders HTML in the way of the parser of messages.
func ViewOf(in string) (v html.RenderedView) {
	html.RenderText(strings.ToValidUTF8(in, ""), html.Options{View: &v})
	return v
}
