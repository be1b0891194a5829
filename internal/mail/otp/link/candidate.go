package link

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/text"
)

// Limits. A message with more links than this is not one that asks to follow a single link.
const (
	maxLinks   = 256 // links of the plain text that are read
	maxKept    = 32  // candidates that are scored
	maxAnchors = 64  // links of the HTML that are read
	maxLost    = 8   // failed searches for a link in a text, after which the search stops
	maxCrowd   = 8   // links of a message in which every link with a secret is a candidate
	maxBody    = 800 // bytes of the text that are read for the whole message
	maxAround  = 240 // bytes before a link that are read; also bytes of the subject
	maxBehind  = 160 // bytes behind a link that are read
)

// linkView is one link with the data that its features read.
type linkView struct {
	url string
	parsedURL
	ownConcepts      concept.Set // concepts of its own texts
	sentenceConcepts concept.Set // ... of the sentence before it
	conceptsAbove    concept.Set // ... of the lines above it
	conceptsBelow    concept.Set // ... of the text behind it
	isSentence       bool        // its text is a sentence

	isPermitted     bool // it is a web link with more than a host
	anchorCount     int  // number of anchors with this URL in the HTML
	showsURL        bool // the text of an anchor is a URL: "or copy this link"
	isLocated       bool // its position in a text is known
	isQuoted        bool // its line begins with ">"
	isProgramText   bool // it is an argument of a command, or a string in a program
	candidateIndex  int  // index among the candidates
	similarCount    int  // number of other candidates with the same host and first part of the path
	asksAction      bool // its voice asks for an action
	sameActionCount int  // number of other candidates that ask for the same action
	messageContext  *messageContext
}

// messageContext holds the features of the whole message.
type messageContext struct {
	subjectConcepts concept.Set    // concepts of the subject
	textConcepts    concept.Set    // concepts of the first maxBody bytes of the text
	textLength      int            // bytes of the text
	shownCode       string         // first number of four to eight digits in the text that can be a code
	isCodeAlone     bool           // ... and it is alone on its line
	linkCount       int            // number of links
	bestSecret      secretStrength // strongest secret of a link
	bestCount       int            // number of links with that secret
	askingCount     int            // number of links that ask for an action
	otherConcepts   concept.Set    // concepts of the other links
	hasHTML         bool           // the message has links in HTML
}

// readBody sets the features of the text that do not depend on words. A number alone on its line counts
// before one in a sentence.
func (m *messageContext) readBody(length int, s string) {
	m.textLength = length
	for s != "" {
		i := 0
		for i < len(s) && !text.IsDigit(s[i]) {
			i++
		}
		n := i
		for n < len(s) && (text.IsDigit(s[n]) || s[n] == ' ') {
			n++
		}
		number, behind := strings.TrimRight(s[i:n], " "), s[n:]
		before := strings.TrimRight(s[:i], "* ")
		alone := (before == "" || before[len(before)-1] == '\n') && (behind == "" || strings.IndexByte("\r\n*", behind[0]) >= 0)
		switch {
		case alone && isCode(number):
			m.shownCode, m.isCodeAlone = strings.ReplaceAll(number, " ", ""), true
			return
		case m.shownCode == "" && len(number) > 4 && isCode(number) && !inURL(s[:i]):
			m.shownCode = strings.ReplaceAll(number, " ", "")
		}
		s = s[n:]
	}
}

// inURL reports whether the text behind before belongs to its last word, with a URL or letters in it.
func inURL(before string) bool {
	return before != "" && (text.IsAlnum(before[len(before)-1]) || strings.Contains(before[strings.LastIndexAny(before, " \n")+1:], "/"))
}

// isCode reports whether s, of digits and spaces, has four to eight digits.
func isCode(s string) bool { return text.InRange(len(s)-strings.Count(s, " "), 4, 8) }

// carriesCode returns 3 if the URL carries the code that the text shows, otherwise 2 for a code alone on
// its line, 1 for another one and 0 for none.
func (v *linkView) carriesCode() int {
	switch m := v.messageContext; {
	case m.shownCode == "":
		return 0
	case strings.Contains(v.url, m.shownCode):
		return 3
	case m.isCodeAlone:
		return 2
	}
	return 1
}

// decisiveConcepts are the concepts that decide which text describes a link.
const decisiveConcepts = concept.ActionRequests | concept.OtherPurposes

// describingConcepts returns the concepts of the text that describes a link: its own text, or also
// the sentence before it, or also the lines above.
func (v *linkView) describingConcepts() concept.Set {
	switch v.describingText() {
	case 1:
		return v.ownConcepts
	case 2:
		return v.ownConcepts | v.sentenceConcepts
	}
	return v.ownConcepts | v.sentenceConcepts | v.conceptsAbove
}

// describingText returns which text describes the link: 1 for its own text, 2 for the sentence
// before it, 3 for the lines above, 0 if none has a concept of announcing.
func (v *linkView) describingText() int {
	return 1 + slices.IndexFunc([]concept.Set{v.ownConcepts, v.sentenceConcepts, v.conceptsAbove}, func(s concept.Set) bool { return s.HasAny(decisiveConcepts) })
}

