package otp

import (
	"hash/fnv"
	"math/rand"
	"strings"

	"inboxd/internal/mail/otp/model/train"
)

// This file makes further training examples from stories (data augmentation). They teach the model
// what does not decide an answer: other numbers in the message, another subject, and words about a
// code in a message that does not contain it.

const (
	varieties    = 1   // number of examples of each kind from one story
	variedWeight = 0.5 // weight of each
)

// reported is a story with its training example.
type reported struct {
	*train.Example
	in Input
}

// loan is a text of one message that is inserted into others of the same language.
type loan struct {
	lender *train.Example
	words  string
}

// loans are the texts to insert, by language: paragraphs with numbers from messages without a code,
// and subjects without numbers. subjects has the key true for those from messages with a code.
type loans struct {
	paragraphs map[string][]loan
	subjects   map[bool]map[string][]loan
}

// lend collects the loans of all stories.
func lend(all []reported) loans {
	l := loans{map[string][]loan{}, map[bool]map[string][]loan{false: {}, true: {}}}
	for _, m := range all {
		if s := m.in.Subject; s != "" && !numbered(s) {
			of := l.subjects[m.WantAnswer != ""]
			of[m.Group] = append(of[m.Group], loan{m.Example, s})
		}
		for _, p := range m.paragraphs() {
			if m.WantAnswer == "" && numbered(p) {
				l.paragraphs[m.Group] = append(l.paragraphs[m.Group], loan{m.Example, p})
			}
		}
	}
	return l
}

func numbered(s string) bool { return strings.ContainsAny(s, "0123456789") }

// paragraphs splits the plain text of a message into its paragraphs, or else its visible text into
// pieces of four lines.
func (m *reported) paragraphs() (all []string) {
	if m.in.Text != "" {
		return strings.Split(m.in.Text, "\n\n")
	}
	for lines := strings.Split(m.in.VisibleText, "\n"); len(lines) > 0; lines = lines[min(4, len(lines)):] {
		all = append(all, strings.Join(lines[:min(4, len(lines))], "\n"))
	}
	return all
}

// vary makes examples from all stories. It is deterministic.
func vary(all []reported, byGroup map[string]sentences) (made []*train.Example) {
	loans := lend(all)
	for _, m := range all {
		h := fnv.New64a()
		h.Write([]byte(m.Family))
		r := rand.New(rand.NewSource(int64(h.Sum64())))
		for range varieties {
			made = append(made, m.longer(loans, r)...)
			made = append(made, m.renamed(loans, r)...)
			s, ok := byGroup[m.Group]
			if !ok {
				s = byGroup["en"]
			}
			for range 2 {
				d := dressed(message{m.in, m.WantAnswer}, s, r)
				made = append(made, m.made(d.want, d.Input, nil)...)
			}
		}
		made = append(made, m.without()...)
	}
	return made
}

// pick returns a random loan from another story; ok is false if it finds none in five attempts.
func (m *reported) pick(from []loan, r *rand.Rand) (l loan, ok bool) {
	for range 5 {
		if len(from) > 0 {
			l = from[r.Intn(len(from))]
		}
		if l.lender != nil && l.lender != m.Example {
			return l, true
		}
	}
	return l, false
}

// made returns the example of a changed message. lender is the story whose text was inserted, or
// nil.
func (m *reported) made(want string, in Input, lender *train.Example) []*train.Example {
	e := example(m.Family, want, variedWeight, in)
	e.IncludedExample = lender
	return []*train.Example{e}
}

// longer returns the message with an additional paragraph, in two of three cases at its end.
func (m *reported) longer(loans loans, r *rand.Rand) []*train.Example {
	l, ok := m.pick(loans.paragraphs[m.Group], r)
	if !ok {
		return nil
	}
	in, first := m.in, r.Intn(3) == 0
	for _, s := range []*string{&in.Text, &in.VisibleText} {
		switch {
		case *s == "":
		case first:
			*s = l.words + "\n\n" + *s
		default:
			*s += "\n\n" + l.words
		}
	}
	return m.made(m.WantAnswer, in, l.lender)
}

// renamed returns the message with the subject of another story, or without a subject. The other
// story has a code if this one has.
func (m *reported) renamed(loans loans, r *rand.Rand) []*train.Example {
	if m.in.Subject == "" || numbered(m.in.Subject) {
		return nil
	}
	in := m.in
	in.Subject = ""
	l, ok := m.pick(loans.subjects[m.WantAnswer != ""][m.Group], r)
	if !ok || r.Intn(3) == 0 {
		return m.made(m.WantAnswer, in, nil)
	}
	in.Subject = l.words
	return m.made(m.WantAnswer, in, l.lender)
}

// without returns the message without the lines that contain its code, as an example without an
// answer.
func (m *reported) without() []*train.Example {
	if m.WantAnswer == "" {
		return nil
	}
	in, code := m.in, separatorRemover.Replace(m.WantAnswer)
	for _, s := range []*string{&in.Subject, &in.Text, &in.VisibleText} {
		var rest []string
		for line := range strings.SplitSeq(*s, "\n") {
			if !strings.Contains(strings.ReplaceAll(separatorRemover.Replace(line), "\u00a0", ""), code) {
				rest = append(rest, line)
			}
		}
		*s = strings.Join(rest, "\n")
	}
	made := m.made("", in, nil)
	for _, answer := range made[0].Answers {
		if answer == m.WantAnswer { // another spelling of the code is left
			return nil
		}
	}
	return made
}
