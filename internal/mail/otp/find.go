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

// maxRated is the largest number of candidates of one page, maxKept of different codes of one
// message, and maxOthers of elements of Result.Candidates. A message with more numbers is a table,
// not a message with a code, and codes are near its top.
const (
	maxRated  = 128
	maxKept   = 32
	maxOthers = 5
)

// plausible is the score above which a candidate is reported in Result.Candidates.
const plausible = -1.5

// search is the working memory of one call of Find. Find owns it from searches.Get until
// searches.Put.
type search struct {
	pages      [4]page // subject, text, visible HTML, preview: see read
	ctx        context
	candidates []candidate // of all pages
	scores     []float64   // score of each candidate
	shares     []float64   // softmax of the scores that the last merge used
	kept       []kept
	buf        []byte
	line       int32       // the line whose concepts are in said, -1 for none
	said       concept.Set // cached result of topic
	same       bool        // text and HTML have the same words, so one does not confirm the other
}

// kept is a code with the sum over all candidates that have it.
type kept struct {
	code  string
	share float64 // sum of the shares
	best  float64 // highest score
	at    int     // index of the first plausible candidate
}

// searches is a pool of working memory. No message can see data of an earlier one: every slice is
// cut to length 0 before use, and a Result holds copies.
var searches = sync.Pool{New: func() any { return new(search) }}

// Find returns the one-time code of a message, if it has one, and the link that confirms or signs
// in. It never fails. Its work is linear in the input; it reads at most text.MaxScan bytes of each
// source.
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
		s.find(&res, in, true) // the HTML has the same words, but its lines may be better features
	}
	return res
}

// find searches the message for a domain-bound code first, and then scores the candidates. It reads
// the HTML only if visible is set.
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

// each calls use with the view of every candidate, page by page. It fills the context of the
// message first. use must not keep the view.
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

// others returns how many other candidates of the page have the form of c, and again: 1 if the same
// code is in the message a second time, 2 if it is in the subject.
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

// topic returns the concepts of line li and of the line above it. The result is cached for the
// other candidates of the line.
func (s *search) topic(p *page, li int32) concept.Set {
	if s.line != li {
		s.line, s.said = li, s.concepts(p.Lower[p.Lines[max(0, li-1)].Start:p.Lines[li].End])
	}
	return s.said
}

// concepts returns the concepts of a folded text.
func (s *search) concepts(folded []byte) concept.Set {
	s.buf = concept.Respell(s.buf, folded)
	return concept.InText(s.buf)
}

// answer sets the code with the largest share if the share reaches the threshold of the model, and
// reports the other plausible codes in Result.Candidates.
func (s *search) answer(res *Result, alt []string) {
	res.Candidates = nil
	s.merge(0, len(s.candidates))
	for first := 0; len(s.kept) > 1 && s.kept[0].share < codes.Threshold && first < len(s.candidates); {
		// No code reaches the threshold over the whole message, because the pages contradict each
		// other. The first page that has a code above the threshold by itself wins.
		last := first
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

// merge sums the shares of the candidates [first, last) for each code, and sorts the code with the
// largest sum to the front. Codes from an earlier merge keep their best score and get a share of 0.
// The source of a code is that of its first plausible candidate, in the order subject, text, HTML.
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

// sameWords reports whether two texts are equal except for white space.
func sameWords(a, b string) bool {
	const step = 32 // bytes; most of two such texts is equal with its white space, so compare in blocks
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

// read splits the texts of a message into the tokens of the four pages.
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

// bound sets the domain-bound code of the text or of the visible HTML, and reports whether there is
// one.
func (s *search) bound(res *Result) bool {
	for i := 1; i < len(s.pages) && !s.pages[i].hidden; i++ {
		if code, host, ok := s.pages[i].originLine(); ok {
			res.Code, res.Origin, res.Source, res.Confidence = code, host, SourceOriginLine, 0.99
			return true
		}
	}
	return false
}

// inAlt reports whether the alternative text of an image contains the code.
func inAlt(alt []string, code string) bool {
	return slices.ContainsFunc(alt, func(a string) bool {
		return strings.Contains(bare.Replace(string(text.Fold(a).Plain)), bare.Replace(code))
	})
}

// bare removes the separators inside a code.
var bare = strings.NewReplacer(" ", "", "-", "")
