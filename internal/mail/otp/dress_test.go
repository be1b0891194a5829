package otp

import (
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"inboxd/internal/mail/otp/model/train"
)

// This file changes messages in ways that must not change their answer (metamorphic relations). The
// training data has random combinations of them, and TestMetamorphic checks each one.

// sentences are the sentences of one language: a row of testdata/sentences.tsv.
type sentences struct {
	language, greeting, thanks, closing string
	code, card                          string   // with a code
	others                              []string // with a number that is not one
}

// readSentences reads testdata/sentences.tsv, and groups the languages in the way of train.GuessLanguage.
func readSentences(t testing.TB) (all []sentences, byGroup map[string]sentences) {
	byGroup = map[string]sentences{}
	eachRow(t, "sentences.tsv", func(f []string) {
		row := sentences{f[0], f[1], f[2], f[3], f[4], f[5], f[6:]}
		all = append(all, row)
		if group := train.GuessLanguage(strings.Join(f[1:], " ")); byGroup[group].language == "" {
			byGroup[group] = row
		}
	})
	return all, byGroup
}

// message is a message with its answer.
type message struct {
	Input
	want string
}

// onText applies change to both texts that the message has.
func (m message) onText(change func(string) string) message {
	for _, s := range []*string{&m.Text, &m.VisibleText} {
		if *s != "" {
			*s = change(*s)
		}
	}
	return m
}

// isLong reports whether the body has enough words to be understood without its subject.
func (m message) isLong() bool { return len(m.Text)+len(m.VisibleText) > 160 }

// needsSubject reports whether the answer depends on the subject.
func (m message) needsSubject() bool {
	return m.want == "" && !m.isLong() || m.want != "" && !strings.Contains(separatorRemover.Replace(m.Text+m.VisibleText), separatorRemover.Replace(m.want)) ||
		strings.ContainsAny(m.Subject, "0123456789") || len(m.Text)+len(m.VisibleText) < 60
}

// changes are the metamorphic relations. Each returns the changed message, or the same one where it
// does not apply.
var changes = map[string]func(m message, s sentences, r *rand.Rand) message{
	"typed subject": func(m message, _ sentences, r *rand.Rand) message {
		if !m.needsSubject() {
			m.Subject = typedSubjects[r.Intn(len(typedSubjects))]
		}
		return m
	},
	"greeting": func(m message, s sentences, _ *rand.Rand) message {
		return m.onText(func(b string) string { return s.greeting + "\n\n" + b })
	},
	"thanks": func(m message, s sentences, _ *rand.Rand) message {
		return m.onText(func(b string) string { return strings.TrimSpace(b) + "\n\n" + s.thanks + "\n" })
	},
	"signature": func(m message, s sentences, r *rand.Rand) message {
		lines := []string{s.closing, s.closing + "\n\n-- \nStork Ltd, Hafenstraße 104, 20457 Hamburg, +49 40 555 0132", "-- \nMia"}[r.Intn(3)]
		return m.onText(func(b string) string { return strings.TrimSpace(b) + "\n\n" + lines + "\n" })
	},
	"footer": func(m message, _ sentences, r *rand.Rand) message {
		footer := []string{"© 2026 Stork Inc., 410 Terry Ave. North, Seattle, WA 98109", "Ref. 77120455-2", "Stork SARL, 12 rue du Lac, 1207 Genève, CHE-114.877.402", "Message-Id: 20260310.204107"}[r.Intn(4)]
		return m.onText(func(b string) string { return strings.TrimSpace(b) + "\n\n" + footer + "\n" })
	},
	"quoted": func(m message, s sentences, _ *rand.Rand) message {
		if m.Text == "" || m.VisibleText != "" {
			return m
		}
		m.Text += "\n\nOn Tue, Mar 10, 2026 at 8:41 PM Mia <mia@stork.example> wrote:\n> " + strings.ReplaceAll(s.code, "{c}", "660194") + "\n> " + s.thanks + "\n"
		return m
	},
	"forwarded": func(m message, _ sentences, _ *rand.Rand) message {
		if m.Text == "" || m.VisibleText != "" {
			return m
		}
		m.Text = "---------- Forwarded message ---------\nFrom: Stork <no-reply@stork.example>\nDate: Tue, Mar 10, 2026 at 8:41 PM\nSubject: " + m.Subject + "\nTo: <mia@stork.example>\n\n" + m.Text
		m.Subject = "Fwd: " + m.Subject
		return m
	},
	"other part": func(m message, _ sentences, _ *rand.Rand) message {
		switch {
		case m.Text != "" && m.VisibleText == "":
			m.Text, m.VisibleText = "", strings.ReplaceAll(strings.ReplaceAll(m.Text, "\n\n", "\n"), "   ", "\n")
		case m.Text == "":
			m.Text, m.VisibleText = strings.ReplaceAll(m.VisibleText, "\n", "\n\n"), ""
		}
		return m
	},
	"both parts": func(m message, _ sentences, _ *rand.Rand) message {
		if m.Text != "" && m.VisibleText == "" {
			m.VisibleText = m.Text
		}
		return m
	},
	"capitals": func(m message, _ sentences, _ *rand.Rand) message { return m.cased(strings.ToUpper) },
	"lower case": func(m message, _ sentences, _ *rand.Rand) message {
		return m.cased(strings.ToLower)
	},
	"stars": func(m message, _ sentences, _ *rand.Rand) message {
		if m.want == "" {
			return m
		}
		return m.onText(func(b string) string { return strings.ReplaceAll(b, " "+m.want, " *"+m.want+"*") })
	},
	"no colon": func(m message, _ sentences, _ *rand.Rand) message {
		if m.want == "" {
			return m
		}
		return m.onText(func(b string) string { return strings.ReplaceAll(b, ": "+m.want, " "+m.want) })
	},
}

