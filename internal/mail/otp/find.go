package otp

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/link"
	"inboxd/internal/mail/otp/model"
	"inboxd/internal/mail/otp/quote"
	"inboxd/internal/mail/otp/text"
)

// maxRated bounds the candidates of one page, maxKept the different codes of one mail, and maxOthers
// Result.Candidates. Codes stand near the top of a mail: what has more is a table.
const (
	maxRated  = 128
	maxKept   = 32
	maxOthers = 5
)

// plausible is the score from which a candidate that is not the answer is worth telling.
const plausible = -1.5

// search is the working memory of one Find, which owns it until it goes back to searches.
type search struct {
	pages      [4]page
	ctx        context
	candidates []candidate // of all pages
	scores     []float64   // of each candidate
	shares     []float64   // of them, as far as looked at
	kept       []kept
	buf        []byte
	line       int32 // whose concepts are said
	said       concept.Set
	same       bool // text and HTML say the same: neither supports the other
}

// kept is a code with all places where it stands.
type kept struct {
	code  string
	share float64 // of all of them
	best  float64 // score
	at    int     // the first place that counts
}

// searches keeps the working memory of past calls. Nothing of a mail is read from it
// again: every slice is cut to nothing before use, and a Result holds copies.
var searches = sync.Pool{New: func() any { return new(search) }}

// Find gives the one-time code of a mail, or none, and the link that confirms or signs
// in. It never fails; its work is linear in the input and bounded by maxScan a source.
func Find(in Input) Result {
	in = in.own()
	res := Result{VerificationLink: link.Find(link.Mail{Subject: in.Subject, Text: in.Text, Visible: in.Visible, Links: in.Links, Anchors: in.Anchors})}
	for _, value := range in.Declared {
		if code, host, ok := declared(value); ok {
			res.Code, res.Origin, res.Source, res.Confidence = code, host, SourceHeader, 1
			return res
		}
	}
	s := searches.Get().(*search)
	defer searches.Put(s)
	s.same = sameWords(in.Text, in.Visible)
	if s.find(&res, in, !s.same); s.same && res.Code == "" && len(s.candidates) > 0 {
		s.find(&res, in, true) // its lines may say more than its words
	}
	return res
}

func (s *search) find(res *Result, in Input, visible bool) {
	s.candidates, s.scores, s.kept = s.candidates[:0], s.scores[:0], s.kept[:0]
	s.read(in, visible)
	if s.bound(res) {
		return
	}
	if again := s.same && visible; again || s.speaks() {
		s.each(func(v *view) { s.scores = append(s.scores, codes.Score(v)) })
		s.answer(res, in.Alt)
	}
}

// each shows every candidate with what stands around it, page by page.
func (s *search) each(use func(*view)) {
	s.ctx = context{}
	for i := range s.pages {
		p := &s.pages[i]
		p.compose(&s.ctx)
		s.ctx.seen |= p.readSigns()
		if i == 0 {
			s.ctx.subject, s.ctx.subjectSeen, s.ctx.topic = s.ctx.strength, s.ctx.seen, s.concepts(p.Lower)
		}
	}
	for i := range s.pages {
		if !s.pages[i].borrowed {
			s.candidates = s.pages[i].collect(s.candidates, len(s.candidates)+maxRated)
		}
	}
	var v view
	for i, order := 0, 0; i < len(s.candidates); i, order = i+1, order+1 {
		c := &s.candidates[i]
		if i == 0 || c.page != s.candidates[i-1].page {
			s.line, order = -1, 0
		}
		v.fill(c.page, c, &s.ctx)
		v.order, v.topic = order, s.topic(c.page, c.line)
		v.alike, v.again = s.others(c)
		use(&v)
	}
}

// others tells how many candidates of its page look like c, and whether it stands in the mail again: 2 when in the
// subject.
func (s *search) others(c *candidate) (alike, again int) {
	for i := range s.candidates {
		switch o := &s.candidates[i]; {
		case o == c || o.n != c.n:
		case o.text == c.text:
			again = max(again, 1+bit(o.page.source == SourceSubject))
		case o.page == c.page && o.form == c.form && o.own == c.own && o.split == c.split:
			alike++
		}
	}
	return alike, again
}

