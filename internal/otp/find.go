package otp

import "inboxd/internal/otp/link"

import "inboxd/internal/otp/text"

import (
	"strings"
	"sync"
)

// maxKept bounds how many different codes of one mail are compared with each other.
const maxKept = 32

// maxOthers bounds Result.Candidates.
const maxOthers = 5

// trust is how much a source is worth before anything is read, in the order of the
// specification, Codes: the subject goes before the text, the text before the HTML.
var trust = map[Source]int{SourceSubject: 2, SourceText: 1, SourceHTML: 1}

// search is the working memory of one Find, which owns it until it goes back to searches.
type search struct {
	pages      [4]page
	n          int
	candidates []candidate
	kept       []candidate
	forms      bool // something has the form of a code
	same       bool // text and HTML say the same: neither supports the other
	forward    bool // an older mail was passed on
}

// searches keeps the working memory of past calls. Nothing of a mail is read from it
// again: every slice is cut to nothing before use, and a Result holds copies.
var searches = sync.Pool{New: func() any { return new(search) }}

// Find gives the one-time code of a mail, or none, and the link that confirms or signs
// in. It never fails; its work is linear in the input and bounded by maxScan a source.
func Find(in Input) Result {
	res := Result{VerificationLink: link.Find(link.Mail{Subject: in.Subject, Text: in.Text, Links: in.Links, Anchors: in.Anchors})}
	for _, value := range in.Declared {
		if code, host, ok := declared(value); ok {
			res.Code, res.Origin, res.Source, res.Confidence = code, host, SourceHeader, 1
			return res
		}
	}
	s := searches.Get().(*search)
	defer searches.Put(s)
	s.same = sameWords(in.Text, in.Visible)
	if s.find(&res, in, !s.same); s.same && res.Code == "" && s.forms {
		s.find(&res, in, true) // its lines may say more than its words
	}
	return res
}

func (s *search) find(res *Result, in Input, visible bool) {
	s.kept, s.forms = s.kept[:0], false
	s.read(in, visible)
	if s.split(); s.bound(res) {
		return
	}
	if again := s.same && !visible; again || s.speaks() {
		s.score()
	}
	s.answer(res, in.Alt)
}

// sameWords tells whether two texts differ in nothing but white space.
func sameWords(a, b string) bool {
	const step = 32 // most of two such texts is the same with its white space
	i, k := 0, 0
	for ; ; i, k = i+1, k+1 {
		for i+step <= len(a) && k+step <= len(b) && a[i:i+step] == b[k:k+step] {
			i, k = i+step, k+step
		}
		for i < len(a) && a[i] <= ' ' {
			i++
		}
		for k < len(b) && b[k] <= ' ' {
			k++
		}
		if i == len(a) || k == len(b) {
			return i == len(a) && k == len(b)
		}
		if a[i] != b[k] {
			return false
		}
	}
}

func (s *search) read(in Input, visible bool) {
	s.n = 0
	forward, reply := prefix(in.Subject)
	s.forward = forward
	s.page(SourceSubject, in.Subject)
	s.pages[0].reply = reply
	s.page(SourceText, in.Text)
	if visible {
		s.page(SourceHTML, in.Visible)
	}
	s.page(SourceHTML, in.Preview)
	s.pages[s.n-1].hidden = true
}

func (s *search) page(source Source, text string) {
	s.pages[s.n].read(source, text)
	s.n++
}

// prefix tells from a subject whether a mail was passed on, or is an answer.
func prefix(subject string) (forward, reply bool) {
	head, _, ok := strings.Cut(subject, ":")
	if !ok || len(head) > 12 {
		return false, false
	}
	switch strings.ToLower(strings.TrimSpace(head)) {
	case "fwd", "fw", "wg", "tr", "rv", "enc", "i", "vs", "doorst", "fs", "pd", "转发", "轉寄":
		return true, false
	case "re", "aw", "sv", "antw", "odp", "ynt", "res", "回复", "回覆", "ответ":
		return false, true
	}
	return false, false
}

// bound answers with a domain-bound code.
func (s *search) bound(res *Result) bool {
	for i := 1; i < s.n && !s.pages[i].hidden; i++ {
		if code, host, ok := s.pages[i].originLine(); ok {
			res.Code, res.Origin, res.Source, res.Confidence = code, host, SourceOriginLine, 0.99
			return true
		}
	}
	return false
}

