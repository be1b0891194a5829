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
// message, and maxOthers of elements of CodeResult.Candidates. A message with more numbers is a table,
// not a message with a code, and codes are near its top.
const (
	maxRated  = 128
	maxKept   = 32
	maxOthers = 5
	mostPlain = 3 // different codes; with more, a message is crowded, and the other threshold of the model counts
)

// maxHiddenConfidence is the largest confidence of a code that only the list of messages shows.
const maxHiddenConfidence = 0.7

// plausibleScore is the score above which a candidate is reported in CodeResult.Candidates.
const plausibleScore = -1.5

// searchState is the working memory of one call of Find. Find owns it from searches.Get until
// searches.Put.
type searchState struct {
	pages         [4]sourcePage // subject, text, visible HTML, preview: see read
	ctx           messageContext
	candidates    []candidate // of all pages
	scores        []float64   // score of each candidate
	softmaxShares []float64   // softmax of the scores that the last merge used
	rankedCodes   []rankedCode
	buf           []byte
	conceptLine   int32       // the line whose concepts are in said, -1 for none
	lineConcepts  concept.Set // cached result of topic
	links         []string    // URLs of the message
	codeCount     int         // number of different candidates
	textsMatch    bool        // text and HTML have the same words, so one does not confirm the other
}

// rankedCode is a code with the sum over all candidates that have it.
type rankedCode struct {
	code       string
	totalShare float64 // sum of the shares
	bestScore  float64 // highest score
	at         int     // index of the first plausible candidate
}

// searchPool is a pool of working memory. No message can see data of an earlier one: every slice is
// cut to length 0 before use, and a CodeResult holds copies.
var searchPool = sync.Pool{New: func() any { return new(searchState) }}

// FindCode returns the one-time code of a message, if it has one, and the link that confirms or signs
// in. It never fails. Its work is linear in the input; it reads at most text.MaxScan bytes of each
// source.
func FindCode(in Input) CodeResult {
	in = in.withoutQuotes()
	res := CodeResult{VerificationLink: link.Find(link.SearchInput{Subject: in.Subject, Text: in.Text, VisibleText: in.VisibleText, Links: in.Links, Anchors: in.Anchors})}
	for _, value := range in.DeclaredCodes {
		if code, host, ok := parseDeclared(value); ok {
			res.Code, res.Origin, res.Source, res.Confidence = code, host, SourceHeader, 1
			return res
		}
	}
	s := searchPool.Get().(*searchState)
	defer searchPool.Put(s)
	s.textsMatch = sameWords(in.Text, in.VisibleText)
	if s.findCode(&res, in, !s.textsMatch); s.textsMatch && res.Code == "" && len(s.candidates) > 0 {
		s.findCode(&res, in, true) // the HTML has the same words, but its lines may be better features
	}
	s.links, s.ctx.links = nil, nil
	return res
}

// findCode searches the message for a domain-bound code first, and then scores the candidates. It reads
// the HTML only if visible is set.
func (s *searchState) findCode(res *CodeResult, in Input, visible bool) {
	s.candidates, s.scores, s.rankedCodes, s.codeCount = s.candidates[:0], s.scores[:0], s.rankedCodes[:0], 0
	s.readPages(in, visible)
	if s.findBoundCode(res) {
		return
	}
	s.eachCandidate(func(v *candidateView) { s.scores = append(s.scores, codeModel.Score(v)) })
	s.setAnswer(res, in.AltTexts)
}

// eachCandidate calls use with the view of every candidate, page by page. It fills the context of the
// message first. use must not keep the view.
func (s *searchState) eachCandidate(use func(*candidateView)) {
	s.ctx = messageContext{links: s.links}
	for i := range s.pages {
		p := &s.pages[i]
		p.setLabelStrengths(&s.ctx)
		s.ctx.seenSigns |= p.readSigns()
		if i == 0 {
			s.ctx.subjectStrength, s.ctx.subjectSeen, s.ctx.subjectConcepts = s.ctx.maxStrength, s.ctx.seenSigns, s.conceptsOf(p.Lower)
		}
	}
	for i := range s.pages {
		if before := len(s.candidates); !s.pages[i].numbersBorrowed {
			s.candidates = s.pages[i].collectCandidates(s.candidates, before+maxRated)
			s.pages[i].candidateCount = len(s.candidates) - before
		}
	}
	var v candidateView
	for i, order := 0, 0; i < len(s.candidates); i, order = i+1, order+1 {
		c := &s.candidates[i]
		if i == 0 || c.page != s.candidates[i-1].page {
			s.conceptLine, order = -1, 0
		}
		v.fillView(c.page, c, &s.ctx)
		v.candidateIndex, v.nearbyConcepts = order, s.topicOf(c.page, c.line)
		v.similarCount, v.repeatKind = s.countSimilar(c)
		use(&v)
	}
}

// countSimilar returns how many other candidates of the page have the form of c, and again: 1 if
// the same code is in the message a second time, 2 if it is in the subject. It adds c to codeCount
// unless an earlier candidate has the same code.
func (s *searchState) countSimilar(c *candidate) (alike, again int) {
	for i := range s.candidates {
		switch o := &s.candidates[i]; {
		case o == c:
			s.codeCount += boolToInt(again == 0)
		case o.n != c.n:
		case o.codeBytes == c.codeBytes:
			again = max(again, 1+boolToInt(o.page.source == SourceSubject))
		case o.page == c.page && o.form == c.form && o.isAlone == c.isAlone && o.isSplit == c.isSplit:
			alike++
		}
	}
	return alike, again
}

