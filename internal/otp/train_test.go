package otp

import (
	"bytes"
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
	"unicode"

	"inboxd/internal/message/html"
	"inboxd/internal/otp/model/train"
)

// trains makes the weights anew: make otp-train.
var trains = flag.Bool("train", false, "write weights.txt from testdata and print the folds")

// example reads a mail as Find does and notes what is known of its candidates.
func example(family, want string, weight float64, in Input) *train.Example {
	e := &train.Example{Family: family, Group: tongue(in.Subject + " " + in.Text + " " + in.Visible), Weight: weight, Want: want}
	s := new(search)
	s.same = sameWords(in.Text, in.Visible)
	s.read(in, !s.same)
	if s.split(); !s.speaks() {
		return e
	}
	s.each(func(v *view) {
		var known []int
		codes.Places(v, func(place int) { known = append(known, place) })
		e.Answers, e.Places = append(e.Answers, v.c.code()), append(e.Places, known)
	})
	return e
}

// sampled is how many mails there are to each whose candidates the digest is about: to read all of them
// takes long where races are looked for.
const sampled = 16

// data gives the mails of testdata/stories, and those that its tables of words and phrases make: each nth.
func data(t testing.TB, nth int) (all []*train.Example) {
	n := 0
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
		p.mails(i, func(_, want string, in Input) {
			add("phrase "+p.lang, want, phraseWeight, func() Input { return in })
		})
	}
	t.Logf("%d mails", n)
	return all
}

// tableWeight is what a mail of a table counts beside one that somebody thought of.
const (
	tableWeight    = 0.2
	phraseWeight   = 0.05
	expandedWeight = 0.3 // of a story whose code was written otherwise
)

func (m *taleMail) input() Input {
	v := ViewOf(m.html)
	return Input{Subject: m.subject, Text: m.text, Visible: v.Visible + m.visible, Preview: v.Preview}
}

var someNumber = regexp.MustCompile(`\b[0-9]{4,8}\b`)

// rewritten gives the mail with a code of another form, or, where there is none, with another number: what
// a code looks like says less than what stands around it.
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

// newCode makes a code of some form.
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

// tongue guesses in which language a mail is written: by its script, or by small words.
func tongue(s string) string {
	scripts := map[string]int{}
	for _, r := range s {
		if r < 0x80 || !unicode.IsLetter(r) {
			continue
		}
		for _, name := range scriptNames {
			if unicode.Is(unicode.Scripts[name], r) {
				scripts[name]++
				break
			}
		}
	}
	best, most := "Latin", 7
	for _, name := range scriptNames {
		if scripts[name] > most && name != "Latin" {
			best, most = name, scripts[name]
		}
	}
	if best == "Han" && scripts["Hiragana"] > 2 {
		best = "Hiragana"
	}
	if best != "Latin" && best != "Cyrillic" && best != "Arabic" {
		return best
	}
	hits := map[string]int{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) }) {
		for lang, small := range smallWords[best] {
			if slices.Contains(small, w) {
				hits[lang]++
			}
		}
	}
	lang, top := best, 0
	for _, l := range slices.Sorted(func(yield func(string) bool) {
		for l := range hits {
			if !yield(l) {
				return
			}
		}
	}) {
		if hits[l] > top {
			lang, top = l, hits[l]
		}
	}
	return lang
}

