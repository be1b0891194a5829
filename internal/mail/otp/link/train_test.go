package link

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
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
	mail       SearchInput
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
			m.mail.Subject, body, _ = strings.Cut(rest, "\n")
		}
		text, markup, _ := strings.Cut("\n"+body, "\n--- html\n")
		m.read(strings.TrimPrefix(text, "\n"), markup)
		all = append(all, m)
	}
	return all
}

// read parses text and HTML in the way of a received message.
func (m *story) read(text, markup string) {
	raw := "Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=parts\r\n"
	if text != "" || markup == "" {
		raw += "\r\n--parts\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + text
	}
	if markup != "" {
		raw += "\r\n--parts\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + markup
	}
	d := message.Parse([]byte(raw + "\r\n--parts--\r\n"))
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

// data returns all training examples.
func data(t testing.TB) (all []*train.Example) {
	files, _ := filepath.Glob("../testdata/links/*.txt")
	for _, file := range files {
		for _, s := range stories(t, file) {
			all = append(all, example(s.name, s.want, 1, s.mail))
			for _, o := range s.others() {
				all = append(all, example(s.name, o.want, otherWeight, o.mail))
			}
		}
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

// digest returns a hash of the training data and of the names of all feature values.
func digest(all []*train.Example) string {
	h := sha256.New()
	fmt.Fprintln(h, linkModel.PlaceNames())
	for _, e := range all {
		fmt.Fprintln(h, *e)
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

// settings are the hyperparameters of the model. It does not use dropout, because the absence of a
// feature of a link is as informative as its presence.
var settings = train.Settings{NoAnswerWeight: 1}

// The largest fractions of wrong answers on held-out folds.
const (
	mostWrong       = 0.003 // of held-out families
	mostWrongTongue = 0.005 // of held-out languages
	mostWrongSure   = 0.002 // of the answers with a confidence of at least train.SureConfidence, in both
)

// TestWeights checks that weights.txt was made from the present training data and features. With
// -train it trains the model and writes the file.
func TestWeights(t *testing.T) {
	all := data(t)
	if !*trains {
		if got := digest(all); got != linkModel.DataDigest() {
			t.Errorf("weights.txt is of other data: %s, want %s; run make otp-train", linkModel.DataDigest(), got)
		}
		return
	}
	names := linkModel.PlaceNames()
	left := func(part func(*train.Example) string) []train.Outcome {
		return whole(settings.LeaveOut(all, len(names), part))
	}
	families := left(func(e *train.Example) string { return e.Family })
	batches := left(func(e *train.Example) string { f, _, _ := strings.Cut(e.Family, " "); return f })
	tongues := left(func(e *train.Example) string { return e.Group })
	threshold := max(train.FindThreshold(families, mostWrong), train.FindThreshold(tongues, mostWrongTongue))
	sure := train.ReliableShare(threshold, mostWrongSure, families, tongues)
	for _, from := range []float64{0.5, 0.7, threshold} {
		train.LogFigures(t, "leave-family-out", families, from)
		train.LogFigures(t, "leave-batch-out", batches, from)
		train.LogFigures(t, "leave-language-out", tongues, from)
	}
	train.LogMisses(t, "family", families, threshold)
	train.LogMisses(t, "language", tongues, threshold)
	net := settings.TrainNetwork(all, len(names), func(*train.Example) bool { return true })
	file := train.FormatWeights(digest(all), names, net, threshold, train.CalibrationCurve(tongues, sure))
	train.PrintSure(t, "leave-family-out", families, threshold, sure)
	train.PrintSure(t, "leave-language-out", tongues, threshold, sure)
	train.PrintSure(t, "leave-batch-out", batches, threshold, sure)
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
