package html

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AddText adds every URL that is written out in a text.
func (l *Links) AddText(text string) {
	for !l.full() {
		i := strings.Index(text, "://")
		if i < 0 {
			return
		}
		start := i - schemeLen(text[:i])
		end := i + len("://") + urlLen(text[i+len("://"):])
		if start < i && end > i+len("://") {
			url, after, ok := delimitedURL(text, start)
			if !ok {
				url, after = text[start:end], end
			}
			l.add(url)
			end = after
		}
		text = text[end:]
	}
}

// schemeLen returns the length of http or https at the end of s, else 0.
func schemeLen(s string) int {
	for _, scheme := range [...]string{"https", "http"} {
		if n := len(scheme); len(s) >= n && strings.EqualFold(s[len(s)-n:], scheme) {
			return n
		}
	}
	return 0
}

// delimitedURL reads a URL that stands between "<" and ">" (RFC 3986, appendix C) from text[start:] on, if it is
// longer than urlLen could tell: it goes on behind line breaks, which are removed with the white
// space and the quotation marks around them, and has letters of any script. A text has no more
// to read again than lies before the next "<".
func delimitedURL(text string, start int) (url string, end int, ok bool) {
	open := strings.TrimSuffix(strings.TrimSuffix(text[:start], "URL:"), "url:")
	if !strings.HasSuffix(open, "<") {
		return "", 0, false
	}
	marked := strings.HasPrefix(strings.TrimLeft(open[strings.LastIndexByte(open, '\n')+1:], " "), ">")
	var b strings.Builder
	more := false
	for i := start; i < len(text) && b.Len() <= maxLinkLen; {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '>':
			return b.String(), i + 1, more
		case r == ' ', r == '\t', r == '\r', r == '\n':
			n := lineBreakLen(text[i:], marked)
			if n == 0 || schemeAt(text[i+n:]) {
				return "", 0, false
			}
			i, more = i+n, true
			continue
		case unspaced(r):
			more = true
		case endsURL(r):
			return "", 0, false
		}
		b.WriteString(text[i : i+size])
		i += size
	}
	return "", 0, false
}

// lineBreakLen returns the length of one line break with the blanks around it, and the quotation
// marks behind it if the lines are marked; 0 if s begins with anything else.
func lineBreakLen(s string, marked bool) int {
	rest := strings.TrimLeft(s, " \t\r")
	if !strings.HasPrefix(rest, "\n") {
		return 0
	}
	around := " \t"
	if marked {
		around = " \t>"
	}
	rest = strings.TrimLeft(rest[1:], around)
	if rest == "" || rest[0] == '\n' || rest[0] == '\r' {
		return 0
	}
	return len(s) - len(rest)
}

func schemeAt(s string) bool {
	before, _, ok := strings.Cut(s[:min(len(s), len("https://"))], "://")
	return ok && schemeLen(before) == len(before)
}

// urlLen returns how much of s, which begins behind "://", is still URL. Punctuation at its
// end belongs to the sentence, and so does a bracket that was not opened inside.
func urlLen(s string) int {
	end, whole := hostLen(s)
	if whole {
		end += pathLen(s[end:], strings.IndexFunc(s[:end], unspaced) >= 0)
	}
	open := [2]int{strings.Count(s[:end], "("), strings.Count(s[:end], "[")}
	closed := [2]int{strings.Count(s[:end], ")"), strings.Count(s[:end], "]")}
	for end > 0 {
		switch s[end-1] {
		case '.', ',', ';', ':', '!', '?', '\'', '*', '_', '~':
		case ')', ']':
			kind := 0
			if s[end-1] == ']' {
				kind = 1
			}
			if closed[kind] <= open[kind] {
				return end
			}
			closed[kind]--
		default:
			return end
		}
		end--
	}
	return 0
}

// hostLen returns how much of s is a host, and whether the URL may go on behind it. Unlike the rest
// of a URL, a host may have letters of scripts without word spaces, and text may follow it at once:
// the last label is whole unless it begins in ASCII, because no top-level domain mixes the two.
func hostLen(s string) (n int, whole bool) {
	for label := 0; ; n++ {
		mixed := -1
		for n < len(s) && s[n] != '.' {
			r, size := utf8.DecodeRuneInString(s[n:])
			if !unspaced(r) && (endsURL(r) || strings.IndexByte("/?#:@[", s[n]) >= 0) {
				break
			}
			if unspaced(r) && mixed < 0 && s[label] < utf8.RuneSelf {
				mixed = n
			}
			n += size
		}
		more := n+1 < len(s) && s[n] == '.' && (s[n+1] >= utf8.RuneSelf || isAlphanumeric(s[n+1]))
		if mixed >= 0 && !more {
			return mixed, false
		}
		if label = n + 1; !more {
			return n, true
		}
	}
}

// pathLen returns how much of s, which begins behind a host, is URL. Behind an international host,
// parts of the path that begin with a letter without word spaces are whole, as labels are.
func pathLen(s string, international bool) int {
	inside := false // of such a part
	for i, r := range s {
		switch {
		case unspaced(r) && international && (inside || strings.HasSuffix(s[:i], "/")):
			inside = true
		case endsURL(r):
			return i
		case r == '/', r == '?', r == '#':
			inside = false
		}
	}
	return len(s)
}

// endsURL reports whether r can't be part of a URL in running text. RFC 3986 allows ASCII only; of
// other characters those are taken that people write in paths, and that need a blank behind a word.
func endsURL(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r <= ' ' || r == 0x7f || strings.IndexByte("<>\"`{}|\\^", byte(r)) >= 0
	case r == '·', r == '–':
		return false
	}
	return unspaced(r) || !unicode.In(r, unicode.L, unicode.M, unicode.Nd)
}

// unspaced reports whether r is a letter of a script that puts no spaces between words, or, as in
// Korean, none before the particles that follow a word.
func unspaced(r rune) bool {
	if r < '\u0e00' {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Yi,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese, unicode.Balinese,
		unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet)
}

// textRun is visible text that nothing but inline elements has interrupted, as far as a URL may go
// on in it: from the last blank on, if a scheme may have begun, or everything once there is a URL.
// A renderer owns it.
type textRun struct {
	b    []byte
	urls bool // there is one
}

// maxRun is the length at which a run is searched for URLs although it may go on.
const maxRun = 8 * maxLinkLen

func (t *textRun) add(s string, links *Links) {
	if links.full() {
		return
	}
	if len(t.b)+len(s) > maxRun {
		t.end(links)
	}
	if len(t.b) == 0 && !strings.Contains(s, "://") {
		if s != "" && strings.IndexByte("htpsHTPS:/", s[len(s)-1]) >= 0 {
			t.b = append(t.b, s[lastBlank(s):]...)
		}
		return
	}
	from := max(0, len(t.b)-len(":/"))
	t.b = append(t.b, s...)
	if t.urls = t.urls || bytes.Contains(t.b[from:], []byte("://")); !t.urls {
		t.b = append(t.b[:0], t.b[lastBlank(t.b):]...)
	}
}

// lastBlank returns where the last word of s begins.
func lastBlank[T string | []byte](s T) int {
	i := len(s)
	for i > 0 && s[i-1] > ' ' {
		i--
	}
	return i
}

// end adds the URLs of the text, and makes ready for the next one.
func (t *textRun) end(links *Links) {
	if t.urls {
		links.AddText(softBreaks.Replace(string(t.b)))
	}
	t.b, t.urls = t.b[:0], false
}

// softBreaks are where a word may be broken that goes on.
var softBreaks = strings.NewReplacer("\u00ad", "", "\u200b", "", "\u2060", "", "\ufeff", "")