// topic gives what line li and the one above speak of. It is read once for all candidates of a line.
func (s *search) topic(p *page, li int32) concept.Set {
	if s.line != li {
		s.line, s.said = li, s.concepts(p.Lower[p.Lines[max(0, li-1)].Start:p.Lines[li].End])
	}
	return s.said
}

func (s *search) concepts(folded []byte) concept.Set {
	s.buf = concept.Respell(s.buf, folded)
	return concept.InText(s.buf)
}

// answer takes the best code if its share is large enough, and tells the others.
func (s *search) answer(res *Result, alt []string) {
	res.Candidates = nil
	s.merge(0, len(s.candidates))
	for first := 0; len(s.kept) > 1 && s.kept[0].share < codes.Threshold && first < len(s.candidates); {
		last := first // they contradict each other: the first source that is sure of itself wins
		for last < len(s.candidates) && s.candidates[last].page == s.candidates[first].page {
			last++
		}
		s.merge(first, last)
		first = last
	}
	for i, k := range s.kept {
		if i == 0 && k.share >= codes.Threshold {
			res.Code, res.Source, res.Confidence = k.code, s.candidates[k.at].page.source, codes.Right(k.share)
			if res.Source == SourceHTML && inAlt(alt, res.Code) {
				res.Source = SourceAlt
			}
		} else if k.best > plausible && len(res.Candidates) < maxOthers {
			res.Candidates = append(res.Candidates, k.code)
		}
	}
}

// merge adds up the shares that codes have of the candidates from first to last, and puts the code with
// the greatest first. Codes that were kept before stay behind them. The place of a code is the first that
// counts: subject, text, HTML, as they were read.
func (s *search) merge(first, last int) {
	s.shares = append(s.shares[:0], s.scores[first:last]...)
	model.Shares(s.shares)
	for i := range s.kept {
		s.kept[i].share = 0
	}
	for i := first; i < last; i++ {
		c := &s.candidates[i]
		if s.scores[i] <= plausible {
			continue
		}
		k := slices.IndexFunc(s.kept, func(k kept) bool { return k.code == string(c.text[:c.n]) })
		if k < 0 {
			if len(s.kept) == maxKept {
				continue
			}
			k, s.kept = len(s.kept), append(s.kept, kept{code: c.code(), best: s.scores[i], at: i})
		}
		s.kept[k].share += s.shares[i-first]
		s.kept[k].best = max(s.kept[k].best, s.scores[i])
	}
	slices.SortStableFunc(s.kept, func(a, b kept) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.best, a.best))
	})
}

// sameWords tells whether two texts differ in nothing but white space.
func sameWords(a, b string) bool {
	const step = 32 // most of two such texts is the same with its white space
	for a != "" && b != "" {
		n := 1
		switch {
		case len(a) > step && len(b) > step && a[:step] == b[:step]:
			n = step
		case a[0] <= ' ':
			a = a[1:]
			continue
		case b[0] <= ' ':
			b = b[1:]
			continue
		case a[0] != b[0]:
			return false
		}
		a, b = a[n:], b[n:]
	}
	return strings.TrimSpace(a) == strings.TrimSpace(b)
}

// read takes the texts of a mail as pages, and these apart.
func (s *search) read(in Input, visible bool) {
	if !visible {
		in.Visible = ""
	}
	s.pages[0].read(SourceSubject, in.Subject)
	s.pages[0].borrowed, _, _ = quote.Prefixed(in.Subject)
	s.pages[1].read(SourceText, in.Text)
	s.pages[2].read(SourceHTML, in.Visible)
	s.pages[3].read(SourceHTML, in.Preview)
	s.pages[3].hidden = true
}

// bound answers with a domain-bound code.
func (s *search) bound(res *Result) bool {
	for i := 1; i < len(s.pages) && !s.pages[i].hidden; i++ {
		if code, host, ok := s.pages[i].originLine(); ok {
			res.Code, res.Origin, res.Source, res.Confidence = code, host, SourceOriginLine, 0.99
			return true
		}
	}
	return false
}

// inAlt tells whether an image says the code.
func inAlt(alt []string, code string) bool {
	return slices.ContainsFunc(alt, func(a string) bool {
		return strings.Contains(bare.Replace(string(text.Fold(a).Plain)), bare.Replace(code))
	})
}

// bare takes out what parts a code.
var bare = strings.NewReplacer(" ", "", "-", "")
