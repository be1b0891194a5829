package link

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"math"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inboxd/internal/mail/message"
	"inboxd/internal/mail/message/html"
	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/model/train"
)

// trains is set by make otp-train to train the model again.
var trains = flag.Bool("train", false, "write weights.txt from testdata and print the folds")

// story is an invented message with its link, "" for none.
type story struct {
	name, want string
	letter
	mail SearchInput // the letter as received
}

// stories reads a file in this format:
//
//	=== name, then the link or "-"
//	Subject: ...
//	the text
//	--- html
//	the HTML, optional
func stories(t testing.TB, file string) (all []story) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range strings.Split("\n"+string(raw), "\n=== ")[1:] {
		head, body, _ := strings.Cut(s, "\n")
		i := strings.LastIndexByte(head, ' ')
		m := story{name: filepath.Base(file) + " " + head[:i], want: head[i+1:]}
		if m.want == "-" {
			m.want = ""
		}
		if rest, ok := strings.CutPrefix(body, "Subject: "); ok {
			m.subject, body, _ = strings.Cut(rest, "\n")
		}
		text, markup, _ := strings.Cut("\n"+body, "\n--- html\n")
		m.text, m.markup = strings.TrimPrefix(text, "\n"), markup
		m.read()
		all = append(all, m)
	}
	return all
}

// raw returns the letter as a message.
func (l letter) raw() []byte {
	raw := "Subject: " + mime.BEncoding.Encode("utf-8", l.subject) + "\r\nMIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=parts\r\n"
	if l.text != "" || l.markup == "" {
		raw += "\r\n--parts\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + l.text
	}
	if l.markup != "" {
		raw += "\r\n--parts\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + l.markup
	}
	return []byte(raw + "\r\n--parts--\r\n")
}

// read parses text and HTML in the way of a received message.
func (m *story) read() {
	m.mail.Subject = m.subject
	d := message.Parse(m.raw())
	var v html.RenderedView
	html.RenderText(strings.ToValidUTF8(d.HTML, ""), html.Options{View: &v})
	m.mail.VisibleText, m.mail.Links = v.VisibleText, d.Links
	if !d.TextFromHTML {
		m.mail.Text = d.Text
	}
	for _, a := range v.Anchors {
		m.mail.Anchors = append(m.mail.Anchors, Anchor(a))
	}
}

// example returns a message as a training example, with its candidates and their features.
func example(family, want string, weight float64, m SearchInput) *train.Example {
	e := &train.Example{Family: family, Group: train.GuessLanguage(m.Subject + " " + m.Text + " " + m.VisibleText), Weight: weight, WantAnswer: want}
	c := new(linkCollector)
	views := c.collectCandidates(&m)
	for i := range views {
		e.Answers, e.Places = append(e.Answers, views[i].url), append(e.Places, linkModel.ActivePlaces(&views[i], nil))
	}
	return e
}

// otherWeight is the weight of an example that is made from a story.
const otherWeight = 0.4

// data returns the training examples of every nth story and of every nth composed message.
func data(t testing.TB, nth int) (all []*train.Example) {
	phrases, n := readPhrases(t), 0
	add := func(family string, weight float64, stories ...story) {
		for _, s := range stories {
			all = append(all, example(family, s.want, weight, s.mail))
		}
	}
	files, _ := filepath.Glob("../testdata/links/*.txt")
	for _, file := range files {
		for _, s := range stories(t, file) {
			if n++; n%nth == 0 {
				add(s.name, 1, s)
				add(s.name, otherWeight, s.others()...)
				add(s.name, variedWeight, s.varied(phrases)...)
			}
		}
	}
	for _, lang := range slices.Sorted(maps.Keys(phrases)) {
		for _, s := range phrases.composed(lang) {
			if n++; n%nth == 0 {
				add(s.name, phraseWeight, s)
			}
		}
	}
	return all
}

// Weights of examples, and their number for each story.
const (
	varieties    = 5
	variedWeight = 0.3 // of a changed story
	phraseWeight = 0.3 // of a message composed of phrases
)

// varied makes examples from a story with one or two changes, half of them at another URL.
func (s story) varied(p phraseTable) (all []story) {
	r := random(s.name)
	for range varieties {
		v := s
		if to, ok := s.restyled(r); ok && pick(r, true, false) {
			v = to
		}
		v = v.changed(pick(r, changes...), p)
		if pick(r, true, false) {
			v = v.changed(pick(r, changes...), p)
		}
		all = append(all, v)
	}
	return all
}

// others makes further examples from a story (data augmentation): with opaque URLs, with another
// subject, with the URLs alone, and without the right link.
func (s story) others() (all []story) {
	hidden := s
	hidden.mail = s.mail.readdressed(func(i int, url string) string {
		return fmt.Sprintf("https://click.example/c/%x", sha256.Sum256([]byte(url)))[:44]
	})
	if s.want != "" {
		hidden.want = fmt.Sprintf("https://click.example/c/%x", sha256.Sum256([]byte(s.want)))[:44]
	}
	vague := s
	vague.mail.Subject = "Larch"
	all = append(all, hidden, vague)
	if a, _ := new(addressReader).parseLink(s.want); a.wordConcepts.HasAny(concept.ActionRequests) && a.secret != guessablePart {
		all = append(all, story{want: s.want, mail: SearchInput{Links: s.mail.Links}})
	}
	if s.want != "" && len(s.mail.Anchors) > 1 {
		all = append(all, story{mail: s.mail.without(s.want)})
	}
	return all
}

