package html

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// AddText adds every URL that appears in a plain text.
func (l *Links) AddText(text string) {
	for !l.isFull() {
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
			l.addURL(url)
			end = after
		}
		text = text[end:]
	}
}

// schemeLen returns the length of "http" or "https" at the end of s, otherwise 0.
func schemeLen(s string) int {
	for _, scheme := range [...]string{"https", "http"} {
		if n := len(scheme); len(s) >= n && strings.EqualFold(s[len(s)-n:], scheme) {
			return n
		}
	}
	return 0
}

// delimitedURL reads a URL between "<" and ">" (RFC 3986, appendix C) from text[start:] on. ok is
// false if urlLen finds the same end. Such a URL may contain letters of any script, and it may
// continue behind line breaks; these are removed together with the white space and the quotation
// marks around them. If it fails, at most the text before the next "<" is read twice, so the work
// of AddText stays linear.
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

// lineBreakLen returns the length of one line break with the white space around it, and with the
// quotation marks behind it if the lines are quoted (marked). It returns 0 if s begins with
// anything else.
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

// schemeAt reports whether s begins with "http://" or "https://".
func schemeAt(s string) bool {
	before, _, ok := strings.Cut(s[:min(len(s), len("https://"))], "://")
	return ok && schemeLen(before) == len(before)
}

// urlLen returns how many bytes of s, which begins behind "://", belong to the URL. Punctuation at
// its end belongs to the sentence, and so does a closing bracket without an opening one in the URL.
func urlLen(s string) int {
	end, whole := hostLen(s)
	if whole {
		end += pathLen(s[end:], strings.IndexFunc(s[:end], unspaced) >= 0)
	}
	if n := strings.Index(s[:end], "]("); n > 0 { // the text of a Markdown link: [https://x.example/a](https://x.example/a)
		end = n
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

// hostLen returns how many bytes of s are the host, and whether the URL may continue behind it.
// Unlike the rest of a URL, a host may have letters of scripts without spaces between words, and
// text in such a script may follow it directly. A last label that begins in ASCII ends at the first
// such letter, because no top-level domain mixes the two.
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

// pathLen returns how many bytes of s, which begins behind a host, belong to the URL. Behind an
// international host, a part of the path that begins with a letter of a script without spaces is
// taken as a whole.
func pathLen(s string, international bool) int {
	inside := false // whether i is in such a part
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

// endsURL reports whether r cannot be part of a URL in running text. RFC 3986 allows only ASCII.
// People also write other letters in paths; these are accepted for scripts that put a space behind
// a word.
func endsURL(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r <= ' ' || r == 0x7f || strings.IndexByte("<>\"`{}|\\^", byte(r)) >= 0
	case r == '·', r == '–':
		return false
	}
	return unspaced(r) || !unicode.In(r, unicode.L, unicode.M, unicode.Nd)
}

// unspaced reports whether r is a letter of a script without spaces between words. Korean counts as
// such a script, because particles follow a word without a space.
func unspaced(r rune) bool {
	if r < '\u0e00' {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Yi,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese, unicode.Balinese,
		unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet)
}

// textRun collects visible text across inline elements, since a URL may continue behind one. It
// keeps only the text that may belong to a URL: the last word if it may end in a part of a scheme,
// and all text from the first URL on. A renderer owns it.
type textRun struct {
	b      []byte
	hasURL bool // b contains "://"
}

// maxRun is the length at which a run is searched for URLs even if it may continue.
const maxRun = 8 * maxLinkLen

// addText appends a text to the run.
func (t *textRun) addText(s string, links *Links) {
	if links.isFull() {
		return
	}
	if len(t.b)+len(s) > maxRun {
		t.flushURLs(links)
	}
	if len(t.b) == 0 && !strings.Contains(s, "://") {
		if s != "" && strings.IndexByte("htpsHTPS:/", s[len(s)-1]) >= 0 {
			t.b = append(t.b, s[lastBlank(s):]...)
		}
		return
	}
	from := max(0, len(t.b)-len(":/"))
	t.b = append(t.b, s...)
	if t.hasURL = t.hasURL || bytes.Contains(t.b[from:], []byte("://")); !t.hasURL {
		t.b = append(t.b[:0], t.b[lastBlank(t.b):]...)
	}
}

// lastBlank returns the position behind the last white space of s, where its last word begins.
func lastBlank[T string | []byte](s T) int {
	i := len(s)
	for i > 0 && s[i-1] > ' ' {
		i--
	}
	return i
}

// flushURLs adds the URLs of the run to links, and starts an empty run.
func (t *textRun) flushURLs(links *Links) {
	if t.hasURL {
		links.AddText(softBreaks.Replace(string(t.b)))
	}
	t.b, t.hasURL = t.b[:0], false
}

// softBreaks removes invisible characters at which a word may be broken or joined.
var softBreaks = strings.NewReplacer("\u00ad", "", "\u200b", "", "\u2060", "", "\ufeff", "")