// cased changes the case of a message, but only if that does not change its code.
func (m message) cased(change func(string) string) message {
	if m.want != change(m.want) || strings.ContainsAny(m.Text+m.VisibleText+m.Subject, "ſıİßʼ") || strings.Contains(m.Text+m.VisibleText, "://") {
		return m
	}
	if m.want == "" && !m.isLong() { // an acronym may be the only evidence of what a number is
		return m
	}
	m.Subject = change(m.Subject)
	return m.onText(change)
}

// typedSubjects are the subjects of testdata/typed.tsv.
var typedSubjects []string

func readTypedSubjects(t testing.TB) {
	typedSubjects = nil
	eachRow(t, "typed.tsv", func(f []string) {
		if f[0] == "subject" {
			typedSubjects = append(typedSubjects, f[1])
		}
	})
}

// dressed returns a message with one to three random changes.
func dressed(m message, s sentences, r *rand.Rand) message {
	names := slices.Sorted(maps.Keys(changes))
	if r.Intn(3) == 0 {
		m = changes["no colon"](m, s, r)
	}
	if m.want != "" && r.Intn(2) == 0 {
		m = changes["typed subject"](m, s, r)
	}
	for range 1 + r.Intn(3) {
		m = changes[names[r.Intn(len(names))]](m, s, r)
	}
	return m
}

// sentenceMails calls use with messages made from the sentences of a language.
func (s sentences) sentenceMails(r *rand.Rand, use func(want string, in Input)) {
	mail := func(kind, frame string, hasCode bool) {
		code, card := newCode(r), []string{"9412", "**** 4471", "•••• 3308", "1204", "...7730", "5512 xxxx xxxx 6018"}[r.Intn(6)]
		if kind == "card" || r.Intn(3) == 0 {
			code = newDigits(r, []int{4, 5, 6, 6, 8}[r.Intn(5)])
		}
		m := message{Input: Input{Subject: typedSubjects[r.Intn(len(typedSubjects))], Text: strings.NewReplacer("{c}", code, "{n}", card).Replace(frame)}}
		if hasCode {
			m.want = code
			if strings.Trim(code, "0123456789 -") == "" {
				m.want = separatorRemover.Replace(code)
			}
		}
		use(m.want, m.Input)
		m = dressed(m, s, r)
		use(m.want, m.Input)
	}
	for range 4 {
		mail("code", s.code, true)
		mail("card", s.card, true)
		mail("card", s.card+". "+s.thanks, true)
		mail("code", s.code+", "+strings.ToLower(s.thanks), true)
		mail("code", s.greeting+" "+s.code+". "+s.thanks, true)
		for _, other := range s.others {
			mail("other", other, false)
		}
	}
	mail("both", s.code+"\n\n"+strings.ReplaceAll(s.others[1], "{c}", "KIM-"+newDigits(r, 4)), true)
	mail("both", strings.ReplaceAll(s.others[3], "{c}", newDigits(r, 6))+"\n\n"+s.card, true)
}

