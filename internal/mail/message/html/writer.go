package html

import (
	"unicode"
	"unicode/utf8"
)

// layoutWriter lays out the text of HTML. It collapses white space, writes line breaks only between
// texts, and never writes more than one empty line. A renderer owns it.
type layoutWriter struct {
	b            []byte
	maxBytes     int  // bytes
	fullCapacity int  // capacity for the whole text if the HTML is short, otherwise 0
	keepJoiners  bool // keep the joiners that shape emoji and some scripts
	isFull       bool // max is reached, and nothing more is written

	spacePending  bool // a space is pending before the next text
	pendingBreaks int  // number of pending line breaks, at most 2
}

// newWriter allocates the capacity for the text that size bytes of HTML usually have. A writer with
// max 0 is full from the start.
func newWriter(max, size int, exact bool) layoutWriter {
	w := layoutWriter{maxBytes: max, keepJoiners: exact, isFull: max == 0}
	if max > 0 {
		w.b = make([]byte, 0, min(size/3+64, max))
		if size <= shortText {
			w.fullCapacity = min(size, max)
		}
	}
	return w
}

// shortText is the largest number of bytes of HTML for which the writer grows at most once: if a
// third of the size is too small, it allocates the full size. The waste is small for such HTML.
const shortText = 8 << 10

// addNewline handles a br element. Two of them make an empty line.
func (w *layoutWriter) addNewline() { w.pendingBreaks = min(w.pendingBreaks+1, 2) }

// handleBoundary handles the start or the end of an element. A block element with an inline display is
// separated from its neighbors by a space on the same line.
func (w *layoutWriter) handleBoundary(e *element) {
	switch {
	case e.tag.hasTrait(block) && e.visibilityBits&inlineBox != 0:
		w.spacePending = true
	case e.tag.hasTrait(paragraph):
		w.pendingBreaks = 2
	case e.tag.hasTrait(block), e.visibilityBits&blockBox != 0:
		w.pendingBreaks = max(w.pendingBreaks, 1)
	}
}

// writeText adds a text of element e.
func (w *layoutWriter) writeText(s string, e *element) {
	for i := 0; i < len(s) && !w.isFull; {
		if c := s[i]; c > ' ' && c < 0x7f {
			from := i
			for i++; i < len(s) && s[i] > ' ' && s[i] < 0x7f; {
				i++
			}
			w.emitVisible(s[from:i], e.isQuoted)
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n' && e.visibilityBits&preformatted != 0:
			w.addNewline()
		case r <= ' ', r == 0x7f, unicode.IsSpace(r):
			w.spacePending = true
		case w.isInvisible(r):
		default:
			w.emitVisible(s[i:i+size], e.isQuoted)
		}
		i += size
	}
}

// writeApart adds a text with a space on both sides.
func (w *layoutWriter) writeApart(s string, e *element) {
	if s != "" {
		w.spacePending = true
		w.writeText(s, e)
		w.spacePending = true
	}
}

// writeBehind adds s on the line of the last text, before the pending space and line breaks.
func (w *layoutWriter) writeBehind(s string) {
	breaks, space := w.pendingBreaks, w.spacePending
	w.pendingBreaks, w.spacePending = 0, true
	w.emitVisible(s, false)
	w.pendingBreaks, w.spacePending = breaks, space
}

// isInvisible reports whether r is a zero-width or control character. Senders use these to pad the
// preview text or to break up words.
func (w *layoutWriter) isInvisible(r rune) bool {
	switch r {
	case '\u00ad', '\u034f', '\u061c', '\u180e', '\u200b', '\u200e', '\u200f', '\u2060', '\ufeff':
		return true
	case '\u200c', '\u200d':
		return !w.keepJoiners
	}
	switch {
	case '\u2061' <= r && r <= '\u206f', '\u202a' <= r && r <= '\u202e':
		return true
	}
	return unicode.IsControl(r)
}

// emitVisible adds visible characters behind the pending space or line breaks.
func (w *layoutWriter) emitVisible(s string, quoted bool) {
	atStart := len(w.b) == 0
	switch {
	case atStart:
	case w.pendingBreaks > 0:
		w.appendText("\n\n"[:w.pendingBreaks])
		atStart = true
	case w.spacePending:
		w.appendText(" ")
	}
	if atStart && quoted {
		w.appendText("> ")
	}
	w.spacePending, w.pendingBreaks = false, 0
	w.appendText(s)
}

// appendText adds s, and cuts it at a character boundary when max is reached.
func (w *layoutWriter) appendText(s string) {
	if room := w.maxBytes - len(w.b); len(s) > room {
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		s, w.isFull = s[:room], true
	}
	if len(w.b)+len(s) > cap(w.b) && cap(w.b) < w.fullCapacity {
		w.b = append(make([]byte, 0, w.fullCapacity), w.b...)
	}
	w.b = append(w.b, s...)
}
