package link

import (
	"slices"
	"strings"
	"sync"

	"inboxd/internal/mail/otp/concept"
	"inboxd/internal/mail/otp/text"
)

// Bounds: links of a mail that are looked at, those that are weighed, anchors, texts that were looked for in
// vain, and bytes of the words around a link. A mail with more links is no letter that asks to follow one.
const (
	maxLinks   = 256
	maxKept    = 32
	maxAnchors = 64
	maxLost    = 8
	maxAround  = 240
	maxBehind  = 160
)

// view is one link with what is known of it.
type view struct {
	url string
	address
	said  concept.Set // by its own texts
	same  concept.Set // by the sentence before it
	above concept.Set // by the lines above it
	below concept.Set // by what follows
	long  bool        // its text is a sentence

	may     bool // its URL does not say that it can't be the one
	anchors int  // how often it stands in the HTML
	printed bool // ... as its own text: "or copy this link"
	located bool // its place in a text is known
	quoted  bool // that is an older mail
	order   int  // which of the links that might be the one it is
	alike   int  // others with the same host and first part of a path
	asked   bool // its words ask for something
	twins   int  // others whose words ask for the same
	mail    *about
}

// about is what is known of the whole mail.
type about struct {
	subject concept.Set
	links   int
	asking  int         // how many of them ask for something
	beside  concept.Set // what the links say that ask for nothing
	html    bool
}

// telling is what decides whose words count.
const telling = concept.Asks | concept.Others

// voice is what is said of a link: by itself, else before it, else above it.
func (v *view) voice() concept.Set {
	switch v.speaker() {
	case 1:
		return v.said
	case 2:
		return v.said | v.same
	}
	return v.said | v.same | v.above
}

// speaker tells where that is said.
func (v *view) speaker() int {
	return 1 + slices.IndexFunc([]concept.Set{v.said, v.same, v.above}, func(s concept.Set) bool { return s.Has(telling) })
}

// rivals tells how many other links ask for something.
func (v *view) rivals() int {
	if v.asked {
		return v.mail.asking - 1
	}
	return v.mail.asking
}

// collector gathers the links of a mail. Whoever took it from collectors owns it until it goes back; nothing
// of a mail is read from it again.
type collector struct {
	all  []view
	mail about
	buf  []byte

	address addressReader
}

var collectors = sync.Pool{New: func() any { return new(collector) }}

// collect gives the links of a mail that might be the one, in order. They are the collector's.
func (c *collector) collect(m *Mail) []view {
	c.all = c.all[:0]
	c.mail = about{subject: c.concepts(m.Subject[:min(len(m.Subject), maxAround)]), html: len(m.Anchors) > 0}
	c.anchors(m.Visible, m.Anchors[:min(len(m.Anchors), maxAnchors)])
	c.bare(m.Text, m.Links[:min(len(m.Links), maxLinks)])
	return c.kept()
}

// concepts of a piece of text.
func (c *collector) concepts(s string) concept.Set {
	c.buf = concept.Spell(c.buf, s)
	return concept.InText(c.buf)
}

// at finds the link among those collected, or adds it.
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

// sameLink tells links that differ in what no server sees or a mail program added.
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

// scan goes through a text from one link to the next.
type scan struct {
	text       string
	from, lost int
}

// next looks for a link, or what it says, behind the one before, and gives what stands between them and behind it.
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

// anchors reads what links of the HTML say, and what stands around them.
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

// bare reads what stands around links of the plain text.
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

// around reads the words before and behind a link.
func (c *collector) around(v *view, before, behind string) {
	n := strings.LastIndexByte(before, '\n') + 1
	line := before[n:]
	v.quoted = strings.HasPrefix(strings.TrimLeft(line, " "), ">")
	v.located = true
	v.same |= c.concepts(sentence(line))
	v.above |= c.concepts(lastLines(before[:n]))
	v.below |= c.concepts(behind)
}

// sentence gives the last one of a line, and what a link at its start is told by: the one that has just ended.
func sentence(line string) string {
	body := strings.TrimRight(line, " \t<([:.?!-。：")
	if i := strings.LastIndexAny(body, ".!?。！？|·:"); i >= 0 {
		return line[i+1:]
	}
	return line
}

// lastLines gives the last two lines with words, but none with a link, and nothing above one.
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

// kept gives the links that might be the one, in the place of all.
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
