package link

import (
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
	maxAround  = 240 // bytes before a link that are read; also bytes of the subject
	maxBehind  = 160 // bytes behind a link that are read
)

// view is one link with the data that its features read.
type view struct {
	url string
	address
	said  concept.Set // concepts of its own texts
	same  concept.Set // ... of the sentence before it
	above concept.Set // ... of the lines above it
	below concept.Set // ... of the text behind it
	long  bool        // its text is a sentence

	may     bool // its URL does not exclude it: see address.may
	anchors int  // number of anchors with this URL in the HTML
	printed bool // the text of an anchor is a URL: "or copy this link"
	located bool // its position in a text is known
	quoted  bool // its line begins with ">"
	order   int  // index among the candidates
	alike   int  // number of other candidates with the same host and first part of the path
	asked   bool // its voice asks for an action
	twins   int  // number of other candidates that ask for the same action
	mail    *about
}

// about holds the features of the whole message.
type about struct {
	subject concept.Set // concepts of the subject
	links   int         // number of links
	asking  int         // number of links that ask for an action
	beside  concept.Set // concepts of the other links
	html    bool        // the message has links in HTML
}

// telling are the concepts that decide which text describes a link.
const telling = concept.Asks | concept.Others

// voice returns the concepts of the text that describes a link: its own text, or also the sentence
// before it, or also the lines above.
func (v *view) voice() concept.Set {
	switch v.speaker() {
	case 1:
		return v.said
	case 2:
		return v.said | v.same
	}
	return v.said | v.same | v.above
}

// speaker returns which text describes the link: 1 for its own text, 2 for the sentence before it,
// 3 for the lines above, 0 if none has a concept of telling.
func (v *view) speaker() int {
	return 1 + slices.IndexFunc([]concept.Set{v.said, v.same, v.above}, func(s concept.Set) bool { return s.Has(telling) })
}

// rivals returns how many other links ask for an action.
func (v *view) rivals() int {
	if v.asked {
		return v.mail.asking - 1
	}
	return v.mail.asking
}

// collector collects the links of a message. Find owns it from collectors.Get until collectors.Put.
// The next message cannot see data of an earlier one, because collect overwrites all and mail.
type collector struct {
	all  []view
	mail about
	buf  []byte

	address addressReader
}

// collectors is a pool of collectors, for their memory.
var collectors = sync.Pool{New: func() any { return new(collector) }}

// collect returns the candidates among the links of a message, in order. The collector owns the
// slice.
func (c *collector) collect(m *Mail) []view {
	c.all = c.all[:0]
	c.mail = about{subject: c.concepts(m.Subject[:min(len(m.Subject), maxAround)]), html: len(m.Anchors) > 0}
	c.anchors(m.Visible, m.Anchors[:min(len(m.Anchors), maxAnchors)])
	c.bare(m.Text, m.Links[:min(len(m.Links), maxLinks)])
	return c.kept()
}

// concepts returns the concepts of a piece of text.
func (c *collector) concepts(s string) concept.Set {
	c.buf = concept.Spell(c.buf, s)
	return concept.InText(c.buf)
}

// at returns the view of a URL, and adds it if it is new. The pointer is valid until the next call.
func (c *collector) at(url string) *view {
	for i := range c.all {
		if sameLink(c.all[i].url, url) {
			return &c.all[i]
		}
	}
	address, ok := c.address.read(url)
	c.all = append(c.all, view{url: url, address: address, mail: &c.mail, may: ok && address.may()})
	return &c.all[len(c.all)-1]
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

// scan searches the links of a message in a text, in order.
type scan struct {
	text       string
	from, lost int // position behind the last link that was found, and number of failed searches
}

// next searches what, a URL or the text of a link, behind the link found last. It returns the text
// before it, at most maxAround bytes, and the text behind it, at most maxBehind bytes and not
// beyond another URL.
func (s *scan) next(what string) (before, behind string, found bool) {
	if s.lost > maxLost || what == "" {
		return "", "", false
	}
	n := strings.Index(s.text[s.from:], what)
	if n < 0 {
		s.lost++
		return "", "", false
	}
	before = s.text[s.from:][max(0, n-maxAround):n]
	s.from += n + len(what)
	behind, _, _ = strings.Cut(s.text[s.from:min(len(s.text), s.from+maxBehind)], "://")
	return before, behind, true
}

// anchors adds the links of the HTML with the concepts of their texts and of the text around them.
func (c *collector) anchors(visible string, anchors []Anchor) {
	at := scan{text: visible}
	for _, a := range anchors {
		v := c.at(a.URL)
		if v.anchors++; !v.may {
			continue
		}
		before, behind, found := at.next(a.Text)
		if strings.Contains(a.Text, "://") {
			v.printed = true
		} else {
			v.said |= c.concepts(a.Text)
			v.long = v.long || strings.Count(a.Text, " ") > 6
		}
		if found && (!v.said.Has(concept.Others) || v.said.Has(concept.Asks)) {
			c.around(v, before, behind)
		}
	}
}

// bare adds the links of the plain text with the concepts of the text around them.
func (c *collector) bare(s string, links []string) {
	at := scan{text: s[:min(len(s), text.MaxScan)]}
	for _, link := range links {
		v := c.at(link)
		if v.anchors > 0 || !v.may {
			continue
		}
		if before, behind, found := at.next(link); found {
			c.around(v, before, behind)
		}
	}
}

// around adds the concepts of the text before and behind a link.
func (c *collector) around(v *view, before, behind string) {
	n := strings.LastIndexByte(before, '\n') + 1
	line := before[n:]
	v.quoted = strings.HasPrefix(strings.TrimLeft(line, " "), ">")
	v.located = true
	v.same |= c.concepts(sentence(line))
	v.above |= c.concepts(lastLines(before[:n]))
	v.below |= c.concepts(behind)
}

// sentence returns the last sentence of the text before a link. If that text ends with the end of a
// sentence or with a colon, the sentence that ends there is the one that describes the link.
func sentence(line string) string {
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

// kept filters c.all in place and returns the candidates, with the counts that compare them.
func (c *collector) kept() []view {
	c.mail.links = len(c.all)
	some := c.all[:0]
	for i := range c.all {
		v := c.all[i]
		voice := v.voice()
		v.asked = voice.Has(concept.Asks) && !voice.Has(concept.Others)
		if v.asked {
			c.mail.asking++
		} else {
			c.mail.beside |= v.voice() | v.means
		}
		plausible := (voice | v.means | v.inner).Has(concept.Asks) || !voice.Has(concept.Others) && v.secret != open && c.mail.subject.Has(concept.Asks)
		if v.may && plausible && len(some) < maxKept {
			some = append(some, v)
		}
	}
	for i := range some {
		v := &some[i]
		v.order = i
		for k := range some {
			if k != i && some[k].shape == v.shape {
				v.alike++
			}
			if k != i && v.asked && some[k].asked && some[k].voice()&concept.Asks == v.voice()&concept.Asks {
				v.twins++
			}
		}
	}
	return some
}
