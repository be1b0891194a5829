package text

// foreignWord reads a word of a script other than Latin, and returns its end. Arabic and Hebrew
// attach up to three letters to the front of a noun (the article, "and", "with", "for"); the
// look-up skips them.
func (p *Page) foreignWord(b []byte, i int) int {
	if unspaced(b, i) {
		return p.unspacedRun(b, i)
	}
	f := wordLexicon.At(b, i, WholeWords)
	for k := i + 2; f.WordValue == 0 && k < min(i+8, len(b)) && InRange(b[k-2], 0xD7, 0xD9); k += 2 {
		f = wordLexicon.At(b, k, WholeWords)
	}
	return p.addWord(b, i, f)
}

// unspacedRun splits a run of a script without spaces into words of the vocabulary and the unknown
// text between them. It returns the end of the run.
func (p *Page) unspacedRun(b []byte, i int) int {
	plain := i
	flush := func(end int) {
		if end > plain {
			p.addToken(plain, end, KindWord, ClassNone, min(1+(end-plain)/6, 20))
		}
	}
	for i < len(b) && unspaced(b, i) {
		f := wordLexicon.At(b, i, AnyPosition)
		if f.WordValue == 0 {
			i += 3 // every letter of these scripts takes three bytes
			continue
		}
		flush(i)
		p.addToken(i, f.End, KindWord, Class(f.WordValue), 1)
		i, plain = f.End, f.End
	}
	i = min(i, len(b))
	flush(i)
	return i
}

// unspaced reports whether b[i] starts a letter of a script without spaces between words: Thai,
// Lao, Burmese, Khmer, kana, Chinese. Korean counts as such a script, because it attaches particles
// and joins compounds.
func unspaced(b []byte, i int) bool {
	if i+1 >= len(b) {
		return false
	}
	switch c := b[i]; c {
	case 0xE0:
		return b[i+1] >= 0xB8
	case 0xE1:
		return InRange(b[i+1], 0x80, 0x82) || InRange(b[i+1], 0x9E, 0x9F)
	default:
		return InRange(c, 0xE3, 0xED)
	}
}
