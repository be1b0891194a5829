package otp

import (
	"hash/fnv"
	"math/rand"
	"strings"

	"inboxd/internal/mail/otp/model/train"
)

// Mails made from stories, from which is learned what does not matter to an answer: other numbers below it, another
// subject, and, where the code is gone, all that spoke of it.

// varieties is how many mails of each kind are made from a story, variedWeight what each counts.
const (
	varieties    = 3
	variedWeight = 0.5
)

// told is a story, read.
type told struct {
	*train.Example
	in Input
}

// loan is what a mail lends to others in its language.
type loan struct {
	lender *train.Example
	words  string
}

// loans are the paragraphs with numbers of mails without a code, and the subjects without numbers of mails with one
// and without.
type loans struct {
	paragraphs map[string][]loan
	subjects   map[bool]map[string][]loan
}

func lend(all []told) loans {
	l := loans{map[string][]loan{}, map[bool]map[string][]loan{false: {}, true: {}}}
	for _, m := range all {
		if s := m.in.Subject; s != "" && !numbered(s) {
			of := l.subjects[m.Want != ""]
			of[m.Group] = append(of[m.Group], loan{m.Example, s})
		}
		for _, p := range m.paragraphs() {
			if m.Want == "" && numbered(p) {
				l.paragraphs[m.Group] = append(l.paragraphs[m.Group], loan{m.Example, p})
			}
		}
	}
	return l
}

func numbered(s string) bool { return strings.ContainsAny(s, "0123456789") }

// paragraphs cuts the text of a mail, or four lines each of what is seen of its HTML.
func (m *told) paragraphs() (all []string) {
	if m.in.Text != "" {
		return strings.Split(m.in.Text, "\n\n")
	}
	for lines := strings.Split(m.in.Visible, "\n"); len(lines) > 0; lines = lines[min(4, len(lines)):] {
		all = append(all, strings.Join(lines[:min(4, len(lines))], "\n"))
	}
	return all
}

// vary makes mails from all stories, the same each time.
func vary(all []told) (made []*train.Example) {
	loans := lend(all)
	for _, m := range all {
		h := fnv.New64a()
		h.Write([]byte(m.Family))
		r := rand.New(rand.NewSource(int64(h.Sum64())))
		for range varieties {
			made = append(made, m.longer(loans, r)...)
			made = append(made, m.renamed(loans, r)...)
		}
		made = append(made, m.without()...)
	}
	return made
}

// pick takes one of what others lend.
func (m *told) pick(from []loan, r *rand.Rand) (l loan, ok bool) {
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

// made reads the story's mail after it was changed with what somebody lent.
func (m *told) made(want string, in Input, lender *train.Example) []*train.Example {
	e := example(m.Family, want, variedWeight, in)
	e.Lender = lender
	return []*train.Example{e}
}

// longer gives the mail with a paragraph more, mostly at its end.
func (m *told) longer(loans loans, r *rand.Rand) []*train.Example {
	l, ok := m.pick(loans.paragraphs[m.Group], r)
	if !ok {
		return nil
	}
	in, first := m.in, r.Intn(3) == 0
	for _, s := range []*string{&in.Text, &in.Visible} {
		switch {
		case *s == "":
		case first:
			*s = l.words + "\n\n" + *s
		default:
			*s += "\n\n" + l.words
		}
	}
	return m.made(m.Want, in, l.lender)
}

// renamed gives the mail under the subject of another one with a code, or without one as it is, or under none.
func (m *told) renamed(loans loans, r *rand.Rand) []*train.Example {
	if m.in.Subject == "" || numbered(m.in.Subject) {
		return nil
	}
	in := m.in
	in.Subject = ""
	l, ok := m.pick(loans.subjects[m.Want != ""][m.Group], r)
	if !ok || r.Intn(3) == 0 {
		return m.made(m.Want, in, nil)
	}
	in.Subject = l.words
	return m.made(m.Want, in, l.lender)
}

// without gives the mail without the lines that its code stands on.
func (m *told) without() []*train.Example {
	if m.Want == "" {
		return nil
	}
	in, code := m.in, bare.Replace(m.Want)
	for _, s := range []*string{&in.Subject, &in.Text, &in.Visible} {
		var rest []string
		for line := range strings.SplitSeq(*s, "\n") {
			if !strings.Contains(strings.ReplaceAll(bare.Replace(line), "\u00a0", ""), code) {
				rest = append(rest, line)
			}
		}
		*s = strings.Join(rest, "\n")
	}
	made := m.made("", in, nil)
	for _, answer := range made[0].Answers {
		if answer == m.Want { // it was written otherwise
			return nil
		}
	}
	return made
}
