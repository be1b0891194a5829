package message

import (
	"strings"
	"unicode/utf8"
)

// encodedWord is =?charset?encoding?text?= (RFC 2047 section 2).
type encodedWord struct {
	charset     string
	usesBase64  bool // encoding B, else Q
	text        string
	encodedSize int // bytes of the whole word
}

// decodeWords returns an unfolded header value as valid UTF-8 without control characters. Adjacent
// words of one charset are joined as bytes before they are decoded, because senders split words
// inside a character.
func decodeWords(s string) string {
	if !strings.Contains(s, "=?") {
		return CleanHeader(s)
	}
	var (
		out       = make([]byte, 0, len(s)+64)
		run       int     // out[run:] is from adjacent words, still in their charset
		binary    decoder // for the base64 words of out[run:]
		charset   string  // of those words
		from      int     // s[from:] is not written yet
		afterWord bool
	)
	flush := func() {
		text, _ := toUTF8(charset, out[run:])
		out = append(out[:run], text...) // text may be in out, but never before run
		run, binary.bits = len(out), 0
	}
	for i := 0; ; {
		j := strings.Index(s[i:], "=?")
		if j < 0 {
			break
		}
		i += j
		word, ok := parseWord(s[i:])
		if !ok {
			i += 2
			continue
		}
		gap := s[from:i]
		if adjacent := afterWord && strings.Trim(gap, " \t") == ""; !adjacent {
			flush()
			out = append(out, CleanHeader(gap)...)
			run = len(out)
		} else if !strings.EqualFold(charset, word.charset) {
			flush()
		}
		charset, afterWord = word.charset, true
		out = word.appendTo(out, &binary)
		i += word.encodedSize
		from = i
	}
	flush()
	out = append(out, s[from:]...)
	return CleanHeader(string(out))
}

// parseWord parses the word at the start of s, which begins with "=?". Spaces and question marks
// inside the text are tolerated; maxWord keeps the cost of many word openings linear.
func parseWord(s string) (w encodedWord, ok bool) {
	s = s[:min(len(s), maxWord)]
	mark := strings.IndexByte(s[2:], '?') + 2
	if mark < 3 || mark+2 >= len(s) || s[mark+2] != '?' {
		return w, false
	}
	w.charset, _, _ = strings.Cut(s[2:mark], "*") // RFC 2231 section 5: a language may follow
	switch s[mark+1] {
	case 'b', 'B':
		w.usesBase64 = true
	case 'q', 'Q':
	default:
		return w, false
	}
	text := s[mark+3:]
	end := strings.Index(text, "?=")
	if end < 0 || strings.ContainsAny(w.charset, " \t\"") {
		return w, false
	}
	w.text, w.encodedSize = text[:end], mark+3+end+2
	return w, true
}

// appendTo appends the word's bytes, still in its charset. Some senders split a text after encoding
// it as base64, inside a group of four. d holds the bits that remain from the previous word. They
// are zero, and are ignored, if only padding is missing.
func (w encodedWord) appendTo(b []byte, d *decoder) []byte {
	if w.usesBase64 {
		if cut := d.bits == 6 || d.bits == 2 && len(w.text)%4 == 1; !cut && d.acc&(1<<d.bits-1) == 0 {
			d.bits = 0
		}
		d.src, d.encoding = []byte(w.text), base64Encoding
		return d.appendTo(b, len(w.text))
	}
	d.bits = 0
	for i := 0; i < len(w.text); i++ {
		c := w.text[i]
		switch {
		case c == '_':
			c = ' '
		case c == '=' && i+2 < len(w.text):
			if v, ok := hexByte(w.text[i+1], w.text[i+2]); ok {
				c = v
				i += 2
			}
		}
		b = append(b, c)
	}
	return b
}

// CleanHeader makes v valid UTF-8 (8-bit values are decoded like a text without charset) and turns
// control characters into spaces, so that no decoded CR or LF reaches a header that we write.
func CleanHeader(v string) string {
	ascii := true
	for i := range len(v) {
		if v[i] < ' ' || v[i] == 0x7f {
			v = strings.Map(func(r rune) rune {
				if r < ' ' || r == 0x7f {
					return ' '
				}
				return r
			}, validText(v))
			return v
		}
		ascii = ascii && v[i] < utf8.RuneSelf
	}
	if ascii {
		return v
	}
	return validText(v)
}

// validText returns v if it is valid UTF-8, else decodes it from windows-1252.
func validText(v string) string {
	if utf8.ValidString(v) {
		return v
	}
	text, _ := toUTF8("", []byte(v))
	return string(text)
}