// rivalCount returns how many other links ask for an action.
func (v *linkView) rivalCount() int {
	if v.asksAction {
		return v.messageContext.askingCount - 1
	}
	return v.messageContext.askingCount
}

// compareSecret returns 1 if the link alone has the strongest secret, 2 if others have one that is as
// strong, 3 if others have a stronger one, and 0 if no candidate has a secret.
func (v *linkView) compareSecret() int {
	switch m := v.messageContext; {
	case m.bestSecret == guessablePart:
		return 0
	case v.secret < m.bestSecret:
		return 3
	case m.bestCount > 1:
		return 2
	}
	return 1
}

// linkCollector collects the links of a message. Find owns it from collectors.Get until collectors.Put.
// The next message cannot see data of an earlier one, because collect overwrites all and mail.
type linkCollector struct {
	allViews       []linkView
	messageContext messageContext
	buf            []byte

	address addressReader
}

// collectorPool is a pool of collectors, for their memory.
var collectorPool = sync.Pool{New: func() any { return new(linkCollector) }}

// collectCandidates returns the candidates among the links of a message, in order. The collector
// owns the slice.
func (c *linkCollector) collectCandidates(m *SearchInput) []linkView {
	c.allViews = c.allViews[:0]
	c.messageContext = messageContext{subjectConcepts: c.conceptsOf(m.Subject[:min(len(m.Subject), maxAround)]), hasHTML: len(m.Anchors) > 0}
	c.addAnchors(m.VisibleText, m.Anchors[:min(len(m.Anchors), maxAnchors)])
	c.addPlainLinks(m.Text, m.Links[:min(len(m.Links), maxLinks)])
	if body := cmp.Or(m.Text, m.VisibleText); slices.ContainsFunc(c.allViews, func(v linkView) bool { return v.isPermitted }) {
		c.messageContext.readBody(len(body), body[:min(len(body), maxBody)])
		c.messageContext.textConcepts = c.conceptsOf(body[:min(len(body), maxBody)])
	}
	return c.filterCandidates()
}

// conceptsOf returns the concepts of a piece of text.
func (c *linkCollector) conceptsOf(s string) concept.Set {
	c.buf = concept.NormalizeText(c.buf, s)
	return concept.InText(c.buf)
}

// at returns the view of a URL, and adds it if it is new. The pointer is valid until the next call.
func (c *linkCollector) at(url string) *linkView {
	for i := range c.allViews {
		if sameLink(c.allViews[i].url, url) {
			return &c.allViews[i]
		}
	}
	address, ok := c.address.parseLink(url)
	c.allViews = append(c.allViews, linkView{url: url, parsedURL: address, messageContext: &c.messageContext, isPermitted: ok})
	return &c.allViews[len(c.allViews)-1]
}

// sameLink reports whether two URLs differ at most in a trailing slash, or in punctuation that an
// e-mail client took for a part of the URL.
func sameLink(a, b string) bool {
	if a == b {
		return true
	}
	if d := len(a) - len(b); d > 2 || d < -2 {
		return false
	}
	trim := func(s string) string { return strings.TrimRight(strings.TrimSuffix(s, "/"), ".,;:!") }
	return trim(a) == trim(b)
}

// textScan searches the links of a message in a text, in order.
type textScan struct {
	text                      string
	nextStart, failedSearches int // position behind the last link that was found, and number of failed searches
}

// findNext searches what, a URL or the text of a link, behind the link found last. It returns the text
// before it, at most maxAround bytes, and the text behind it, at most maxBehind bytes and not
// beyond another URL.
func (s *textScan) findNext(what string) (before, behind string, found bool) {
	if s.failedSearches > maxLost || what == "" {
		return "", "", false
	}
	n := strings.Index(s.text[s.nextStart:], what)
	if n < 0 {
		s.failedSearches++
		return "", "", false
	}
	before = s.text[s.nextStart:][max(0, n-maxAround):n]
	s.nextStart += n + len(what)
	if i := strings.Index(s.text[s.nextStart:min(len(s.text), s.nextStart+3+len(what))], what); i >= 0 {
		s.nextStart += i + len(what) // it is there twice: [https://x.example/a](https://x.example/a)
	}
	behind, _, _ = strings.Cut(s.text[s.nextStart:min(len(s.text), s.nextStart+maxBehind)], "://")
	return before, behind, true
}

// addAnchors adds the links of the HTML with the concepts of their texts and of the text around them.
func (c *linkCollector) addAnchors(visible string, anchors []Anchor) {
	at := textScan{text: visible}
	for _, a := range anchors {
		v := c.at(a.URL)
		if v.anchorCount++; !v.isPermitted {
			continue
		}
		before, behind, found := at.findNext(a.Text)
		if strings.Contains(a.Text, "://") {
			v.showsURL = true
		} else {
			v.ownConcepts |= c.conceptsOf(a.Text)
			v.isSentence = v.isSentence || strings.Count(a.Text, " ") > 6
		}
		if found && (!v.ownConcepts.HasAny(concept.OtherPurposes) || v.ownConcepts.HasAny(concept.ActionRequests)) {
			c.addSurroundings(v, before, behind)
		}
	}
}