// topicOf returns the concepts of line li and of the line above it. The result is cached for the
// other candidates of the line.
func (s *searchState) topicOf(p *sourcePage, li int32) concept.Set {
	if s.conceptLine != li {
		s.conceptLine, s.lineConcepts = li, s.conceptsOf(p.Lower[p.Lines[max(0, li-1)].Start:p.Lines[li].End])
	}
	return s.lineConcepts
}

// conceptsOf returns the concepts of a folded text.
func (s *searchState) conceptsOf(folded []byte) concept.Set {
	s.buf = concept.NormalizeFolded(s.buf, folded)
	return concept.InText(s.buf)
}

// setAnswer sets the code with the largest share if the share reaches the threshold of the model, and
// reports the other plausible codes in CodeResult.Candidates.
func (s *searchState) setAnswer(res *CodeResult, alt []string) {
	res.Candidates = nil
	shown, threshold := s.shownCount(), s.threshold()
	s.mergeShares(0, shown)
	for first := 0; len(s.rankedCodes) > 1 && s.rankedCodes[0].totalShare < threshold && first < shown; {
		// No code reaches the threshold over the whole message, because the pages contradict each
		// other. The first page that has a code above the threshold by itself wins.
		last := first
		for last < shown && s.candidates[last].page == s.candidates[first].page {
			last++
		}
		s.mergeShares(first, last)
		first = last
	}
	sure := 1.0
	if len(s.rankedCodes) == 0 { // the opened message shows no code
		s.mergeShares(shown, len(s.candidates))
		sure = maxHiddenConfidence
	}
	for i, k := range s.rankedCodes {
		if i == 0 && k.totalShare >= threshold {
			res.Code, res.Source, res.Confidence = k.code, s.candidates[k.at].page.source, min(sure, codeModel.ConfidenceAt(k.totalShare))
			if res.Source == SourceHTML && inAlt(alt, res.Code) {
				res.Source = SourceAlt
			}
		} else if k.bestScore > plausibleScore && len(res.Candidates) < maxOthers {
			res.Candidates = append(res.Candidates, k.code)
		}
	}
}

// shownCount returns the number of candidates that the opened message shows; they come first.
func (s *searchState) shownCount() int {
	if i := slices.IndexFunc(s.candidates, func(c candidate) bool { return c.page.isHidden }); i >= 0 {
		return i
	}
	return len(s.candidates)
}

// threshold returns the smallest share of a code that is the answer.
func (s *searchState) threshold() float64 {
	if s.codeCount > mostPlain {
		return codeModel.CrowdedThreshold
	}
	return codeModel.Threshold
}

// mergeShares sums the shares of the candidates [first, last) for each code, and sorts the code
// with the largest sum to the front. Codes from an earlier merge keep their best score and get a
// share of 0. The source of a code is that of its first plausible candidate, in the order subject,
// text, HTML.
func (s *searchState) mergeShares(first, last int) {
	s.softmaxShares = append(s.softmaxShares[:0], s.scores[first:last]...)
	model.ApplySoftmax(s.softmaxShares)
	for i := range s.rankedCodes {
		s.rankedCodes[i].totalShare = 0
	}
	for i := first; i < last; i++ {
		c := &s.candidates[i]
		if s.scores[i] <= plausibleScore {
			continue
		}
		k := slices.IndexFunc(s.rankedCodes, func(k rankedCode) bool { return k.code == string(c.codeBytes[:c.n]) })
		if k < 0 {
			if len(s.rankedCodes) == maxKept {
				continue
			}
			k, s.rankedCodes = len(s.rankedCodes), append(s.rankedCodes, rankedCode{code: c.codeString(), bestScore: s.scores[i], at: i})
		}
		s.rankedCodes[k].totalShare += s.softmaxShares[i-first]
		s.rankedCodes[k].bestScore = max(s.rankedCodes[k].bestScore, s.scores[i])
	}
	slices.SortStableFunc(s.rankedCodes, func(a, b rankedCode) int {
		return cmp.Or(cmp.Compare(b.totalShare, a.totalShare), cmp.Compare(b.bestScore, a.bestScore))
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

// readPages splits the texts of a message into the tokens of the four pages.
func (s *searchState) readPages(in Input, visible bool) {
	if !visible {
		in.VisibleText = ""
	}
	s.links = in.Links
	s.pages[0].readText(SourceSubject, in.Subject)
	s.pages[0].numbersBorrowed, _, _ = quote.ParsePrefixes(in.Subject)
	s.pages[1].readText(SourceText, in.Text)
	s.pages[2].readText(SourceHTML, in.VisibleText)
	s.pages[3].readText(SourceHTML, in.PreviewText)
	s.pages[3].isHidden = true
}

// findBoundCode sets the domain-bound code of the text or of the visible HTML, and reports whether
// there is one.
func (s *searchState) findBoundCode(res *CodeResult) bool {
	for i := 1; i < len(s.pages) && !s.pages[i].isHidden; i++ {
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
		return strings.Contains(separatorRemover.Replace(string(text.Fold(a).Plain)), separatorRemover.Replace(code))
	})
}

// separatorRemover removes the separators inside a code.
var separatorRemover = strings.NewReplacer(" ", "", "-", "")
