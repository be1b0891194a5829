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

// quick trains without the folds, with the present thresholds and calibration curve, to try a change.
var quick = flag.Bool("quick", false, "with -train: leave out the folds, and keep the thresholds and the confidence")

// simpler compares the model with simpler ones.
var simpler = flag.Bool("simpler", false, "with -train: print the figures of this and of simpler models, and write nothing")

// example returns a message as a training example. It collects the candidates and their features in
// the way of Find.
func example(family, want string, weight float64, in Input) *train.Example {
	e := &train.Example{Family: family, Group: train.GuessLanguage(in.Subject + " " + in.Text + " " + in.VisibleText), Weight: weight, WantAnswer: want}
	s := new(searchState)
	in = in.withoutQuotes()
	s.textsMatch = sameWords(in.Text, in.VisibleText)
	s.readPages(in, !s.textsMatch)
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
	readTypedSubjects(t)
	rows, byGroup := readSentences(t)
	for _, file := range storyFiles(t) {
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
	labels, nouns := map[string][]string{}, map[string][]string{}
	eachWord(t, "labels.tsv", func(lang, label string) {
		labels[lang] = append(labels[lang], label)
		for _, in := range labelMails(label) {
			add("label "+label, "482913", tableWeight, func() Input { return in })
		}
	})
	eachWord(t, "nouns.tsv", func(lang, noun string) {
		nouns[lang] = append(nouns[lang], noun)
		for _, in := range nounMails(noun) {
			add("noun "+noun, "", tableWeight, func() Input { return in })
		}
	})
	for i, lang := range slices.Sorted(maps.Keys(nouns)) {
		if len(labels[lang]) > 0 {
			tableMails(labels[lang], nouns[lang], rand.New(rand.NewSource(int64(i))), func(want string, in Input) {
				add("table "+lang, want, sentenceWeight, func() Input { return in })
			})
		}
	}
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
	typed := 0
	typedMails(t, "typed.tsv", func(want string, in Input) {
		typed++
		add(fmt.Sprintf("typed %d", typed%50), want, typedWeight, func() Input { return in })
	})
	for i, row := range rows {
		row.sentenceMails(rand.New(rand.NewSource(int64(i))), func(want string, in Input) {
			add("sentence "+row.language, want, sentenceWeight, func() Input { return in })
		})
	}
	eachRow(t, "used-and-shop-codes.tsv", func(columns []string) {
		usedMails(columns, rand.New(rand.NewSource(int64(len(columns[1])))), func(want string, in Input) {
			add("used "+columns[0], want, sentenceWeight, func() Input { return in })
		})
	})
	all = append(all, vary(stories, byGroup)...)
	t.Logf("%d mails, and %d made from them", n, len(all)-n/nth)
	return all
}

// storyFiles returns the files of stories.
func storyFiles(t testing.TB) []string {
	files, err := filepath.Glob(filepath.Join("testdata", "stories", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	return files
}

// Weights of generated examples. An example from a story has weight 1.
const (
	tableWeight    = 0.2  // from a table of words
	typedWeight    = 0.4  // from testdata/typed.tsv
	sentenceWeight = 0.4  // from testdata/sentences.tsv
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
	for _, a := range v.Anchors {
		in.Links = append(in.Links, a.URL)
	}
	for _, w := range urlsIn(nil, m.text) {
		in.Links = append(in.Links, strings.TrimRight(w.url, ".,;:!?)"))
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
		if strings.Trim(to, "0123456789 -") == "" {
			m.want = separatorRemover.Replace(to)
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
	switch r.Intn(13) {
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
	case 7:
		return some("3456789", 1) + some(digits, 1) + "-" + some(digits, 2) + "-" + some(digits, 2)
	case 8:
		return some(digits, 2) + " " + some(digits, 3)
	case 9:
		return some(letters+"abcdefghjkmnpqrstuvwxyz", 2) + some(digits, 1) + some(letters+"abcdefghjkmnpqrstuvwxyz"+digits, 5+r.Intn(8))
	case 11:
		return []string{"123456", "1234", "654321", "4321", "12345678", "111111", "345678", "0000"}[r.Intn(8)]
	case 10:
		return some("123456789", 1) + some(digits, 2) + "000"[:r.Intn(3)+1]
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
	for _, file := range append(storyFiles(t), "testdata/labels.tsv", "testdata/nouns.tsv", "testdata/phrases.tsv", "testdata/typed.tsv", "testdata/sentences.tsv", "testdata/used-and-shop-codes.tsv") {
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
// stories (batches), whose messages have other authors than the rest. It logs the results, sets the
// thresholds from the batches and the calibration curve from all of them, trains the model on all
// data, and writes weights.txt.
func retrain(t *testing.T, all []*train.Example) {
	names := codeModel.PlaceNames()
	if *quick {
		net := settings.TrainNetwork(all, len(names), func(*train.Example) bool { return true })
		file := train.FormatWeights(digest(t), names, net, codeModel.Threshold, nil)
		for line := range strings.Lines(weightsFile) {
			if strings.HasPrefix(line, "right ") || strings.HasPrefix(line, "crowded ") {
				file = append(file, line...)
			}
		}
		writeWeights(t, file)
		return
	}
	byBatch := func(e *train.Example) string { f, _, _ := strings.Cut(e.Family, " "); return f }
	if *simpler {
		for name, s := range map[string]train.Settings{
			"one network": {InputDropout: 0.4, NoAnswerWeight: 2, Folds: 5, Networks: 1}, "linear": {InputDropout: 0.4, NoAnswerWeight: 2, Folds: 5, Networks: 1, IsLinear: true},
		} {
			ordinary, hard := stories(s.LeaveOut(all, len(names), byBatch))
			newThresholds(append(ordinary, hard...)).log(t, name, ordinary, hard)
		}
		return
	}
	families, hard := stories(settings.LeaveOut(all, len(names), func(e *train.Example) string { return e.Family }))
	tongues, hardTongues := stories(settings.LeaveOut(all, len(names), func(e *train.Example) string { return e.Group }))
	batches, hardBatches := stories(settings.LeaveOut(all, len(names), byBatch))
	unseen := slices.Concat(batches, hardBatches)
	limits := newThresholds(unseen)
	limits.log(t, "leave-family-out", families, hard)
	limits.log(t, "leave-language-out", tongues, hardTongues)
	limits.log(t, "leave-batch-out", batches, hardBatches)
	train.LogMisses(t, "batch", unseen, limits.plain)
	sure := train.ReliableShare(limits.plain, mostWrongSure, families, tongues, unseen)
	net := settings.TrainNetwork(all, len(names), func(*train.Example) bool { return true })
	file := train.FormatWeights(digest(t), names, net, limits.plain, train.CalibrationCurve(slices.Concat(tongues, unseen), sure))
	file = append(file, fmt.Sprintf("crowded %g\n", limits.crowded)...)
	t.Logf("%d places, a file of %d bytes", len(names), len(file))
	train.PrintSure(t, "leave-family-out", families, limits.plain, sure)
	train.PrintSure(t, "leave-language-out", tongues, limits.plain, sure)
	train.PrintSure(t, "leave-batch-out", unseen, limits.plain, sure)
	writeWeights(t, file)
}

// thresholds are those of model.Model.
type thresholds struct{ plain, crowded float64 }

// newThresholds returns the thresholds with the largest utility for outcomes that nothing was learned
// from.
func newThresholds(outcomes []train.Outcome) thresholds {
	plain, crowded := byCrowd(outcomes)
	return thresholds{train.UtilityThreshold(plain, costOfWrong), train.UtilityThreshold(crowded, costOfWrong)}
}

// byCrowd splits outcomes into those of plain and of crowded messages.
func byCrowd(outcomes []train.Outcome) (plain, crowded []train.Outcome) {
	for _, o := range outcomes {
		if codes := slices.Compact(slices.Sorted(slices.Values(o.Answers))); len(codes) > mostPlain {
			crowded = append(crowded, o)
		} else {
			plain = append(plain, o)
		}
	}
	return plain, crowded
}

// log prints the figures of outcomes.
func (l thresholds) log(t *testing.T, name string, ordinary, hard []train.Outcome) {
	plain, crowded := byCrowd(ordinary)
	train.LogFigures(t, name+", plain", plain, l.plain)
	train.LogFigures(t, name+", crowded", crowded, l.crowded)
	plain, crowded = byCrowd(hard)
	train.LogFigures(t, name+", plain and hard", plain, l.plain)
	train.LogFigures(t, name+", crowded and hard", crowded, l.crowded)
}

func writeWeights(t *testing.T, file []byte) {
	if err := os.WriteFile("weights.txt", file, 0o644); err != nil {
		t.Fatal(err)
	}
}

// settings are the hyperparameters of the model.
var settings = train.Settings{InputDropout: 0.4, NoAnswerWeight: 2, Folds: 5}

const (
	costOfWrong   = 5     // how many missing answers a wrong one is as bad as
	mostWrongSure = 0.002 // largest fraction of wrong answers among those with a confidence of train.SureConfidence, on each kind of folds
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
	eachRow(t, "phrases.tsv", func(f []string) {
		if len(f) == 5 {
			all = append(all, phrase{f[0], f[1], f[2], f[3], f[4]})
		}
	})
	return all
}

// ViewOf renders HTML in the way of the parser of messages.
func ViewOf(in string) (v html.RenderedView) {
	html.RenderText(strings.ToValidUTF8(in, ""), html.Options{View: &v})
	return v
}
