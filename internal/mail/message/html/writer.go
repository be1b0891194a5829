package html

import (
	"unicode"
	"unicode/utf8"
)

// writer lays out the text of HTML. It collapses white space, writes line breaks only between
// texts, and never writes more than one empty line. A renderer owns it.
type writer struct {
	b     []byte
	max   int  // bytes
	whole int  // capacity for the whole text if the HTML is short, otherwise 0
	exact bool // keep the joiners that shape emoji and some scripts
	full  bool // max is reached, and nothing more is written

	space  bool // a space is pending before the next text
	breaks int  // number of pending line breaks, at most 2
}

// newWriter allocates the capacity for the text that size bytes of HTML usually have. A writer with
// max 0 is full from the start.
func newWriter(max, size int, exact bool) writer {
	w := writer{max: max, exact: exact, full: max == 0}
	if max > 0 {
		w.b = make([]byte, 0, min(size/3+64, max))
		if size <= shortText {
			w.whole = min(size, max)
		}
	}
	return w
}

// shortText is the largest number of bytes of HTML for which the writer grows at most once: if a
// third of the size is too small, it allocates the full size. The waste is small for such HTML.
const shortText = 8 << 10

// newline handles a br element. Two of them make an empty line.
func (w *writer) newline() { w.breaks = min(w.breaks+1, 2) }

// boundary handles the start or the end of an element. A block element with an inline display is
// separated from its neighbors by a space on the same line.
func (w *writer) boundary(e *element) {
	switch {
	case e.tag.has(block) && e.looks&inlineBox != 0:
		w.space = true
	case e.tag.has(paragraph):
		w.breaks = 2
	case e.tag.has(block), e.looks&blockBox != 0:
		w.breaks = max(w.breaks, 1)
	}
}

// write adds a text of element e.
func (w *writer) write(s string, e *element) {
	for i := 0; i < len(s) && !w.full; {
		if c := s[i]; c > ' ' && c < 0x7f {
			from := i
			for i++; i < len(s) && s[i] > ' ' && s[i] < 0x7f; {
				i++
			}
			w.emit(s[from:i], e.quoted)
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n' && e.looks&preformatted != 0:
			w.newline()
		case r <= ' ', r == 0x7f, unicode.IsSpace(r):
			w.space = true
		case w.isInvisible(r):
		default:
			w.emit(s[i:i+size], e.quoted)
		}
		i += size
	}
}

// writeApart adds a text with a space on both sides.
func (w *writer) writeApart(s string, e *element) {
	if s != "" {
		w.space = true
		w.write(s, e)
		w.space = true
	}
}

// writeBehind adds s on the line of the last text, before the pending space and line breaks.
func (w *writer) writeBehind(s string) {
	breaks, space := w.breaks, w.space
	w.breaks, w.space = 0, true
	w.emit(s, false)
	w.breaks, w.space = breaks, space
}

// isInvisible reports whether r is a zero-width or control character. Senders use these to pad the
// preview text or to break up words.
func (w *writer) isInvisible(r rune) bool {
	switch r {
	case '\u00ad', '\u034f', '\u061c', '\u180e', '\u200b', '\u200e', '\u200f', '\u2060', '\ufeff':
		return true
	case '\u200c', '\u200d':
		return !w.exact
	}
	switch {
	case '\u2061' <= r && r <= '\u206f', '\u202a' <= r && r <= '\u202e':
		return true
	}
	return unicode.IsControl(r)
}

// emit adds visible characters behind the pending space or line breaks.
func (w *writer) emit(s string, quoted bool) {
	atStart := len(w.b) == 0
	switch {
	case atStart:
	case w.breaks > 0:
		w.append("\n\n"[:w.breaks])
		atStart = true
	case w.space:
		w.append(" ")
	}
	if atStart && quoted {
		w.append("> ")
	}
	w.space, w.breaks = false, 0
	w.append(s)
}

// append adds s, and cuts it at a character boundary when max is reached.
func (w *writer) append(s string) {
	if room := w.max - len(w.b); len(s) > room {
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		s, w.full = s[:room], true
	}
	if len(w.b)+len(s) > cap(w.b) && cap(w.b) < w.whole {
		w.b = append(make([]byte, 0, w.whole), w.b...)
	}
	w.b = append(w.b, s...)
}