// addPlainLinks adds the links of the plain text with the concepts of the text around them.
func (c *linkCollector) addPlainLinks(s string, links []string) {
	at := textScan{text: s[:min(len(s), text.MaxScan)]}
	for _, link := range links {
		v := c.at(link)
		if v.anchorCount > 0 || !v.isPermitted {
			continue
		}
		if before, behind, found := at.findNext(link); found {
			c.addSurroundings(v, before, behind)
		}
	}
}

// addSurroundings adds the concepts of the text before and behind a link.
func (c *linkCollector) addSurroundings(v *linkView, before, behind string) {
	n := strings.LastIndexByte(before, '\n') + 1
	line := before[n:]
	v.isQuoted = strings.HasPrefix(strings.TrimLeft(line, " "), ">")
	v.isLocated = true
	v.isPlaceholder = v.isPlaceholder || behind != "" && strings.IndexByte("{[<$", behind[0]) >= 0 && !strings.HasSuffix(before, "<") || strings.HasPrefix(behind, "...") || strings.HasPrefix(behind, "…")
	v.isProgramText = v.isProgramText || isProgramLine(line)
	v.sentenceConcepts |= c.conceptsOf(lastSentence(line))
	v.conceptsAbove |= c.conceptsOf(lastLines(before[:n]))
	v.conceptsBelow |= c.conceptsOf(behind)
}

// isProgramLine reports whether the line before a link is the start of a command, of a request or of a
// string in a program: curl -X, "POST ", url = ".
func isProgramLine(line string) bool {
	line = strings.TrimRight(line, " ")
	first, _, _ := strings.Cut(strings.TrimLeft(line, " $`\t"), " ")
	if last := line[strings.LastIndexByte(line, ' ')+1:]; slices.Contains(programWords, first) || slices.Contains(programWords, last) {
		return true
	}
	name := strings.TrimRight(strings.TrimRight(line, "\"'`"), " ")
	return name != "" && name[len(name)-1] != line[len(line)-1] && strings.IndexByte("=:(", name[len(name)-1]) >= 0
}

// programWords are commands that take a URL, and methods of HTTP.
var programWords = []string{"curl", "wget", "http", "GET", "POST", "PUT", "PATCH", "DELETE"}

// lastSentence returns the last sentence of the text before a link. If that text ends with the end of a
// sentence or with a colon, the sentence that ends there is the one that describes the link.
func lastSentence(line string) string {
	body := strings.TrimRight(line, " \t<([:.?!-。：")
	if i := strings.LastIndexAny(body, ".!?。！？|·:"); i >= 0 {
		return line[i+1:]
	}
	return line
}

// lastLines returns the last two lines of s that are not empty. It stops at a line with a URL,
// since the text above belongs to that link.
func lastLines(s string) string {
	end := len(s)
	for n := 0; n < 2; {
		i := strings.LastIndexByte(strings.TrimRight(s[:end], " \t\r\n"), '\n')
		line := s[i+1 : end]
		if strings.Contains(line, "://") {
			break
		}
		if strings.TrimSpace(line) != "" {
			n++
		}
		if end = i + 1; i < 0 {
			break
		}
	}
	return s[end:]
}

// filterCandidates filters c.all in place and returns the candidates, with the counts that compare
// them.
func (c *linkCollector) filterCandidates() []linkView {
	c.messageContext.linkCount = len(c.allViews)
	some := c.allViews[:0]
	for i := range c.allViews {
		v := c.allViews[i]
		voice := v.describingConcepts()
		v.asksAction = voice.HasAny(concept.ActionRequests) && !voice.HasAny(concept.OtherPurposes)
		if v.asksAction {
			c.messageContext.askingCount++
		} else {
			c.messageContext.otherConcepts |= v.describingConcepts() | v.wordConcepts
		}
		asks := (voice | v.wordConcepts | v.nestedConcepts).HasAny(concept.ActionRequests)
		plausible := asks || v.secret != guessablePart && (len(c.allViews) <= maxCrowd || !voice.HasAny(concept.OtherPurposes))
		if v.isPermitted && plausible && len(some) < maxKept {
			some = append(some, v)
			switch best := c.messageContext.bestSecret; {
			case v.secret > best:
				c.messageContext.bestSecret, c.messageContext.bestCount = v.secret, 1
			case v.secret == best:
				c.messageContext.bestCount++
			}
		}
	}
	for i := range some {
		v := &some[i]
		v.candidateIndex = i
		for k := range some {
			if k != i && some[k].urlShape == v.urlShape {
				v.similarCount++
			}
			if k != i && v.asksAction && some[k].asksAction && some[k].describingConcepts()&concept.ActionRequests == v.describingConcepts()&concept.ActionRequests {
				v.sameActionCount++
			}
		}
	}
	return some
}