// usedMails calls use with messages of one sentence each: a row of testdata/used-and-shop-codes.tsv.
func usedMails(columns []string, r *rand.Rand, use func(want string, in Input)) {
	for _, frame := range columns[1:] {
		for i := range 5 {
			in := Input{Text: strings.ReplaceAll(frame, "{c}", newCode(r)) + "\n"}
			if i == 0 {
				in.Subject = typedSubjects[r.Intn(len(typedSubjects))]
			}
			use("", in)
		}
	}
}

// tableMails calls use with tables that have a code in one of their columns, under one of the labels,
// and with tables of other numbers alone. nouns announce these.
func tableMails(labels, nouns []string, r *rand.Rand, use func(want string, in Input)) {
	pick := func(from []string) string { return from[r.Intn(len(from))] }
	for i := range 12 {
		columns, hasCode := 2+r.Intn(3), i%3 > 0
		at := r.Intn(columns)
		heads, values := make([]string, columns), make([]string, columns)
		for c := range columns {
			heads[c], values[c] = pick(nouns), []string{newDigits(r, 4+r.Intn(5)), newDigits(r, 5), "27.11.2026", "14:05", "10"}[r.Intn(5)]
		}
		want := ""
		if hasCode {
			want = newDigits(r, []int{4, 6, 6, 6, 8}[r.Intn(5)])
			heads[at], values[at] = pick(labels), want
		}
		in, lines := Input{Subject: []string{"", typedSubjects[r.Intn(len(typedSubjects))]}[r.Intn(2)]}, strings.Builder{}
		switch r.Intn(4) {
		case 0: // columns of a plain text
			for c := range columns {
				width := max(len([]rune(heads[c])), len(values[c])) + 3
				heads[c] += strings.Repeat(" ", width-len([]rune(heads[c])))
				values[c] += strings.Repeat(" ", width-len(values[c]))
			}
			in.Text = strings.Join(heads, "") + "\n" + strings.Join(values, "") + "\n"
		case 1:
			in.Text = "| " + strings.Join(heads, " | ") + " |\n|" + strings.Repeat("-----|", columns) + "\n| " + strings.Join(values, " | ") + " |\n"
		case 2: // a row of headings, and one of values
			in.VisibleText = strings.Join(heads, "\n") + "\n" + strings.Join(values, "\n") + "\n"
		default: // a heading and its value in each row
			for c := range columns {
				lines.WriteString(heads[c] + "\n" + values[c] + "\n")
			}
			in.VisibleText = lines.String()
		}
		use(want, in)
	}
}

// newDigits returns n random digits.
func newDigits(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('0' + r.Intn(10))
	}
	return string(b)
}

// mostMissed are the largest percentages of answers that a change may lose, where it is not 1.
var mostMissed = map[string]int{"capitals": 2, "lower case": 2, "forwarded": 2, "typed subject": 4, "no colon": 7}

// TestMetamorphic checks each change over the stories: a message that is read right stays right.
func TestMetamorphic(t *testing.T) {
	readTypedSubjects(t)
	all := slices.DeleteFunc(storyMessages(t, 8), func(m message) bool { return FindCode(m.Input).Code != m.want })
	_, byGroup := readSentences(t)
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		r := rand.New(rand.NewSource(1))
		of, missed, wrong := 0, 0, 0
		for _, m := range all {
			s, ok := byGroup[train.GuessLanguage(m.Text+m.VisibleText)]
			if !ok {
				s = byGroup["en"]
			}
			changed := changes[name](m, s, r)
			if changed.Text == m.Text && changed.VisibleText == m.VisibleText && changed.Subject == m.Subject {
				continue
			}
			of++
			switch res := FindCode(changed.Input); {
			case res.Code == m.want:
			case res.Code == "":
				missed++
			default:
				wrong++
			}
		}
		t.Logf("%-14s %4d messages, %d missed, %d wrong", name, of, missed, wrong)
		if of < 50 || missed*100 > of*max(1, mostMissed[name]) || wrong*150 > of {
			t.Errorf("%s: of %d messages, %d missed and %d wrong", name, of, missed, wrong)
		}
	}
}

// storyMessages returns every nth story.
func storyMessages(t testing.TB, nth int) (all []message) {
	n := 0
	for _, file := range storyFiles(t) {
		for _, m := range readTales(t, file) {
			if n++; n%nth == 0 {
				all = append(all, message{m.input(), m.want})
			}
		}
	}
	return all
}