// score rates every candidate of every page and keeps those that are worth something,
// one for each code.
func (s *search) score() {
	var ctx context
	for i := 0; i < s.n; i++ {
		labels{&s.pages[i]}.compose(&ctx)
		if i == 0 {
			ctx.subject, ctx.advert = ctx.strength, ctx.promo > 0
			ctx.subjectVerify = ctx.verify+ctx.confirm > 0
			ctx.trade = ctx.subject == 0 && s.pages[0].announcesOther()
		}
	}
	for i := 0; i < s.n; i++ {
		p := &s.pages[i]
		s.candidates = collector{p}.collect(s.candidates[:0])
		lists(s.candidates)
		s.forms = s.forms || len(s.candidates) > 0
		for k := range s.candidates {
			c := &s.candidates[k]
			if p.rate(c, &ctx); c.score > 0 {
				s.keep(c)
			}
		}
	}
}

// lists marks three or more candidates of one form in a row, with no word between them:
// backup codes, or a table.
func lists(all []candidate) {
	for i := 0; i < len(all); {
		k := i + 1
		for k < len(all) && follows(&all[k-1], &all[k]) {
			k++
		}
		if k-i >= 3 {
			for ; i < k; i++ {
				all[i].listed = true
			}
		}
		i = k
	}
}

func follows(a, b *candidate) bool {
	if a.n != b.n || a.form != b.form || a.text == b.text {
		return false
	}
	for k := a.last + 1; k < b.first; k++ {
		if a.page.Tokens[k].Kind != text.KindPunct {
			return false
		}
	}
	return true
}

// keep adds c, or lets it support the same code found elsewhere.
func (s *search) keep(c *candidate) {
	for i := range s.kept {
		if k := &s.kept[i]; k.n == c.n && k.text == c.text {
			if k.page != c.page && c.score >= threshold/2 && !(s.same && k.page.body() && c.page.body()) {
				k.score = max(k.score, c.score) + repeated
			} else {
				k.score = max(k.score, c.score)
			}
			if k.trust() <= 0 && c.trust() > 0 {
				k.page, k.bare = c.page, false
			}
			return
		}
	}
	if len(s.kept) < maxKept {
		s.kept = append(s.kept, *c)
	}
}

// body tells the pages of what is seen of an opened mail.
func (p *page) body() bool { return p.source != SourceSubject && !p.hidden }

// answer picks the best: by trust of its source among those that reach the threshold,
// then by score, then the one that came first.
func (s *search) answer(res *Result, alt []string) {
	best := -1
	res.Candidates = nil
	for i := range s.kept {
		c := &s.kept[i]
		if c.score >= threshold && (best < 0 || c.beats(&s.kept[best])) {
			best = i
		}
	}
	if best >= 0 {
		c := &s.kept[best]
		res.Code, res.Source, res.Confidence = c.code(), c.page.source, confidence(c.score)
		if res.Source == SourceHTML && inAlt(alt, res.Code) {
			res.Source = SourceAlt
		}
	}
	for len(res.Candidates) < maxOthers {
		next := -1
		for i := range s.kept {
			if i != best && s.kept[i].score > 0 && (next < 0 || s.kept[i].score > s.kept[next].score) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		res.Candidates = append(res.Candidates, s.kept[next].code())
		s.kept[next].score = 0
	}
}

func (c *candidate) beats(d *candidate) bool {
	if a, b := c.trust(), d.trust(); a != b {
		return a > b
	}
	return c.score > d.score
}

func (c *candidate) trust() int {
	switch {
	case c.page.reply, c.bare:
		return 0
	case c.page.hidden:
		return -1
	}
	return trust[c.page.source]
}

// confidence maps a score to 0.5 (just enough) up to 0.98.
func confidence(score int) float64 {
	return min(0.98, 0.5+float64(score-threshold)/100)
}

func inAlt(alt []string, code string) bool {
	for _, a := range alt {
		var f text.Folded
		f.Fold(a)
		if strings.Contains(strings.NewReplacer(" ", "", "-", "").Replace(string(f.Plain)), strings.ReplaceAll(code, "-", "")) {
			return true
		}
	}
	return false
}