// readdressed returns the message with other URLs.
func (m SearchInput) readdressed(to func(int, string) string) SearchInput {
	var pairs []string
	out := m
	out.Links, out.Anchors = nil, nil
	for i, url := range m.Links {
		pairs = append(pairs, url, to(i, url))
		out.Links = append(out.Links, to(i, url))
	}
	slices.Reverse(pairs) // a URL may be the prefix of a later one, which must be replaced first
	for i := 0; i < len(pairs); i += 2 {
		pairs[i], pairs[i+1] = pairs[i+1], pairs[i]
	}
	replace := strings.NewReplacer(pairs...)
	out.Text, out.VisibleText = replace.Replace(m.Text), replace.Replace(m.VisibleText)
	for _, a := range m.Anchors {
		out.Anchors = append(out.Anchors, Anchor{URL: to(0, a.URL), Text: replace.Replace(a.Text)})
	}
	return out
}

// without returns the message with its HTML only, without a link.
func (m SearchInput) without(url string) SearchInput {
	out := SearchInput{Subject: m.Subject, VisibleText: m.VisibleText}
	for _, link := range m.Links {
		if link != url {
			out.Links = append(out.Links, link)
		}
	}
	for _, a := range m.Anchors {
		if a.URL == url {
			out.VisibleText = strings.Replace(out.VisibleText, a.Text, "", 1)
		} else {
			out.Anchors = append(out.Anchors, a)
		}
	}
	return out
}

// sampled is the sampling rate of the digest, which all of the examples would make slow.
const sampled = 16

// digest returns a hash of the files of stories and phrases, of the names of all feature values, and of
// a sample of the training data.
func digest(t testing.TB) string {
	h := sha256.New()
	files, _ := filepath.Glob("../testdata/links/*.txt")
	for _, file := range append(files, "../testdata/link-phrases.txt") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(raw)
	}
	fmt.Fprintln(h, linkModel.PlaceNames())
	for _, e := range data(t, sampled) {
		fmt.Fprintln(h, e.Family, e.Group, e.Weight, e.WantAnswer, e.Answers, e.Places)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// whole returns the outcomes of stories, without those of generated examples.
func whole(all []train.Outcome) (some []train.Outcome) {
	for _, o := range all {
		if o.Weight == 1 {
			some = append(some, o)
		}
	}
	return some
}

// settings are the hyperparameters of the model. The dropout is small, because the absence of a feature
// of a link is as informative as its presence.
var settings = train.Settings{InputDropout: 0.1, NoAnswerWeight: 1}

// costOfWrong is how many missing links are as bad as a wrong one.
const costOfWrong = 5

// bestThreshold returns the threshold with the best utility: right links less costOfWrong for each wrong
// one. Messages with a link and those without count the same, as in real mail that is about accounts;
// three in four stories have none, most of them made to mislead.
func bestThreshold(outcomes []train.Outcome) (best float64) {
	var with, without []train.Outcome
	for _, o := range outcomes {
		if o.WantAnswer == "" {
			without = append(without, o)
		} else {
			with = append(with, o)
		}
	}
	most := math.Inf(-1)
	for n := range 100 {
		t := 0.5 + float64(n)/200
		a, b := train.EvaluateAt(with, t), train.EvaluateAt(without, t)
		if utility := a.RightFraction - costOfWrong*(a.WrongFraction+b.WrongFraction); utility > most {
			best, most = t, utility
		}
	}
	return best
}

// TestWeights checks that weights.txt was made from the present training data and features. With
// -train it trains the model and writes the file.
func TestWeights(t *testing.T) {
	if !*trains {
		if got := digest(t); got != linkModel.DataDigest() {
			t.Errorf("weights.txt is of other data: %s, want %s; run make otp-train", linkModel.DataDigest(), got)
		}
		return
	}
	all, names := data(t, 1), linkModel.PlaceNames()
	left := func(part func(*train.Example) string) []train.Outcome {
		return whole(settings.LeaveOut(all, len(names), part))
	}
	batches := left(func(e *train.Example) string { f, _, _ := strings.Cut(e.Family, " "); return f })
	tongues := left(func(e *train.Example) string { return e.Group })
	threshold := bestThreshold(slices.Concat(batches, tongues))
	for _, from := range []float64{0.5, 0.7, threshold} {
		train.LogFigures(t, "leave-batch-out", batches, from)
		train.LogFigures(t, "leave-language-out", tongues, from)
	}
	train.LogMisses(t, "batch", batches, threshold)
	train.LogMisses(t, "language", tongues, threshold)
	net := settings.TrainNetwork(all, len(names), func(*train.Example) bool { return true })
	file := train.FormatWeights(digest(t), names, net, threshold, nil)
	if err := os.WriteFile("weights.txt", file, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestInventedLinks checks the results on the training data, from the message to its link. It finds
// errors outside of the model.
func TestInventedLinks(t *testing.T) {
	files, _ := filepath.Glob("../testdata/links/*.txt")
	messages, right, wrong := 0, 0, 0
	for _, file := range files {
		for _, s := range stories(t, file) {
			messages++
			switch got := Find(s.mail); {
			case got == s.want:
				right++
				continue
			case got != "":
				wrong++
				t.Logf("%s: %q, want %q", s.name, got, s.want)
			default:
				t.Logf("%s: none, want %q", s.name, s.want)
			}
		}
	}
	t.Logf("%d of %d right, %d wrong", right, messages, wrong)
	if messages < 2000 || float64(right) < 0.985*float64(messages) || float64(wrong) > 0.001*float64(messages) {
		t.Error("too few right, or too many wrong")
	}
}