var scriptNames = []string{"Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Bengali", "Gujarati", "Gurmukhi", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Thai", "Lao", "Khmer", "Myanmar", "Georgian", "Armenian", "Ethiopic", "Hangul", "Hiragana", "Katakana", "Han", "Mongolian", "Oriya"}

// smallWords are common words that tell languages of one script apart.
var smallWords = map[string]map[string][]string{
	"Latin": {
		"en": strings.Fields("the your is to you and this of for with if not was it"), "de": strings.Fields("ihr ihre der die das ist und sie für mit nicht wir zu ein"),
		"fr": strings.Fields("votre vous est le les des pour une et ce dans nous pas"), "es": strings.Fields("su tu es el los para con una por y del usted"),
		"pt": strings.Fields("seu sua você é os não com uma o seus em do"), "it": strings.Fields("il tuo è di per con una che gli del non suo"),
		"nl": strings.Fields("je uw de het een is van voor niet met en"), "sv": strings.Fields("din är och att det för inte du på med ditt"),
		"da": strings.Fields("din er og det til ikke du på med af dig"), "no": strings.Fields("din er og det til ikke du på med av deg"),
		"fi": strings.Fields("on ja koodi tämä sinun ei se tai"), "pl": strings.Fields("twój jest do na nie i w się z to kod"),
		"cs": strings.Fields("váš je na se pro v kód a vaše ne"), "sk": strings.Fields("váš je na sa pre v kód a vaše nie"),
		"hu": strings.Fields("az a és nem egy kód ön hogy"), "ro": strings.Fields("codul este dvs pentru și nu cu la contul"),
		"tr": strings.Fields("bu ve için ile kodunuz bir siz kod"), "vi": strings.Fields("của bạn là mã và không để vui"), "id": strings.Fields("anda adalah untuk dan kode ini yang jangan"),
		"ms": strings.Fields("anda ialah untuk dan kod ini yang jangan"), "hr": strings.Fields("vaš je za kod i se ne u"), "sl": strings.Fields("vaša je za koda in ne se"),
		"et": strings.Fields("teie on ja kood see ei"), "lv": strings.Fields("jūsu ir un kods šis nav"), "lt": strings.Fields("jūsų yra ir kodas šis ne"),
		"sq": strings.Fields("juaj është kodi për dhe"), "sw": strings.Fields("yako ni wa ya kwa nambari"), "tl": strings.Fields("ang iyong mo ay sa ng"), "af": strings.Fields("jou is nie die vir en"),
		"is": strings.Fields("þinn er og til ekki"), "ca": strings.Fields("el teu és per amb codi"), "az": strings.Fields("sizin kodu üçün və bu"), "uz": strings.Fields("sizning kod uchun va bu"),
		"eu": strings.Fields("zure da eta kodea"), "cy": strings.Fields("eich yw cod yn"), "ga": strings.Fields("do is cód an"), "gl": strings.Fields("o teu é código para"),
	},
	"Cyrillic": {
		"ru": strings.Fields("ваш код для и не на в вы никому это"), "uk": strings.Fields("ваш код для і не на у ви нікому це"), "bg": strings.Fields("вашият код за и не на е вие"),
		"sr": strings.Fields("ваш је за код и не на ви"), "mk": strings.Fields("вашиот е за код и не на"), "be": strings.Fields("ваш код для і не на гэта"),
		"kk": strings.Fields("сіздің код растау үшін және коды"), "ky": strings.Fields("сиздин код үчүн жана"), "mn": strings.Fields("таны код нь"), "tg": strings.Fields("шумо рамз ва барои"),
	},
	"Arabic": {"ar": strings.Fields("رمز هو هي من في على لا الخاص"), "fa": strings.Fields("شما کد است را از در به"), "ur": strings.Fields("آپ کا ہے کوڈ میں کو"), "ku": strings.Fields("کۆدی تۆ بۆ")},
}

// The weights in the tree are those of the data in the tree.
func TestWeights(t *testing.T) {
	if *trains {
		retrain(t, data(t, 1))
		return
	}
	if got := digest(t); got != codes.Digest() {
		t.Errorf("weights.txt is of other data: %s, want %s; run make otp-train", codes.Digest(), got)
	}
}

// digest tells data apart: the files, what is known of each candidate, and of a part of them what it is.
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
	fmt.Fprintln(h, codes.Names())
	for _, e := range data(t, sampled) {
		fmt.Fprintln(h, e.Family, e.Group, e.Weight, e.Want, e.Answers, e.Places)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func retrain(t *testing.T, all []*train.Example) {
	names := codes.Names()
	families := train.LeaveOut(all, len(names), func(e *train.Example) string { return e.Family })
	threshold := train.Threshold(stories(families), mostWrong)
	print(t, "leave-family-out", stories(families), threshold)
	print(t, "leave-language-out", stories(train.LeaveOut(all, len(names), func(e *train.Example) string { return e.Group })), threshold)
	print(t, "leave-batch-out", stories(train.LeaveOut(all, len(names), func(e *train.Example) string { f, _, _ := strings.Cut(e.Family, " "); return f })), threshold)
	weights := train.Weights(all, len(names), func(*train.Example) bool { return true })
	file := train.File(digest(t), names, weights, threshold, train.Curve(stories(families)))
	t.Logf("%d places, %d weights", len(names), bytes.Count(file, []byte("\n"))-15)
	if err := os.WriteFile("weights.txt", file, 0o644); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("MISSES") != "" {
		var b bytes.Buffer
		for _, o := range stories(families) {
			if o.Answer != o.Want && o.Share >= threshold || o.Want != "" && (o.Share < threshold || o.Answer != o.Want) {
				fmt.Fprintf(&b, "%s: want %q, got %q %.3f\n", o.Family, o.Want, o.Answer, o.Share)
			}
		}
		os.WriteFile(os.Getenv("MISSES"), b.Bytes(), 0o644)
	}
}

// mostWrong is how many answers may be wrong among mails that nothing was learned from.
const mostWrong = 0.003

// stories leaves out the mails of tables, which are too easy to count.
func stories(all []train.Outcome) (some []train.Outcome) {
	for _, o := range all {
		if o.Weight == 1 {
			some = append(some, o)
		}
	}
	return some
}

func print(t *testing.T, name string, outcomes []train.Outcome, threshold float64) {
	for _, from := range []float64{0.5, 0.7, threshold} {
		f := train.Count(outcomes, from)
		t.Logf("%-20s %d mails, from share %.3f: right %.2f %%, wrong %.2f %%", name, f.Mails, from, 100*f.Right, 100*f.Wrong)
	}
}

// phrase is one row of testdata/phrases.tsv.
type phrase struct{ lang, subject, lead, below, without string }

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

// ViewOf renders HTML as the parser of mail does.
func ViewOf(in string) (v html.View) {
	html.Render(strings.ToValidUTF8(in, ""), html.Options{View: &v})
	return v
}
